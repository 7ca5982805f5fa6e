//! clang-offload-bundler of LLVM 22: bundles, lists and unbundles files for several targets.
//!
//! Output and exit status are exactly those of the tool; its help describes the options. llvm-objcopy is not needed: `-###`
//! prints the calls that the tool would make, and makes none either.
//!
//! | divergence from LLVM 22.1 | why |
//! |---|---|
//! | either all outputs are written completely or none | the tool leaves the outputs that it wrote before it failed, and a build uses them |
//! | a processor that is unknown to the tool (`fiji`, `gfx940`, `sm_100f`), or that is in the place of the environment, is kept with a warning | the tool silently drops it, and the code cannot be found again |
//! | two targets with the same stored ID are duplicates | the tool stores both under that ID, and finds one |
//! | a feature that one target of a processor sets and another leaves unspecified is a conflict in any order | the tool misses it if the target with more features comes first |
//! | an ID with a space, `/` or `\` is an invalid target | IDs become parts of file names |
//! | `-list` prints in the order of the file | the tool prints in the order of a hash map |
//! | a target gets the best matching entry, and one entry may match several targets | the tool uses each entry once, in the order of hash maps, and misses the other target |
//! | with `-allow-missing-bundles`, the host's file of a bundle without an entry for any target is empty | the tool copies the bundle into it, including headers |
//! | a malformed bundle or entry ID is an error with its location | the tool treats the file as the host's, crashes, or writes its memory to the output |
//! | a stored hash that does not match the bytes is an error | the tool reports it with `-verbose` only |
//! | a duplicate entry in a bundle, one output for two targets, and a second bundle after the first are errors | the tool uses the last, the last, and the first |
//! | a text that contains the line which ends a file in a bundle is refused | it would be unbundled truncated |
//! | an archive is listed by the bundles in its members | the tool lists nothing |
//! | members of archives may be bundles of texts, and several bundles back to back, also with the padding of Darwin's archives | the tool omits them, or fails after it has written the first archives |
//! | a malformed bundle in an archive is an error | the tool silently omits it |
//! | the symbols of LLVM bitcode are not in the symbol tables of archives | linkers that read bitcode do not use them |
//! | a compressed bundle has the size in its header | the tool continues at the next magic, which may be inside of the bundle |
//! | `-compress` with a host object warns that nothing is compressed | the tool ignores the option |
//! | an object as the first of HIP's files without a host makes a binary bundle | the tool crashes |
//! | standard input may be an object | the tool's llvm-objcopy cannot read `-` |
//! | a host object that is Mach-O, WebAssembly or XCOFF is refused | only ELF and COFF can be rewritten |
//! | a host object that is already a bundle is refused | the tool adds the sections a second time |
//! | an empty file in a COFF object can be unbundled | llvm-objcopy cannot read its own output |
//! | `-bundle-align=0` is refused | the tool crashes |
//! | `-debug-only=CodeObjectCompatibility` is accepted | the tool's documentation promises the trace, but only builds with assertions print it |
//! | an input that cannot be decompressed is reported with file, offset and field | the error can be located |

mod archives;
mod compatibility_trace;
mod environment;
mod errors;
mod objcopy;
mod request;
mod run;
mod targets;
mod verbose;

use std::ffi::{OsStr, OsString};

use super::FAILED;
use super::diagnostics::{Diagnostics, print, write_stderr};
use super::llvm_options::{Line, LlvmOption, Occurs, Shown, Tool, ValueType, parse};
use super::stand_in::StandIn;
use environment::Settings;
use request::Request;

static TOOL: Tool = Tool {
    overview: concat!(
        "A tool to bundle several input files of the specified type <type> \n",
        "referring to the same source file but different targets into a single \n",
        "one. The resulting file can also be unbundled into different files by \n",
        "this tool if -unbundle is provided.\n",
    ),
    category: "clang-offload-bundler options",
    options: &[
        option("input", STRING, "Input file. Can be specified multiple times for multiple input files."),
        list("inputs", STRING, "[<input file>,...] (deprecated)"),
        option("output", STRING, "Output file. Can be specified multiple times for multiple output files."),
        list("outputs", STRING, "[<output file>,...] (deprecated)"),
        list("targets", STRING, "[<offload kind>-<target triple>,...]"),
        LlvmOption { occurs: Occurs::Required, ..option("type", STRING, TYPES) },
        option("unbundle", ValueType::Flag, "Unbundle bundled file into several output files."),
        option("list", ValueType::Flag, "List bundle IDs in the bundled file."),
        option(
            "###",
            ValueType::Flag,
            "Print any external commands that are to be executed instead of actually executing them - for testing \
             purposes.",
        ),
        option("allow-missing-bundles", ValueType::Flag, "Create empty files if bundles are missing when unbundling."),
        option("bundle-align", ValueType::Unsigned("uint"), "Alignment of bundle for binary files"),
        option(
            "check-input-archive",
            ValueType::Flag,
            "Check if input heterogeneous archive is valid in terms of TargetID rules.",
        ),
        option(
            "hip-openmp-compatible",
            ValueType::Flag,
            "Treat hip and hipv4 offload kinds as compatible with openmp kind, and vice versa.",
        ),
        option("compress", ValueType::Flag, "Compress output file when bundling."),
        option("compression-level", ValueType::Integer("n"), "Specify the compression level (integer)"),
        option("verbose", ValueType::Flag, "Print debug information."),
        LlvmOption {
            shown: Shown::Never,
            ..list("debug-only", ValueType::Text("debug string"), "Enable a specific type of debug output")
        },
    ],
    positional: None,
};

const STRING: ValueType = ValueType::Text("string");

const TYPES: &str = "\
Type of the files to be bundled/unbundled.
Current supported types are:
  i    - cpp-output
  ii   - c++-cpp-output
  cui  - cuda-cpp-output
  hipi - hip-cpp-output
  d    - dependency
  ll   - llvm
  bc   - llvm-bc
  s    - assembler
  o    - object
  a    - archive of objects
  gch  - precompiled-header
  ast  - clang AST file";

const fn option(name: &'static str, value: ValueType, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs: Occurs::Optional, shown: Shown::Always, help }
}

const fn list(name: &'static str, value: ValueType, help: &'static str) -> LlvmOption {
    LlvmOption { occurs: Occurs::CommaSeparated, ..option(name, value, help) }
}

/// Result of an operation; the error is the message with which the tool exits with status 1.
type Result<T, E = String> = std::result::Result<T, E>;

/// Runs as the tool.
pub fn run(program: &OsStr, _stand_in: StandIn, arguments: &[OsString]) -> u8 {
    let line = match parse(&TOOL, program, arguments) {
        Ok(line) => line,
        Err(stop) => return stop.print(),
    };
    if line.flag("h") {
        return print(&TOOL.short_help(program), 0);
    }
    let diagnostics = Diagnostics { program: Some(program), color: line.stated_flag("color") };
    let (settings, warnings) = Settings::read(&line, |name| std::env::var_os(name));
    write_stderr(&warnings);
    match Request::read(&line, diagnostics).and_then(|request| run::run(&request, &settings, diagnostics)) {
        Ok(text) => print(&text, 0),
        Err(message) => {
            diagnostics.error(&message);
            FAILED
        }
    }
}
