//! ocloc's archives: one file of code for each of several Intel GPUs, in the form of a static library.
//!
//! | member | contents |
//! |---|---|
//! | `64.12.55.8`, `64.dg2` | code for 64-bit pointers and a version of the architecture or a product family |
//! | `generic_ir` | SPIR-V; the driver compiles it for other devices |
//! | `pad_0` | padding, so that the data of the next member is aligned to eight bytes |
//!
//! Code and SPIR-V may be in an ELF file of OpenCL, which has a section for each. Source: Intel, compute-runtime,
//! `device_binary_format_ar.cpp`, `ar_encoder.cpp` and `ocl_elf.h`; output of ocloc 22.43; the files of Blender 5.3 and
//! vllm-xpu-kernels 0.1.16.2.

mod write;

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::ocloc_name::{MAGIC, NAME, PADDING, POINTERS, is_archive, name_of};
use super::{ContainerType, ContainerView, ImageKind, ImageView, opencl_elf};
use crate::base::bytes::{Cursor, Resource, View};
use crate::base::error::{Cause, Malformed};
use crate::target::{OffloadKind, intel};

pub use write::write;

/// Size of a member's header, and ranges of the member's size and the end of the header in it (ar).
const HEADER_SIZE: u64 = 60;
const SIZE: Range<usize> = 48..58;
const END: Range<usize> = 58..60;
const END_OF_HEADER: &[u8] = b"`\n";

/// Triple of images in archives whose container states none.
const TRIPLE: &str = "spir64_gen";

/// A member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'data> {
    /// Name, without the slash that ends it.
    pub name: &'data str,
    /// Header and data.
    pub whole: View<'data>,
    /// Data.
    pub data: View<'data>,
}

impl<'data> Member<'data> {
    /// Returns whether it is padding.
    pub fn is_padding(&self) -> bool {
        self.name.starts_with(PADDING)
    }

    /// Returns the code or the SPIR-V in the member.
    pub fn payload(&self) -> View<'data> {
        opencl_elf::machine_code(self.data).or(opencl_elf::spirv(self.data)).unwrap_or(self.data)
    }

    /// Returns the target that its name states.
    fn arch(&self) -> Option<&'data str> {
        POINTERS.iter().find_map(|prefix| self.name.strip_prefix(prefix)).map(intel::arch_of_member)
    }

    fn image(&self, kind: Option<OffloadKind>, triple: Option<&str>) -> ImageView<'data> {
        let mut image = ImageView::new(self.payload(), kind, triple, self.arch());
        // Drivers do not load an archive in an archive.
        if image.image_kind == ImageKind::OclocArchive {
            image.image_kind = ImageKind::Unknown;
        }
        image
    }
}

/// Reads the archive at the view's start. The kind and the triple describe the image that is the archive.
pub fn container<'data>(
    kind: Option<OffloadKind>,
    triple: Option<&str>,
    view: View<'data>,
) -> Result<ContainerView<'data>, Malformed> {
    let (members, size) = members(view)?;
    let triple = triple.filter(|triple| !triple.is_empty()).unwrap_or(TRIPLE);
    let code = members.iter().filter(|member| !member.is_padding());
    let images = code.map(|member| member.image(kind, Some(triple))).collect();
    let view = view.prefix("ocloc archive", size)?;
    Ok(ContainerView::new(ContainerType::OclocArchive, None, view, images))
}

/// Returns all members, and the size of the archive. Zeros may follow it.
pub fn members(view: View<'_>) -> Result<(Vec<Member<'_>>, u64), Malformed> {
    if !is_archive(view) {
        let cause = Cause::Described("not an archive of ocloc".to_owned());
        return Err(view.malformed("ocloc archive", 0, cause));
    }
    let mut members = Vec::new();
    let mut cursor = Cursor::new(view);
    cursor.take("ocloc archive", MAGIC.len() as u64)?;
    while cursor.rest().data().first().is_some_and(|&byte| byte != 0) {
        view.charge("ocloc archive member", Resource::Work, 1)?;
        members.push(member(view, &mut cursor)?);
    }
    Ok((members, cursor.at()))
}

/// Reads the next member of an archive.
fn member<'data>(archive: View<'data>, cursor: &mut Cursor<'data>) -> Result<Member<'data>, Malformed> {
    let start = cursor.at();
    let header = cursor.take("ocloc archive member", HEADER_SIZE)?;
    let invalid =
        |field, at: usize, cause: &str| header.malformed(field, at as u64, Cause::Described(cause.to_owned()));
    if header.data().get(END) != Some(END_OF_HEADER) {
        return Err(invalid("ocloc archive member", END.start, "not the end of a header"));
    }
    let name = header.data().get(NAME).and_then(name_of);
    let name = name.ok_or_else(|| invalid("ocloc archive member name", NAME.start, "not text"))?;
    let digits = header.data().get(SIZE).and_then(|digits| str::from_utf8(digits.trim_ascii()).ok());
    let size: Option<u64> = digits.and_then(|digits| digits.parse().ok());
    let size = size.ok_or_else(|| invalid("ocloc archive member size", SIZE.start, "not a number"))?;
    let data = cursor.take_stated(header.field("ocloc archive member size", SIZE.start as u64), size)?;
    // A byte follows data of an odd size, except at the end.
    cursor.align(2);
    Ok(Member { name, whole: archive.between("ocloc archive member", start..cursor.at())?, data })
}
