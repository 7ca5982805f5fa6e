//! The tool's own options: words that the host linker does not get.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use fatbin_core::base::io::os_string;
use fatbin_ops::embed::llvm::linker::LinkerRules;
use fatbin_ops::link::{LlvmArgument, TargetArgument, joined};

/// Values of the tool's options.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The host linker.
    pub linker: Option<PathBuf>,
    /// Triple of the host.
    pub host: Option<String>,
    /// Directory of CUDA.
    pub cuda_path: Option<PathBuf>,
    /// Processors whose code is taken from archives.
    pub should_extract: Vec<String>,
    /// Arguments for device linkers, `VALUE` or `TRIPLE=VALUE`.
    pub device_linker: Vec<OsString>,
    /// Arguments for the compiler that links device code.
    pub device_compiler: Vec<TargetArgument>,
    /// Options for LLVM during device links.
    pub llvm: Vec<LlvmArgument>,
    /// Offload kind and file of an image that replaces the images in the inputs.
    pub override_image: Option<OsString>,
    /// An option that fatbin does not support.
    pub unsupported: Option<&'static str>,
    /// Level of compression.
    pub compression_level: Option<String>,
    /// Number of device linkers at the same time.
    pub jobs: Option<String>,
    pub emit_fatbin_only: bool,
    pub embed_bitcode: bool,
    pub compress: bool,
    pub dry_run: bool,
    pub verbose: bool,
    pub save_temps: bool,
    pub prints_ir: bool,
    pub help: bool,
    pub help_hidden: bool,
    pub version: bool,
}

/// Function that sets an option with a value.
type SetValue = fn(&mut Options, &OsStr);

/// Function that sets an option without a value.
type SetFlag = fn(&mut Options);

/// Options with a value in the same word.
const JOINED: [(&str, SetValue); 14] = [
    ("--linker-path=", |options, value| options.linker = Some(value.into())),
    ("--host-triple=", |options, value| options.host = Some(text(value))),
    ("--cuda-path=", |options, value| options.cuda_path = Some(value.into())),
    ("--should-extract=", |options, value| {
        options.should_extract.extend(text(value).split(',').map(str::to_owned));
    }),
    ("--device-linker=", |options, value| options.device_linker.push(value.to_owned())),
    ("--device-compiler=", |options, value| options.device_compiler.push(TargetArgument::parse(value))),
    ("--offload-opt=", offload_option),
    ("-offload-opt=", offload_option),
    ("--override-image=", |options, value| options.override_image = Some(value.to_owned())),
    ("--compression-level=", |options, value| options.compression_level = Some(text(value))),
    ("--wrapper-jobs=", |options, value| options.jobs = Some(text(value))),
    // A trace of the tool's own passes; fatbin has none.
    ("--wrapper-time-trace-granularity=", |_, _| ()),
    ("--wrapper-time-trace=", |_, _| ()),
    // The tool passes this to itself.
    ("--linker-arg=", |_, _| ()),
];

/// Options with a value, in releases that optimize device code in the tool.
const JOINED_WITH_LTO: [(&str, SetValue); 7] = [
    ("--opt-level=", |options, value| compiler_option(options, "-", value)),
    ("--ptxas-arg=", |options, value| {
        compiler_option(options, "-Xcuda-ptxas", OsStr::new(""));
        compiler_option(options, "", value);
    }),
    ("--pass-remarks=", |options, value| compiler_option(options, "-Rpass=", value)),
    ("--pass-remarks-missed=", |options, value| compiler_option(options, "-Rpass-missed=", value)),
    ("--pass-remarks-analysis=", |options, value| compiler_option(options, "-Rpass-analysis=", value)),
    ("--bitcode-library=", |options, _| options.unsupported = Some("--bitcode-library")),
    ("--builtin-bitcode=", |options, _| options.unsupported = Some("--builtin-bitcode")),
];

/// Options without a value, in the same releases.
const FLAGS_WITH_LTO: [(&str, SetFlag); 5] = [
    ("--device-debug", |options| compiler_option(options, "-g", OsStr::new(""))),
    // The linker of the target always generates the code.
    ("--clang-backend", |_| ()),
    ("--verbose", |options| options.verbose = true),
    ("--v", |options| options.version = true),
    // The words of the host linker follow.
    ("--", |_| ()),
];

/// Options without a value.
const FLAGS: [(&str, SetFlag); 13] = [
    // LLVM 24: how clang is found and called. fatbin calls it only if no other program links the code.
    ("--no-canonical-prefixes", |_| ()),
    ("--no-lto", |_| ()),
    ("--emit-fatbin-only", |options| options.emit_fatbin_only = true),
    ("--embed-bitcode", |options| options.embed_bitcode = true),
    ("--compress", |options| options.compress = true),
    ("--dry-run", |options| options.dry_run = true),
    ("--wrapper-verbose", |options| options.verbose = true),
    ("--save-temps", |options| options.save_temps = true),
    ("--print-wrapped-module", |options| options.prints_ir = true),
    ("--help", |options| options.help = true),
    ("--help-hidden", |options| options.help_hidden = true),
    ("--version", |options| options.version = true),
    ("-version", |options| options.version = true),
];

/// Option for LLVM, whose value is the next word.
const MLLVM: &str = "-mllvm";

fn offload_option(options: &mut Options, value: &OsStr) {
    options.llvm.push(LlvmArgument { value: value.to_owned(), is_mllvm: false });
}

fn text(value: &OsStr) -> String {
    value.to_string_lossy().into_owned()
}

/// Adds an option of the compiler that links device code, for all targets.
fn compiler_option(options: &mut Options, option: &str, value: &OsStr) {
    options.device_compiler.push(TargetArgument { triple: None, value: joined(option, value) });
}

/// Separates the tool's options from the words for the host linker.
pub fn parse(arguments: Vec<OsString>, rules: LinkerRules) -> Result<(Options, Vec<OsString>), String> {
    let (joined, flags): (&[_], &[_]) =
        if rules.has_own_lto { (&JOINED_WITH_LTO, &FLAGS_WITH_LTO) } else { (&[], &[]) };
    let mut options = Options::default();
    let mut words = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(word) = arguments.next() {
        let bytes = word.as_encoded_bytes();
        if let Some((_, set)) = FLAGS.iter().chain(flags).find(|(flag, _)| flag.as_bytes() == bytes) {
            set(&mut options);
        } else if let Some((value, set)) =
            JOINED.iter().chain(joined).find_map(|(option, set)| Some((bytes.strip_prefix(option.as_bytes())?, set)))
        {
            set(&mut options, &os_string(value));
        } else if bytes == MLLVM.as_bytes() {
            let value = arguments.next().ok_or_else(|| format!("{MLLVM}: missing argument"))?;
            options.llvm.push(LlvmArgument { value, is_mllvm: true });
        } else {
            words.push(word);
        }
    }
    Ok((options, words))
}
