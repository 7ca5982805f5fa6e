//! The options of cuobjdump, as a table.

use crate::nvidia_options::{NvidiaOption, NvidiaTool, ValueType, option};

/// The tool.
pub const TOOL: NvidiaTool = NvidiaTool { name: "cuobjdump", help: include_str!("help.txt"), options };

/// Values of `--gpu-architecture`.
const ARCHITECTURES: &str = "\
    sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_107 sm_107a sm_107f sm_110 sm_110a sm_110f sm_120 sm_120a \
    sm_120f sm_121 sm_121a sm_121f sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a";

/// All options, in the order of the help.
fn options() -> Vec<NvidiaOption> {
    vec![
        option("all-fatbin", "all", ValueType::Flag),
        option("dump-elf", "elf", ValueType::Flag),
        option("dump-elf-symbols", "symbols", ValueType::Flag),
        option("dump-ptx", "ptx", ValueType::Flag),
        option("dump-resource-usage", "res-usage", ValueType::Flag),
        option("dump-sass", "sass", ValueType::Flag),
        option("extract-elf", "xelf", ValueType::List),
        option("extract-ptx", "xptx", ValueType::List),
        option("extract-text", "xtext", ValueType::List),
        option("function", "fun", ValueType::List),
        option("function-index", "findex", ValueType::Number),
        option("gpu-architecture", "arch", ValueType::Choice(ARCHITECTURES)),
        option("help", "h", ValueType::Flag),
        option("list-elf", "lelf", ValueType::Flag),
        option("list-ptx", "lptx", ValueType::Flag),
        option("list-text", "ltext", ValueType::Flag),
        option("options-file", "optf", ValueType::OptionFiles),
        option("sort-functions", "sort", ValueType::Flag),
        option("version", "V", ValueType::Flag),
    ]
}
