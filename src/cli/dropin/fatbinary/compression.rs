//! Compression of entries: the modes of fatbinary, and the kinds of images that each compresses.

use super::image_type::ImageType;
use super::{ToolFailure, library_error};
use crate::base::codec::{Codec, Compression};
use crate::cli::dropin::nvidia_options::ParsedLine;
use crate::format::cuda_fatbin::level;

/// Compression of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressionMode {
    /// Codec and level; `None` if nothing is compressed.
    pub compression: Option<Compression>,
    /// True if cubins are compressed like PTX.
    compresses_cubins: bool,
}

/// Value of `--compress-mode`: codec and level, and whether cubins are compressed too.
const MODES: [(&str, Option<Compression>, bool); 5] = [
    ("default", Some(Compression { codec: Codec::Zstd, level: level::ZSTD }), false),
    ("balance", Some(Compression { codec: Codec::Zstd, level: level::ZSTD }), false),
    ("size", Some(Compression { codec: Codec::Zstd, level: level::ZSTD_SIZE }), true),
    ("speed", Some(Compression { codec: Codec::Lz4, level: level::LZ4 }), false),
    ("none", None, false),
];

impl CompressionMode {
    /// Returns the mode of a command line. `--image` comes from clang before LLVM 22, with an earlier release of CUDA.
    /// The drivers of that release may not read zstd.
    pub fn of_line(line: &ParsedLine) -> Result<CompressionMode, ToolFailure> {
        let has_old_images = line.images.iter().any(|(option, _)| *option == "image");
        let default = if has_old_images { "speed" } else { "default" };
        let name = line.value("compress-mode").unwrap_or(default.as_bytes());
        let (_, compression, compresses_cubins) = *MODES
            .iter()
            .find(|(known, ..)| known.as_bytes() == name)
            .ok_or_else(|| library_error("unknown option"))?;
        let is_disabled = line.value("compress") == Some(b"false");
        let compresses_cubins =
            compresses_cubins || ["compress-all", "debug", "device-c"].iter().any(|flag| line.flag(flag));
        Ok(CompressionMode { compression: if is_disabled { None } else { compression }, compresses_cubins })
    }

    /// Compression of an image.
    pub fn of(self, image_type: ImageType) -> Option<Compression> {
        let is_compressed = image_type != ImageType::Elf || self.compresses_cubins;
        if is_compressed { self.compression } else { None }
    }
}
