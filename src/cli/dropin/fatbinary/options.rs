//! The options of fatbinary, as a table.

/// An option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatbinaryOption {
    /// Name after two dashes, also in messages.
    pub long: &'static str,
    /// Name after one dash.
    pub short: &'static str,
    /// Type of the value.
    pub value: ValueType,
    /// Description in the help, with the tool's line breaks; empty for an option that the help does not list.
    pub help: &'static str,
    /// True if the tool warns of the option.
    pub is_deprecated: bool,
}

/// Type of an option's value, with the value's name in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// No value.
    Flag,
    /// `true` or `false`.
    Boolean,
    /// Any text.
    Text(&'static str),
    /// Names of files with further options, separated by commas.
    OptionFiles(&'static str),
    /// An image: pairs of one of these keywords and a value, separated by commas.
    Image(&'static [&'static str]),
}

/// All options, in the order of the help.
pub const OPTIONS: [FatbinaryOption; 27] = [
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
];

const fn option(long: &'static str, short: &'static str, value: ValueType, help: &'static str) -> FatbinaryOption {
    FatbinaryOption { long, short, value, help, is_deprecated: false }
}

const fn deprecated(name: &'static str, value: ValueType) -> FatbinaryOption {
    FatbinaryOption { is_deprecated: true, ..option(name, name, value, "") }
}

/// Width of the column with the long name and the value.
const LONG_COLUMN: usize = 51;

/// Width of the column with the short name.
const SHORT_COLUMN: usize = 19;

/// Returns the help.
pub fn help() -> String {
    let mut text = "\nUsage  : fatbinary [options]\n\nOptions\n=======\n\n".to_owned();
    for option in OPTIONS.iter().filter(|option| !option.help.is_empty()) {
        let (value, keywords) = match option.value {
            ValueType::Flag => (String::new(), &[][..]),
            ValueType::Boolean => (" [true,false]".to_owned(), &[][..]),
            ValueType::Text(name) | ValueType::OptionFiles(name) => (format!(" {name}"), &[][..]),
            ValueType::Image(keywords) => (" <image spec>,...".to_owned(), keywords),
        };
        let (long, short) = (format!("--{}{value}", option.long), format!("(-{})", option.short));
        text += &format!("{long:LONG_COLUMN$}{short:SHORT_COLUMN$}\n");
        for line in option.help.lines() {
            text += &format!("        {line}\n");
        }
        if !keywords.is_empty() {
            let keywords: Vec<String> = keywords.iter().map(|keyword| format!("'{keyword}'")).collect();
            text += &format!("        Allowed keywords for this option:  {}.\n", keywords.join(","));
        }
        text += "\n";
    }
    text + "\n"
}
