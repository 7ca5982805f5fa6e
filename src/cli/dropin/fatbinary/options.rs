//! The options of fatbinary, as a table.

use crate::cli::dropin::nvidia_options::{NvidiaOption, NvidiaTool, ValueType, deprecated, option};

/// The tool.
pub const TOOL: NvidiaTool = NvidiaTool { name: "fatbinary", arguments: "[options]", options };

/// All options, in the order of the help.
fn options() -> Vec<NvidiaOption> {
    vec![
        option("32", "32", ValueType::Flag, "Specify that this was a 32bit compile."),
        option("64", "64", ValueType::Flag, "Specify that this was a 64bit compile."),
        option("cicc-cmdline", "cicc-cmdline", ValueType::Text("options"), ""),
        option(
            "cmdline",
            "cmdline",
            ValueType::Text("<options>"),
            "The -Xptxas command-line options with which the device code is compiled.",
        ),
        option(
            "compress",
            "compress",
            ValueType::Boolean,
            "Compress ptx and debug images in fatbinary.\nDefault value:  true.",
        ),
        option("compress-all", "compress-all", ValueType::Flag, "Compress all images in fatbinary."),
        option(
            "compress-mode",
            "compress-mode",
            ValueType::Text("[default,size,speed,balance,none]"),
            "Specify compression mode.",
        ),
        option("concat", "concat", ValueType::Flag, "Enable concatenated fatbin entries for improved compression."),
        option(
            "create",
            "create",
            ValueType::Text("<file name>"),
            "Create file of given name that will contain fat binary.",
        ),
        deprecated("cuda", ValueType::Flag),
        option("debug", "g", ValueType::Flag, "Specify that this was a debug compile."),
        option(
            "device-c",
            "c",
            ValueType::Flag,
            "Specify that this contains relocatable code.  When used with --embedded-fatbin,\n\
             puts fatbin in section for pre-linked code.",
        ),
        option(
            "embedded-fatbin",
            "fatbin",
            ValueType::Text("<file name>"),
            "Specify the name of an C include file that defines an embedded fat binary\n\
             descriptor that will hold all 'internal' images.\n\
             When this option is not used, all 'internal' images are ignored and no embedded\n\
             fat binary file will be generated.",
        ),
        option("help", "h", ValueType::Flag, "Print this help information on this tool."),
        deprecated("host", ValueType::Text("<os>")),
        option("ident", "ident", ValueType::Text("<identifier name>"), "Code is for given identifier name."),
        option("id-suffix", "id-suffix", ValueType::Text("suffix"), ""),
        option("image", "image", ValueType::Image(&["file", "profile"]), ""),
        option(
            "image2",
            "image2",
            ValueType::Image(&["file", "kind"]),
            "Specify list of images with kind for types where multiple SMs are allowed\n\
             in one file (e.g. host objects, libraries).",
        ),
        option(
            "image3",
            "image3",
            ValueType::Image(&["file", "kind", "sm"]),
            "Specify list of images with kind and sm that compiled them.",
        ),
        deprecated("key", ValueType::Text("<key>")),
        option("link", "link", ValueType::Flag, "Specify that this contains linked code."),
        option("no-asm", "no-asm", ValueType::Flag, "Specify that output fatbin should not use asm."),
        deprecated("opencl", ValueType::Flag),
        option(
            "options-file",
            "optf",
            ValueType::OptionFiles("<file>,..."),
            "Include command line options from specified file.",
        ),
        option(
            "tileir-cmdline",
            "tileir-cmdline",
            ValueType::Text("<options>"),
            "The TileIR command-line options with which the device code is compiled.",
        ),
        option("version", "V", ValueType::Flag, "Print version information on this tool."),
    ]
}
