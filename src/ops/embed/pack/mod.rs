//! `pack`: combines device images in an offload binary.

pub mod fat_binary;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::embed::llvm::Release;
use crate::embed::wrap::{ImageError, TargetOverride, spirv_triple};
use fatbin_core::base::codec::Compression;
use fatbin_core::base::content::Content;
use fatbin_core::base::error::{Error, Result};
use fatbin_core::base::io::{Access, FileSet, Input, Output, OutputKind, Sink};
use fatbin_core::format::offload_binary::{self, OffloadBinaryImage, Version, image_kind};
use fatbin_core::format::{self, DeviceImage, ImageKind};
use fatbin_core::target::{IdStyle, UnsupportedStyle, subarch, triple};

/// Options for writing an offload binary.
#[derive(Debug, Clone)]
pub struct PackOptions {
    /// Version of the format.
    pub version: Version,
    /// Compression, which requires [`Version::Three`].
    pub compression: Option<Compression>,
    /// File to write.
    pub output: PathBuf,
}

/// An image and its properties.
#[derive(Debug)]
pub struct PackInput {
    /// The image.
    pub input: Input,
    /// Form of the image, see [`image_kind`].
    pub image_kind: u16,
    /// Offload kind, see [`fatbin_core::target::OffloadKind::bit`].
    pub offload_kind: u16,
    /// Flags, see [`offload_binary::flag`].
    pub flags: u32,
    /// Keys and values, in the order of the output.
    pub strings: Vec<(String, String)>,
}

impl PackInput {
    /// Identifies an image by its content and adds the strings that the user specifies. A triple and an arch that are
    /// not specified are read from the image; specified ones must not contradict it.
    pub fn read(input: Input, strings: Vec<(String, String)>, version: Version) -> Result<PackInput, ImageError> {
        match PackInput::identify(&input, strings, version) {
            Ok((image_kind, strings)) => Ok(PackInput { input, image_kind, offload_kind: 0, flags: 0, strings }),
            // A file that is overwritten while it is read has any content.
            Err(error) => Err(input.check_unchanged().err().map_or(error, ImageError::from)),
        }
    }

    /// Returns the image kind and the strings of an image.
    fn identify(
        input: &Input,
        strings: Vec<(String, String)>,
        version: Version,
    ) -> Result<(u16, Vec<(String, String)>), ImageError> {
        let view = input.view();
        let path = input.path();
        let own = DeviceImage::identify(view);
        match own.image_kind {
            ImageKind::Empty => return Err(ImageError::Empty { path: path.to_owned() }),
            ImageKind::Elf => format::check_elf(view).map_err(|malformed| malformed.in_file(path))?,
            _ => {}
        }
        let specified = |key: &str| strings.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
        let target = TargetOverride { triple: specified("triple"), arch: specified("arch") };
        target.check_against(&own, path)?;
        target.check_existence(&own, path)?;
        let image_kind = image_kind_of(&own, path, version);
        let implied = spirv_triple(view, &own, None).map(Cow::Borrowed);
        let mut strings = strings;
        if let (None, Some(arch)) = (&target.arch, own.arch) {
            strings.push(("arch".to_owned(), arch));
        }
        if target.triple.is_none() {
            let triple = own.triple.or(implied).ok_or_else(|| ImageError::without_triple(path, own.image_kind))?;
            strings.push(("triple".to_owned(), triple.into_owned()));
        }
        Ok((image_kind, strings))
    }

    /// Spells the triple in a style.
    pub fn spell_triple(&mut self, style: IdStyle) -> Result<(), UnsupportedStyle> {
        let value = |key: &str| self.strings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        let Some(triple) = value("triple") else { return Ok(()) };
        let arch = subarch::stated_arch(triple, value("arch")).map(str::to_owned);
        let spelled = style.triple(triple, arch.as_deref())?.into_owned();
        let has_arch = value("arch").is_some();
        for (_, value) in self.strings.iter_mut().filter(|(key, _)| key == "triple") {
            value.clone_from(&spelled);
        }
        // The triple no longer states the processor.
        if let (IdStyle::Legacy, false, Some(arch)) = (style, has_arch, arch) {
            self.strings.push(("arch".to_owned(), arch));
        }
        Ok(())
    }
}

/// Returns the image kind by content or, where that does not determine it, by file name extension, as LLVM's tools do.
fn image_kind_of(own: &DeviceImage, path: &Path, version: Version) -> u16 {
    match own.image_kind {
        ImageKind::Elf if own.triple.as_deref() == Some(triple::NVPTX64) => image_kind::CUBIN,
        ImageKind::SpirV if version > Version::One => image_kind::SPIRV,
        kind => match offload_binary::image_kind_of(kind) {
            image_kind::NONE => offload_binary::image_kind_of_file(path),
            known => known,
        },
    }
}

/// Writes an offload binary. The images are copied without being read, unless the binary is compressed.
pub fn pack(images: &[PackInput], options: &PackOptions) -> Result<()> {
    let files = FileSet::of_inputs(images.iter().map(|image| &image.input));
    pack_into(Output::create(files.output(&options.output, OutputKind::Code)?)?, images, options)
}

/// Returns the version of the format that a release writes, compressed or not.
pub fn format_version(release: Release, compression: Option<Compression>) -> Version {
    if compression.is_some() { Version::Three } else { release.packager.version }
}

/// Returns an offload binary.
pub fn pack_to_vec(images: &[PackInput], options: &PackOptions) -> Result<Vec<u8>> {
    let content = content(images, options)?;
    let Some(how) = options.compression else { return Ok(content.to_vec()) };
    let mut stream = Vec::new();
    let compressed = offload_binary::compress(&content, how, &mut stream);
    let (header, padding) = compressed.map_err(Error::io(&options.output, "compress"))?;
    Ok([header, stream, padding].concat())
}

/// Returns the uncompressed binary.
fn content<'data>(images: &'data [PackInput], options: &PackOptions) -> Result<Content<'data>> {
    let strings: Vec<Vec<(&str, &str)>> = images
        .iter()
        .map(|image| image.strings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
        .collect();
    let members: Vec<OffloadBinaryImage> = images
        .iter()
        .zip(&strings)
        .map(|(image, strings)| OffloadBinaryImage {
            image_kind: image.image_kind,
            offload_kind: image.offload_kind,
            flags: image.flags,
            strings,
            image: image.input.view().data(),
        })
        .collect();
    let path = &options.output;
    // Without images nothing is written.
    if !members.is_empty() {
        offload_binary::check(options.version, &members)
            .map_err(|malformed| Error::UnreadableOutput { path: path.clone(), malformed })?;
    }
    let too_large = || Error::TooLarge { path: options.output.clone() };
    Ok(offload_binary::write(options.version, &members).ok_or_else(too_large)?.content)
}

/// Like [`pack`], into an output that already exists.
pub fn pack_into(mut output: Output, images: &[PackInput], options: &PackOptions) -> Result<()> {
    let content = content(images, options)?;
    match options.compression {
        None => {
            let mut sink = Sink::new(images.iter().map(|image| &image.input));
            content.runs().for_each(|run| sink.push(run));
            sink.write_to(&mut output)?;
        }
        Some(how) => {
            let mut around = None;
            // The header states the compressed size, and an output is not necessarily seekable.
            let stream = Input::from_temp_file(&options.output, &output.directory(), Access::read(), |file| {
                around = Some(offload_binary::compress(&content, how, file)?);
                Ok(())
            })?;
            let (header, padding) = around.expect("the closure has run");
            let mut sink = Sink::new([&stream]);
            sink.push(&header);
            sink.push(stream.view().data());
            sink.push(&padding);
            sink.write_to(&mut output)?;
        }
    }
    output.commit(images.iter().map(|image| &image.input))
}
