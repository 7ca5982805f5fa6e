//! `fatbin extract`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::scan::{found, scan_file};
use super::{Status, status};
use crate::ops::{self, ExtractOptions, Names};

/// Write every device image into a file of its own
///
/// The names are stable and say what the image is: FILE.INDEX-KIND-TRIPLE-ARCH.EXTENSION. The path of each file that was
/// written is printed.
#[derive(Args)]
pub struct Arguments {
    /// The folder to write into; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,

    /// Files to take images out of
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let options = ExtractOptions { directory: arguments.output };
    let mut names = Names::default();
    let mut status = Status::No;
    for path in &arguments.files {
        status = status.and(extract_file(path, &options, &mut names).unwrap_or_else(|error| status::report(&error)));
    }
    Ok(status)
}

fn extract_file(path: &Path, options: &ExtractOptions, names: &mut Names) -> Result<Status> {
    let (input, file) = scan_file(path)?;
    let mut written = Vec::new();
    let result = ops::extract(&input, &file, options, names, |path| written.push(path.to_owned()));
    let mut out = io::stdout().lock();
    for path in written {
        writeln!(out, "{}", path.display())?;
    }
    result?;
    Ok(found(&file))
}
