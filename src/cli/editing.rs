//! Options of the commands that change a finished file, and the run of a change: applied, proven, committed, reported.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;

use super::destination::{ChangedOutput, DestinationArguments};
use super::failure::{Result, coded, ensure};
use super::format::FormatArguments;
use super::headings::OUTPUT;
use super::limit::LimitArguments;
use super::outputs::{ForceArgument, OutputArgument};
use super::problems::{ProblemArguments, Problems};
use super::session::Session;
use crate::codes::Code;
use crate::report::{self, Change, ChangedFile, ProvenFile, proof_json};
use fatbin_core::base::io::{Input, Output, OutputKind, disk_size};
use fatbin_core::format::ContainerType;
use fatbin_ops::edit::{Applied, ApplyOptions, EditError, EditedInput, FileEdit, SplitHost, apply, hash_file};

/// Arguments of every change.
#[derive(Debug, Args)]
pub struct EditArguments {
    /// Leave holes in the output where images were, which take no space on disk (the default)
    #[arg(help_heading = OUTPUT, long, conflicts_with = "no_punch")]
    punch: bool,

    /// Write zeros instead of holes
    #[arg(help_heading = OUTPUT, long)]
    no_punch: bool,

    /// Cut free bytes out of linked files, too, where nothing behind them has an address
    ///
    /// Objects and files of containers always become smaller. A linked file keeps its size where a segment loads later
    /// bytes; a note states the reason.
    #[arg(help_heading = OUTPUT, long)]
    shrink: bool,

    /// Change signed files, and remove the signatures that this breaks
    ///
    /// Authenticode signatures and the signatures of kernel modules are removed. Others stay, but become invalid: sign
    /// the result again. Ad hoc signatures of Mach-O files are renewed, also without this option.
    #[arg(help_heading = OUTPUT, long)]
    break_signature: bool,

    /// Write the proof of the change to FILE (schema fatbin.proof/1)
    #[arg(help_heading = OUTPUT, long, value_name = "FILE")]
    proof: Option<OutputArgument>,

    #[command(flatten)]
    force: ForceArgument,

    #[command(flatten)]
    destination: DestinationArguments,

    #[command(flatten)]
    format: FormatArguments,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    /// Object, executable, library, archive, wheel, or file of containers
    #[arg(value_name = "INPUT")]
    input: PathBuf,
}

/// A change.
pub struct Editing<'a> {
    session: &'a Session,
    arguments: &'a EditArguments,
    /// Log of the command.
    pub problems: Problems,
    output: ChangedOutput,
    /// Absent if no proof is written.
    proof: Option<Output>,
    /// Bytes that the input took on disk before it may be replaced.
    disk_size: Option<u64>,
    /// Size and SHA-256 of the input, for the proof. Standard input cannot be read again.
    before: Option<(u64, [u8; 32])>,
    proven: Vec<ProvenFile>,
    files: Vec<ChangedFile>,
    /// Files that keep their size, with the reasons.
    notes: Vec<String>,
}

impl EditArguments {
    /// Starts a change.
    pub fn start<'a>(&'a self, session: &'a Session, other_inputs: &[&Path]) -> Result<Editing<'a>> {
        let is_mixed = self.format.is_json() && self.destination.is_standard_output();
        ensure!(!is_mixed, "--format json: standard output is the output; specify a file");
        let set = self.force.files(other_inputs.iter().copied().chain([self.input.as_path()]));
        let output = self.destination.create(&self.input, &set)?;
        let proof = match &self.proof {
            Some(path) if !self.is_planned() => Some(Output::create(set.output(path.path(), OutputKind::Text)?)?),
            _ => None,
        };
        let problems = self.problems.problems(session);
        let disk_size = disk_size(&self.input);
        Ok(Editing {
            session,
            arguments: self,
            problems,
            output,
            proof,
            disk_size,
            before: None,
            proven: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// The file to change.
    pub fn input(&self) -> &Path {
        &self.input
    }

    /// Returns whether nothing is written.
    pub fn is_planned(&self) -> bool {
        self.destination.is_planned()
    }

    /// Options of the change.
    pub fn options(&self, session: &Session) -> ApplyOptions {
        let limits = self.limits.limits();
        let access = session.access();
        ApplyOptions {
            limits,
            access,
            holes: !self.no_punch,
            shrinks: self.shrink,
            breaks_signatures: self.break_signature,
            in_place: self.destination.is_in_place(),
        }
    }
}

impl Editing<'_> {
    /// Applies an edit, and calls `visit` with each file with device images. Returns `None`, with a message, if there
    /// is none.
    pub fn apply(
        &mut self,
        rule: &dyn FileEdit,
        visit: &mut dyn FnMut(EditedInput<'_>),
    ) -> Result<Option<Applied>, EditError> {
        let input = Input::open(&self.arguments.input, self.session.access())?;
        if self.proof.is_some() {
            self.before = Some((input.size(), hash_file(&input)?));
        }
        let is_proven = self.proof.is_some();
        let is_json = self.arguments.format.is_json();
        let proven = &mut self.proven;
        let files = &mut self.files;
        let notes = &mut self.notes;
        let mut fixed = Vec::new();
        let mut has_archives = false;
        let applied =
            apply(input, rule, self.arguments.options(self.session), &mut self.output.output, &mut |edited| {
                let path = &edited.scan.file().path;
                // A file may have thousands of images, which take memory in each document.
                if is_proven {
                    proven.push(ProvenFile::new(edited.scan.file(), edited.edited, edited.proof));
                }
                if is_json {
                    files.push(ChangedFile::new(edited.scan.file(), edited.edited));
                }
                for (index, why) in &edited.edited.fixed {
                    fixed.push(anyhow!("{path}: image {index} is not dropped: {why}"));
                }
                notes.extend(edited.edited.keeps_size.map(|reason| report::keeps_size(path, reason)));
                has_archives |=
                    edited.scan.file().containers.iter().any(|it| it.container_type == ContainerType::Kpack);
                visit(edited);
            })?;
        for warning in fixed {
            self.problems.warn(warning);
        }
        // A package may contain the archives of its files.
        let without_archives = if has_archives { None } else { applied.as_ref() };
        for SplitHost { path, archives } in without_archives.into_iter().flat_map(|it| &it.split_hosts) {
            let archives = archives.join(", ");
            self.problems.warn(anyhow!("{path}: its device code in kpack archives is not changed: {archives}"));
        }
        for (path, directory) in applied.iter().flat_map(|it| &it.without_record) {
            let missing = format!("no RECORD in {directory}, so pip may refuse it; the output has none either");
            self.problems.warn(anyhow!("{path}: {missing}"));
        }
        for (path, signature) in applied.iter().flat_map(|it| &it.broken_signatures) {
            self.problems
                .warn(anyhow!("{path}: its signature ({signature}) is no longer valid; sign the result again"));
        }
        for path in applied.iter().flat_map(|it| &it.renewed_signatures) {
            self.notes.push(report::signature_renewed(path));
        }
        if applied.is_none() {
            let input = self.arguments.input.display();
            self.problems.report(coded(Code::NoImages, format!("{input}: no device images")));
        }
        Ok(applied)
    }

    /// Gives the result its name, writes the proof, and prints `text` and the sizes.
    pub fn finish(mut self, command: &str, applied: &Applied, text: &str) -> Result<()> {
        let document = self.proof(command)?;
        let (arguments, session) = (self.arguments, self.session);
        let is_planned = arguments.is_planned();
        let path = self.output.path.clone();
        let mut proof = if document.is_some() { self.proof } else { None };
        if let (Some(proof), Some(document)) = (&mut proof, document) {
            proof.write(document.as_bytes())?;
        }
        if !is_planned {
            self.output.commit(proof, &self.problems)?;
        }
        let &Applied { size, new_size, .. } = applied;
        if arguments.format.is_json() {
            let output = if is_planned { None } else { Some(path.as_path()) };
            let change = Change { command, input: &arguments.input, output, size, new_size, files: &self.files };
            session.print(&report::edit_json(&change))?;
        } else if is_planned || !arguments.destination.is_standard_output() {
            let new_disk_size = if is_planned { None } else { disk_size(&path) };
            let disk_sizes = self.disk_size.zip(new_disk_size);
            let sizes = report::edit_sizes(size, new_size, disk_sizes, &session.screen());
            let mut text = text.to_owned() + &self.notes.concat() + &sizes;
            if arguments.destination.is_unused() {
                text += "nothing was written: --dry-run\n";
            }
            // A plan is the result of the command.
            if is_planned { session.print(&text)? } else { session.print_summary(&text)? }
        }
        Ok(())
    }

    /// `None` if no proof is written.
    fn proof(&mut self, command: &str) -> Result<Option<String>> {
        let Some((size, hash)) = self.before else { return Ok(None) };
        let written = self.output.output.written(self.session.access())?;
        let after = (self.output.path.as_path(), written.size(), hash_file(&written)?);
        let before = (self.arguments.input.as_path(), size, hash);
        Ok(Some(proof_json(command, before, after, &self.proven)))
    }
}
