//! Command lines as LLVM's tools take them, told as tables.
//!
//! All of them are read by one library (`llvm::cl`), so all have the same habits: one dash or two, a value behind `=` or as
//! the next argument, response files, a suggestion for a name that does not exist, and a help that is laid out from the
//! same tables. A drop-in states its [`Tool`] and asks for a [`Line`]; it knows nothing of these habits.
//!
//! Source of all of it: what llvm-offload-binary, llvm-offload-wrapper and clang-offload-bundler of LLVM 22.1.8 print when they
//! are asked; `linker-tests/dropin/options.rs` asks them and this again. Since LLVM 15 an option that may occur once may
//! occur any number of times and the last one counts, so there is no message about that.
//!
//! Three divergences. The tools are linked with all of LLVM and take the options of all its passes (`--stats`), which do
//! nothing here and are unknown to us. A response file that cannot be read ends the tools in a crash after the message,
//! this with status 1. And `--version` says who is there.

mod arguments;
mod help;
mod nearest;
mod parse;
mod response_files;
mod values;

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};

use super::diagnostics;

pub use parse::parse;

/// A tool: what it says of itself and what it takes.
#[derive(Debug)]
pub struct Tool {
    /// What the help begins with; its lines end where the tool's do.
    pub overview: &'static str,
    /// The heading above the tool's own options in its help.
    pub category: &'static str,
    /// In any order: the help sorts them.
    pub options: &'static [LlvmOption],
    pub positional: Option<Positional>,
}

/// An option of a tool.
#[derive(Debug)]
pub struct LlvmOption {
    pub name: &'static str,
    pub value: Value,
    pub occurs: Occurs,
    pub shown: Shown,
    /// Its lines stand under one another in the help.
    pub help: &'static str,
}

/// What an option's value has to be, and what the help calls it.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// On, or what `=true` and `=0` say.
    Flag,
    Text(&'static str),
    /// A number from 0 to 2³²-1.
    Unsigned(&'static str),
    /// A number that a C int can hold.
    Integer(&'static str),
    /// One of these names; behind each, what it means.
    Choice(&'static [(&'static str, &'static str)]),
    /// No value: reading stops at once and this is done.
    Immediately(Action),
}

/// What ends the reading of a command line, whatever else stands in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Help,
    HelpHidden,
    HelpList,
    HelpListHidden,
    Version,
}

/// How often an option has to be there, and what becomes of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurs {
    Optional,
    Required,
    /// Any number of times, with one value between each two commas.
    CommaSeparated,
}

/// In which help an option stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Always,
    InHelpHidden,
    /// In none, and it is not suggested either.
    Never,
}

/// Arguments that are no options.
#[derive(Debug)]
pub struct Positional {
    /// What they are, as it stands in the line of usage.
    pub help: &'static str,
    pub at_least: usize,
    pub at_most: Option<usize>,
}

/// What every tool takes besides its own.
static GENERIC: [LlvmOption; 9] = [
    generic(
        "help",
        Value::Immediately(Action::Help),
        Shown::Always,
        "Display available options (--help-hidden for more)",
    ),
    generic(
        "help-hidden",
        Value::Immediately(Action::HelpHidden),
        Shown::InHelpHidden,
        "Display all available options",
    ),
    generic(
        "help-list",
        Value::Immediately(Action::HelpList),
        Shown::InHelpHidden,
        "Display list of available options (--help-list-hidden for more)",
    ),
    generic(
        "help-list-hidden",
        Value::Immediately(Action::HelpListHidden),
        Shown::InHelpHidden,
        "Display list of all available options",
    ),
    generic("print-options", Value::Flag, Shown::InHelpHidden, "Print non-default options after command line parsing"),
    generic(
        "print-all-options",
        Value::Flag,
        Shown::InHelpHidden,
        "Print all option values after command line parsing",
    ),
    generic("version", Value::Immediately(Action::Version), Shown::Always, "Display the version of this program"),
    generic("h", Value::Flag, Shown::Never, "Alias for -help"),
    generic("color", Value::Flag, Shown::Never, "Use colors in output (default=autodetect)"),
];

const GENERIC_CATEGORY: &str = "Generic Options";

const fn generic(name: &'static str, value: Value, shown: Shown, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs: Occurs::Optional, shown, help }
}

/// A command line, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line {
    given: Vec<(&'static str, Given)>,
    pub positional: Vec<OsString>,
}

/// The value that an option was given, as its table says.
#[derive(Debug, PartialEq, Eq)]
enum Given {
    Flag(bool),
    Number(i64),
    Text(OsString),
}

/// Why there is no command line: a mistake, or what was asked for has been said.
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    pub out: String,
    pub err: String,
    pub status: u8,
}

impl Line {
    /// The text of an option, the last where it repeats.
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

    /// Whether a flag is on.
    pub fn flag(&self, name: &str) -> bool {
        self.stated_flag(name).unwrap_or(false)
    }

    /// What is said of a flag, if anything.
    pub fn stated_flag(&self, name: &str) -> Option<bool> {
        self.all(name).last().map(|given| *given == Given::Flag(true))
    }

    /// The number that an option was given, the last where it repeats.
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
    /// Says what there is to say, and how the tool ends.
    pub fn print(&self) -> u8 {
        diagnostics::write_stderr(&self.err);
        diagnostics::print(&self.out, self.status)
    }
}

impl Tool {
    /// Its options and those that every tool has.
    fn all_options(&self) -> impl Iterator<Item = &'static LlvmOption> {
        self.options.iter().chain(&GENERIC)
    }

    fn option(&self, name: &[u8]) -> Option<&'static LlvmOption> {
        self.all_options().find(|option| option.name.as_bytes() == name)
    }

    /// What the tools print under `-h` and for want of anything to do.
    pub fn short_help(&self, program: &OsStr) -> String {
        help::list(self, &arguments::file_name(program), false)
    }
}

/// An option as messages name it.
fn dashed(name: &str) -> String {
    if name.chars().count() == 1 || name.is_empty() { format!("-{name}") } else { format!("--{name}") }
}
