//! The options `--compress[=CODEC]` and `--level N`, shared by several commands.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::codec::{Codec, Compression};

/// Options for the compression of the output.
#[derive(Debug, Args)]
pub struct CompressionArguments {
    /// Compress the output, with zstd unless CODEC is given
    #[arg(long, value_name = "CODEC", num_args = 0..=1, require_equals = true, default_missing_value = "zstd")]
    compress: Option<CodecArgument>,

    /// Compression level: 1 to 22 for zstd, 1 to 9 for zlib
    #[arg(long, value_name = "N", requires = "compress")]
    level: Option<i32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CodecArgument {
    Zstd,
    Zlib,
}

impl CompressionArguments {
    /// Returns the requested compression, if any; `command` begins the message about an invalid level.
    pub fn compression(&self, command: &str) -> Result<Option<Compression>> {
        let Some(codec) = self.compress else { return Ok(None) };
        let (codec, highest) = match codec {
            CodecArgument::Zstd => (Codec::Zstd, 22),
            CodecArgument::Zlib => (Codec::Zlib, 9),
        };
        let compression = Compression::new(codec);
        match self.level {
            None => Ok(Some(compression)),
            Some(level) if (1..=highest).contains(&level) => Ok(Some(Compression { level, ..compression })),
            Some(level) => {
                bail!("{command}: --level {level}: invalid level; {} has levels 1 to {highest}", codec.name())
            }
        }
    }
}
