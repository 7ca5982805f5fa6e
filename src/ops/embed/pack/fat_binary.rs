//! `pack --kind cuda`: combines cubins, PTX, LTO-IR and Tile IR in a CUDA fat binary.

use std::path::{Path, PathBuf};

use crate::embed::wrap::{ImageError, TargetOverride, describe};
use fatbin_core::base::codec::{Codec, Compression};
use fatbin_core::base::content::Content;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{FileSet, Input, Output, OutputKind, Sink};
use fatbin_core::format::cuda_fatbin::{
    FatbinImage, FatbinMember, WriteError, concatenate, kind, level, write_members,
};
use fatbin_core::format::{self, DeviceImage, ImageKind};
use fatbin_core::target::Platform;
use fatbin_core::target::nvptx::Arch;

/// Result of packing.
type Result<T, E = ImageError> = std::result::Result<T, E>;

/// Options for writing a CUDA fat binary.
#[derive(Debug, Clone)]
pub struct FatbinOptions {
    /// Compression of the images that are compressed as one (`fatbinary --concat`); `None` for a separate entry per
    /// image.
    pub concat: Option<Compression>,
    /// File to write.
    pub output: PathBuf,
}

/// An image and its properties.
#[derive(Debug)]
pub struct FatbinInput {
    /// The image.
    pub input: Input,
    /// What its entry states.
    pub properties: FatbinProperties,
}

/// Properties of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FatbinProperties {
    /// Architecture that the user specifies; an error if its number differs from the image's.
    pub arch: Option<String>,
    /// Identifier, usually the name of a source file; may be empty.
    pub identifier: String,
    /// Command-line options for the driver's compilation of PTX, LTO-IR or Tile IR; may be empty.
    pub options: String,
    /// True for code with debug information.
    pub has_debug: bool,
    /// Codec and level; `None` for an uncompressed entry.
    pub compression: Option<Compression>,
}

impl FatbinInput {
    /// Returns whether the image is LTO-IR, which cannot be compressed.
    pub fn is_lto_ir(&self) -> bool {
        DeviceImage::identify(self.input.view()).image_kind == ImageKind::Nvvm
    }

    fn member(&self) -> Result<FatbinMember<'_>> {
        let image = self.image()?;
        let path = || self.input.path().to_owned();
        let unsuitable =
            |found: &str, remedy| ImageError::NotADeviceImage { path: path(), found: found.into(), remedy };
        if !self.properties.options.is_empty() && image.kind() == kind::ELF {
            return Err(unsuitable("a cubin, which is not compiled", "omit options"));
        }
        if self.properties.compression.is_some() && image.kind() == kind::NVVM {
            return Err(unsuitable("LTO-IR, whose compressed form is not known", "use compress=none"));
        }
        let image = image
            .with_identifier(self.properties.identifier.as_bytes())
            .with_options(self.properties.options.as_bytes());
        Ok(FatbinMember::Image {
            image: image.with_debug(self.properties.has_debug),
            compression: self.properties.compression,
        })
    }

    /// Identifies the image. Its architecture must not contradict the one that the user specifies.
    fn image(&self) -> Result<FatbinImage<'_>> {
        let view = self.input.view();
        let path = self.input.path();
        let own = DeviceImage::identify(view);
        if own.image_kind == ImageKind::Empty {
            return Err(ImageError::Empty { path: path.to_owned() });
        }
        format::check_image_file(own.image_kind, view).map_err(|malformed| malformed.in_file(path))?;
        let target = TargetOverride { triple: None, arch: self.properties.arch.clone() };
        target.check_against(&own, path)?;
        target.check_existence(&own, path)?;
        let specified = self.properties.arch.as_deref().map(|arch| parse_arch(arch, path)).transpose()?;
        let suffix = specified.and_then(|arch| arch.suffix);
        if own.image_kind == ImageKind::Elf && Platform::of(own.triple.as_deref(), None) != Some(Platform::Nvidia) {
            return Err(ImageError::NotADeviceImage {
                path: path.to_owned(),
                found: describe(own.image_kind, own.triple.as_deref()),
                remedy: "a CUDA fat binary takes cubins, PTX, LTO-IR and Tile IR",
            });
        }
        let image = match own.image_kind {
            ImageKind::Nvvm => FatbinImage::of_lto_ir(view),
            ImageKind::TileIr => {
                let arch = specified.ok_or_else(|| ImageError::UnknownArch { path: path.to_owned() })?;
                FatbinImage::of_tile_ir(view, arch)
            }
            _ => FatbinImage::new(view, suffix),
        };
        let image = image.map_err(|malformed| malformed.in_file(path))?;
        Ok(specified.map_or(image, |arch| image.with_arch(Arch { suffix: suffix.or(image.arch().suffix), ..arch })))
    }
}

fn parse_arch(arch: &str, path: &Path) -> Result<Arch> {
    Arch::parse(arch).ok_or_else(|| ImageError::UnknownArch { path: path.to_owned() })
}

/// Returns a codec at the level that fatbinary uses.
pub fn default_compression(codec: Codec) -> Compression {
    Compression { codec, level: if codec == Codec::Lz4 { level::LZ4 } else { level::ZSTD } }
}

/// Returns a CUDA fat binary.
pub fn pack_fatbin_to_vec(images: &[FatbinInput], options: &FatbinOptions) -> Result<Vec<u8>> {
    Ok(content(images, options)?.to_vec())
}

fn content<'data>(images: &'data [FatbinInput], options: &FatbinOptions) -> Result<Content<'data>> {
    let mut members = images.iter().map(FatbinInput::member).collect::<Result<Vec<_>>>()?;
    if let Some(compression) = options.concat {
        members = concatenate(members, compression, 2);
    }
    let written = write_members(&members).map_err(|error| match error {
        WriteError::Compress(cause) => Error::Io { path: options.output.clone(), action: "compress", cause },
        _ => Error::TooLarge { path: options.output.clone() },
    });
    Ok(written?)
}

/// Writes a CUDA fat binary. Uncompressed images are copied without being read.
pub fn pack(images: &[FatbinInput], options: &FatbinOptions) -> Result<()> {
    let files = FileSet::of_inputs(images.iter().map(|image| &image.input));
    let mut output = Output::create(files.output(&options.output, OutputKind::Code)?)?;
    let content = content(images, options)?;
    let mut sink = Sink::new(images.iter().map(|image| &image.input));
    content.runs().for_each(|run| sink.push(run));
    sink.write_to(&mut output)?;
    output.commit(images.iter().map(|image| &image.input))?;
    Ok(())
}
