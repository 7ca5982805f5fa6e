//! Inputs and outputs of LLVM's tools, and their messages about files.

use std::io;
use std::path::Path;

use super::diagnostics::cause;
use crate::access;
use fatbin_core::base::error::{Error, Result};
use fatbin_core::base::io::{FileSet, Input, Output, OutputKind, OutputName, STANDARD_INPUT};

/// Opens any file except a directory. Like LLVM's tools, it reads standard input once: a second `-` is empty.
pub fn open(path: &Path) -> Result<Input> {
    if path == Path::new("-") {
        let directory = std::env::temp_dir();
        return Input::from_temp_file(Path::new(STANDARD_INPUT), &directory, access::get(), |to| {
            io::copy(&mut io::stdin().lock(), to).map(drop)
        });
    }
    Input::open_any(path, access::get())
}

/// Creates an output file that the user specified, even one named `-`. A device is written to. Anything else except a
/// directory is replaced, including a link, as the tools do.
pub fn create_file(set: &FileSet, path: &Path) -> Result<Output> {
    match (std::fs::metadata(path), path.file_name()) {
        (Err(error), None) => Err(Error::io(path, "create")(error)),
        (Ok(metadata), _) if !metadata.is_file() => Output::create(set.output(path, OutputKind::Code)?),
        _ => Output::create(set.output_in_place_of_link(path, OutputKind::Code)?).map(Output::with_new_mode),
    }
}

/// Creates an output file with a name from an input. Anything of that name except a directory is replaced.
pub fn create_named(set: &FileSet, directory: &Path, name: &OutputName) -> Result<Output> {
    Output::create(set.output_in(directory, name, OutputKind::Code)?).map(Output::with_new_mode)
}

/// Message for an error. For an error of the operating system, it is the system's message alone.
pub fn system_message(error: &Error) -> String {
    match error {
        Error::Io { cause: error, .. } => cause(error),
        Error::NotAFile { .. } => "Is a directory".to_owned(),
        other => other.to_string(),
    }
}

/// Message for an error with the path of its file.
pub fn file_message(error: &Error) -> String {
    match error {
        Error::Io { path, .. } | Error::NotAFile { path, .. } => {
            format!("'{}': {}", path.display(), system_message(error))
        }
        other => other.to_string(),
    }
}
