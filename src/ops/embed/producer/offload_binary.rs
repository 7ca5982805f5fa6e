//! Offload binaries.

use std::path::PathBuf;

use super::ProducerError;
use crate::embed::llvm::{NEWEST, Release};
use crate::embed::pack::{PackInput, PackOptions, format_version, pack_to_vec};
use crate::embed::wrap::TargetOverride;
use fatbin_core::base::codec::{Codec, Compression, LevelError};
use fatbin_core::base::io::Input;
use fatbin_core::target::OffloadKind;

/// Packs device images into an offload binary, like `fatbin pack`.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// use fatbin::{Input, OffloadKind, embed::OffloadBinaryBuilder};
///
/// let image = Input::from_bytes("answer", std::fs::read("fixtures/answer-gfx90a.hsaco")?);
/// let mut builder = OffloadBinaryBuilder::new();
/// builder.image(OffloadKind::OpenMp, image);
/// assert!(builder.build()?.starts_with(b"\x10\xff\x10\xad"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct OffloadBinaryBuilder {
    images: Vec<(OffloadKind, Input, TargetOverride)>,
    /// Release of LLVM whose tools read the output; by default the newest.
    pub release: Release,
    /// [`Codec::Zstd`] or [`Codec::Zlib`], which requires LLVM 24; by default none.
    pub compression: Option<Codec>,
    /// Level of the codec; by default the level of LLVM's tools.
    pub level: Option<i32>,
}

impl OffloadBinaryBuilder {
    /// Begins an empty binary.
    #[expect(clippy::new_without_default, reason = "a binary without images has no purpose")]
    pub fn new() -> Self {
        OffloadBinaryBuilder { images: Vec::new(), release: NEWEST, compression: None, level: None }
    }

    /// Adds an image whose header states triple and processor.
    pub fn image(&mut self, kind: OffloadKind, image: Input) -> &mut Self {
        self.image_for(kind, image, TargetOverride::default())
    }

    /// Adds an image with properties that its header does not state.
    pub fn image_for(&mut self, kind: OffloadKind, image: Input, target: TargetOverride) -> &mut Self {
        self.images.push((kind, image, target));
        self
    }

    /// Returns the binary.
    pub fn build(self) -> Result<Vec<u8>, ProducerError> {
        if self.images.is_empty() {
            return Err(ProducerError::refused("no images"));
        }
        let compression = stream_compression(self.compression, self.level)?;
        let version = format_version(self.release, compression);
        let mut images = Vec::new();
        for (kind, input, target) in self.images {
            let offload_kind = self.release.kinds.number(kind);
            if offload_kind == 0 && kind.bit() != 0 {
                let message = format!("kind {}: not supported before LLVM 21", kind.name());
                return Err(ProducerError::refused(message));
            }
            let strings = [("triple", target.triple), ("arch", target.arch)];
            let strings = strings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
            images.push(PackInput { offload_kind, ..PackInput::read(input, strings, version)? });
        }
        Ok(pack_to_vec(&images, &PackOptions { version, compression, output: PathBuf::from("<memory>") })?)
    }
}

/// Compression of a stream, by default with the level of LLVM's tools.
pub(super) fn stream_compression(
    codec: Option<Codec>,
    level: Option<i32>,
) -> Result<Option<Compression>, ProducerError> {
    let compression = match codec {
        None | Some(Codec::None) => None,
        Some(codec @ (Codec::Zstd | Codec::Zlib)) => Some(Compression::new(codec)),
        Some(codec) => {
            let message = format!("{}: only CUDA fat binaries use this codec", codec.name());
            return Err(ProducerError::refused(message));
        }
    };
    leveled(compression, level)
}

/// Sets the level, which requires a codec.
pub(super) fn leveled(
    compression: Option<Compression>,
    level: Option<i32>,
) -> Result<Option<Compression>, ProducerError> {
    let leveled = match (compression, level) {
        (None, Some(level)) => Err(LevelError::Uncompressed(level)),
        (compression, level) => compression.map(|compression| compression.at(level)).transpose(),
    };
    leveled.map_err(ProducerError::refused)
}
