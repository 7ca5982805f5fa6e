//! From images in memory or in mapped files to a host object.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use super::embedded::{self, EmbeddedForm, EmbeddedImage, SourceImage, TargetOverride};
use super::entries::OffloadEntry;
use super::error::WrapError;
use super::fat_binary_image::fat_binary;
use super::{Request, plan};
use crate::embed::llvm::wrapper_abi::{ImageSection, SyclAbi, WrapperAbi};
use crate::embed::llvm::{NEWEST, Release};
use fatbin_core::base::bytes::View;
use fatbin_core::base::content::Content;
use fatbin_core::base::io::Sink;
use fatbin_core::host::{self, Host, HostError, ObjectFormat, ObjectPlan};
use fatbin_core::target::{OffloadKind, names_architecture};

/// Smallest combined size of images that [`LargeImages::Auto`] moves, in bytes. Code reaches 2 GiB in either direction;
/// this leaves as much to the rest of the program.
pub(crate) const LARGE: u64 = 1 << 30;

/// Placement of images among the large sections, out of reach of code and data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LargeImages {
    /// Among the large sections if they have at least 1 GiB together.
    Auto,
    /// Always among the large sections.
    Always,
    /// Never among the large sections.
    Never,
}

/// Format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrapperFormat {
    /// An object in the host's format, ready to be linked.
    Object,
    /// LLVM IR as bitcode, which a compiler turns into an object.
    Bitcode,
    /// LLVM IR as text.
    Text,
}

impl WrapperFormat {
    /// Returns the format that a file of this name has: LLVM IR is compiled, and everything else is linked.
    pub fn of_path(path: &Path) -> Self {
        match path.extension().and_then(OsStr::to_str) {
            Some("bc") => WrapperFormat::Bitcode,
            Some("ll") => WrapperFormat::Text,
            _ => WrapperFormat::Object,
        }
    }
}

/// Writes a host object that registers device images when its program or library is loaded.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// use fatbin::{Host, OffloadKind, WrapperBuilder};
///
/// let image = std::fs::read("fixtures/answer-gfx90a.hsaco")?;
/// let mut wrapper = WrapperBuilder::new(OffloadKind::OpenMp, Host::Aarch64);
/// wrapper.image("answer-gfx90a.hsaco", &image);
/// let mut object = Vec::new();
/// wrapper.write_to(&mut object)?;
/// assert!(object.starts_with(b"\x7fELF"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct WrapperBuilder<'data> {
    kind: OffloadKind,
    triple: String,
    host: Host,
    /// Images, in the order that the runtime sees.
    pub(crate) images: Vec<SourceImage<'data>>,
    /// Release of LLVM whose runtime registers the images; by default the newest.
    pub release: Release,
    /// Form of OpenMP's and SYCL's images. For CUDA and HIP, anything but an offload binary means that the single input
    /// is embedded unchecked as the fat binary. Releases without offload binaries embed images unchanged.
    pub form: EmbeddedForm,
    /// Placement of the images in an object. For IR, the compiler decides.
    pub large: LargeImages,
    /// Format of the output.
    pub format: WrapperFormat,
    /// Entries for host programs that no offload compiler has compiled.
    pub entries: Vec<OffloadEntry>,
    /// Further releases whose entries CUDA's and HIP's wrapper registers: host objects of several compilers.
    pub(crate) further_releases: Vec<Release>,
    /// Symbols of host objects whose sections must survive `--gc-sections`: their entries.
    pub(crate) keep: Vec<String>,
    /// True if the section of entries must survive `--gc-sections` even without entries. Linkers such as ld.lld would
    /// drop it and then reject references to its bounds.
    pub(crate) keep_entries: bool,
    /// The fat binary of CUDA or HIP, where the caller has built it instead of passing images.
    fat_binary: Option<Content<'data>>,
    /// True if the object becomes part of another object and its device code must not be linked again.
    relocatable: bool,
    /// Symbols of HIP's fat binary for objects that register it by themselves.
    fat_binary_symbols: super::FatBinarySymbols,
}

impl<'data> WrapperBuilder<'data> {
    /// Creates a wrapper of no images yet for a host.
    pub fn new(kind: OffloadKind, host: Host) -> Self {
        WrapperBuilder {
            kind,
            host,
            triple: host.triple().to_owned(),
            images: Vec::new(),
            release: NEWEST,
            form: EmbeddedForm::OffloadBinary,
            large: LargeImages::Auto,
            format: WrapperFormat::Object,
            entries: Vec::new(),
            further_releases: Vec::new(),
            keep: Vec::new(),
            keep_entries: false,
            fat_binary: None,
            relocatable: false,
            fat_binary_symbols: super::FatBinarySymbols::default(),
        }
    }

    /// Like [`Self::new`], for the host of a triple. LLVM IR states the triple as it is written here.
    pub fn for_triple(kind: OffloadKind, triple: &str) -> Result<Self, HostError> {
        Ok(WrapperBuilder { triple: triple.to_owned(), ..Self::new(kind, triple.parse()?) })
    }

    /// Creates a wrapper for IR. Its triple may be any of a known architecture, and it cannot write objects.
    pub(crate) fn for_any_host(kind: OffloadKind, triple: &str) -> Result<Self, HostError> {
        match Self::for_triple(kind, triple) {
            Err(_) if names_architecture(triple) => {
                Ok(WrapperBuilder { triple: triple.to_owned(), ..Self::new(kind, Host::X86_64) })
            }
            result => result,
        }
    }

    /// Registers a fat binary of CUDA or HIP in place of images.
    pub(crate) fn with_fat_binary(self, content: Content<'data>) -> Self {
        WrapperBuilder { fat_binary: Some(content), ..self }
    }

    /// Defines the symbols that objects use to register HIP's fat binary themselves.
    pub(crate) fn with_fat_binary_symbols(self, fat_binary_symbols: super::FatBinarySymbols) -> Self {
        WrapperBuilder { fat_binary_symbols, ..self }
    }

    /// Writes an object for a relocatable link.
    pub(crate) fn for_relocatable_link(self) -> Self {
        WrapperBuilder { relocatable: true, ..self }
    }

    /// Adds an image; `name` is its name in messages. The runtime sees the images in the order of these calls.
    pub fn image(&mut self, name: &'data (impl AsRef<Path> + ?Sized), bytes: &'data [u8]) -> &mut Self {
        self.image_for(name, View::new(bytes), TargetOverride::default())
    }

    /// Adds an image, with properties that its header does not have.
    pub fn image_for(
        &mut self,
        name: &'data (impl AsRef<Path> + ?Sized),
        view: View<'data>,
        target: TargetOverride,
    ) -> &mut Self {
        self.images.push(SourceImage { path: name.as_ref(), view, target });
        self
    }

    /// Writes the output. Large images are written directly from the slices that were passed to
    /// [`WrapperBuilder::image`].
    pub fn write_to(&self, output: &mut impl Write) -> Result<(), WrapError> {
        if self.format == WrapperFormat::Text {
            let (plan, _) = self.plan()?;
            return Ok(host::write_text(&plan, &self.triple, output)?);
        }
        let mut sink = Sink::new([]).with_slices(self.images.iter().map(|image| image.view.data()));
        self.emit(&mut sink)?;
        Ok(sink.copy_to(output)?)
    }

    /// Emits the output into a sink, which refers to the images of its inputs instead of copying them, except in text.
    /// Returns whether the images are among the large sections.
    pub(crate) fn emit(&self, sink: &mut Sink) -> Result<bool, WrapError> {
        let (plan, large) = self.plan()?;
        match self.format {
            WrapperFormat::Object => host::emit(&plan, self.host, sink)?,
            WrapperFormat::Bitcode => host::emit_bitcode(&plan, &self.triple, sink),
            WrapperFormat::Text => host::write_text(&plan, &self.triple, sink)?,
        }
        Ok(large)
    }

    fn plan(&self) -> Result<(ObjectPlan<'data>, bool), WrapError> {
        let images = self.embed()?;
        let size: u64 = images.iter().map(|image| image.content.size()).sum();
        let has_large_sections = self.host.format() == ObjectFormat::Elf;
        let large = match (self.large, self.format) {
            (LargeImages::Always, WrapperFormat::Object) if !has_large_sections => {
                return Err(WrapError::NoLargeSections { host: self.triple.clone() });
            }
            (LargeImages::Always, WrapperFormat::Object) => true,
            (LargeImages::Auto, WrapperFormat::Object) => has_large_sections && size >= LARGE,
            (LargeImages::Never, WrapperFormat::Object) => false,
            (LargeImages::Always, WrapperFormat::Bitcode | WrapperFormat::Text) => {
                return Err(WrapError::LargeImagesInIr);
            }
            (LargeImages::Auto | LargeImages::Never, WrapperFormat::Bitcode | WrapperFormat::Text) => false,
        };
        if let Some(name) = duplicate(&self.entries) {
            return Err(WrapError::DuplicateEntry { name });
        }
        let mut names = self
            .entries
            .iter()
            .flat_map(|entry| [Some(&entry.name), Some(&entry.host_symbol), entry.aux_symbol.as_ref()]);
        if let Some(name) = names.find_map(|name| name.filter(|name| name.contains('\0'))) {
            return Err(WrapError::NulInName { name: name.clone() });
        }
        let request = self.request(images, large)?;
        let plan = plan(request).ok_or_else(|| {
            let available = Release::wrapping(self.kind).join(", ");
            WrapError::UnsupportedKind { abi: self.release.name, kind: self.kind.name(), available }
        })?;
        Ok((plan, large))
    }

    /// Returns the request for a plan, or an error if the release has no objects of the host's format.
    fn request(&self, images: Vec<EmbeddedImage<'data>>, large: bool) -> Result<Request<'data>, WrapError> {
        let format = self.host.format();
        if !supports_format(&self.release.wrapper, format) {
            let is_available = |abi: &WrapperAbi| supports_format(abi, format) && abi.supports(self.kind);
            let available = Release::names_where(|release| is_available(&release.wrapper)).join(", ");
            let host = self.triple.clone();
            return Err(WrapError::UnsupportedHost { abi: self.release.name, host, available });
        }
        let keep = match format {
            ObjectFormat::Elf => self.keep.clone(),
            // Linkers for Windows remove sections of unused functions and variables only if they are marked as such,
            // and the entries are not.
            ObjectFormat::Coff => Vec::new(),
            // Clang marks the entries so that `-dead_strip` keeps them.
            ObjectFormat::MachO => Vec::new(),
        };
        Ok(Request {
            kind: self.kind,
            abi: self.release.wrapper,
            format,
            kind_number: self.release.kinds.number(self.kind),
            further_releases: self.further_releases.clone(),
            images,
            entries: self.entries.clone(),
            keep,
            keep_entries: self.keep_entries,
            large,
            relocatable: self.relocatable,
            fat_binary_symbols: self.fat_binary_symbols.clone(),
        })
    }

    fn embed(&self) -> Result<Vec<EmbeddedImage<'data>>, WrapError> {
        if let Some(content) = self.fat_binary.clone() {
            return Ok(vec![EmbeddedImage { image: 0..content.size(), content, ..Default::default() }]);
        }
        if matches!(self.kind, OffloadKind::Cuda | OffloadKind::Hip) {
            let raw = self.form != EmbeddedForm::OffloadBinary;
            return Ok(vec![fat_binary(&self.images, self.kind, raw, &self.triple)?]);
        }
        let form = match (self.form, self.release.wrapper.images) {
            (EmbeddedForm::OffloadBinary, ImageSection::Rodata) => EmbeddedForm::Raw,
            (form, _) => form,
        };
        let is_together = self.kind == OffloadKind::Sycl
            && self.release.wrapper.sycl == Some(SyclAbi::OffloadBinaries)
            && (form == EmbeddedForm::OffloadBinary || self.images.iter().all(SourceImage::is_offload_binary));
        if is_together {
            let version = self.release.packager.version;
            return Ok(vec![embedded::embed_together(&self.images, self.kind, version)?]);
        }
        let mut images = Vec::new();
        for source in &self.images {
            images.extend(embedded::embed(source, self.kind, form, self.release.packager.version)?);
        }
        Ok(images)
    }
}

/// Returns whether objects of a release in a format can be linked.
fn supports_format(abi: &WrapperAbi, format: ObjectFormat) -> bool {
    match format {
        ObjectFormat::Elf => true,
        ObjectFormat::Coff => abi.coff.is_some(),
        // LLVM 22 and earlier write no objects for macOS at all: sections of ELF are invalid there. The objects of
        // main, with entries of 56 bytes in one section, serve every release that has such entries.
        ObjectFormat::MachO => abi.one_entry_section,
    }
}

/// Returns the first name that two entries share.
fn duplicate(entries: &[OffloadEntry]) -> Option<String> {
    let mut names = HashSet::new();
    entries.iter().find(|entry| !names.insert(entry.name.as_str())).map(|entry| entry.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_same_object_to_a_writer_as_to_a_file() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-gfx90a.hsaco");
        let input = fatbin_core::base::io::Input::open(path, fatbin_core::base::io::Access::read()).unwrap();
        let mut wrapper = WrapperBuilder::new(OffloadKind::OpenMp, Host::X86_64);
        wrapper.image(path, input.view().data());
        let mut bytes = Vec::new();
        wrapper.write_to(&mut bytes).unwrap();

        let mut sink = Sink::new([&input]);
        wrapper.emit(&mut sink).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("wrapped.o");
        let mut output = fatbin_core::base::io::Output::create(
            fatbin_core::base::io::FileSet::new().output(&file, fatbin_core::base::io::OutputKind::Code).unwrap(),
        )
        .unwrap();
        sink.write_to(&mut output).unwrap();
        output.commit([&input]).unwrap();
        assert!(std::fs::read(file).unwrap() == bytes);
    }

    #[test]
    fn reports_an_image_by_its_name() {
        let mut wrapper = WrapperBuilder::new(OffloadKind::OpenMp, Host::X86_64);
        wrapper.image("nothing", b"");
        let error = wrapper.write_to(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "nothing: device image is empty");
    }
}
