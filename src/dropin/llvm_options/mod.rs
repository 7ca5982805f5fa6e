//! Command lines in the syntax of LLVM's tools, described by tables.
//!
//! All of the tools parse their command lines with one library (`llvm::cl`) and share its conventions: one dash or two,
//! a value after `=` or as the next argument, response files, a suggestion for an unknown option, and a help generated
//! from the same tables. A drop-in defines its [`Tool`] and receives a [`Line`]. The conventions are implemented here.
//!
//! Source: the output of llvm-offload-binary, llvm-offload-wrapper and clang-offload-bundler of LLVM 22.1.8. The test
//! `linker-tests/dropin/options.rs` compares it with the output here. Since LLVM 15, an option that may occur once may
//! occur any number of times and the last value counts, so there is no message about that.
//!
//! There are four divergences. The tools are linked with all of LLVM and accept the options of all its passes
//! (`--stats`). These have no effect there, and are unknown here. After the message about a response file that cannot
//! be read, the tools crash; this program exits with status 1. `--version` names this program. Of several
//! suggestions at the same distance, the tools print the first in the order of a hash map, this program the first in its
//! table.

mod arguments;
mod help;
mod nearest;
mod parse;
mod values;

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};

use super::diagnostics;

pub use arguments::{bytes, os_string, split_value, text};
pub use parse::{expand_response_files, parse, parse_response_file};

/// Description and options of a tool.
#[derive(Debug)]
pub struct Tool<'a> {
    /// First text of the help, with the tool's line breaks.
    pub overview: &'static str,
    /// Heading of the tool's own options in its help.
    pub category: &'static str,
    /// The tool's own options. Missing ones are reported in this order; the help sorts them.
    pub options: &'a [LlvmOption],
    /// Arguments without an option; `None` if the tool accepts none.
    pub positional: Option<Positional>,
}

/// An option of a tool.
#[derive(Debug, Clone, Copy)]
pub struct LlvmOption {
    /// Name without dashes.
    pub name: &'static str,
    /// Type of the value.
    pub value: ValueType,
    /// Number of occurrences.
    pub occurs: Occurs,
    /// Visibility in the help.
    pub shown: Shown,
    /// Description in the help; its lines are aligned.
    pub help: &'static str,
}

/// Type of an option's value, with the value's name in the help.
#[derive(Debug, Clone, Copy)]
pub enum ValueType {
    /// On, or the value of `=true` or `=0`.
    Flag,
    /// Any text.
    Text(&'static str),
    /// A number from 0 to 2³²-1.
    Unsigned(&'static str),
    /// A number in the range of a C int.
    Integer(&'static str),
    /// One of these names, each with its description.
    Choice(&'static [(&'static str, &'static str)]),
    /// No value: parsing stops at once and the action is performed.
    Immediately(ExitAction),
}

/// An action that ends the parsing of a command line, regardless of the other arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitAction {
    /// Print the help by category.
    Help,
    /// Print the help by category, with hidden options.
    HelpHidden,
    /// Print the help as one list.
    HelpList,
    /// Print the help as one list, with hidden options.
    HelpListHidden,
    /// Print the version.
    Version,
}

/// Permitted number of occurrences of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurs {
    /// Any number of times; the last value counts.
    Optional,
    /// At least once; the last value counts.
    Required,
    /// Any number of times, each with a comma-separated list of values.
    CommaSeparated,
    /// At least once, each with a comma-separated list of values.
    RequiredCommaSeparated,
}

/// Visibility of an option in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// In every help.
    Always,
    /// In `--help-hidden` and `--help-list-hidden`.
    InHelpHidden,
    /// In no help, and never suggested.
    Never,
}

/// Arguments without an option.
#[derive(Debug)]
pub struct Positional {
    /// Description in the usage line.
    pub help: &'static str,
    /// Minimum number of arguments.
    pub at_least: usize,
    /// Maximum number of arguments.
    pub at_most: Option<usize>,
}

/// Options that every tool accepts.
static GENERIC: [LlvmOption; 9] = [
    generic(
        "help",
        ValueType::Immediately(ExitAction::Help),
        Shown::Always,
        "Display available options (--help-hidden for more)",
    ),
    generic(
        "help-hidden",
        ValueType::Immediately(ExitAction::HelpHidden),
        Shown::InHelpHidden,
        "Display all available options",
    ),
    generic(
        "help-list",
        ValueType::Immediately(ExitAction::HelpList),
        Shown::InHelpHidden,
        "Display list of available options (--help-list-hidden for more)",
    ),
    generic(
        "help-list-hidden",
        ValueType::Immediately(ExitAction::HelpListHidden),
        Shown::InHelpHidden,
        "Display list of all available options",
    ),
    generic(
        "print-options",
        ValueType::Flag,
        Shown::InHelpHidden,
        "Print non-default options after command line parsing",
    ),
    generic(
        "print-all-options",
        ValueType::Flag,
        Shown::InHelpHidden,
        "Print all option values after command line parsing",
    ),
    generic(
        "version",
        ValueType::Immediately(ExitAction::Version),
        Shown::Always,
        "Display the version of this program",
    ),
    generic("h", ValueType::Flag, Shown::Never, "Alias for -help"),
    generic("color", ValueType::Flag, Shown::Never, "Use colors in output (default=autodetect)"),
];

const GENERIC_CATEGORY: &str = "Generic Options";

const fn generic(name: &'static str, value: ValueType, shown: Shown, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs: Occurs::Optional, shown, help }
}

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line {
    given: Vec<(&'static str, Given)>,
    /// Arguments without an option.
    pub positional: Vec<OsString>,
}

/// Parsed value of an option.
#[derive(Debug, PartialEq, Eq)]
enum Given {
    Flag(bool),
    Number(i64),
    Text(OsString),
}

/// Output and exit status of a tool that stops at its command line, after an error or an [`ExitAction`].
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    /// Text for standard output.
    pub out: String,
    /// Text for standard error.
    pub err: String,
    /// Exit status.
    pub status: u8,
}

impl Line {
    /// Last text of an option.
    pub fn text(&self, name: &str) -> Option<&OsStr> {
        self.texts(name).last()
    }

    /// All texts of an option, in order.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &OsStr> {
        self.all(name).filter_map(|given| match given {
            Given::Text(text) => Some(text.as_os_str()),
            _ => None,
        })
    }

    /// True if a flag is on.
    pub fn flag(&self, name: &str) -> bool {
        self.stated_flag(name).unwrap_or(false)
    }

    /// Value of a flag, if it is given.
    pub fn stated_flag(&self, name: &str) -> Option<bool> {
        self.all(name).last().map(|given| *given == Given::Flag(true))
    }

    /// Last number of an option.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.all(name).last().and_then(|given| match given {
            Given::Number(number) => Some(*number),
            _ => None,
        })
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &Given> {
        self.given.iter().filter(move |(option, _)| *option == name).map(|(_, given)| given)
    }
}

impl Stop {
    /// Prints the output and returns the exit status.
    pub fn print(&self) -> u8 {
        diagnostics::write_messages(&self.err);
        diagnostics::print(&self.out, self.status)
    }
}

impl<'a> Tool<'a> {
    /// The tool's own options, then the options of every tool.
    fn all_options(&self) -> impl Iterator<Item = &'a LlvmOption> + use<'a> {
        self.options.iter().chain(&GENERIC)
    }

    fn option(&self, name: &[u8]) -> Option<&'a LlvmOption> {
        self.all_options().find(|option| option.name.as_bytes() == name)
    }

    /// Text of `-h`, which the tools also print when there is nothing to do.
    pub fn short_help(&self, program: &OsStr) -> String {
        help::list(self, &arguments::file_name(program), false)
    }
}

/// Name of an option in messages, with one dash or two.
fn dashed(name: &str) -> String {
    if name.chars().count() == 1 || name.is_empty() { format!("-{name}") } else { format!("--{name}") }
}
