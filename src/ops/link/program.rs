//! The link of the program, after the link of its device code.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::error::{LinkError, Result};
use super::event::LinkEvent;
use super::files::Files;
use super::host_entries::HostEntries;
use super::host_line::Replacement;
use super::inputs::HostFile;
use super::options::{EntryCheck, LinkOptions, Spelling};
use super::programs::CommandLine;
use super::trace::{self, TracedFiles};
use super::{bundled, relocatable};
use fatbin_core::base::content::Content;
use fatbin_core::format::bitcode;
use fatbin_core::target::OffloadKind;

/// A command line with response files gets one again if it expands to this size in bytes. Windows accepts 32 KiB.
const LONGEST_EXPANDED: usize = 30_000;

/// The link of a program.
#[derive(Debug, Clone, Copy)]
pub struct ProgramLink<'a> {
    /// Command line, and properties of the device code.
    pub options: &'a LinkOptions,
    /// Inputs of the host linker.
    pub opened: &'a [HostFile],
    /// Kinds of the device code.
    pub kinds: &'a [OffloadKind],
    /// Entries that the objects register.
    pub entries: &'a HostEntries,
    /// Objects that register the images.
    pub objects: &'a [PathBuf],
}

impl ProgramLink<'_> {
    /// Runs the host linker, and returns the files that it has read, if it lists them.
    pub fn run(self, files: &mut Files, report: &mut dyn FnMut(&LinkEvent<'_>)) -> Result<Option<TracedFiles>> {
        let ProgramLink { options, kinds, entries, .. } = self;
        let command = self.command(files)?;
        report(&LinkEvent::Host(&command));
        let traced = self.link(command, files, report).map_err(|error| self.explain(error))?;
        if options.line.is_relocatable() {
            let entry_sections = kinds.iter().flat_map(|&kind| entries.of(kind).sections(kind)).collect();
            let output = options.output();
            // A dry run has no object.
            let object = if options.is_dry_run { None } else { Some(output) };
            let hash = relocatable::hash(object, options.access)?;
            report(&LinkEvent::Isolate { output, entry_sections: &entry_sections, hash });
            if !options.is_dry_run {
                relocatable::isolate(output, &entry_sections, hash, options.access)?;
            }
        }
        Ok(traced)
    }

    /// Names a bundle with bitcode that the host linker could not read.
    fn explain(self, error: LinkError) -> LinkError {
        let is_bundle = |file: &&HostFile| file.archive().is_none() && file.is_bundle();
        match (error, self.opened.iter().find(is_bundle)) {
            (LinkError::Failed { program, status }, Some(file)) => {
                LinkError::FailedWithBundle { program, status, path: file.path().to_owned() }
            }
            (error, _) => error,
        }
    }

    fn command(self, files: &mut Files) -> Result<CommandLine> {
        let ProgramLink { options, objects, .. } = self;
        let arguments = match options.spelling {
            Spelling::AsWritten => {
                let replaced = self.replaced(files)?;
                let replacement = |input: &OsStr| {
                    let found = replaced.iter().find(|(path, _)| OsStr::new(path) == input);
                    found.map_or(Replacement::Nothing, |(_, replacement)| replacement.clone())
                };
                options.line.with_objects(objects, &replacement)
            }
            Spelling::Respelled => options.line.respelled(objects),
        };
        Ok(CommandLine { program: options.linker.clone(), arguments })
    }

    /// Inputs that the linker cannot read, with their replacements. A bundle is replaced by the host's part.
    fn replaced(self, files: &mut Files) -> Result<Vec<(String, Replacement)>> {
        let mut replaced = Vec::new();
        for file in self.opened.iter().filter(|file| file.archive().is_none()) {
            if file.device_file().is_some() {
                replaced.push((file.path().to_owned(), Replacement::Removed));
            } else if file.is_bundle() {
                let bundle = bundled::read(file.bundle()?).map_err(|malformed| malformed.in_file(file.name()))?;
                let by = match bundle.host {
                    None => Replacement::Removed,
                    Some(host) => {
                        let stem = file.name().file_stem().unwrap_or_default().to_string_lossy();
                        let extension = if bitcode::is_bitcode(host) { "bc" } else { "o" };
                        let path = files.path(format!("{stem}-host.{extension}"));
                        files.write_content(&path, &Content::from(host.data()), || std::iter::once(file.input()))?;
                        Replacement::By(path)
                    }
                };
                replaced.push((file.path().to_owned(), by));
            }
        }
        Ok(replaced)
    }

    fn link(
        self,
        command: CommandLine,
        files: &mut Files,
        report: &mut dyn FnMut(&LinkEvent<'_>),
    ) -> Result<Option<TracedFiles>> {
        let options = self.options;
        if options.is_dry_run {
            return Ok(None);
        }
        let is_traced = options.spelling == Spelling::AsWritten && options.entry_check != EntryCheck::Off;
        let trace = if is_traced { trace::option(&options.linker, &options.line, &options.host) } else { None };
        let mut command = command;
        command.arguments.extend(trace.map(OsString::from));
        if let Some(dialect) = options.line.response_files
            && command.arguments.iter().map(|word| word.len() + 1).sum::<usize>() > LONGEST_EXPANDED
        {
            command = files.with_response_file(command, dialect)?;
        }
        if trace.is_none() && !options.reserves_output {
            command.run()?;
            return Ok(None);
        }
        let (printed, ended) = command.run_and_capture()?;
        let traced = trace.map(|_| trace::of_output(&printed));
        report(&LinkEvent::HostPrinted(traced.as_ref().map_or(&printed, |traced| &traced.others)));
        ended?;
        Ok(traced)
    }
}
