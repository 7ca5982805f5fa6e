//! The options of cuobjdump, as a table.

use crate::cli::dropin::nvidia_options::{NvidiaOption, NvidiaTool, ValueType, option};

/// The tool.
pub const TOOL: NvidiaTool = NvidiaTool { name: "cuobjdump", arguments: "[options] <file>", options };

/// Values of `--gpu-architecture`.
const ARCHITECTURES: &str = "\
    sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_107 sm_107a sm_107f sm_110 sm_110a sm_110f sm_120 sm_120a \
    sm_120f sm_121 sm_121a sm_121f sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a";

/// All options, in the order of the help.
fn options() -> Vec<NvidiaOption> {
    vec![
        option(
            "all-fatbin",
            "all",
            ValueType::Flag,
            "Dump all fatbin sections.  By default will only dump contents of executable\n\
             fatbin (if exists), else relocatable fatbin if no executable fatbin.",
        ),
        option("dump-elf", "elf", ValueType::Flag, "Dump ELF Object sections."),
        option("dump-elf-symbols", "symbols", ValueType::Flag, "Dump ELF symbol names."),
        option("dump-ptx", "ptx", ValueType::Flag, "Dump ptx for all listed device functions."),
        option(
            "dump-resource-usage",
            "res-usage",
            ValueType::Flag,
            "Dump resource usage for each ELF. Useful in getting all the resource usage\ninformation at one place.",
        ),
        option(
            "dump-sass",
            "sass",
            ValueType::Flag,
            "Dump CUDA assembly for a single cubin file or all cubin files embedded in\nthe binary.",
        ),
        option(
            "extract-elf",
            "xelf",
            ValueType::List("<partial file name>,..."),
            "Extract ELF file(s) name containing <partial file name> and save as file(s).\n\
             Use 'all' to extract all files. To get the list of ELF files use -lelf option.\n\
             All 'dump' and 'list' options are ignored with this option.",
        ),
        option(
            "extract-ptx",
            "xptx",
            ValueType::List("<partial file name>,..."),
            "Extract PTX file(s) name containing <partial file name> and save as file(s).\n\
             Use 'all' to extract all files. To get the list of PTX files use -lptx option.\n\
             All 'dump' and 'list' options are ignored with this option.",
        ),
        option(
            "extract-text",
            "xtext",
            ValueType::List("<partial file name>,..."),
            "Extract text binary encoding file(s) name containing <partial file name>\n\
             and save as file(s). Use 'all' to extract all files. To get the list of text\n\
             binary encoding use -ltext option. All 'dump' and 'list' options are ignored\n\
             with this option.",
        ),
        option(
            "function",
            "fun",
            ValueType::List("<function name>,..."),
            "Specify names of device functions whose fat binary structures must be dumped.",
        ),
        option(
            "function-index",
            "findex",
            ValueType::Number("<function index>"),
            "Specify symbol table index of the function whose fat binary structures must\nbe dumped.",
        ),
        option(
            "gpu-architecture",
            "arch",
            ValueType::Choice("<gpu architecture name>", ARCHITECTURES),
            "Specify GPU Architecture for which information should be dumped.\n\
             Allowed values for this option:  'sm_100','sm_100a','sm_100f','sm_103','sm_103a',\n\
             'sm_103f','sm_107','sm_107a','sm_107f','sm_110','sm_110a','sm_110f','sm_120',\n\
             'sm_120a','sm_120f','sm_121','sm_121a','sm_121f','sm_75','sm_80','sm_86',\n\
             'sm_87','sm_88','sm_89','sm_90','sm_90a'.",
        ),
        option("help", "h", ValueType::Flag, "Print this help information on this tool."),
        option(
            "list-elf",
            "lelf",
            ValueType::Flag,
            "List all the ELF files available in the fatbin. All other options are ignored\n\
             with this flag. This can be used to select particular ELF with -xelf option\n\
             later.",
        ),
        option(
            "list-ptx",
            "lptx",
            ValueType::Flag,
            "List all the PTX files available in the fatbin. All other options are ignored\n\
             with this flag. This can be used to select particular PTX with -xptx option\n\
             later.",
        ),
        option(
            "list-text",
            "ltext",
            ValueType::NamedFlag("<partial file name>"),
            "List all the text binary function names available in the fatbin. All other\n\
             options are ignored with the flag. This can be used to select particular\n\
             function with -xtext option later.",
        ),
        option(
            "options-file",
            "optf",
            ValueType::OptionFiles("<file>,..."),
            "Include command line options from specified file.",
        ),
        option("sort-functions", "sort", ValueType::Flag, "Sort functions when dumping sass."),
        option("version", "V", ValueType::Flag, "Print version information on this tool."),
    ]
}
