//! The options of fatbinary, as a table.

use crate::nvidia_options::{NvidiaOption, NvidiaTool, ValueType, deprecated, option};

/// The tool.
pub const TOOL: NvidiaTool = NvidiaTool { name: "fatbinary", help: include_str!("help.txt"), options };

/// All options, in the order of the help.
fn options() -> Vec<NvidiaOption> {
    vec![
        option("32", "32", ValueType::Flag),
        option("64", "64", ValueType::Flag),
        option("cicc-cmdline", "cicc-cmdline", ValueType::Text),
        option("cmdline", "cmdline", ValueType::Text),
        option("compress", "compress", ValueType::Boolean),
        option("compress-all", "compress-all", ValueType::Flag),
        option("compress-mode", "compress-mode", ValueType::Text),
        option("concat", "concat", ValueType::Flag),
        option("create", "create", ValueType::Text),
        deprecated("cuda", ValueType::Flag),
        option("debug", "g", ValueType::Flag),
        option("device-c", "c", ValueType::Flag),
        option("embedded-fatbin", "fatbin", ValueType::Text),
        option("help", "h", ValueType::Flag),
        deprecated("host", ValueType::Text),
        option("ident", "ident", ValueType::Text),
        option("id-suffix", "id-suffix", ValueType::Text),
        option("image", "image", ValueType::Image(&["file", "profile"])),
        option("image2", "image2", ValueType::Image(&["file", "kind"])),
        option("image3", "image3", ValueType::Image(&["file", "kind", "sm"])),
        deprecated("key", ValueType::Text),
        option("link", "link", ValueType::Flag),
        option("no-asm", "no-asm", ValueType::Flag),
        deprecated("opencl", ValueType::Flag),
        option("options-file", "optf", ValueType::OptionFiles),
        option("tileir-cmdline", "tileir-cmdline", ValueType::Text),
        option("version", "V", ValueType::Flag),
    ]
}
