//! The command lines of the tool's releases.

use crate::llvm_options::{LlvmOption, Occurs, Positional, Shown, Tool, ValueType};
use fatbin_ops::embed::llvm::packager::{Extraction, PackagerRules};

const OVERVIEW: &str = "\
A utility for bundling several object files into a single binary.
The output binary can then be embedded into the host section table
to create a fatbinary containing offloading code.
";

/// Title of the options in the help before LLVM 22.
const PACKAGER_OPTIONS: &str = "clang-offload-packager options";

static PACKS_ONLY: Tool = Tool {
    overview: OVERVIEW,
    category: PACKAGER_OPTIONS,
    options: &[IMAGE, LlvmOption { occurs: Occurs::Required, ..OUTPUT }],
    positional: None,
};

static EXTRACTS_FILES: Tool =
    Tool { overview: OVERVIEW, category: PACKAGER_OPTIONS, options: &[IMAGE, OUTPUT], positional: INPUT };

static EXTRACTS_ARCHIVES: Tool =
    Tool { overview: OVERVIEW, category: PACKAGER_OPTIONS, options: &[ARCHIVE, IMAGE, OUTPUT], positional: INPUT };

static OFFLOAD_BINARY: Tool = OFFLOAD_BINARY_TOOL;

const OFFLOAD_BINARY_TOOL: Tool = Tool {
    overview: OVERVIEW,
    category: "llvm-offload-binary options",
    options: &[ARCHIVE, IMAGE, OUTPUT],
    positional: INPUT,
};

/// The help texts of the compression options are not LLVM's.
static COMPRESSES: Tool =
    Tool { options: &[ARCHIVE, COMPRESS, COMPRESSION_FORMAT, COMPRESSION_LEVEL, IMAGE, OUTPUT], ..OFFLOAD_BINARY_TOOL };

const COMPRESS: LlvmOption = option("compress", ValueType::Flag, "Compress the output");

const COMPRESSION_FORMAT: LlvmOption = option(
    "compression-format",
    ValueType::Choice(&[("zstd", "Compress with zstd"), ("zlib", "Compress with zlib")]),
    "Format of the compression",
);

const COMPRESSION_LEVEL: LlvmOption =
    option("compression-level", ValueType::Integer("int"), "Level of the compression");

const ARCHIVE: LlvmOption = option("archive", ValueType::Flag, "Write extracted files to a static archive");

const IMAGE: LlvmOption = option(
    "image",
    ValueType::Text("<key>=<value>,..."),
    "List of key and value arguments. Required keywords are 'file' and 'triple'.",
);

const OUTPUT: LlvmOption = option("o", ValueType::Text("file"), "Write output to <file>.");

const INPUT: Option<Positional> = Some(Positional { help: "Extract from <file>.", at_least: 0, at_most: Some(1) });

const fn option(name: &'static str, value: ValueType, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs: Occurs::Optional, shown: Shown::Always, help }
}

/// Command line of a release's tool.
pub fn tool(rules: &PackagerRules) -> &'static Tool<'static> {
    match (rules.extraction, rules.is_renamed) {
        _ if rules.has_compression => &COMPRESSES,
        (Extraction::Unsupported, _) => &PACKS_ONLY,
        (Extraction::Files, _) => &EXTRACTS_FILES,
        (Extraction::FilesAndArchives, false) => &EXTRACTS_ARCHIVES,
        (Extraction::FilesAndArchives, true) => &OFFLOAD_BINARY,
    }
}
