//! clang-offload-bundler: bundles, lists and unbundles files for several targets.
//!
//! Output and exit status are the same as for the release's tool, whose help describes the options. llvm-objcopy is not
//! needed: `-###` prints the calls that the tool would make, and makes none either.
//!
//! Divergences from LLVM 22.1, with the reasons:
//!
//! - Either all outputs are written completely, or none. The tool leaves the outputs that it wrote before it failed,
//!   and a build uses them.
//! - A processor is kept with a warning if the tool does not know it (`fiji`, `gfx940`, `sm_100f`), or if it is in the
//!   place of the environment. The tool silently drops it, and the code cannot be found again.
//! - If nothing specifies the release, triples of three parts and AMD's targets without environment are accepted.
//!   Compilers and scripts before LLVM 21 call the tool by the same name.
//! - `amdgcn-amd-amdhsa` with its processor finds an entry for `amdgpu9.0a-amd-amdhsa`. Both are the same target. The
//!   tools of LLVM up to 22 do not know the latter.
//! - If nothing specifies the release, triples with `amdgpu` are accepted. Compilers since LLVM 23 call the tool by the
//!   same name.
//! - Two targets with the same stored ID are duplicates. The tool stores both under that ID, and finds one.
//! - A feature that one target of a processor sets and another leaves unspecified is a conflict in any order. The tool
//!   misses it if the target with more features comes first.
//! - An ID with a space, `/` or `\` is an invalid target. IDs become parts of file names.
//! - `-list` prints in the order of the file, each ID once. The tool prints in the order of a hash map, and only the
//!   first bundle.
//! - A target gets the best matching entry, and one entry may match several targets. The tool uses each entry once, in
//!   the order of hash maps, and misses the other target.
//! - With `-allow-missing-bundles`, the host's file of a bundle without an entry for any target is empty. The tool
//!   copies the bundle into it, including headers.
//! - A malformed bundle or entry ID is an error with its location. The tool treats the file as the host's, crashes, or
//!   writes its memory to the output.
//! - A stored hash that does not match the bytes is an error. The tool reports it with `-verbose` only.
//! - A duplicate entry in a bundle, and one output for two targets, are errors. The tool uses the last.
//! - Bundles that follow the first one cause a warning, and may follow a compressed one. The tool ignores them without
//!   a message, or cannot decompress the first.
//! - If the tool truncates an existing output, the output keeps mode and hard links, but changes only when the new
//!   content is complete. A build uses existing outputs.
//! - A text that contains the line which ends a file in a bundle is refused. It would be unbundled truncated.
//! - An archive is listed by the bundles in its members. The tool lists nothing.
//! - Members of archives may be bundles of texts, and several bundles back to back, even with the padding of Darwin's
//!   archives. The tool omits them, or fails after it has written the first archives.
//! - A malformed bundle in an archive is an error. The tool silently omits it.
//! - The symbols of LLVM bitcode are not in the symbol tables of archives. Linkers that read bitcode do not use them.
//! - A compressed bundle has the size in its header. The tool continues at the next magic, which may be inside of the
//!   bundle.
//! - `-verbose` prints nothing about `-compress` with a host object. Nothing is compressed. The tool prints the figures
//!   of an empty file.
//! - An object as the first of HIP's files without a host makes a binary bundle. The tool crashes.
//! - Standard input may be an object. The tool's llvm-objcopy cannot read `-`.
//! - A host object that is Mach-O, WebAssembly or XCOFF is refused. Only ELF and COFF can be rewritten.
//! - A host object that is already a bundle is refused. The tool adds the sections a second time.
//! - An empty file in a COFF object can be unbundled. llvm-objcopy cannot read its own output.
//! - `-bundle-align=0` is refused. The tool crashes.
//! - `-debug-only=CodeObjectCompatibility` is accepted. The tool's documentation promises the trace, but only builds
//!   with assertions print it.
//! - An input that cannot be decompressed is reported with file, offset and field. The error can be located.
//!
//! Divergences from earlier releases, with the reasons:
//!
//! - Targets are matched as by LLVM 22: each spelling of an ID finds it, and so do compatible targets. The tools of
//!   LLVM 14 and 15 compare text.
//! - The host's object is unbundled without the sections of the bundle. The tools up to LLVM 16 leave them in, and
//!   linkers drop them.
//! - A name that ends in a dash, and an unknown processor, are stored in the usual form. The tools of LLVM 17 to 20
//!   append the whole name or a dash.
//! - A triple of one part is invalid. No compiler writes it.
//! - `-verbose` prints no timers. The timers of LLVM 18 to 20 depend on the machine.
//! - Of several suggestions for an unknown option, LLVM 22's is printed. The tool's order comes from a hash map.

mod archives;
mod compatibility_trace;
mod environment;
mod errors;
mod objcopy;
mod options;
mod request;
mod run;
mod targets;
mod verbose;

use std::ffi::{OsStr, OsString};

use super::FAILED;
use super::diagnostics::{Diagnostics, print, write_messages, write_stderr};
use super::llvm_options::{Line, LlvmOption, Stop, Tool, parse, parse_response_file};
use super::stand_in::StandIn;
use environment::Settings;
use fatbin_ops::embed::llvm::NEWEST;
use request::Request;

/// Result of an operation. The error is a message; the tool then exits with status 1.
type Result<T, E = String> = std::result::Result<T, E>;

/// Parses a response file as the command line of the newest release's tool.
pub fn read_options(response_file: &[u8]) -> Result<Line, Stop> {
    parse_response_file(&tool(&options::options(&NEWEST.bundler)), response_file)
}

fn tool(options: &[LlvmOption]) -> Tool<'_> {
    Tool { overview: options::OVERVIEW, category: "clang-offload-bundler options", options, positional: None }
}

/// Runs as the tool.
pub fn run(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
    let rules = &stand_in.release.bundler;
    let options = options::options(rules);
    let tool = tool(&options);
    let line = match parse(&tool, program, arguments) {
        Ok(line) => line,
        Err(stop) => return stop.print(),
    };
    if line.flag("h") {
        return print(&tool.short_help(program), 0);
    }
    let diagnostics = Diagnostics { program: Some(program), color: line.stated_flag("color") };
    let (settings, warnings) = Settings::read(&line, rules.compression, |name| std::env::var_os(name));
    write_messages(&warnings);
    match Request::read(&line, &stand_in, diagnostics).and_then(|request| run::run(&request, &settings, diagnostics)) {
        Ok(text) => print(&text, 0),
        Err(message) => {
            diagnostics.error(&message);
            FAILED
        }
    }
}
