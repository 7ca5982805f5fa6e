//! The command lines of the tool's releases.

use crate::llvm_options::{LlvmOption, Occurs, Shown, ValueType};
use fatbin_ops::embed::llvm::bundler::{BundlerRules, FileOptions};

/// First text of the help.
pub const OVERVIEW: &str = concat!(
    "A tool to bundle several input files of the specified type <type> \n",
    "referring to the same source file but different targets into a single \n",
    "one. The resulting file can also be unbundled into different files by \n",
    "this tool if -unbundle is provided.\n",
);

/// Test of whether a release has an option.
type Condition = fn(&BundlerRules) -> bool;

/// Returns the options, each with a test of the releases that have it.
#[rustfmt::skip]
fn all() -> Vec<(LlvmOption, Condition)> {
    vec![
        (LlvmOption { occurs: Occurs::Required, ..option("type", STRING, TYPES) }, |rules| rules.has_hipi),
        (LlvmOption { occurs: Occurs::Required, ..option("type", STRING, TYPES_WITHOUT_HIPI) }, |rules| !rules.has_hipi),
        (list("inputs", Occurs::RequiredCommaSeparated, "[<input file>,...]"), has_lists),
        (list("outputs", Occurs::CommaSeparated, "[<output file>,...]"), has_lists),
        (option("input", STRING, "Input file. Can be specified multiple times for multiple input files."), repeats_files),
        (list("inputs", Occurs::CommaSeparated, "[<input file>,...] (deprecated)"), repeats_files),
        (option("output", STRING, "Output file. Can be specified multiple times for multiple output files."), repeats_files),
        (list("outputs", Occurs::CommaSeparated, "[<output file>,...] (deprecated)"), repeats_files),
        (list("targets", Occurs::CommaSeparated, "[<offload kind>-<target triple>,...]"), always),
        (option("unbundle", ValueType::Flag, "Unbundle bundled file into several output files."), always),
        (option("list", ValueType::Flag, "List bundle IDs in the bundled file."), always),
        (option("###", ValueType::Flag, DRY_RUN), always),
        (option("allow-missing-bundles", ValueType::Flag, "Create empty files if bundles are missing when unbundling."), always),
        (option("bundle-align", ValueType::Unsigned("uint"), "Alignment of bundle for binary files"), always),
        (option("check-input-archive", ValueType::Flag, ARCHIVE_CHECK), |rules| rules.has_archive_check),
        (option("hip-openmp-compatible", ValueType::Flag, HIP_OPENMP), |rules| rules.has_hip_openmp),
        (option("compress", ValueType::Flag, "Compress output file when bundling."), compresses),
        (option("compression-level", ValueType::Integer("n"), "Specify the compression level (integer)"), has_levels),
        (option("verbose", ValueType::Flag, "Print debug information."), compresses),
        (LlvmOption { occurs: Occurs::CommaSeparated, shown: Shown::Never, ..option("debug-only", DEBUG, DEBUG_ONLY) }, always),
    ]
}

const STRING: ValueType = ValueType::Text("string");

const DEBUG: ValueType = ValueType::Text("debug string");

const DEBUG_ONLY: &str = "Enable a specific type of debug output";

const DRY_RUN: &str = "Print any external commands that are to be executed instead of actually executing them - for \
                       testing purposes.";

const ARCHIVE_CHECK: &str = "Check if input heterogeneous archive is valid in terms of TargetID rules.";

const HIP_OPENMP: &str = "Treat hip and hipv4 offload kinds as compatible with openmp kind, and vice versa.";

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

const TYPES_WITHOUT_HIPI: &str = "\
Type of the files to be bundled/unbundled.
Current supported types are:
  i   - cpp-output
  ii  - c++-cpp-output
  cui - cuda/hip-output
  d   - dependency
  ll  - llvm
  bc  - llvm-bc
  s   - assembler
  o   - object
  a   - archive of objects
  gch - precompiled-header
  ast - clang AST file";

/// Options of a release.
pub fn options(rules: &BundlerRules) -> Vec<LlvmOption> {
    all().into_iter().filter(|(_, is_in)| is_in(rules)).map(|(option, _)| option).collect()
}

const fn option(name: &'static str, value: ValueType, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs: Occurs::Optional, shown: Shown::Always, help }
}

const fn list(name: &'static str, occurs: Occurs, help: &'static str) -> LlvmOption {
    LlvmOption { occurs, ..option(name, STRING, help) }
}

fn always(_: &BundlerRules) -> bool {
    true
}

fn has_lists(rules: &BundlerRules) -> bool {
    rules.file_options == FileOptions::Lists
}

fn repeats_files(rules: &BundlerRules) -> bool {
    rules.file_options == FileOptions::Repeated
}

fn compresses(rules: &BundlerRules) -> bool {
    rules.compression.is_some()
}

fn has_levels(rules: &BundlerRules) -> bool {
    rules.compression.is_some_and(|compression| compression.has_levels)
}
