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

mod compression;
mod embed;
mod image_type;
mod images;
mod options;
mod ptx;
mod relocatable;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::diagnostics::{print, write_messages};
use super::nvidia_options::{self, ParsedLine, ToolFailure};
use crate::base::content::Content;
use crate::base::error::Error;
use crate::base::io::{FileSet, Input, Output, OutputKind, Sink, commit_all};
use crate::format::cuda_fatbin::{FatbinMember, HostSystem, Language, WriteError, concatenate, write_members};
use compression::CompressionMode;
use embed::SourceForm;
use images::EntryInput;
use options::TOOL;

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

/// Error of the library that fatbinary calls.
fn library_error(message: &str) -> ToolFailure {
    ToolFailure::error(format!("\nnvFatbin error: {message}\n"))
}

/// Parses the contents of an option file. Nested option files are errors.
pub fn read_options(option_file: &[u8]) -> Result<(), String> {
    TOOL.read_options(option_file)
}

/// Runs as the tool.
pub fn run(arguments: &[OsString]) -> u8 {
    let mut line = ParsedLine::new(TOOL);
    let parsed = line.parse(arguments);
    write_messages(&line.warnings);
    let is_help = arguments.is_empty() || !line.others.is_empty() || line.flag("help");
    let done = match parsed {
        Ok(()) if is_help => return print(&nvidia_options::help(&TOOL), 0),
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
    let mode = CompressionMode::of_line(line)?;
    let target = EntryProperties::of_line(line)?;
    let files = images::open_all(line)?;
    let mut members = Vec::new();
    for file in files.iter().filter(|file| !file.is_relocatable()) {
        members.extend(file.members(line, mode, target)?);
    }
    if line.flag("concat")
        && let Some(compression) = mode.compression
    {
        members = concatenate(members, compression);
    }
    // PTX of objects follows all other images, in reverse order.
    let mut relocatable = Vec::new();
    for file in files.iter().filter(|file| file.is_relocatable()) {
        relocatable.extend(file.members(line, mode, target)?);
    }
    relocatable::require_unique_names(&relocatable)?;
    members.extend(relocatable.into_iter().rev());
    let container = container(&members)?;
    write_outputs(line, &files, &container)
}

fn container<'a>(members: &[FatbinMember<'a>]) -> Result<Content<'a>, ToolFailure> {
    write_members(members).map_err(|error| match error {
        WriteError::TooLarge => library_error("internal error"),
        other => library_error(&other.to_string()),
    })
}

/// Properties that options set for all entries.
#[derive(Debug, Clone, Copy)]
struct EntryProperties {
    is_64_bit: bool,
    host: HostSystem,
    language: Option<Language>,
}

impl EntryProperties {
    fn of_line(line: &ParsedLine) -> Result<EntryProperties, ToolFailure> {
        let unknown = || library_error("unknown option");
        let is_64_bit = match (line.flag("32"), line.flag("64")) {
            (true, true) => return Err(unknown()),
            (is_32_bit, _) => !is_32_bit,
        };
        let host = match line.value("host") {
            None | Some(b"linux") => HostSystem::Linux,
            Some(b"mac") => HostSystem::Mac,
            Some(b"windows") => HostSystem::Windows,
            Some(_) => return Err(unknown()),
        };
        let language = match (line.flag("cuda"), line.flag("opencl")) {
            (true, true) => return Err(unknown()),
            (true, false) => Some(Language::Cuda),
            (false, true) => Some(Language::OpenCl),
            (false, false) => None,
        };
        Ok(EntryProperties { is_64_bit, host, language })
    }
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
    let place = FileSet::new().output(&place, OutputKind::Code);
    place.and_then(Output::update).map_err(|_| failure())
}

fn write_container<'a>(
    container: &Content<'_>,
    inputs: impl Iterator<Item = &'a Input>,
    output: &mut Output,
) -> Result<(), ToolFailure> {
    let mut sink = Sink::new(inputs);
    for run in container.runs() {
        sink.push(run);
    }
    sink.write_to(output).map_err(|error| write_failure(&error))
}
