//! Content to embed for each image: its bytes, its properties, and the container that lets other tools list it.

use std::ops::Range;
use std::path::Path;

use super::error::ImageError;
use fatbin_core::base::bytes::View;
use fatbin_core::base::content::Content;
use fatbin_core::format::offload_binary::{
    self, OffloadBinary, OffloadBinaryContents, OffloadBinaryEntry, OffloadBinaryImage, OffloadBinaryOutput, Version,
};
use fatbin_core::format::{self, DeviceImage, ImageKind, WrapInput, spirv};
use fatbin_core::host::rewrite::openmp_notes;
use fatbin_core::target::{OffloadKind, Platform, TargetId, nvptx, triple};

/// Result of preparing an image.
type Result<T, E = ImageError> = std::result::Result<T, E>;

/// Properties of an image that the user specified. The others are read from the image's own header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct TargetOverride {
    /// Target triple.
    pub triple: Option<String>,
    /// Processor, with features or suffix.
    pub arch: Option<String>,
}

impl TargetOverride {
    /// Creates it from the properties that are not read from the image.
    pub fn new(triple: Option<String>, arch: Option<String>) -> Self {
        TargetOverride { triple, arch }
    }
}

/// An image to wrap.
#[derive(Debug, Clone)]
pub struct SourceImage<'data> {
    /// File of the image, or another name for messages.
    pub path: &'data Path,
    /// Bytes of the image, or of the container that holds several.
    pub view: View<'data>,
    /// Properties that the user specified.
    pub target: TargetOverride,
}

impl SourceImage<'_> {
    /// Returns whether it is a file of offload binaries.
    pub(super) fn is_offload_binary(&self) -> bool {
        self.view.starts_with(&offload_binary::MAGIC)
    }
}

/// Bytes to embed, the range of the image in them, and its properties; unknown properties are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbeddedImage<'data> {
    /// Image, and what surrounds it.
    pub content: Content<'data>,
    /// Range of the image in `content`, in bytes.
    pub image: Range<u64>,
    /// Target triple.
    pub triple: String,
    /// Processor.
    pub arch: String,
    /// Kind of the image as an offload binary records it, see [`offload_binary::image_kind`].
    pub image_kind: u16,
    /// Options of the compiler, from an offload binary.
    pub compile_options: String,
    /// Options of the device linker, from an offload binary.
    pub link_options: String,
    /// Names of the kernels, where the surrounding offload binary lists them.
    pub symbols: Vec<String>,
}

/// Form of the embedded images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbeddedForm {
    /// Inside an offload binary.
    OffloadBinary,
    /// Unchanged, with nothing around it.
    Raw,
    /// With nothing around it, but with ELF notes in it that name its producer.
    RawWithNotes,
}

/// Prepares one input: one image, or each image of a file of offload binaries, which are embedded unchanged.
pub(super) fn embed<'data>(
    source: &SourceImage<'data>,
    kind: OffloadKind,
    form: EmbeddedForm,
    version: Version,
) -> Result<Vec<EmbeddedImage<'data>>> {
    if source.view.size() == 0 {
        return Err(ImageError::Empty { path: source.path.to_owned() });
    }
    let Some(format) = format::of_magic(source.view) else {
        return embed_image(source, kind, form, version).map(|image| vec![image]);
    };
    match format.container_type.descriptor().wrap_input {
        WrapInput::EmbedEntries => embed_offload_binaries(source, kind, version),
        WrapInput::FatBinary => {
            let container = format.container_type.name();
            let path = source.path.to_owned();
            let found = format!("a container of device images ({container})");
            Err(ImageError::NotADeviceImage { path, found, remedy: "extract its images and specify those" })
        }
        WrapInput::Image => embed_image(source, kind, form, version).map(|image| vec![image]),
    }
}

/// Checks that a file has device code, if the user states a GPU: code for other targets may have any format.
pub(super) fn check_content(source: &SourceImage<'_>) -> Result<()> {
    let TargetOverride { triple, arch } = &source.target;
    let platform = Platform::of(triple.as_deref(), arch.as_deref()).filter(|it| *it != Platform::Host);
    match platform {
        Some(platform) if DeviceImage::identify(source.view).image_kind == ImageKind::Unknown => {
            Err(ImageError::UnknownContent { path: source.path.to_owned(), platform: Some(platform.name()) })
        }
        _ => Ok(()),
    }
}

fn embed_image<'data>(
    source: &SourceImage<'data>,
    kind: OffloadKind,
    form: EmbeddedForm,
    version: Version,
) -> Result<EmbeddedImage<'data>> {
    let path = source.path;
    let view = source.view;
    let own = DeviceImage::identify(view);
    format::check_image_file(own.image_kind, view).map_err(|malformed| malformed.in_file(path))?;
    match form {
        EmbeddedForm::Raw => check_code(&own, path)?,
        EmbeddedForm::OffloadBinary | EmbeddedForm::RawWithNotes => {
            source.target.check_against(&own, path)?;
            source.target.check_existence(&own, path)?;
        }
    }
    let stated = source.target.triple.as_deref().or(own.triple.as_deref());
    let triple = stated.or_else(|| spirv_triple(view, &own, Some(kind)));
    let arch = source.target.arch.as_deref().or(own.arch.as_deref()).unwrap_or_default();
    let image_kind = offload_binary::image_kind_of(own.image_kind);
    let (content, image) = match form {
        EmbeddedForm::Raw => (Content::from(view.data()), 0..view.size()),
        EmbeddedForm::RawWithNotes => {
            let noted = openmp_notes::add(view, env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
            let noted = noted.map_err(|malformed| malformed.in_file(path))?;
            let size = noted.size();
            (noted, 0..size)
        }
        EmbeddedForm::OffloadBinary => {
            let triple = triple.ok_or_else(|| ImageError::without_triple(path, own.image_kind))?;
            // Both are always present, in the order of clang-offload-wrapper of LLVM 15. clang-linker-wrapper has the other
            // order, and runtimes look strings up by their keys.
            let strings = [("arch", arch), ("triple", triple)];
            let image = view.data();
            let member =
                OffloadBinaryImage { image_kind, offload_kind: kind.bit(), flags: 0, strings: &strings, image };
            write_binary(version, &member, path)?
        }
    };
    let triple = triple.unwrap_or_default().to_owned();
    let arch = arch.to_owned();
    Ok(EmbeddedImage { content, image, triple, arch, image_kind, ..Default::default() })
}

fn embed_offload_binaries<'data>(
    source: &SourceImage<'data>,
    kind: OffloadKind,
    version: Version,
) -> Result<Vec<EmbeddedImage<'data>>> {
    let mut images = Vec::new();
    for binary in read_offload_binaries(source)? {
        for entry in binary.entries().iter().filter(|entry| !entry.is_metadata(binary.version)) {
            images.push(embed_entry(&binary, entry, kind, version, source.path)?);
        }
    }
    Ok(images)
}

fn read_offload_binaries<'data>(source: &SourceImage<'data>) -> Result<Vec<OffloadBinary<'data>>> {
    let path = source.path;
    source.target.reject_for_container(path)?;
    let mut binaries = Vec::new();
    let mut rest = source.view;
    while rest.size() > 0 {
        let binary = OffloadBinary::read(rest).map_err(|malformed| malformed.in_file(path))?;
        if let OffloadBinaryContents::Compressed(_) = binary.contents {
            let path = path.to_owned();
            let found = "a compressed offload binary, which no runtime reads".to_owned();
            return Err(ImageError::NotADeviceImage { path, found, remedy: "extract its images and specify those" });
        }
        rest = rest.from(binary.view.size());
        binaries.push(binary);
    }
    Ok(binaries)
}

/// Prepares all inputs as one offload binary, which the runtime gets as a whole. A file of one binary is embedded
/// unchanged.
pub(super) fn embed_together<'data>(
    sources: &[SourceImage<'data>],
    kind: OffloadKind,
    version: Version,
) -> Result<EmbeddedImage<'data>> {
    let mut binaries = Vec::new();
    let mut images = Vec::new();
    for source in sources {
        if source.is_offload_binary() {
            binaries.extend(read_offload_binaries(source)?.into_iter().map(|binary| (source.path, binary)));
            continue;
        }
        let image = embed_image(source, kind, EmbeddedForm::Raw, version)?;
        if image.triple.is_empty() {
            let kind = DeviceImage::identify(source.view).image_kind;
            return Err(ImageError::without_triple(source.path, kind));
        }
        images.push((source, image));
    }
    let mut members = members_of(&binaries, kind)?;
    let content = if let ([(_, binary)], []) = (binaries.as_slice(), images.as_slice()) {
        Content::from(binary.view.data())
    } else {
        let strings: Vec<[(&str, &[u8]); 2]> = images
            .iter()
            .map(|(_, image)| [("arch", image.arch.as_bytes()), ("triple", image.triple.as_bytes())])
            .collect();
        members.extend(images.iter().zip(&strings).map(|((source, image), strings)| OffloadBinaryImage {
            image_kind: image.image_kind,
            offload_kind: kind.bit(),
            flags: 0,
            strings,
            image: source.view.data(),
        }));
        let path = sources.first().map(|source| source.path.to_owned()).unwrap_or_default();
        offload_binary::write(version, &members).ok_or(ImageError::TooLarge { path })?.content
    };
    Ok(EmbeddedImage { image: 0..content.size(), content, ..Default::default() })
}

/// Returns the entries of binaries, after checking that their images are for a kind.
fn members_of<'a, 'data>(
    binaries: &'a [(&Path, OffloadBinary<'data>)],
    kind: OffloadKind,
) -> Result<Vec<OffloadBinaryImage<'a, 'data, &'data [u8]>>> {
    let mut members = Vec::new();
    for (path, binary) in binaries {
        for entry in binary.entries() {
            if !entry.is_metadata(binary.version) {
                check_entry(entry, kind, path)?;
            }
            members.push(entry.member());
        }
    }
    Ok(members)
}

/// Checks that an entry has an image for a kind.
fn check_entry(entry: &OffloadBinaryEntry<'_>, kind: OffloadKind, path: &Path) -> Result<()> {
    // HIP had another number before LLVM 21.
    if OffloadKind::from_bit(entry.offload_kind) != Some(kind) {
        let found = match OffloadKind::from_bit(entry.offload_kind) {
            Some(kind) => kind.name().to_owned(),
            None => format!("offload kind {}", entry.offload_kind),
        };
        return Err(ImageError::KindMismatch { path: path.to_owned(), found, expected: kind.name() });
    }
    if entry.image.size() == 0 {
        return Err(ImageError::Empty { path: path.to_owned() });
    }
    Ok(())
}

fn embed_entry<'data>(
    binary: &OffloadBinary<'data>,
    entry: &OffloadBinaryEntry<'data>,
    kind: OffloadKind,
    version: Version,
    path: &Path,
) -> Result<EmbeddedImage<'data>> {
    check_entry(entry, kind, path)?;
    // The whole binary stays as it is if it has one image, which is so in version 1.
    let (content, image) = if binary.version == Version::One && version == Version::One {
        let start = entry.image.start() - binary.view.start();
        (Content::from(binary.view.data()), start..start + entry.image.size())
    } else {
        write_binary(version, &OffloadBinaryImage { flags: 0, ..entry.member() }, path)?
    };
    let text = |key| entry.string(key).unwrap_or_default().to_owned();
    Ok(EmbeddedImage {
        content,
        image,
        triple: text("triple"),
        arch: text("arch"),
        image_kind: entry.image_kind,
        compile_options: text("compile-opts"),
        link_options: text("link-opts"),
        symbols: entry.symbols().into_iter().map(str::to_owned).collect(),
    })
}

/// Writes a binary around one image; returns it and the range of the image in it. Runtimes up to LLVM 22 read version 1
/// only; clang-linker-wrapper 23.1.4 writes version 2.
fn write_binary<'data, Value: AsRef<[u8]>>(
    version: Version,
    member: &OffloadBinaryImage<'_, 'data, Value>,
    path: &Path,
) -> Result<(Content<'data>, Range<u64>)> {
    let written = offload_binary::write(version, std::slice::from_ref(member));
    let OffloadBinaryOutput { content, mut images } =
        written.ok_or_else(|| ImageError::TooLarge { path: path.to_owned() })?;
    Ok((content, images.remove(0)))
}

impl TargetOverride {
    /// Rejects any property for a container, whose entries have their own.
    pub(crate) fn reject_for_container(&self, path: &Path) -> Result<()> {
        for (property, value) in [("triple", &self.triple), ("arch", &self.arch)] {
            if let Some(value) = value.clone() {
                return Err(ImageError::OverriddenContainer { path: path.to_owned(), property, value });
            }
        }
        Ok(())
    }

    /// Checks that an image has code, and that the specified triple and processor do not contradict its header. The
    /// specified processor may add features or a suffix, which the header cannot record.
    pub(crate) fn check_against(&self, own: &DeviceImage, path: &Path) -> Result<()> {
        check_code(own, path)?;
        if let (Some(specified), Some(found)) = (&self.triple, &own.triple)
            && triple::contradict(specified, found)
        {
            let (specified, found) = (specified.clone(), found.to_string());
            return Err(ImageError::TripleMismatch { path: path.to_owned(), specified, found });
        }
        match (&self.arch, &own.arch) {
            (Some(specified), Some(found)) if !is_same_processor(specified, found) => {
                let path = path.to_owned();
                let specified = specified.clone();
                let found = found.clone();
                Err(ImageError::ArchMismatch { path, specified, found })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the processor of an image exists. No compiler takes `sm_89a`, and no driver finds code for it.
    pub(crate) fn check_existence(&self, own: &DeviceImage, path: &Path) -> Result<()> {
        let arch = self.arch.as_deref().or(own.arch.as_deref()).and_then(nvptx::Arch::parse);
        match arch.filter(|arch| !arch.may_exist()) {
            Some(arch) => Err(ImageError::NoSuchArch { path: path.to_owned(), arch: arch.to_string() }),
            None => Ok(()),
        }
    }
}

/// Checks that an image has code.
fn check_code(own: &DeviceImage, path: &Path) -> Result<()> {
    if own.image_kind == ImageKind::DebugElf {
        let path = path.to_owned();
        let found = "debug information without code".to_owned();
        return Err(ImageError::NotADeviceImage { path, found, remedy: "specify the file with the code" });
    }
    Ok(())
}

/// Returns the triple of SPIR-V by its memory model, as the runtime of a kind calls it; `None` for other images, which
/// state their own.
pub(crate) fn spirv_triple(view: View<'_>, own: &DeviceImage, kind: Option<OffloadKind>) -> Option<&'static str> {
    let by_model = if own.image_kind == ImageKind::SpirV { spirv::triple(view)? } else { return None };
    // The name that clang's -fopenmp-targets takes.
    let is_intel = kind == Some(OffloadKind::OpenMp) && triple::architecture(by_model) == Some("spirv64");
    Some(if is_intel { "spirv64-intel" } else { by_model })
}

fn is_same_processor(a: &str, b: &str) -> bool {
    match (nvptx::Arch::parse(a), nvptx::Arch::parse(b)) {
        (Some(a), Some(b)) => a.number == b.number,
        _ => match (TargetId::parse(a), TargetId::parse(b)) {
            (Ok(a), Ok(b)) => a.processor() == b.processor(),
            _ => a == b,
        },
    }
}
