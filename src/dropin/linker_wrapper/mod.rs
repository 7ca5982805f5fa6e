//! clang-linker-wrapper: links the device code in the inputs of a host linker, and then the program.
//!
//! Divergences from LLVM 22.1, with the reasons:
//!
//! - Up to LLVM 19, ld.lld optimizes code for AMD GPUs, and clang compiles bitcode for NVIDIA GPUs together and bitcode
//!   for CPUs file by file. The tool itself optimizes the code there.
//! - Up to LLVM 19, two definitions of a device symbol are an error of the device linker. The tool silently takes the
//!   first.
//! - `--bitcode-library` and `--builtin-bitcode` are errors. They are not supported.
//! - Device code is linked by the linker of its target, without clang. ld.lld is the only program of LLVM that is
//!   needed.
//! - An image that is linked already passes unchanged. The tool links it again, into an empty image.
//! - Device code in the output of `-r` is not linked again. It is registered already.
//! - `--emit-fatbin-only` with images of several offload kinds is an error. The tool writes one fat binary over the
//!   other.
//! - Without an output on the command line, the program has its device code. The tool drops it.
//! - `--override-image` reads the processor of a cubin as CUDA 13 writes it. The tool takes `sm_90` for `sm_90a`.
//! - Images of several triples are ordered by triple, then by processor. The tool's comparison is not an order.
//! - Device links run at the same time. The result is the same.
//! - An archive that is named twice is linked once. Host linkers take a member once. The tool defines its symbols
//!   twice.
//! - Device code that is lost causes a note. The tool is silent, and the program fails at the first launch.
//! - Temporary files are in a separate directory, with deterministic names. This keeps builds reproducible.

mod commands;
mod help;
mod options;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::FAILED;
use super::diagnostics::{Diagnostics, print, write_messages, write_stderr};
use super::llvm_options::{expand_response_files, split_value};
use super::stand_in::StandIn;
use crate::access;
use commands::Commands;
use fatbin_core::base::bytes::Limits;
use fatbin_core::base::codec::{Codec, Compression};
use fatbin_core::base::io::os_string;
use fatbin_core::base::parallel::threads;
use fatbin_core::host::{Host, ObjectFormat};
use fatbin_core::target::triple::NVPTX64;
use fatbin_core::target::{IdStyle, OffloadKind};
use fatbin_ops::embed::llvm::linker::DeviceWords;
use fatbin_ops::embed::llvm::linker::LinkerRules;
use fatbin_ops::link::{
    DeviceArguments, EntryCheck, HostLine, LinkError, LinkEvent, LinkOptions, MissingKernel, Product, ProgramPaths,
    Spelling, TargetArgument, joined, link,
};
use options::Options;

/// Result of the tool; the error is its message.
type Result<T, E = String> = std::result::Result<T, E>;

/// Runs as the tool.
pub fn run(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
    let diagnostics = Diagnostics { program: Some(program), color: None };
    match run_words(program, stand_in, arguments) {
        Ok(status) => status,
        Err(message) => {
            diagnostics.error(&message);
            FAILED
        }
    }
}

fn run_words(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> Result<u8> {
    if !stand_in.release.linker.is_replaced {
        return Err(format!("the tool of {} is not replaced; call that of LLVM itself", stand_in.release.name));
    }
    let (options, words) = options::parse(expand_response_files(arguments)?, stand_in.release.linker)?;
    if options.version {
        let version = stand_in.release.number.map_or("main".to_owned(), |number| number.to_string());
        return Ok(print(&format!("clang-linker-wrapper version {version} (fatbin)\n"), 0));
    }
    if options.help || options.help_hidden {
        return Ok(print(&help::text(stand_in.release.number, !options.help), 0));
    }
    if let Some(option) = options.unsupported {
        return Err(format!("{option}: not supported; call the clang-linker-wrapper of {}", stand_in.release.name));
    }
    let line = HostLine::parse(words).map_err(|missing| format!("{}: missing argument", missing.option.display()))?;
    let link_options = link_options(program, stand_in, &options, line)?;
    let diagnostics = Diagnostics { program: Some(program), color: None };
    let commands = Commands::new(&options, stand_in.release, link_options.line.is_relocatable());
    let is_verbose = options.verbose || options.dry_run;
    let mut report = |step: &LinkEvent<'_>| match step {
        LinkEvent::Printed(text) => write_messages(text),
        // Lines of IR are as long as the images.
        LinkEvent::Ir(text) => write_stderr(text),
        LinkEvent::MissingKernel(kernel) => diagnostics.note(&missing_kernel(kernel)),
        LinkEvent::UnknownImage(path, target) => {
            diagnostics.note(&format!("{path}: the image for {target} is no device code; no runtime loads it"));
        }
        LinkEvent::Unregistered(kernel) => diagnostics.note(&unregistered(kernel)),
        LinkEvent::Found(paths) => paths.iter().for_each(|path| {
            diagnostics
                .note(&format!("{}: its device code is not linked; name the file on the command line", path.display()));
        }),
        LinkEvent::Lost(input) => input.loss().iter().for_each(|loss| diagnostics.note(loss)),
        step if is_verbose => write_messages(&commands.lines(step)),
        _ => {}
    };
    link(&link_options, &mut report).map_err(|error| message(&error))?;
    Ok(0)
}

fn link_options(program: &OsStr, stand_in: StandIn, options: &Options, line: HostLine) -> Result<LinkOptions> {
    let product = if options.emit_fatbin_only { Product::FatBinary } else { Product::Program };
    let linker = match (&options.linker, product) {
        (Some(linker), _) => linker.clone(),
        (None, Product::FatBinary) => "".into(),
        (None, Product::Program) => return Err("linker path missing, must pass 'linker-path'".to_owned()),
    };
    let host = match &options.host {
        Some(host) => host.clone(),
        None => Host::native().map_err(|error| error.to_string())?.triple().to_owned(),
    };
    let beside = Path::new(program).parent().filter(|directory| *directory != Path::new(""));
    let cuda = options.cuda_path.as_ref().map(|directory| directory.join("bin"));
    let compression = if options.compress { stand_in.release.bundler.compression } else { None };
    let level = match &options.compression_level {
        Some(level) => Some(level.parse().map_err(|_| format!("'{level}' is not a number"))?),
        None => None,
    };
    Ok(LinkOptions {
        linker,
        line,
        spelling: Spelling::Respelled,
        product,
        host,
        release: stand_in.release,
        abi: Some(stand_in.release),
        // The tool writes no other spelling, and HIP's runtime finds no other.
        id_style: IdStyle::Legacy,
        accepts_subarchs: stand_in.release_with(|release| release.reads_subarchs).reads_subarchs,
        requested: options.should_extract.clone(),
        device: device_arguments(stand_in.release.linker, options),
        programs: ProgramPaths {
            specified: Vec::new(),
            directories: cuda.into_iter().chain(beside.map(Path::to_owned)).collect(),
            version: stand_in.release.number,
        },
        override_image: options.override_image.as_deref().map(override_image).transpose()?,
        // The tool does not search for kernels, so a missing one is a note and the exit status stays.
        entry_check: if options.dry_run { EntryCheck::Off } else { EntryCheck::Warn },
        // The tool calls clang-offload-bundler.
        rejects_conflicts: stand_in.release.bundler.rejects_conflicts && !options.dry_run,
        requires_images: false,
        reports_ir: options.prints_ir,
        reserves_output: false,
        compression: compression
            .map(|rules| (Compression { codec: Codec::Zstd, level: level.unwrap_or(rules.level) }, rules.version)),
        jobs: jobs(options)?,
        keeps_files: options.save_temps,
        is_dry_run: options.dry_run,
        access: access::get(),
        limits: Limits::default(),
    })
}

/// Returns the arguments for device links. Up to LLVM 19, text before `=` in a word for the device linker is always a
/// triple, so `--build-id=none` is for no target.
fn device_arguments(rules: LinkerRules, options: &Options) -> DeviceArguments {
    let parse =
        |word: &OsString| if rules.has_own_lto { TargetArgument::split(word) } else { TargetArgument::parse(word) };
    let mut compiler = options.device_compiler.clone();
    if let (DeviceWords::Compiler, Some(directory)) = (rules.device_words, &options.cuda_path) {
        let triple = Some(NVPTX64.to_owned());
        let value = joined("--cuda-path=", directory.as_os_str());
        compiler.push(TargetArgument { triple, value });
    }
    DeviceArguments {
        linker: options.device_linker.iter().map(parse).collect(),
        linker_words: rules.device_words,
        compiler,
        llvm: options.llvm.clone(),
        emits_bitcode: options.embed_bitcode,
    }
}

/// Note on a kernel that no image has.
fn missing_kernel(MissingKernel { path, kind, name }: &MissingKernel) -> String {
    format!("{path}: no {} image has kernel {name}; its launch fails", kind.name())
}

/// Note on a kernel that the program does not register.
fn unregistered(MissingKernel { path, kind, name }: &MissingKernel) -> String {
    format!("{path}: the program does not register the {kind} kernel {name}; its launch fails", kind = kind.name())
}

/// Maximum number of concurrent device linkers: one per processor, unless the caller limits them.
fn jobs(options: &Options) -> Result<usize> {
    match options.jobs.as_deref() {
        None | Some("jobserver") => Ok(threads()),
        Some(number) => number.parse().ok().filter(|&number| number > 0).ok_or_else(|| {
            format!("--wrapper-jobs={number}: expected a positive integer or 'jobserver', got '{number}'")
        }),
    }
}

/// Parses `KIND=FILE`.
fn override_image(value: &OsStr) -> Result<(OffloadKind, PathBuf)> {
    let (kind, path) = split_value(value.as_encoded_bytes());
    let kind = std::str::from_utf8(kind).ok().and_then(OffloadKind::from_name);
    let path = PathBuf::from(os_string(path.unwrap_or_default()));
    // The tool reads this file first.
    if !path.exists() {
        return Err(format!("'{}': No such file or directory", path.display()));
    }
    let kind = kind.ok_or("none bundling is not supported")?;
    Ok((kind, path))
}

/// The tool's message for an error.
fn message(error: &LinkError) -> String {
    match error {
        LinkError::Failed { program, .. } => {
            format!("'{}' failed", program.file_name().unwrap_or_default().to_string_lossy())
        }
        LinkError::Start { program, cause } => {
            format!("'{}' failed: {cause}", program.file_name().unwrap_or_default().to_string_lossy())
        }
        LinkError::MissingTool { path, target, tool, package } => {
            format!("{path}: {target} needs {tool}, which was not found; install {package}")
        }
        LinkError::Relocatable { format: ObjectFormat::Coff, .. } => {
            "Relocatable linking is not supported on COFF targets".to_owned()
        }
        // The message of clang-offload-bundler.
        LinkError::ConflictingTargets { one, other } => {
            format!("Cannot bundle inputs with conflicting targets: '{one}' and '{other}'")
        }
        LinkError::UnsupportedTarget { triple, .. } => {
            format!("{} linking is not supported", triple.split('-').next().unwrap_or_default())
        }
        other => other.to_string(),
    }
}
