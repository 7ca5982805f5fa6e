//! Packing: one offload binary per file, back to back; since version 2, one for all files.

use std::path::Path;

use super::image_argument::ImageArgument;
use super::{Result, create};
use crate::files::{open, system_message};
use fatbin_core::base::codec::Compression;
use fatbin_core::format::offload_binary::{self, Version, image_kind};
use fatbin_core::format::{DeviceImage, ImageKind};
use fatbin_ops::embed::llvm::packager::RequiredKeys;
use fatbin_ops::embed::llvm::{KindNumbers, Release};
use fatbin_ops::embed::pack::{PackInput, PackOptions, pack_into};

/// Packs the files of `images` into `output`.
pub fn pack(
    images: &[ImageArgument],
    release: &Release,
    compression: Option<Compression>,
    output: &Path,
) -> Result<()> {
    let mut packed = Vec::new();
    for image in images {
        let required = match release.packager.required_keys {
            RequiredKeys::FileAndTriple if image.triple().is_none() => None,
            RequiredKeys::FileAndTriple | RequiredKeys::File => image.files(),
        };
        for file in required.ok_or_else(|| missing_key(release.packager.required_keys))? {
            packed.push(read(Path::new(file), image, release.kinds)?);
        }
    }
    let version = if compression.is_some() { Version::Three } else { release.packager.version };
    let options = PackOptions { version, compression, output: output.to_owned() };
    create(output).and_then(|begun| pack_into(begun, &packed, &options)).map_err(|error| system_message(&error))
}

/// Reads an image. Its name determines its kind, except for bitcode, which clang names `.o` with link-time
/// optimization.
fn read(file: &Path, image: &ImageArgument, kinds: KindNumbers) -> Result<PackInput> {
    let input = open(file).map_err(|error| system_message(&error))?;
    let is_bitcode = DeviceImage::identify(input.view()).image_kind == ImageKind::Bitcode;
    let image_kind = if is_bitcode { image_kind::BITCODE } else { offload_binary::image_kind_of_file(file) };
    let offload_kind = image.offload_kind(kinds).unwrap_or(0);
    let strings = image.strings().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Ok(PackInput { input, image_kind, offload_kind, flags: 0, strings })
}

fn missing_key(required: RequiredKeys) -> &'static str {
    match required {
        RequiredKeys::FileAndTriple => "'file' and 'triple' are required image arguments",
        RequiredKeys::File => "'file' is a required image arguments",
    }
}
