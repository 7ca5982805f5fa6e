//! CUDA fat binaries by the rules of NVIDIA's library nvFatbin: the caller states architectures, PTX is stored without
//! comments, and a mode determines what is compressed. NVIDIA's fatbinary calls this library, and the drop-in calls this
//! module. [`pack`](crate::embed::pack) reads architectures from images instead, and keeps every byte.
//!
//! Source: the results of libnvfatbin 13.5 for chosen sequences of calls. `linker-tests/fatbinary/nvfatbin.rs` compares it with this
//! module. Divergences:
//!
//! - LTO-IR is stored uncompressed: nvFatbin scrambles what it compresses. It must have the header of LTO-IR, which
//!   nvFatbin requires only where it compresses.
//! - A damaged cubin is [`NvFatbinError::MalformedCubin`], and an ELF file for another machine has the wrong architecture:
//!   nvFatbin stores both.
//! - PTX of several objects is in reverse order. In the output of nvFatbin its order depends on hashes of the names, and
//!   is mostly the reverse one.

mod entry;
mod error;
mod options;
mod ptx;
mod relocatable;

use std::borrow::Cow;
use std::collections::BTreeSet;

use fatbin_core::base::content::Content;
use fatbin_core::format::cuda_fatbin::{GROUPS, concatenate, kind, write_members};

use entry::Entry;
pub use entry::ImageType;
pub use error::NvFatbinError;
use options::Options;
use relocatable::Relocatable;

/// Result of a call.
type Result<T, E = NvFatbinError> = std::result::Result<T, E>;

/// Architecture of Tile IR, which states none.
const TILE_IR_ARCH: &str = "80";

/// A CUDA fat binary under construction, with the functions of NVIDIA's nvFatbin, its rules and its status codes.
///
/// The bytes equal the output of libnvfatbin 13.5, except that LTO-IR is never compressed.
///
/// ```
/// use fatbin::embed::NvFatbin;
///
/// let mut container = NvFatbin::new(["-compress=false"])?;
/// container.add_ptx(b".version 8.8\n.target sm_90\n", "90", "a.cu", "")?;
/// assert_eq!(container.size()?, container.get()?.len());
/// # Ok::<(), fatbin::embed::NvFatbinError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct NvFatbin<'data> {
    options: Options,
    entries: Vec<Entry<'data>>,
    /// Objects of a link, whose PTX follows the other images.
    objects: Vec<Relocatable<'data>>,
    /// The groups of images that are compressed as one.
    groups: [Option<Group>; GROUPS.len()],
    /// The container, if nothing was added since it was written.
    written: Option<Vec<u8>>,
}

/// A group of images.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// True if an image was added since the container was written.
    is_fresh: bool,
    is_empty: bool,
}

impl<'data> NvFatbin<'data> {
    /// Begins a container. The options are `-32`, `-64`, `-c`, `-compress=BOOL`, `-compress-all`, `-compress-mode=MODE`
    /// (default, balance, size, speed, none), `-concat`, `-cuda`, `-g`, `-host=NAME` and `-opencl`.
    pub fn new(options: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self> {
        let options: Vec<_> = options.into_iter().collect();
        let options = Options::parse(options.iter().map(AsRef::as_ref))?;
        Ok(NvFatbin { options, ..NvFatbin::default() })
    }

    /// Adds a PTX text. `arch` is a number with an optional suffix, such as `90a`, and `identifier` usually the name of
    /// the source file. `options` is for the driver's compiler.
    pub fn add_ptx(
        &mut self,
        code: impl Into<Cow<'data, [u8]>>,
        arch: impl AsRef<[u8]>,
        identifier: impl AsRef<[u8]>,
        options: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.add_image(ImageType::Ptx, code, arch, identifier, options)
    }

    /// Adds a cubin.
    pub fn add_cubin(
        &mut self,
        code: impl Into<Cow<'data, [u8]>>,
        arch: impl AsRef<[u8]>,
        identifier: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.add_image(ImageType::Elf, code, arch, identifier, b"")
    }

    /// Adds LTO-IR.
    pub fn add_lto_ir(
        &mut self,
        code: impl Into<Cow<'data, [u8]>>,
        arch: impl AsRef<[u8]>,
        identifier: impl AsRef<[u8]>,
        options: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.add_image(ImageType::Nvvm, code, arch, identifier, options)
    }

    /// Adds Tile IR.
    pub fn add_tile_ir(
        &mut self,
        code: impl Into<Cow<'data, [u8]>>,
        identifier: impl AsRef<[u8]>,
        options: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.add_image(ImageType::TileIr, code, TILE_IR_ARCH, identifier, options)
    }

    /// Adds an image with the architecture that the caller states. The options of a cubin are empty.
    #[doc(hidden)]
    pub fn add_image(
        &mut self,
        image_type: ImageType,
        code: impl Into<Cow<'data, [u8]>>,
        arch: impl AsRef<[u8]>,
        identifier: impl AsRef<[u8]>,
        options: impl AsRef<[u8]>,
    ) -> Result<()> {
        let strings = (identifier.as_ref(), options.as_ref());
        self.add(Entry::new(image_type, code.into(), arch.as_ref(), strings))
    }

    /// Adds an index. No tool writes one, and its form is not known.
    pub fn add_index(&mut self, code: impl Into<Cow<'data, [u8]>>, identifier: impl AsRef<[u8]>) -> Result<()> {
        let _ = identifier.as_ref();
        Err(if code.into().is_empty() { NvFatbinError::EmptyInput } else { NvFatbinError::InvalidIndex })
    }

    /// Adds the PTX of a host object, of the objects in a static library, or of a container, for the driver's linker.
    pub fn add_reloc(&mut self, code: impl Into<Cow<'data, [u8]>>) -> Result<()> {
        let object = Relocatable::new(code.into());
        let mut names = BTreeSet::new();
        for known in &self.objects {
            names.extend(known.entries()?.iter().map(relocatable::Entry::key));
        }
        let added: Vec<_> = object.entries()?.iter().map(relocatable::Entry::key).collect();
        if added.is_empty() {
            return Ok(());
        }
        // nvFatbin writes the container again after a name that is in use, too.
        self.written = None;
        if !added.into_iter().all(|name| names.insert(name)) {
            return Err(NvFatbinError::IdentifierReuse);
        }
        self.objects.push(object);
        Ok(())
    }

    /// Writes the container, unless it is complete, and returns its size.
    ///
    /// In a container with `-concat`, nvFatbin completes groups of images here. Later images of these sorts appear after
    /// another addition, and that requires an image of each sort: otherwise the result is
    /// [`NvFatbinError::NullPointer`]. PTX without a version or a cubin of another word size begins a group, which must
    /// not stay empty.
    pub fn size(&mut self) -> Result<usize> {
        if let Some(written) = &self.written {
            return Ok(written.len());
        }
        for group in self.groups.iter_mut().flatten() {
            if !std::mem::replace(&mut group.is_fresh, false) {
                return Err(NvFatbinError::NullPointer);
            }
            if group.is_empty {
                return Err(NvFatbinError::Internal);
            }
        }
        let content = self.content(1)?.to_vec();
        Ok(self.written.insert(content).len())
    }

    /// The container. [`NvFatbin::size`] must have written it after the last addition.
    pub fn get(&self) -> Result<&[u8]> {
        self.written.as_deref().ok_or(NvFatbinError::Internal)
    }

    /// The container, in which at least `fewest` images of a sort are compressed as one.
    #[doc(hidden)]
    pub fn content(&self, fewest: usize) -> Result<Content<'_>> {
        let mut members = Vec::new();
        for entry in &self.entries {
            members.push(entry.member(&self.options)?);
        }
        if let (Some(compression), true) = (self.options.compression, self.options.concat) {
            members = concatenate(members, compression, fewest);
        }
        // PTX of objects follows all other images, in reverse order.
        let mut entries = Vec::new();
        for object in &self.objects {
            entries.extend(object.entries()?);
        }
        members.extend(entries.into_iter().rev().map(relocatable::Entry::member));
        write_members(&members).map_err(NvFatbinError::of_write)
    }

    fn add(&mut self, entry: Result<Entry<'data>>) -> Result<()> {
        let added = entry.and_then(|entry| Ok((entry.group(&self.options)?, entry)));
        let (group, entry) = added.inspect_err(|error| self.begin_group(error))?;
        self.entries.push(entry);
        match group.and_then(|group| self.groups.get_mut(group)) {
            Some(group) if self.options.concat => *group = Some(Group { is_fresh: true, is_empty: false }),
            _ => self.written = None,
        }
        Ok(())
    }

    /// nvFatbin begins a group before it reads the image.
    fn begin_group(&mut self, error: &NvFatbinError) {
        let sort = match error {
            NvFatbinError::MissingPtxVersion => (kind::PTX, false),
            NvFatbinError::ElfSizeMismatch => (kind::ELF, false),
            _ => return,
        };
        let group = GROUPS.iter().position(|group| *group == sort).and_then(|group| self.groups.get_mut(group));
        if let (Some(group), true) = (group, self.options.concat) {
            group.get_or_insert(Group { is_fresh: true, is_empty: true });
        }
    }
}

#[cfg(test)]
mod tests;
