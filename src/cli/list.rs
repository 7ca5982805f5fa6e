//! `fatbin list`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::bundle::{parse_type, types_help};
use super::limit::LimitArgument;
use super::{Status, status};
use crate::format::bundle::FileType;
use crate::io::Input;
use crate::ops;

/// Print the bundle entry ids of bundles, one a line; of archives those of every member that is a bundle
///
/// Exit status: 0 if there is any, 1 if none of the files is a bundle, 2 if a file cannot be read or a bundle is broken.
#[derive(Args)]
pub struct Arguments {
    /// What the bundles are of; their content tells where this is not given
    #[arg(long = "type", value_name = "T", value_parser = parse_type, long_help = types_help())]
    file_type: Option<FileType>,

    /// Begin each line with the file that the id stands in; ARCHIVE!MEMBER for a member
    #[arg(short = 'H', long)]
    with_filename: bool,

    #[command(flatten)]
    limit: LimitArgument,

    /// Bundles; - is standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let mut status = Status::No;
    for path in &arguments.inputs {
        status = status.and(list(path, &arguments).unwrap_or_else(|error| status::report(&error)));
    }
    Ok(status)
}

fn list(path: &Path, arguments: &Arguments) -> Result<Status> {
    let input = Input::open_any(path)?;
    let mut lines = String::new();
    let listed = ops::list(&input, arguments.file_type, arguments.limit.options().limit, |path, id| {
        if arguments.with_filename {
            lines += &format!("{}: ", path.display());
        }
        lines += id;
        lines.push('\n');
    });
    // What stands before something broken is there all the same.
    io::stdout().write_all(lines.as_bytes())?;
    Ok(if listed? > 0 { Status::Yes } else { Status::No })
}
