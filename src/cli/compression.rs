//! The options `--compress[=CODEC]` and `--level N`, shared by several commands.

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::failure::{Result, coded};
use super::headings::OUTPUT;
use crate::codes::Code;
use fatbin_core::base::codec::{Codec, Compression};
use fatbin_ops::embed::pack::fat_binary::default_compression;

/// Options for the compression of the output.
#[derive(Debug, Args)]
pub struct CompressionArguments {
    /// Compress the output, with zstd unless CODEC is given
    #[arg(help_heading = OUTPUT, long, value_name = "CODEC", num_args = 0..=1, require_equals = true, default_missing_value = "zstd")]
    compress: Option<CodecArgument>,

    /// Compression level: 1 to 22 for zstd, 1 to 9 for zlib, 1 to 12 for lz4
    #[arg(help_heading = OUTPUT, long, value_name = "N", requires = "compress")]
    level: Option<i32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CodecArgument {
    Zstd,
    Zlib,
    /// Only in CUDA fat binaries
    Lz4,
}

impl CompressionArguments {
    /// Returns the requested compression, if any; `command` begins the message about an invalid level.
    pub fn compression(&self, command: &str) -> Result<Option<Compression>> {
        let Some(codec) = self.compress else { return Ok(None) };
        let codec = match codec {
            CodecArgument::Zstd => Codec::Zstd,
            CodecArgument::Zlib => Codec::Zlib,
            CodecArgument::Lz4 => {
                let reason = "only CUDA fat binaries (pack --kind cuda) use lz4";
                return Err(coded(Code::UnsupportedEncoding, format!("{command}: --compress=lz4: {reason}")));
            }
        };
        self.leveled(Compression::new(codec), command)
    }

    /// Returns the requested compression of the entries of a CUDA fat binary, if any. The default level is the level
    /// that fatbinary uses.
    pub fn of_fatbin(&self, command: &str) -> Result<Option<Compression>> {
        let codec = match self.compress {
            None => return Ok(None),
            Some(CodecArgument::Zstd) => Codec::Zstd,
            Some(CodecArgument::Lz4) => Codec::Lz4,
            Some(CodecArgument::Zlib) => {
                let message = format!("{command}: --compress=zlib: CUDA fat binaries use zstd or lz4");
                return Err(coded(Code::UnsupportedEncoding, message));
            }
        };
        self.leveled(default_compression(codec), command)
    }

    fn leveled(&self, compression: Compression, command: &str) -> Result<Option<Compression>> {
        Ok(Some(compression.at(self.level).map_err(|error| anyhow!("{command}: --{error}"))?))
    }
}
