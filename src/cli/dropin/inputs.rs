//! Inputs of LLVM's tools.

use std::io;
use std::path::Path;

use crate::base::error::Result;
use crate::base::io::{Input, STANDARD_INPUT};
use crate::cli::access;

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
