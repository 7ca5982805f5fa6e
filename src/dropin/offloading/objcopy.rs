//! llvm-objcopy --dump-offload-bundle: writes the image at an address to a file `FILE-offsetN-sizeM.co`.

use std::path::Path;

use super::DUMP;
use super::arguments::Line;
use crate::access;
use crate::files::{create_named, file_message};
use fatbin_core::base::io::{FileSet, FileUri, OutputName};
use fatbin_core::scan::{OpenOptions, Source, each_input};

/// Runs a command line.
pub fn extract(line: &Line) -> Result<(), String> {
    let outputs = FileSet::new();
    line.values(DUMP).try_for_each(|address| {
        let uri = FileUri::parse(Path::new(address)).transpose().map_err(|error| error.to_string())?;
        let Some(FileUri { path, range: Some((offset, size)) }) = uri else {
            return Err(format!("{address}: invalid address, expected file://PATH#offset=N&size=M"));
        };
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!("-offset{offset}-size{size}.co"));
        let name = OutputName::of(name);
        let mut done = Ok(());
        each_input(Path::new(address), OpenOptions::new(access::get()), &mut |part| {
            done = part.and_then(|part| {
                create_named(&outputs, directory, &name)?.commit_bytes(part.input(), part.view().data())
            });
        })
        .and(done)
        .map_err(|error| file_message(&error))
    })
}
