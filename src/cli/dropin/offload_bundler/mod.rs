//! clang-offload-bundler: bundles, lists and unbundles files for several targets.
//!
//! Output and exit status are the same as for the release's tool, whose help describes the options. llvm-objcopy is not
//! needed: `-###` prints the calls that the tool would make, and makes none either.
//!
//! | divergence from LLVM 22.1 | why |
//! |---|---|
//! | either all outputs are written completely or none | the tool leaves the outputs that it wrote before it failed, and a build uses them |
//! | a processor that is unknown to the tool (`fiji`, `gfx940`, `sm_100f`), or that is in the place of the environment, is kept with a warning | the tool silently drops it, and the code cannot be found again |
//! | if nothing specifies the release, triples of three parts and AMD's targets without environment are accepted | compilers and scripts before LLVM 21 call the tool by the same name |
//! | an entry for `amdgpu9.0a-amd-amdhsa` is found by `amdgcn-amd-amdhsa` and its processor | both are the same target; the tools of LLVM up to 22 do not know the former |
//! | if nothing specifies the release, triples with `amdgpu` are accepted | compilers since LLVM 23 call the tool by the same name |
//! | two targets with the same stored ID are duplicates | the tool stores both under that ID, and finds one |
//! | a feature that one target of a processor sets and another leaves unspecified is a conflict in any order | the tool misses it if the target with more features comes first |
//! | an ID with a space, `/` or `\` is an invalid target | IDs become parts of file names |
//! | `-list` prints in the order of the file, each ID once | the tool prints in the order of a hash map, and only the first bundle |
//! | a target gets the best matching entry, and one entry may match several targets | the tool uses each entry once, in the order of hash maps, and misses the other target |
//! | with `-allow-missing-bundles`, the host's file of a bundle without an entry for any target is empty | the tool copies the bundle into it, including headers |
//! | a malformed bundle or entry ID is an error with its location | the tool treats the file as the host's, crashes, or writes its memory to the output |
//! | a stored hash that does not match the bytes is an error | the tool reports it with `-verbose` only |
//! | a duplicate entry in a bundle, and one output for two targets, are errors | the tool uses the last |
//! | bundles that follow the first one cause a warning, and may follow a compressed one | the tool ignores them without a message, or cannot decompress the first |
//! | an existing output keeps mode and hard links where the tool truncates it, but changes when the new content is complete | a build uses existing outputs |
//! | a text that contains the line which ends a file in a bundle is refused | it would be unbundled truncated |
//! | an archive is listed by the bundles in its members | the tool lists nothing |
//! | members of archives may be bundles of texts, and several bundles back to back, also with the padding of Darwin's archives | the tool omits them, or fails after it has written the first archives |
//! | a malformed bundle in an archive is an error | the tool silently omits it |
//! | the symbols of LLVM bitcode are not in the symbol tables of archives | linkers that read bitcode do not use them |
//! | a compressed bundle has the size in its header | the tool continues at the next magic, which may be inside of the bundle |
//! | `-verbose` prints nothing about `-compress` with a host object | nothing is compressed; the tool prints the figures of an empty file |
//! | an object as the first of HIP's files without a host makes a binary bundle | the tool crashes |
//! | standard input may be an object | the tool's llvm-objcopy cannot read `-` |
//! | a host object that is Mach-O, WebAssembly or XCOFF is refused | only ELF and COFF can be rewritten |
//! | a host object that is already a bundle is refused | the tool adds the sections a second time |
//! | an empty file in a COFF object can be unbundled | llvm-objcopy cannot read its own output |
//! | `-bundle-align=0` is refused | the tool crashes |
//! | `-debug-only=CodeObjectCompatibility` is accepted | the tool's documentation promises the trace, but only builds with assertions print it |
//! | an input that cannot be decompressed is reported with file, offset and field | the error can be located |
//!
//! | divergence from earlier releases | why |
//! |---|---|
//! | targets are matched as by LLVM 22: an ID is found by each of its spellings, and by compatible targets | the tools of LLVM 14 and 15 compare text |
//! | the host's object is unbundled without the sections of the bundle | the tools up to LLVM 16 leave them in, and linkers drop them |
//! | a name that ends in a dash, and an unknown processor, are stored in the usual form | the tools of LLVM 17 to 20 append the whole name or a dash |
//! | a triple of one part is invalid | no compiler writes it |
//! | `-verbose` prints no timers | the timers of LLVM 18 to 20 depend on the machine |
//! | of several suggestions for an unknown option, LLVM 22's is printed | the tool's order comes from a hash map |

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
use crate::embed::llvm::NEWEST;
use environment::Settings;
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
