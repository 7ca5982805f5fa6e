//! llvm-objdump and llvm-readobj with `--offloading`, and llvm-objcopy with `--dump-offload-bundle`: ROCm's replacements
//! of roc-obj, roc-obj-ls and roc-obj-extract. Every other option of these tools is refused.
//!
//! Source: the tools of LLVM 22.1.8, which `linker-tests/dropin/offloading` compares. The option of llvm-objcopy exists
//! only in ROCm's LLVM: its syntax is from llvm-project pull request 143347, and the names of its outputs are from
//! `extractOffloadBundleByURI` in `llvm/lib/Object/OffloadBundle.cpp`.
//!
//! Divergences from LLVM 22.1, with the reasons:
//!
//! - `--arch-name` selects the entries whose ID contains the name, as documented. The tool leaves these out.
//! - Images of compressed bundles are decompressed. The tool writes bytes of the file at the same offset.
//! - All bundles of a section are found, and bundles in COFF. The tool loses bundles behind one of the other form, and
//!   refuses COFF.
//! - An entry outside of its bundle, an invalid ID, a wrong hash and a bundle without entries are errors. The tool reads
//!   out of bounds, and names files by any ID.
//! - A damaged object is reported before its header is printed, with field and offset.
//! - The address of an image in a library has the path of the library. The tool prints the name of the member, which is
//!   no file. A path that would be read as another one is encoded.
//! - The name of a member does not form a path: `/` becomes `_`, and so do control characters and characters that are
//!   not displayed, in all names of outputs. A link of such a name is replaced. Two outputs of one name are an error.
//! - llvm-readobj prints all addresses before all headers. In the tool, the order depends on the sizes of two buffers.
//! - llvm-readobj refuses offload binaries and universal binaries. The tool crashes on the former.
//! - Machines without offloading are unknown. WebAssembly is no object, and import libraries have no members.
//! - Offload binaries in libraries are read, and other members are ignored. The tool refuses the library.
//! - llvm-objcopy does not copy the file that follows the option: its contents would be the same.

mod arguments;
mod format;
mod objcopy;
mod objdump;
mod objects;
mod readobj;

use std::ffi::{OsStr, OsString};

use super::FAILED;
use super::diagnostics::{Diagnostics, TextOutput};
use super::stand_in::StandIn;
use arguments::{Known, Line};
use fatbin_core::format::offload_binary::Version;

/// Option of llvm-objdump and llvm-readobj.
const OFFLOADING: &str = "--offloading";

/// Option of llvm-objdump with a part of the IDs to extract.
const ARCH_NAME: &str = "--arch-name=";

/// Option of llvm-objcopy with an address.
const DUMP: &str = "--dump-offload-bundle=";

const OBJDUMP: Known = Known { tool: "llvm-objdump", options: &[OFFLOADING, ARCH_NAME], idle_status: 2 };
const READOBJ: Known = Known { tool: "llvm-readobj", options: &[OFFLOADING], idle_status: FAILED };
const OBJCOPY: Known = Known { tool: "llvm-objcopy", options: &[DUMP], idle_status: FAILED };

/// Output of a run.
struct Report<'a> {
    out: TextOutput,
    diagnostics: Diagnostics<'a>,
}

/// Runs as llvm-objdump.
pub fn objdump(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
    // Any release may be the caller, so a binary of a later release is read instead of refused.
    let newest = if stand_in.is_specified { stand_in.release.packager.reads } else { Version::Three };
    run(&OBJDUMP, program, arguments, |line, report| objdump::dump(line, newest, report))
}

/// Runs as llvm-readobj.
pub fn readobj(program: &OsStr, arguments: &[OsString]) -> u8 {
    run(&READOBJ, program, arguments, readobj::list)
}

/// Runs as llvm-objcopy.
pub fn objcopy(program: &OsStr, arguments: &[OsString]) -> u8 {
    run(&OBJCOPY, program, arguments, |line, _| objcopy::extract(line))
}

fn run(
    known: &Known,
    program: &OsStr,
    arguments: &[OsString],
    action: impl FnOnce(&Line, &mut Report<'_>) -> Result<(), String>,
) -> u8 {
    let mut report =
        Report { out: TextOutput::default(), diagnostics: Diagnostics { program: Some(program), color: None } };
    let line = match known.parse(arguments) {
        Ok(line) => line,
        Err(message) => {
            report.diagnostics.error(&message);
            return FAILED;
        }
    };
    if let Some(text) = known.information(&line, program) {
        report.out.push(&text);
        return report.out.flush();
    }
    if !line.has(known.options[0]) {
        report.diagnostics.error(&format!("nothing to do without {}: {}", known.options[0], known.remedy()));
        return known.idle_status;
    }
    let done = action(&line, &mut report);
    let status = report.out.flush();
    match done {
        Ok(()) => status,
        Err(message) => {
            report.diagnostics.error(&message);
            FAILED
        }
    }
}
