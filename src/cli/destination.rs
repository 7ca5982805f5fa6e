//! Options of the commands that change a file: where the result goes, and which attributes it gets from the input.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{ArgGroup, Args, ValueEnum};

use super::failure::{Context, Result, coded, ensure};
use super::headings::OUTPUT;
use super::outputs::OutputArgument;
use super::problems::Problems;
use crate::codes::Code;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{
    Attribute, Attributes, FileSet, LostAttribute, Output, OutputKind, commit_all, is_same_file, is_standard_output,
};

/// Name of an option group. One option of the group is required, and a command may add an option that needs no output.
pub const DESTINATION: &str = "destination";

/// Name of standard input and output.
const STANDARD: &str = "-";

/// Arguments for the result of a change.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new(DESTINATION).required(true).multiple(true))]
pub struct DestinationArguments {
    /// Output file, or a directory that gets a file with the name of the input; `-` writes standard output
    #[arg(help_heading = OUTPUT, short, long, value_name = "OUT", group = DESTINATION)]
    output: Option<OutputArgument>,

    /// Try and prove the change, and print what it does and the new size; write nothing
    #[arg(help_heading = OUTPUT, long, group = DESTINATION)]
    dry_run: bool,

    /// Replace the input, once the result is complete and proven
    ///
    /// The result is a new file that is renamed: a failure leaves the input as it was, and other hard links to the
    /// input keep the old bytes. Symbolic links are followed. If the path leads to another file by then, or the input
    /// has changed, nothing is replaced. Owner, group and timestamps are kept as with --preserve, and so are all bits
    /// of the mode and extended attributes. An attribute that cannot be kept is a warning.
    #[arg(help_heading = OUTPUT, short, long, group = DESTINATION, conflicts_with = "output")]
    in_place: bool,

    /// Attributes that the output gets from the input, separated by commas; all without a list
    ///
    /// The output always gets the mode of the input, except the set-user-ID, set-group-ID and sticky bits.
    #[arg(help_heading = OUTPUT, long, value_name = "LIST", value_enum, value_delimiter = ',', num_args = 0..=1, require_equals = true,
          default_missing_value = "all")]
    preserve: Vec<PreserveArgument>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PreserveArgument {
    /// Permission bits, which are always kept
    Mode,
    /// Owner and group
    Ownership,
    /// Times of the last access and the last change
    Timestamps,
    /// All of these
    All,
}

/// The output of a change, and the attributes that it gets.
#[derive(Debug)]
pub struct ChangedOutput {
    /// The output.
    pub output: Output,
    /// Path of the output.
    pub path: PathBuf,
    /// Absent for standard input.
    attributes: Option<Attributes>,
    preserved: Vec<Attribute>,
}

impl DestinationArguments {
    /// Returns whether the result is written to standard output.
    pub fn is_standard_output(&self) -> bool {
        self.output.as_ref().is_some_and(|output| is_standard_output(output.path()))
    }

    /// Returns whether the result replaces the input.
    pub fn is_in_place(&self) -> bool {
        self.in_place
    }

    /// Returns whether nothing is written.
    pub fn is_planned(&self) -> bool {
        self.dry_run
    }

    /// Returns whether an output is named, too, that is not written.
    pub fn is_unused(&self) -> bool {
        self.dry_run && (self.in_place || self.output.is_some())
    }

    /// Returns the path of the result.
    pub fn path(&self, input: &Path) -> Result<PathBuf> {
        self.output.as_ref().map_or_else(|| Ok(input.to_owned()), |output| in_directory(output.path(), input))
    }

    /// Creates the output for an input.
    pub fn create(&self, input: &Path, set: &FileSet) -> Result<ChangedOutput> {
        let is_standard_input = input == Path::new(STANDARD);
        ensure!(!(self.in_place && is_standard_input), "--in-place: standard input is not a file; use -o");
        let path = self.path(input)?;
        if self.dry_run {
            return Ok(ChangedOutput { output: Output::trial(input)?, path, attributes: None, preserved: Vec::new() });
        }
        let place = if self.in_place { set.replacement(&path) } else { set.output(&path, OutputKind::Code) };
        let place = place.map_err(|error| match error {
            Error::SameFile { path } if !is_standard_input && is_same_file(&path, input) => {
                let message = format!("{}; use --in-place to replace it", Error::SameFile { path });
                coded(Code::InputIsOutput, message)
            }
            error => error.into(),
        })?;
        let attributes = if is_standard_input { None } else { Some(Attributes::of(input)?) };
        Ok(ChangedOutput { output: Output::create(place)?, path, attributes, preserved: self.preserved() })
    }

    fn preserved(&self) -> Vec<Attribute> {
        let requests = |argument| {
            self.in_place || self.preserve.contains(&PreserveArgument::All) || self.preserve.contains(&argument)
        };
        let attributes = [
            (PreserveArgument::Ownership, Attribute::Ownership),
            (PreserveArgument::Timestamps, Attribute::Timestamps),
        ];
        let requested = attributes.into_iter().filter(|(argument, _)| requests(*argument));
        requested.map(|(_, attribute)| attribute).chain(self.in_place.then_some(Attribute::Rights)).collect()
    }
}

/// Returns the path of an output: a directory gets a file with the name of the input.
pub fn in_directory(output: &Path, input: &Path) -> Result<PathBuf> {
    let is_directory = output.is_dir() || output.to_string_lossy().ends_with(std::path::is_separator);
    if !is_directory {
        return Ok(output.to_owned());
    }
    let name = if input == Path::new(STANDARD) { None } else { input.file_name() };
    let name = name.with_context(|| format!("{}: is a directory; specify a file", output.display()))?;
    Ok(output.join(name))
}

impl ChangedOutput {
    /// Sets the attributes of the output, then renames the output and the proof to their final names. An attribute that
    /// cannot be set is a warning.
    pub fn commit(mut self, proof: Option<Output>, problems: &Problems) -> Result<()> {
        if let Some(attributes) = &self.attributes {
            for LostAttribute { name, cause } in self.output.set_attributes(attributes, &self.preserved)? {
                problems.warn(anyhow!("{}: {name} not preserved: {cause}", self.path.display()));
            }
        }
        Ok(commit_all(proof.into_iter().chain([self.output]).collect(), [])?)
    }
}
