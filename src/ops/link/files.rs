//! The files between the steps of a link: temporary files, or files that are kept in the working directory.
//!
//! Names depend on the inputs and not on chance. Commands and messages of two links differ only in the directory.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::error::Result;
use super::options::LinkOptions;
use super::program_names;
use super::programs::CommandLine;
use super::response_files::{self, Dialect, GNU};
use super::words::joined;
use fatbin_core::base::content::Content;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{FileSet, Input, Output, OutputKind, OutputName, ScratchDirectory, Sink};

/// Files between the steps.
#[derive(Debug)]
pub struct Files {
    /// Absent if files are kept.
    scratch: Option<ScratchDirectory>,
    /// Name of the output. Most names begin with it.
    output: String,
    is_dry_run: bool,
    /// Names that are in use, and the number that was last added to each.
    names: HashMap<String, usize>,
}

/// A command line of this size in bytes or more gets a response file. Systems accept more, except for programs with a
/// small stack. Windows accepts 32 KiB.
const LONGEST_COMMAND: usize = if cfg!(windows) { 30_000 } else { 128 << 10 };

/// Programs that read a response file by an option instead of `@`.
const OPTIONS_FILES: [(&str, &str); 2] = [("nvlink", "--options-file"), ("ptxas", "--options-file")];

/// Programs without response files.
const WITHOUT_RESPONSE_FILES: [&str; 1] = ["spirv-link"];

impl Files {
    /// Prepares a place for files.
    pub fn create(options: &LinkOptions) -> Result<Files> {
        let scratch = if options.keeps_files { None } else { Some(ScratchDirectory::create()?) };
        let output = options.output().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Files { scratch, output, is_dry_run: options.is_dry_run, names: HashMap::new() })
    }

    /// Path for a file named after the output, followed by `rest`.
    pub fn of_output(&mut self, rest: &str) -> PathBuf {
        let name = format!("{}.{rest}", self.output);
        self.path(name)
    }

    /// Path for a file. A number is added to a name that is in use. Text in a device image does not form paths.
    pub fn path(&mut self, name: String) -> PathBuf {
        let name = OutputName::of(name.replace('\\', "_")).to_string();
        let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
        let mut unused = name.clone();
        let mut number = self.names.get(&name).copied().unwrap_or_default();
        while self.names.contains_key(&unused) {
            number += 1;
            unused = format!("{stem}-{}.{extension}", number + 1);
        }
        self.names.insert(unused.clone(), 0);
        self.names.insert(name, number);
        match &self.scratch {
            Some(directory) => directory.file(unused),
            None => {
                let path = PathBuf::from(unused);
                // Programs write through a link.
                if !self.is_dry_run && path.is_symlink() {
                    let _ = std::fs::remove_file(&path);
                }
                path
            }
        }
    }

    /// Writes a file between the steps, except in a dry run.
    pub fn write<'a>(&self, path: &Path, sink: &Sink<'_>, inputs: impl IntoIterator<Item = &'a Input>) -> Result<()> {
        if self.is_dry_run {
            return Ok(());
        }
        let inputs: Vec<&Input> = inputs.into_iter().collect();
        let directory = self.scratch.as_ref().map_or(Path::new(""), ScratchDirectory::path);
        let name = OutputName::of(path.file_name().unwrap_or_default());
        let place = FileSet::of_inputs(inputs.iter().copied()).output_in(directory, &name, OutputKind::Code)?;
        let mut output = Output::create(place)?;
        // The files are short-lived, and often many and small.
        sink.write_without_reservation(&mut output)?;
        Ok(output.commit(inputs)?)
    }

    /// Command with its words in a response file, if the system may refuse so many.
    pub fn shortened(&mut self, command: CommandLine) -> Result<CommandLine> {
        let size: usize = command.arguments.iter().map(|word| word.len() + 1).sum();
        let name = program_names::name(&command.program);
        if size <= LONGEST_COMMAND || self.is_dry_run || WITHOUT_RESPONSE_FILES.contains(&&*name) {
            return Ok(command);
        }
        self.with_response_file(command, &GNU)
    }

    /// Command with its words in a response file.
    pub fn with_response_file(&mut self, command: CommandLine, dialect: &Dialect) -> Result<CommandLine> {
        let path = self.of_output("rsp");
        let text = response_files::write(command.arguments.iter().map(OsString::as_os_str), dialect);
        self.write_content(&path, &Content::from(text.as_slice()), std::iter::empty)?;
        let name = program_names::name(&command.program);
        let arguments = match OPTIONS_FILES.iter().find(|(program, _)| *program == name) {
            Some((_, option)) => vec![(*option).into(), path.into()],
            None => vec![joined("@", path.as_os_str())],
        };
        Ok(CommandLine { arguments, ..command })
    }

    /// Writes a file between the steps with these contents. Parts of the contents are in inputs.
    pub fn write_content<'a, I: Iterator<Item = &'a Input>>(
        &self,
        path: &Path,
        content: &Content<'_>,
        inputs: impl Fn() -> I,
    ) -> Result<()> {
        let mut sink = Sink::new(inputs());
        content.runs().for_each(|run| sink.push(run));
        self.write(path, &sink, inputs())
    }

    /// Gives a file a second name, with another extension.
    pub fn alias(&mut self, path: &Path, extension: &str) -> Result<()> {
        let name = path.with_extension(extension).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let alias = self.path(name);
        if !self.is_dry_run {
            // An earlier link may have kept its files.
            match std::fs::remove_file(&alias) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io(&alias, "replace")(error).into());
                }
                _ => {}
            }
            std::fs::hard_link(path, &alias).map_err(Error::io(&alias, "create"))?;
        }
        Ok(())
    }

    /// Opens a file that a program has written.
    pub fn open(&self, path: &Path, options: &LinkOptions) -> Result<Option<Input>> {
        if self.is_dry_run {
            return Ok(None);
        }
        Ok(Some(Input::open_file(path.to_owned(), options.access).map_err(|error| match error {
            Error::Io { path, cause, .. } => Error::Io { path, action: "read the output of a device linker", cause },
            other => other,
        })?))
    }
}
