//! Writes the objects that register linked device images, and the fat binaries in these objects.

use std::io::{Seek, Write};
use std::path::PathBuf;

use super::bundled::HipSymbols;
use super::device_code::OldHip;
use super::error::{LinkError, Result};
use super::event::LinkEvent;
use super::files::Files;
use super::host_entries::{HostEntries, KindEntries};
use super::linked_image::{ImageBytes, LinkedImage};
use super::options::{LinkOptions, Spelling};
use crate::embed::wrap::{FatBinarySymbols, SourceImage, TargetOverride, WrapError, WrapperBuilder, WrapperFormat};
use fatbin_core::base::bytes::View;
use fatbin_core::base::content::Content;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{Access, FileSet, Input, Output, OutputKind, Sink};
use fatbin_core::format::offload_binary::{self, OffloadBinaryImage, image_kind};
use fatbin_core::format::{bundle, ccob, cuda_fatbin};
use fatbin_core::target::{OffloadKind, compatibility, nvptx};

/// What the host objects state about the registration of their device code.
#[derive(Debug, Clone, Copy)]
pub struct HostCode<'a> {
    /// Their offload entries.
    pub entries: &'a HostEntries,
    /// Registration by objects of the old offload driver.
    pub old_hip: &'a OldHip,
}

/// Writes the object that registers the images of a kind, and returns its path.
pub fn write_object(
    kind: OffloadKind,
    images: &[LinkedImage<'_>],
    host: &HostCode<'_>,
    options: &LinkOptions,
    files: &mut Files,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<PathBuf> {
    let fat_binary = fat_binary(kind, images, options, files, report)?;
    let path = files.of_output(&format!("{}.image.wrapper.o", kind.name()));
    report(&LinkEvent::Wrapper { kind, images, path: &path });
    if options.reports_ir {
        let mut wrapper = wrapper(kind, images, fat_binary.as_ref(), host, options)?;
        wrapper.format = WrapperFormat::Text;
        let mut ir = Vec::new();
        wrapper.write_to(&mut ir)?;
        report(&LinkEvent::Ir(&String::from_utf8_lossy(&ir)));
    }
    if options.is_dry_run {
        return Ok(path);
    }
    let inputs = || images.iter().filter_map(input).chain(fat_binary.as_ref().and_then(FatBinary::input));
    let mut sink = Sink::new(inputs());
    wrapper(kind, images, fat_binary.as_ref(), host, options)?.emit(&mut sink)?;
    files.write(&path, &sink, inputs())?;
    Ok(path)
}

/// Writer of the object that registers images.
fn wrapper<'a>(
    kind: OffloadKind,
    images: &'a [LinkedImage<'_>],
    fat_binary: Option<&'a FatBinary<'_>>,
    host: &HostCode<'_>,
    options: &LinkOptions,
) -> Result<WrapperBuilder<'a>> {
    let mut wrapper = WrapperBuilder::for_triple(kind, &options.host).map_err(WrapError::from)?;
    let KindEntries { releases, symbols, .. } = host.entries.of(kind);
    if let Some((newest, further)) = releases.split_last() {
        wrapper.release = *newest;
        wrapper.further_releases = further.to_vec();
    }
    if options.spelling == Spelling::AsWritten {
        wrapper.keep = symbols;
    }
    if options.line.is_relocatable() {
        wrapper = wrapper.for_relocatable_link();
    }
    if kind == OffloadKind::Hip {
        let HipSymbols { fat_binaries, handles } = host.old_hip.symbols.clone();
        let symbols = FatBinarySymbols { fat_binaries, handles, is_alone: host.old_hip.is_alone };
        wrapper = wrapper.with_fat_binary_symbols(symbols);
    }
    match fat_binary {
        Some(content) => wrapper = wrapper.with_fat_binary(content.content()),
        None if matches!(kind, OffloadKind::Cuda | OffloadKind::Hip) => {
            wrapper = wrapper.with_fat_binary(Content::new());
        }
        None => wrapper.images = images.iter().map(source).collect(),
    }
    Ok(wrapper)
}

/// Placeholder for an image that a dry run does not link.
const PLACEHOLDER: &[u8] = &[0];

fn source<'a>(image: &'a LinkedImage<'_>) -> SourceImage<'a> {
    // clang-sycl-linker writes offload binaries. They state the targets of their images.
    let target = if image.kinds.contains(&OffloadKind::Sycl) && image.bytes.is_some() {
        TargetOverride::default()
    } else {
        TargetOverride { triple: Some(image.triple.to_owned()), arch: Some(image.arch.to_owned()) }
    };
    let view = image.bytes.as_ref().map_or(View::new(PLACEHOLDER), ImageBytes::view);
    SourceImage { path: &image.path, view, target }
}

fn input<'a>(image: &'a LinkedImage<'_>) -> Option<&'a Input> {
    image.bytes.as_ref().map(ImageBytes::input)
}

/// A fat binary of CUDA or HIP.
enum FatBinary<'data> {
    /// Parts in the images, and between them.
    Parts(Content<'data>),
    /// Compressed.
    File(Input),
}

impl FatBinary<'_> {
    fn content(&self) -> Content<'_> {
        match self {
            FatBinary::Parts(content) => content.clone(),
            FatBinary::File(input) => Content::from(input.view().data()),
        }
    }

    fn input(&self) -> Option<&Input> {
        match self {
            FatBinary::Parts(_) => None,
            FatBinary::File(input) => Some(input),
        }
    }
}

/// Fat binary of a kind, if the kind has one. It is written to a file only if files are kept.
fn fat_binary<'data>(
    kind: OffloadKind,
    images: &'data [LinkedImage<'_>],
    options: &LinkOptions,
    files: &mut Files,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<Option<FatBinary<'data>>> {
    let extension = match kind {
        OffloadKind::Hip => "hipfb",
        OffloadKind::Cuda => "fatbin",
        OffloadKind::OpenMp | OffloadKind::Sycl | OffloadKind::Musa | OffloadKind::Host => return Ok(None),
    };
    let path = files.of_output(extension);
    report(&LinkEvent::FatBinary { kind, images, path: &path });
    if kind == OffloadKind::Hip && options.rejects_conflicts {
        check_targets(images, options)?;
    }
    if options.is_dry_run {
        return Ok(None);
    }
    let content = match kind {
        OffloadKind::Hip => hip_bundle(images, options)?,
        _ => cuda_fat_binary(images)?,
    };
    let fat_binary = match if kind == OffloadKind::Hip { options.compression } else { None } {
        None => FatBinary::Parts(content),
        Some((how, version)) => {
            let whole = Input::from_temp_file(&path, &std::env::temp_dir(), Access::read(), |file| {
                // The header states the size of the stream, so it is written at the end.
                file.write_all(&vec![0; version.header_size() as usize])?;
                let compressed = ccob::compress(&content, how, version, &mut *file, &mut |_| ());
                file.rewind()?;
                file.write_all(&compressed.map_err(std::io::Error::other)?.header)
            })?;
            FatBinary::File(whole)
        }
    };
    if options.keeps_files {
        files.write_content(&path, &fat_binary.content(), || {
            images.iter().filter_map(input).chain(fat_binary.input())
        })?;
    }
    Ok(Some(fat_binary))
}

/// Writes the fat binary of a kind as the output.
pub fn write_fat_binary(
    kind: OffloadKind,
    images: &[LinkedImage<'_>],
    options: &LinkOptions,
    files: &mut Files,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<()> {
    let fat_binary = fat_binary(kind, images, options, files, report)?;
    let content = match &fat_binary {
        Some(fat_binary) => fat_binary.content(),
        None if options.is_dry_run => return Ok(()),
        None => offload_binaries(kind, images, options)?,
    };
    let inputs = || images.iter().filter_map(input).chain(fat_binary.as_ref().and_then(FatBinary::input));
    if options.is_dry_run {
        return Ok(());
    }
    let place = FileSet::of_inputs(inputs()).output(options.output(), OutputKind::Code)?;
    let mut sink = Sink::new(inputs());
    content.runs().for_each(|run| sink.push(run));
    let mut output = Output::create(place)?;
    sink.write_to(&mut output)?;
    Ok(output.commit(inputs())?)
}

/// Rejects conflicting images: one sets a feature of the processor that another leaves open, and both serve one device.
fn check_targets(images: &[LinkedImage<'_>], options: &LinkOptions) -> Result<()> {
    let ids: Vec<String> = images.iter().map(|image| image.hip_id(options)).collect::<Result<_>>()?;
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    match compatibility::conflicting_entries(&ids) {
        Some((one, other)) => Err(LinkError::ConflictingTargets { one, other }),
        None => Ok(()),
    }
}

/// Bundle with an empty entry for the host in front.
fn hip_bundle<'data>(images: &'data [LinkedImage<'_>], options: &LinkOptions) -> Result<Content<'data>> {
    let rules = options.release.linker;
    let id = |image: &LinkedImage<'_>| image.hip_id(options);
    let ids: Vec<String> = images.iter().map(id).collect::<Result<_>>()?;
    let mut entries: Vec<(&str, &[u8])> = vec![(rules.host_id, &[])];
    entries.extend(ids.iter().map(String::as_str).zip(images.iter().map(bytes)));
    bundle::write(&entries, bundle::HIP_ALIGNMENT).ok_or_else(|| too_large(images))
}

fn bytes<'a>(image: &'a LinkedImage<'_>) -> &'a [u8] {
    image.bytes.as_ref().map_or(&[], |bytes| bytes.view().data())
}

fn cuda_fat_binary<'data>(images: &'data [LinkedImage<'_>]) -> Result<Content<'data>> {
    let mut members = Vec::new();
    for image in images {
        // A cubin cannot record that it is for a family.
        let suffix = nvptx::Arch::parse(image.arch).and_then(|arch| arch.suffix);
        let member = cuda_fatbin::FatbinImage::new(View::new(bytes(image)), suffix);
        members.push(member.map_err(|malformed| malformed.in_file(&image.path))?);
    }
    cuda_fatbin::write(&members).ok_or_else(|| too_large(images))
}

/// One offload binary for each image.
fn offload_binaries<'data>(
    kind: OffloadKind,
    images: &'data [LinkedImage<'_>],
    options: &LinkOptions,
) -> Result<Content<'data>> {
    let strings: Vec<[(&str, &str); 2]> =
        images.iter().map(|image| [("arch", image.arch), ("triple", image.triple)]).collect();
    let members: Vec<OffloadBinaryImage<'_, '_>> = images
        .iter()
        .zip(&strings)
        .map(|(image, strings)| OffloadBinaryImage {
            image_kind: image_kind::OBJECT,
            offload_kind: options.release.kinds.number(kind),
            flags: 0,
            strings,
            image: bytes(image),
        })
        .collect();
    let written = offload_binary::write(options.release.packager.version, &members);
    written.map(|written| written.content).ok_or_else(|| too_large(images))
}

fn too_large(images: &[LinkedImage<'_>]) -> LinkError {
    let path = images.first().map(|image| image.path.clone()).unwrap_or_default();
    Error::TooLarge { path }.into()
}
