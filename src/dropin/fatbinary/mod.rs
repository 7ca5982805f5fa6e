//! NVIDIA's fatbinary: writes CUDA fat binaries, as a file or as C source. nvcc and clang call it.
//!
//! Source: the output of fatbinary 13.5.37. `linker-tests/fatbinary` compares it with the output of this module.
//!
//! Divergences from fatbinary 13.5, with the reasons:
//!
//! - `--image=profile=P,file=F` is accepted, and entries are then compressed with LZ4. clang before LLVM 22 passes it
//!   to earlier releases of fatbinary. The drivers of these releases may not read zstd.
//! - LTO-IR is stored uncompressed. fatbinary scrambles what it compresses.
//! - A truncated or damaged cubin is refused. fatbinary stores it, or ends with a segmentation fault.
//! - Options for the codec and key of entries, which the help does not list, are unknown. nvcc does not pass them.
//! - Outputs are written completely or not at all. A build uses existing outputs.
//! - A full device is an error. The tool ignores write errors.
//! - `--version` names this program. It is not NVIDIA's.

mod embed;
mod images;
mod options;

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::diagnostics::{print, write_messages};
use super::nvidia_options::{ParsedLine, ToolFailure};
use embed::SourceForm;
use fatbin_core::base::content::Content;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{FileSet, Input, Output, OutputKind, Sink, commit_all};
use fatbin_ops::embed::NvFatbin;
use images::EntryInput;
pub use options::TOOL;

const VERSION: &str = concat!(
    "fatbin ",
    env!("CARGO_PKG_VERSION"),
    ", in place of fatbinary\nCuda compilation tools, release 13.5, V13.5.37\n"
);

const CONCAT_NEEDS_COMPRESSION: &str = "Option '--concat' requires compression to be enabled; it is incompatible with \
                                        '--compress=false' and '--compress-mode=none'";

/// Creates an error of the command line.
fn fatal(message: impl AsRef<str>) -> ToolFailure {
    TOOL.fatal(message)
}

fn write_failure(error: &Error) -> ToolFailure {
    fatal(error.to_string())
}

/// Images of a sort that `--concat` compresses as one.
const FEWEST_IN_GROUP: usize = 2;

/// Error of the library that fatbinary calls.
fn library_error(message: &impl Display) -> ToolFailure {
    ToolFailure::error(format!("\nnvFatbin error: {message}\n"))
}

/// Runs as the tool.
pub fn run(arguments: &[OsString]) -> u8 {
    let mut line = ParsedLine::new(TOOL);
    let parsed = line.parse(arguments);
    write_messages(&line.warnings);
    let is_help = arguments.is_empty() || !line.others.is_empty() || line.flag("help");
    let done = match parsed {
        Ok(()) if is_help => return print(TOOL.help, 0),
        Ok(()) if line.flag("version") => return print(VERSION, 0),
        Ok(()) => construct(&line),
        Err(failure) => Err(failure),
    };
    ToolFailure::status(done)
}

/// Writes the outputs of a command line.
fn construct(line: &ParsedLine) -> Result<(), ToolFailure> {
    let is_uncompressed = line.value("compress") == Some(b"false") || line.value("compress-mode") == Some(b"none");
    if line.flag("concat") && is_uncompressed {
        return Err(fatal(CONCAT_NEEDS_COMPRESSION));
    }
    let mut container = NvFatbin::new(library_options(line)).map_err(|error| library_error(&error))?;
    let files = images::open_all(line)?;
    for file in &files {
        file.add_to(&mut container, line)?;
    }
    let container = container.content(FEWEST_IN_GROUP).map_err(|error| library_error(&error))?;
    write_outputs(line, &files, &container)
}

/// The options of the command line for the library.
fn library_options(line: &ParsedLine) -> Vec<Vec<u8>> {
    let flags = ["32", "64", "compress-all", "concat", "cuda", "opencl"].map(|name| (name, name));
    let flags = flags.into_iter().chain([("debug", "g"), ("device-c", "c")]);
    let mut options: Vec<Vec<u8>> =
        flags.filter(|(name, _)| line.flag(name)).map(|(_, option)| format!("-{option}").into_bytes()).collect();
    for name in ["compress", "compress-mode", "host"] {
        if let Some(value) = line.value(name) {
            options.push([b"-", name.as_bytes(), b"=", value].concat());
        }
    }
    // `--image` comes from clang before LLVM 22, with an earlier release of CUDA, whose drivers may not read zstd.
    if line.images.iter().any(|(option, _)| *option == "image") {
        options.push(b"-compress-mode=speed".to_vec());
    }
    options
}

/// Writes the container as a file, as C source, or both.
fn write_outputs(line: &ParsedLine, files: &[EntryInput], container: &Content<'_>) -> Result<(), ToolFailure> {
    let inputs = || files.iter().map(|file| &file.input);
    let mut outputs = Vec::new();
    if let Some(path) = line.path("create") {
        let mut output = create(&path)?;
        write_container(container, inputs(), &mut output)?;
        outputs.push(output);
    }
    if let Some(path) = line.path("embedded-fatbin") {
        let mut output = create(&path)?;
        let suffix = line.text("id-suffix").unwrap_or_default();
        let form = SourceForm {
            id_suffix: String::from_utf8_lossy(suffix).into_owned(),
            is_relocatable: line.flag("device-c"),
            is_linked: line.flag("link"),
            uses_asm: !line.flag("no-asm"),
        };
        embed::write(&form, &container.to_vec(), &mut output)?;
        outputs.push(output);
    }
    commit_all(outputs, inputs()).map_err(|error| write_failure(&error))
}

fn create(path: &OsStr) -> Result<Output, ToolFailure> {
    // The tool treats `-` as a file name, and an empty name as invalid.
    let place = if path == "-" { PathBuf::from("./-") } else { PathBuf::from(path) };
    let failure = || fatal(format!("Could not open output file '{}'", path.display()));
    if place == Path::new("") {
        return Err(failure());
    }
    let place = FileSet::new().updating(true).output(&place, OutputKind::Code);
    place.and_then(Output::update).map_err(|_| failure())
}

fn write_container<'a>(
    container: &Content<'_>,
    inputs: impl Iterator<Item = &'a Input>,
    output: &mut Output,
) -> Result<(), ToolFailure> {
    let mut sink = Sink::new(inputs);
    container.runs().for_each(|run| sink.push(run));
    sink.write_to(output).map_err(|error| write_failure(&error))
}
