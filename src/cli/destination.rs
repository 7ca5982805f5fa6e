//! Options of the commands that change a file: the place of the result, and attributes that it gets from the input.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use clap::{ArgGroup, Args, ValueEnum};

use super::explanations::coded;
use super::problems::Problems;
use crate::codes::Code;
use crate::error::Error;
use crate::io::{Attribute, Attributes, Output, is_same_file};

/// Name of the group of options of which one is required. A command may add an option that needs no output.
pub const DESTINATION: &str = "destination";

/// Name of standard input and output.
const STANDARD: &str = "-";

/// Arguments for the result of a change.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new(DESTINATION).required(true).multiple(true))]
pub struct DestinationArguments {
    /// Output file; `-` writes standard output
    #[arg(short, long, value_name = "OUT", group = DESTINATION)]
    output: Option<PathBuf>,

    /// Replace the input, once the result is complete and proven
    ///
    /// The result is a new file that is renamed: a failure leaves the input as it was, and other hard links to the input keep the
    /// old bytes. Symbolic links are followed. Owner, group and timestamps are kept as with --preserve.
    #[arg(short, long, group = DESTINATION, conflicts_with = "output")]
    in_place: bool,

    /// Attributes that the output gets from the input, separated by commas; all without a list
    ///
    /// The output always gets the mode of the input, except the set-user-ID, set-group-ID and sticky bits.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',', num_args = 0..=1, require_equals = true,
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
    path: PathBuf,
    /// Absent for standard input.
    attributes: Option<Attributes>,
    preserved: Vec<Attribute>,
}

impl DestinationArguments {
    /// Returns whether the result is written to standard output.
    pub fn is_standard_output(&self) -> bool {
        self.output.as_deref() == Some(Path::new(STANDARD))
    }

    /// Returns the path of the result for messages and figures.
    pub fn path<'a>(&'a self, input: &'a Path) -> &'a Path {
        self.output.as_deref().unwrap_or(input)
    }

    /// Creates the output for an input; `None` without one of the options, which a command may permit.
    pub fn create(&self, input: &Path) -> Result<Option<ChangedOutput>> {
        let is_standard_input = input == Path::new(STANDARD);
        ensure!(!(self.in_place && is_standard_input), "--in-place: standard input is not a file; use -o");
        if self.output.is_none() && !self.in_place {
            return Ok(None);
        }
        let path = self.path(input).to_owned();
        let is_input = self.output.as_deref().is_some_and(|output| is_same_file(input, output));
        if is_input && !is_standard_input {
            let message = format!("{}; use --in-place to replace it", Error::SameFile { path });
            return Err(coded(Code::InputIsOutput, message));
        }
        let attributes = if is_standard_input { None } else { Some(Attributes::of(input)?) };
        Ok(Some(ChangedOutput { output: Output::create(&path)?, path, attributes, preserved: self.preserved() }))
    }

    fn preserved(&self) -> Vec<Attribute> {
        let requests = |argument| {
            self.in_place || self.preserve.contains(&PreserveArgument::All) || self.preserve.contains(&argument)
        };
        let attributes = [
            (PreserveArgument::Ownership, Attribute::Ownership),
            (PreserveArgument::Timestamps, Attribute::Timestamps),
        ];
        attributes.into_iter().filter(|(argument, _)| requests(*argument)).map(|(_, attribute)| attribute).collect()
    }
}

impl ChangedOutput {
    /// Gives the output its attributes and its name. An attribute that it cannot get is a warning.
    pub fn commit(mut self, problems: &Problems) -> Result<()> {
        if let Some(attributes) = &self.attributes {
            for (attribute, error) in self.output.set_attributes(attributes, &self.preserved)? {
                let name = match attribute {
                    Attribute::Ownership => "ownership",
                    Attribute::Timestamps => "timestamps",
                };
                problems.warn(anyhow!("{}: {name} not preserved: {error}", self.path.display()));
            }
        }
        Ok(self.output.commit([])?)
    }
}
