//! The options `--to FORM`, `--level N` and `--best`, shared by the commands that write containers again.

use clap::{Args, ValueEnum};

use super::compression::check_level;
use super::failure::{Result, bail, ensure};
use super::headings::OUTPUT;
use crate::base::codec::Codec;
use crate::edit::Effort;
use crate::edit::transcode::{BundleForm, Transcoding};
use crate::format::ccob::Version as CcobVersion;
use crate::format::offload_binary::Version as OffloadBinaryVersion;

/// Requested forms of containers.
#[derive(Debug, Args)]
pub struct FormArguments {
    /// Form of the containers; may be repeated, for containers of several types
    #[arg(help_heading = OUTPUT, long, value_name = "FORM", value_delimiter = ',')]
    to: Vec<Form>,

    /// Compression level: 1 to 22 for zstd, 1 to 9 for zlib, 1 to 12 for lz4
    ///
    /// By default the level of the tools that write such containers. Without this option and --best, data that has the requested
    /// codec already is not compressed again.
    #[arg(help_heading = OUTPUT, long, value_name = "N", conflicts_with = "best")]
    level: Option<i32>,

    /// Compress with the strongest levels, and take the smallest result
    #[arg(help_heading = OUTPUT, long)]
    best: bool,
}

/// Value of `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Bundles: uncompressed
    Plain,
    /// Bundles: compressed, format version 2
    Ccob2,
    /// Bundles: compressed, format version 3
    Ccob3,
    /// Offload binaries: format version 1, of one image each
    V1,
    /// Offload binaries: format version 2
    V2,
    /// Offload binaries: format version 3
    V3,
    /// Entries of CUDA fat binaries, kpack archives, and offload binaries of version 3: uncompressed
    None,
    /// Entries of CUDA fat binaries: LZ4
    Lz4,
    /// Entries of CUDA fat binaries, kpack archives, offload binaries of version 3, and compressed bundles: zstd
    Zstd,
    /// Offload binaries of version 3, and compressed bundles: zlib
    Zlib,
}

impl FormArguments {
    /// Returns whether no form is requested.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Returns the encodings that `--to` requests; `command` begins messages.
    pub fn transcoding(&self, command: &str) -> Result<Transcoding> {
        let mut bundle = None;
        let mut offload_binary = None;
        let mut codec = None;
        for form in &self.to {
            match form {
                Form::Plain => set(command, &mut bundle, BundleForm::Plain)?,
                Form::Ccob2 => set(command, &mut bundle, BundleForm::Compressed(CcobVersion::Two))?,
                Form::Ccob3 => set(command, &mut bundle, BundleForm::Compressed(CcobVersion::Three))?,
                Form::V1 => set(command, &mut offload_binary, OffloadBinaryVersion::One)?,
                Form::V2 => set(command, &mut offload_binary, OffloadBinaryVersion::Two)?,
                Form::V3 => set(command, &mut offload_binary, OffloadBinaryVersion::Three)?,
                Form::None => set(command, &mut codec, Codec::None)?,
                Form::Lz4 => set(command, &mut codec, Codec::Lz4)?,
                Form::Zstd => set(command, &mut codec, Codec::Zstd)?,
                Form::Zlib => set(command, &mut codec, Codec::Zlib)?,
            }
        }
        let effort = match (self.level, codec) {
            (None, _) if self.best => Effort::Best,
            (None, _) => Effort::Fit,
            (Some(_), Some(Codec::None)) => bail!("{command}: --level: --to none does not compress"),
            (Some(level), codec) => Effort::Level(check_level(codec.unwrap_or(Codec::Zstd), level)?),
        };
        Ok(Transcoding { bundle, offload_binary, codec, effort })
    }
}

/// Sets a choice that is made once.
fn set<T>(command: &str, choice: &mut Option<T>, value: T) -> Result<()> {
    ensure!(choice.is_none(), "{command}: --to: several forms for containers of one type");
    *choice = Some(value);
    Ok(())
}
