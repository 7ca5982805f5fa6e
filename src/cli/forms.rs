//! The options `--to FORM`, `--level N` and `--best`, shared by the commands that write containers again.

use anyhow::anyhow;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::failure::{Result, bail};
use super::headings::OUTPUT;
use fatbin_core::base::codec::Codec;
use fatbin_ops::edit::transcode::{ContainerForm, Transcoding};

/// Requested forms of containers.
#[derive(Debug, Args)]
pub struct FormArguments {
    /// Form of the containers; may be repeated, for containers of several types
    #[arg(help_heading = OUTPUT, long, value_name = "FORM", value_delimiter = ',', value_parser = form_parser())]
    to: Vec<ContainerForm>,

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

fn form_parser() -> impl TypedValueParser<Value = ContainerForm> {
    let values = ContainerForm::NAMES.map(|(name, containers, _)| PossibleValue::new(name).help(containers));
    PossibleValuesParser::new(values).try_map(|name| ContainerForm::from_name(&name).ok_or("unknown form"))
}

impl FormArguments {
    /// Returns whether no form is requested.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Returns the encodings that `--to` requests; `command` begins messages.
    pub fn transcoding(&self, command: &str) -> Result<Transcoding> {
        let transcoding = Transcoding::of_forms(&self.to).map_err(|error| anyhow!("{command}: --to: {error}"))?;
        if self.level.is_some() && transcoding.codec == Some(Codec::None) {
            bail!("{command}: --level: --to none does not compress");
        }
        Ok(transcoding.at(self.level, self.best).map_err(|error| anyhow!(error))?)
    }
}
