//! NVIDIA's cuobjdump: lists and extracts the images of CUDA fat binaries. It does not disassemble.
//!
//! Source: the output of cuobjdump 13.5.37. `linker-tests/cuobjdump` compares it with the output of this module.
//!
//! Divergences from cuobjdump 13.5, with the reasons:
//!
//! - `-sass` and `-elf` are refused. They need a disassembler. The message names the tools that have one.
//! - If there is no `.nv_fatbin`, containers are found in any section, in PE files and without section headers. The
//!   tool does not find them.
//! - Entries for architectures that CUDA 13.5 does not support are listed. The tool refuses the whole file.
//! - All members of an archive are read, including cubins. The tool stops at the first member that is not an object,
//!   and skips cubins.
//! - PTX without an option block, or without a NUL at its end, is read. The tool refuses the file.
//! - Zeros after the last container are padding, and an empty section has no entries. The tool refuses the file.
//! - Cubins whose tables are complete are read. The tool rejects some of CUDA 12.0 and 12.1.
//! - `-arch` also filters a cubin without a container by the number. The tool compares only the suffixes.
//! - A version or a marker that no tool writes is an error. The tool does not check them.
//! - A warning reports that two images have one name. The tool overwrites the first file silently.
//! - An empty identifier is ignored. The tool ends with an internal error.
//! - Files are written completely or not at all, and never through symbolic links. Names come from the file.
//! - Control characters in PTX on standard output are escaped. They may be commands to a terminal. In names they become
//!   `_`, as do separators and characters that are not displayed.
//! - The number of textures is not counted. The tool ends with an internal error for cubins that have some.
//! - `--version` names this program. It is not NVIDIA's.

mod blocks;
mod cubins;
mod files;
mod listing;
mod names;
mod options;
mod request;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::diagnostics::{self, write_messages};
use super::llvm_options::os_string;
use super::nvidia_options::{ParsedLine, ToolFailure};
use files::{Contents, absolute, each_member, invalid_header};
use listing::Listing;
pub use options::TOOL;
use request::{Action, Request};

const VERSION: &str = concat!(
    "fatbin ",
    env!("CARGO_PKG_VERSION"),
    ", in place of cuobjdump\nCuda compilation tools, release 13.5, V13.5.37\n"
);

/// Exit status for a file without device code.
const NO_DEVICE_CODE: u8 = 255;

/// Runs as the tool.
pub fn run(arguments: &[OsString]) -> u8 {
    let mut line = ParsedLine::new(TOOL);
    let parsed = line.parse(arguments);
    write_messages(&line.warnings);
    let help = || diagnostics::print(TOOL.help, 0);
    let done = match (parsed, line.others.as_slice()) {
        (Err(failure), _) => Err(failure),
        (Ok(()), _) if line.flag("help") => return help(),
        (Ok(()), _) if line.flag("version") => return diagnostics::print(VERSION, 0),
        (Ok(()), [file]) => {
            let path = PathBuf::from(os_string(file.clone()));
            Request::of_line(&line).and_then(|request| list(&path, &request))
        }
        (Ok(()), _) => return help(),
    };
    ToolFailure::status(done)
}

fn list(path: &Path, request: &Request) -> Result<(), ToolFailure> {
    let mut listing = Listing::new(path, request);
    let mut done = Ok(());
    let mut is_empty = true;
    each_member(path, &mut |member| {
        is_empty = false;
        if done.is_ok() {
            done = member.and_then(|member| {
                let contents = Contents::find(&member, request.is_all)?;
                listing.member(&member, contents)
            });
        }
    })?;
    let printed = listing.finish();
    done?;
    if is_empty {
        return Err(invalid_header(path));
    }
    printed?;
    if !listing.has_device_code {
        let message = TOOL.info(&format!("File '{}' does not contain device code", absolute(path).display()));
        return Err(ToolFailure { message, status: NO_DEVICE_CODE });
    }
    report_missing(path, request, &listing);
    Ok(())
}

/// Reports the kinds of images that the file does not contain.
fn report_missing(path: &Path, request: &Request, listing: &Listing) {
    let (elf, ptx) = match &request.action {
        Action::Extract(kinds) => (kinds.elf.is_some(), kinds.ptx.is_some()),
        Action::List(kinds) => (kinds.elf.is_some(), kinds.ptx.is_some()),
        Action::Dump(_) => (false, false),
    };
    for (kind, is_requested, count) in [("ELF", elf, listing.elf), ("PTX", ptx, listing.ptx)] {
        if is_requested && count == 0 {
            let path = absolute(path);
            write_messages(&TOOL.info(&format!(
                "No {kind} file found to extract from '{}'. You may try with -all option.",
                path.display()
            )));
        }
    }
}
