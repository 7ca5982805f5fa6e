//! Command lines: options with two dashes, values after `=`, response files.

use std::ffi::{OsStr, OsString};

use crate::llvm_options::{bytes, expand_response_files, text};

const HELP: &str = "--help";
const VERSION: &str = "--version";

/// A tool and its options that are supported.
#[derive(Debug)]
pub struct Known {
    pub tool: &'static str,
    /// Options; a value follows one that ends in `=`. The first is required.
    pub options: &'static [&'static str],
    /// Exit status without the required option.
    pub idle_status: u8,
}

/// A parsed command line.
#[derive(Debug, Default)]
pub struct Line {
    given: Vec<(&'static str, String)>,
    pub operands: Vec<OsString>,
}

impl Known {
    pub fn parse(&self, arguments: &[OsString]) -> Result<Line, String> {
        let mut line = Line::default();
        for argument in expand_response_files(arguments)? {
            match bytes(&argument) {
                b"" => {}
                [b'-', _, ..] => line.given.push(self.option(&text(bytes(&argument)))?),
                _ => line.operands.push(argument),
            }
        }
        Ok(line)
    }

    fn option(&self, argument: &str) -> Result<(&'static str, String), String> {
        let mut options = self.options.iter().chain(&[HELP, VERSION]);
        let known = options.find_map(|option| {
            let value = argument.strip_prefix(option)?;
            (value.is_empty() || option.ends_with('=')).then(|| (*option, value.to_owned()))
        });
        known.ok_or_else(|| format!("unknown argument '{argument}': {}", self.remedy()))
    }

    /// What to do for the other options.
    pub fn remedy(&self) -> String {
        format!("use LLVM's {} for anything but {}", self.tool, self.options.join(" and "))
    }

    /// Text for an option that is about the program.
    pub fn information(&self, line: &Line, program: &OsStr) -> Option<String> {
        if line.has(VERSION) {
            return Some(format!("fatbin {} in place of {}\n", env!("CARGO_PKG_VERSION"), program.display()));
        }
        let usage = format!("USAGE: {} {} FILE...\n\n{}\n", program.display(), self.options.join(" "), self.remedy());
        line.has(HELP).then_some(usage)
    }
}

impl Line {
    /// True if an option is given.
    pub fn has(&self, option: &str) -> bool {
        self.values(option).next().is_some()
    }

    /// Values of an option, in order.
    pub fn values(&self, option: &str) -> impl Iterator<Item = &str> {
        self.given.iter().filter(move |(given, _)| *given == option).map(|(_, value)| value.as_str())
    }
}
