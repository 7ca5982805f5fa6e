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

impl HelpRow {
    /// Parses a line of [`ROWS`].
    fn parse(line: &'static str) -> Option<HelpRow> {
        let mut columns = line.split("  ");
        let stated = columns.next()?;
        let numbers = stated.trim_end_matches(" hidden");
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, ""));
        let releases = first.parse().ok()?..=last.parse().unwrap_or(LAST);
        Some(HelpRow { releases, is_hidden: numbers != stated, option: columns.next()?, help: columns.next()? })
    }
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

/// Options in the order of the tool: the releases with the option, the option, and its help.
const ROWS: &str = "\
15 hidden  --arch=<arch>  The device subarchitecture
15-19  --bitcode-library=<kind>-<triple>-<arch>=<path>  Extra bitcode library to link
17-19  --builtin-bitcode=<triple>=<path>  Perform a special internalizing link on the bitcode file. This is necessary for some vendor libraries to be linked correctly
17-19  --clang-backend  Run the backend using clang rather than the LTO backend
20 hidden  --compiler-arg=<value>  An extra argument to be passed to the compiler
17  --compression-level=<value>  Specify the compression level (integer)
17  --compress  Compress bundled files
15  --cuda-path=<dir>  Set the system CUDA path
15-19  --device-debug  Use debugging
20  --device-compiler=<value> or <triple>=<value>  Arguments to pass to the device compiler invocation
15  --device-linker=<value> or <triple>=<value>  Arguments to pass to the device linker invocation
15  --dry-run  Print program arguments without running
15  --embed-bitcode  Embed linked bitcode in the module
20  --emit-fatbin-only  Emit fat binary directly without wrapping or host linking
15  --help-hidden  Display all available options
15  --help  Display available options (--help-hidden for more)
15  --host-triple=<triple>  Triple to use for the host compilation
15 hidden  --library-path=<value>  Add <dir> to the library search path
15 hidden  --library-path <value>  Add <dir> to the library search path
15 hidden  --library=<value>  Add <dir> to the library search path
15 hidden  --library <value>  Add <dir> to the library search path
15 hidden  --linker-arg=<value>  An extra argument to be passed to the linker
15  --linker-path=<path>  The linker executable to invoke
15  -L <dir>  Add <dir> to the library search path
15  -l <libname>  Search for library <libname>
15-16  -mllvm <arg>  Arguments passed to the LLVM invocation
15-16 hidden  --offload-opt=-<value>  Options passed to LLVM
17  -mllvm <arg>  Arguments passed to LLVM, including Clang invocations, for which the '-mllvm' prefix is preserved. Use '-mllvm --help' for a list of options.
17-19 hidden  --offload-opt=-<value>  Options passed to LLVM, not including the Clang invocation. Use '--offload-opt=--help' for a list of options.
15-19  --opt-level=<O0, O1, O2, or O3>  Optimization level for LTO
20 hidden  --offload-opt=<value>  Options passed to LLVM, not including the Clang invocation. Use '--offload-opt=--help' for a list of options.
15 hidden  --output=<value>  Alias for -o
15 hidden  --output <value>  Alias for -o
17  --override-image=<kind=file>  Uses the provided file as if it were the output of the device link step
15  -o <path>  Path to file to write output
15-19  --pass-remarks-analysis=<value>  Pass remarks for LTO
15-19  --pass-remarks-missed=<value>  Pass remarks for LTO
15-19  --pass-remarks=<value>  Pass remarks for LTO
15  --print-wrapped-module  Print the wrapped module's IR for testing
15-19  --ptxas-arg=<value>  Argument to pass to the 'ptxas' invocation
17  --relocatable  Link device code to create a relocatable offloading application
17 hidden  -r  Link device code to create a relocatable offloading application
15  --save-temps  Save intermediate results
15-16  --sysroot<value>  Set the system root
20  --should-extract=<kind=file>  Set of device architectures we should always extract if found.
17  --sysroot=<value>  Set the system root
15 hidden  --triple=<triple>  The device target triple
15-15  --verbose  Verbose output from tools
15-19 hidden  --version  Display the version number and exit
15-19  --v  Display the version number and exit
15 hidden  --whole-program  LTO has visibility of all input files
16-19  --wrapper-jobs=<number>  Sets the number of parallel jobs to use for device linking
20  --wrapper-jobs=<number>  Sets the number of parallel jobs for device linking. Can be a positive integer or 'jobserver'.
15  --wrapper-time-trace-granularity=<number>  Set the granularity of time-trace updates
15  --wrapper-time-trace=<file>  Enable time-trace and write the output to <file>
16  --wrapper-verbose  Verbose output from tools
15-16  --  The separator for the wrapped linker arguments";

/// Text of `--help` or `--help-hidden` of a release.
pub fn text(release: Option<u32>, with_hidden: bool) -> String {
    let release = release.unwrap_or(LAST);
    let is_listed = |row: &HelpRow| row.releases.contains(&release) && (with_hidden || !row.is_hidden);
    let rows: Vec<HelpRow> = ROWS.lines().filter_map(HelpRow::parse).filter(is_listed).collect();
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
