//! The help of the tool by release, in the layout of LLVM's option tables.
//!
//! Source: `--help` and `--help-hidden` of LLVM 15, 16, 19 and 22. An option that is new between two of these releases
//! is listed from the release after the earlier one.

use std::fmt::Write;
use std::ops::RangeInclusive;

/// An option of the help.
struct HelpRow {
    /// Releases with the option.
    releases: RangeInclusive<u32>,
    /// True if only `--help-hidden` lists it.
    is_hidden: bool,
    /// Option with the name of its value.
    option: &'static str,
    help: &'static str,
}

/// Number after every release.
const LAST: u32 = u32::MAX;
const ALL: RangeInclusive<u32> = 15..=LAST;

const fn shown(releases: RangeInclusive<u32>, option: &'static str, help: &'static str) -> HelpRow {
    HelpRow { releases, is_hidden: false, option, help }
}

const fn hidden(releases: RangeInclusive<u32>, option: &'static str, help: &'static str) -> HelpRow {
    HelpRow { releases, is_hidden: true, option, help }
}

/// Text before the options.
const OVERVIEW: &str = "OVERVIEW: \n\
A wrapper utility over the host linker. It scans the input files\n\
for sections that require additional processing prior to linking.\n\
The will then transparently pass all arguments and input to the\n\
specified host linker to create the final binary.\n\n\n\
USAGE: clang-linker-wrapper [options] -- <options to passed to the linker>\n\nOPTIONS:\n";

/// Length of the longest option whose help is on the same line.
const LONGEST: usize = 23;

/// Options in the order of the tool.
#[rustfmt::skip]
const ROWS: [HelpRow; 57] = [
    hidden(ALL, "--arch=<arch>", "The device subarchitecture"),
    shown(15..=19, "--bitcode-library=<kind>-<triple>-<arch>=<path>", "Extra bitcode library to link"),
    shown(17..=19, "--builtin-bitcode=<triple>=<path>", "Perform a special internalizing link on the bitcode file. This is necessary for some vendor libraries to be linked correctly"),
    shown(17..=19, "--clang-backend", "Run the backend using clang rather than the LTO backend"),
    hidden(20..=LAST, "--compiler-arg=<value>", "An extra argument to be passed to the compiler"),
    shown(17..=LAST, "--compression-level=<value>", "Specify the compression level (integer)"),
    shown(17..=LAST, "--compress", "Compress bundled files"),
    shown(ALL, "--cuda-path=<dir>", "Set the system CUDA path"),
    shown(15..=19, "--device-debug", "Use debugging"),
    shown(20..=LAST, "--device-compiler=<value> or <triple>=<value>", "Arguments to pass to the device compiler invocation"),
    shown(ALL, "--device-linker=<value> or <triple>=<value>", "Arguments to pass to the device linker invocation"),
    shown(ALL, "--dry-run", "Print program arguments without running"),
    shown(ALL, "--embed-bitcode", "Embed linked bitcode in the module"),
    shown(20..=LAST, "--emit-fatbin-only", "Emit fat binary directly without wrapping or host linking"),
    shown(ALL, "--help-hidden", "Display all available options"),
    shown(ALL, "--help", "Display available options (--help-hidden for more)"),
    shown(ALL, "--host-triple=<triple>", "Triple to use for the host compilation"),
    hidden(ALL, "--library-path=<value>", "Add <dir> to the library search path"),
    hidden(ALL, "--library-path <value>", "Add <dir> to the library search path"),
    hidden(ALL, "--library=<value>", "Add <dir> to the library search path"),
    hidden(ALL, "--library <value>", "Add <dir> to the library search path"),
    hidden(ALL, "--linker-arg=<value>", "An extra argument to be passed to the linker"),
    shown(ALL, "--linker-path=<path>", "The linker executable to invoke"),
    shown(ALL, "-L <dir>", "Add <dir> to the library search path"),
    shown(ALL, "-l <libname>", "Search for library <libname>"),
    shown(15..=16, "-mllvm <arg>", "Arguments passed to the LLVM invocation"),
    hidden(15..=16, "--offload-opt=-<value>", "Options passed to LLVM"),
    shown(17..=LAST, "-mllvm <arg>", "Arguments passed to LLVM, including Clang invocations, for which the '-mllvm' prefix is preserved. Use '-mllvm --help' for a list of options."),
    hidden(17..=19, "--offload-opt=-<value>", "Options passed to LLVM, not including the Clang invocation. Use '--offload-opt=--help' for a list of options."),
    shown(15..=19, "--opt-level=<O0, O1, O2, or O3>", "Optimization level for LTO"),
    hidden(20..=LAST, "--offload-opt=<value>", "Options passed to LLVM, not including the Clang invocation. Use '--offload-opt=--help' for a list of options."),
    hidden(ALL, "--output=<value>", "Alias for -o"),
    hidden(ALL, "--output <value>", "Alias for -o"),
    shown(17..=LAST, "--override-image=<kind=file>", "Uses the provided file as if it were the output of the device link step"),
    shown(ALL, "-o <path>", "Path to file to write output"),
    shown(15..=19, "--pass-remarks-analysis=<value>", "Pass remarks for LTO"),
    shown(15..=19, "--pass-remarks-missed=<value>", "Pass remarks for LTO"),
    shown(15..=19, "--pass-remarks=<value>", "Pass remarks for LTO"),
    shown(ALL, "--print-wrapped-module", "Print the wrapped module's IR for testing"),
    shown(15..=19, "--ptxas-arg=<value>", "Argument to pass to the 'ptxas' invocation"),
    shown(17..=LAST, "--relocatable", "Link device code to create a relocatable offloading application"),
    hidden(17..=LAST, "-r", "Link device code to create a relocatable offloading application"),
    shown(ALL, "--save-temps", "Save intermediate results"),
    shown(15..=16, "--sysroot<value>", "Set the system root"),
    shown(20..=LAST, "--should-extract=<kind=file>", "Set of device architectures we should always extract if found."),
    shown(17..=LAST, "--sysroot=<value>", "Set the system root"),
    hidden(ALL, "--triple=<triple>", "The device target triple"),
    shown(15..=15, "--verbose", "Verbose output from tools"),
    hidden(15..=19, "--version", "Display the version number and exit"),
    shown(15..=19, "--v", "Display the version number and exit"),
    hidden(ALL, "--whole-program", "LTO has visibility of all input files"),
    shown(16..=19, "--wrapper-jobs=<number>", "Sets the number of parallel jobs to use for device linking"),
    shown(20..=LAST, "--wrapper-jobs=<number>", "Sets the number of parallel jobs for device linking. Can be a positive integer or 'jobserver'."),
    shown(ALL, "--wrapper-time-trace-granularity=<number>", "Set the granularity of time-trace updates"),
    shown(ALL, "--wrapper-time-trace=<file>", "Enable time-trace and write the output to <file>"),
    shown(16..=LAST, "--wrapper-verbose", "Verbose output from tools"),
    shown(15..=16, "--", "The separator for the wrapped linker arguments"),
];

/// Text of `--help` or `--help-hidden` of a release.
pub fn text(release: Option<u32>, with_hidden: bool) -> String {
    let release = release.unwrap_or(LAST);
    let is_listed = |row: &&HelpRow| row.releases.contains(&release) && (with_hidden || !row.is_hidden);
    let rows: Vec<&HelpRow> = ROWS.iter().filter(is_listed).collect();
    let lengths = rows.iter().map(|row| row.option.len());
    let width = lengths.filter(|&length| length <= LONGEST).max().unwrap_or_default();
    let mut text = OVERVIEW.to_owned();
    for HelpRow { option, help, .. } in rows {
        let _ = if option.len() > width {
            writeln!(text, "  {option}\n  {:width$} {help}", "")
        } else {
            writeln!(text, "  {option:width$} {help}")
        };
    }
    text
}
