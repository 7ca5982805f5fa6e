//! Packing: one offload binary of version 1 per file, back to back.

use std::path::Path;

use super::image_argument::ImageArgument;
use super::{Result, create, format_error, open};
use crate::format::offload_binary::{self, Version, image_kind};
use crate::format::{DeviceImage, ImageKind};
use crate::io::Output;
use crate::ops::{PackInput, PackOptions, pack_into};

/// Packs the files of `images` into `output`.
pub fn pack(images: &[ImageArgument], output: &Path) -> Result<()> {
    let mut packed = Vec::new();
    for image in images {
        for file in image.files().ok_or("'file' is a required image arguments")? {
            packed.push(read(Path::new(file), image)?);
        }
    }
    let options = PackOptions { version: Version::One, compression: None, output: output.to_owned() };
    let begin = || if output == Path::new("-") { Output::create(output) } else { create(output) };
    begin().and_then(|begun| pack_into(begun, &packed, &options)).map_err(|error| format_error(&error))
}

/// Reads an image. Its kind is determined by its name, except for bitcode, which clang names `.o` with link-time
/// optimization.
fn read(file: &Path, image: &ImageArgument) -> Result<PackInput> {
    let input = open(file).map_err(|error| format_error(&error))?;
    let is_bitcode = DeviceImage::identify(input.view()).image_kind == ImageKind::Bitcode;
    let image_kind = if is_bitcode { image_kind::BITCODE } else { offload_binary::image_kind_of_file(file) };
    let offload_kind = image.offload_kind().unwrap_or(0);
    let strings = image.strings().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Ok(PackInput { input, image_kind, offload_kind, flags: 0, strings })
}
