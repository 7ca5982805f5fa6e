//! Command lines in the syntax of NVIDIA's tools. A name is long after two dashes, or short after one dash. A value
//! follows `=`, or is the next argument.
//!
//! Derived from the output of fatbinary and cuobjdump 13.5, which share the syntax and its messages.

mod keyword_values;
mod parse;

pub use keyword_values::KeywordValues;
pub use parse::ParsedLine;

use super::diagnostics::write_messages;

/// Text between the name of a tool and its message, and at the start of further lines.
const FATAL: &str = " fatal   : ";
const WARNING: &str = " warning : ";
const INFO: &str = " info    : ";
const CONTINUATION: &str = "         . ";

/// A tool: its name and its options.
#[derive(Debug, Clone, Copy)]
pub struct NvidiaTool {
    /// Name in messages.
    pub name: &'static str,
    /// Text of the help.
    pub help: &'static str,
    /// Returns all options, in the order of the help. It does not list some.
    pub options: fn() -> Vec<NvidiaOption>,
}

/// An option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvidiaOption {
    /// Name after two dashes, also in messages.
    pub long: &'static str,
    /// Name after one dash.
    pub short: &'static str,
    /// Type of the value.
    pub value: ValueType,
    /// True if the tool warns of the option.
    pub is_deprecated: bool,
}

/// Type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// No value.
    Flag,
    /// `true` or `false`.
    Boolean,
    /// Any text.
    Text,
    /// Texts, separated by commas. Each occurrence of the option adds some.
    List,
    /// A number.
    Number,
    /// One of these texts, which are separated by spaces.
    Choice(&'static str),
    /// Names of files with further options, separated by commas.
    OptionFiles,
    /// An image: pairs of one of these keywords and a value, separated by commas.
    Image(&'static [&'static str]),
}

/// A message and the end of the tool.
#[derive(Debug)]
pub struct ToolFailure {
    /// Complete lines; empty if the output so far is all.
    pub message: String,
    /// Exit status.
    pub status: u8,
}

impl ToolFailure {
    /// Creates a failure with the status that errors have.
    pub fn error(message: String) -> Self {
        ToolFailure { message, status: super::FAILED }
    }

    /// Exit status of a run, whose failure is printed.
    pub fn status(done: Result<(), ToolFailure>) -> u8 {
        let Err(failure) = done else { return 0 };
        write_messages(&failure.message);
        failure.status
    }
}

impl NvidiaTool {
    /// Creates an error.
    pub fn fatal(&self, message: impl AsRef<str>) -> ToolFailure {
        ToolFailure::error(self.line(FATAL, message.as_ref()))
    }

    /// Formats a warning.
    pub fn warning(&self, message: &str) -> String {
        self.line(WARNING, message)
    }

    /// Formats a notice.
    pub fn info(&self, message: &str) -> String {
        self.line(INFO, message)
    }

    fn line(&self, severity: &str, message: &str) -> String {
        let name = self.name;
        let continuation = format!("\n{name}{CONTINUATION}");
        format!("{name}{severity}{}\n", message.replace('\n', &continuation))
    }

    /// Parses the contents of an option file. Nested option files are errors.
    pub fn read_options(&self, option_file: &[u8]) -> Result<(), String> {
        ParsedLine::new(*self).parse_option_file(option_file).map_err(|failure| failure.message)
    }
}

/// Creates an option.
pub const fn option(long: &'static str, short: &'static str, value: ValueType) -> NvidiaOption {
    NvidiaOption { long, short, value, is_deprecated: false }
}

/// Creates an option that the tool warns of.
pub const fn deprecated(name: &'static str, value: ValueType) -> NvidiaOption {
    NvidiaOption { is_deprecated: true, ..option(name, name, value) }
}
