//! The parser of command lines, with the order of operations of the tools.
//!
//! Response files are expanded first. Then arguments are parsed one by one. Parsing continues after an error, so that
//! one run reports all errors. An option for help or the version ends it at once, with success despite earlier errors.
//! Missing options are reported last.
//!
//! Options of one letter may be grouped (`-hx` is `-h -x`), and the tools parse any argument that begins with such a
//! letter as a group: `-oFILE` is an error, not an output.

use std::ffi::{OsStr, OsString};

use super::arguments::{bytes, file_name, os_string, split_value, text};
use super::{ExitAction, Line, LlvmOption, Occurs, Stop, Tool, ValueType, dashed, help, nearest, values};
use crate::diagnostics::cause;
use fatbin_ops::link::ResponseFileError;
use fatbin_ops::link::response_files::{self, LLVM};

/// Parses a command line. `program` is the path that the tool was called by. Messages repeat it.
pub fn parse(tool: &Tool, program: &OsStr, arguments: &[OsString]) -> Result<Line, Stop> {
    let arguments = match expand_response_files(arguments) {
        Ok(arguments) => arguments,
        Err(message) => return Err(Stop { out: String::new(), err: format!("{message}\n"), status: 1 }),
    };
    let arguments: Vec<Vec<u8>> = arguments.iter().map(|argument| bytes(argument).to_vec()).collect();
    Parser::new(tool, program).parse(&arguments)
}

/// Replaces response files by the arguments in them.
pub fn expand_response_files(arguments: &[OsString]) -> Result<Vec<OsString>, String> {
    match response_files::expand(arguments.iter().cloned(), &LLVM) {
        Ok(expanded) => Ok(expanded.words),
        Err(error) => Err(message(&error)),
    }
}

/// An error in the tools' wording.
fn message(error: &ResponseFileError) -> String {
    match error {
        ResponseFileError::Directory { name, cause: error } => {
            format!("cannot get absolute path for: {}{}", name.display(), cause(error))
        }
        ResponseFileError::Read { path, cause: error } => {
            format!("cannot not open file '{}': {}", path.display(), cause(error))
        }
        ResponseFileError::Encoding { .. } => "Could not convert UTF16 to UTF8".to_owned(),
        ResponseFileError::Recursive { path } => format!("recursive expansion of: '{}'", path.display()),
        other => other.to_string(),
    }
}

/// Parses the contents of a response file as the whole command line. Other files that it names are not opened.
pub fn parse_response_file(tool: &Tool, contents: &[u8]) -> Result<Line, Stop> {
    let arguments = response_files::split(contents, &LLVM).unwrap_or_default();
    Parser::new(tool, OsStr::new("tool")).parse(&arguments)
}

struct Parser<'a> {
    tool: &'a Tool<'a>,
    /// Path that the tool was called by.
    program: String,
    /// Last part of the path.
    name: String,
    line: Line,
    /// Options that occurred, even with an invalid value: they are not missing.
    met: Vec<&'static str>,
    /// Messages about all errors so far.
    errors: String,
}

/// An option in an argument, with its value if there is one after `=`.
type Met<'a, 'word> = (&'a LlvmOption, Option<&'word [u8]>);

impl<'a> Parser<'a> {
    fn new(tool: &'a Tool<'a>, program: &OsStr) -> Self {
        Parser {
            tool,
            program: program.to_string_lossy().into_owned(),
            name: file_name(program),
            line: Line::default(),
            met: Vec::new(),
            errors: String::new(),
        }
    }

    fn parse(mut self, arguments: &[Vec<u8>]) -> Result<Line, Stop> {
        let mut arguments = arguments.iter().map(Vec::as_slice);
        let mut only_positional = false;
        while let Some(argument) = arguments.next() {
            if only_positional || argument.len() < 2 || argument[0] != b'-' {
                self.positional(argument);
                continue;
            }
            if argument == b"--" {
                only_positional = true;
                continue;
            }
            let mut word = argument.strip_prefix(b"--").unwrap_or(&argument[1..]);
            let met = self.whole(word).or_else(|| self.in_group(&mut word));
            let Some((option, value)) = met else {
                self.unknown(argument);
                if let Some(suggestion) = nearest::suggestion(self.tool, word) {
                    self.report(&format!("Did you mean '{suggestion}'?"));
                }
                continue;
            };
            if let Some(action) = self.provide(option, value, &mut arguments) {
                return Err(self.done(action));
            }
        }
        self.check_positional();
        self.check_required();
        if self.errors.is_empty() {
            return Ok(self.line);
        }
        Err(Stop { out: String::new(), err: self.errors, status: 1 })
    }

    /// Option with this full name.
    fn whole<'word>(&self, word: &'word [u8]) -> Option<Met<'a, 'word>> {
        let (name, value) = split_value(word);
        Some((self.tool.option(name)?, value))
    }

    /// Switches on all options of a group of single letters except the last, and returns the last. `word` becomes the
    /// rest of the group; if the result is `None`, a suggestion is made for it.
    fn in_group<'word>(&mut self, word: &mut &'word [u8]) -> Option<Met<'a, 'word>> {
        if word.len() == 1 {
            return None;
        }
        loop {
            let option = self.tool.option(word.get(..1)?)?;
            let rest = &word[1..];
            match rest.split_first() {
                None => return Some((option, None)),
                Some((b'=', value)) => return Some((option, Some(value))),
                Some(_) => {}
            }
            if option.requires_value() {
                *word = &word[..1];
                self.refuse(option, "may not occur within a group!");
                return None;
            }
            self.occur(option, b"");
            *word = rest;
        }
    }

    /// Records an option with its value. If a value is required, it is the next argument. Returns the action of an
    /// option that ends the parsing.
    fn provide<'line>(
        &mut self,
        option: &LlvmOption,
        value: Option<&'line [u8]>,
        rest: &mut impl Iterator<Item = &'line [u8]>,
    ) -> Option<ExitAction> {
        if let ValueType::Immediately(action) = option.value {
            let Some(value) = value else {
                return Some(action);
            };
            self.refuse(option, &format!("does not allow a value! '{}' specified.", text(value)));
            return None;
        }
        let value = match value {
            None if option.requires_value() => rest.next(),
            None => Some([].as_slice()),
            some => some,
        };
        match value {
            None => self.refuse(option, "requires a value!"),
            Some(value) if option.is_comma_separated() => {
                for part in value.split(|&byte| byte == b',') {
                    if !self.occur(option, part) {
                        break;
                    }
                }
            }
            Some(value) => {
                self.occur(option, value);
            }
        }
        None
    }

    /// Records an option with its value, and returns whether the value is valid.
    fn occur(&mut self, option: &LlvmOption, value: &[u8]) -> bool {
        self.met.push(option.name);
        match values::read(option.value, value) {
            Ok(given) => {
                self.line.given.push((option.name, given));
                true
            }
            Err(message) => {
                self.refuse(option, &message);
                false
            }
        }
    }

    fn positional(&mut self, argument: &[u8]) {
        match self.tool.positional {
            Some(_) => self.line.positional.push(os_string(argument.to_vec())),
            None => self.unknown(argument),
        }
    }

    fn check_positional(&mut self) {
        let Some(positional) = &self.tool.positional else { return };
        let there = self.line.positional.len();
        let program = &self.program;
        let message = if there < positional.at_least {
            let plural = if positional.at_least > 1 { "s" } else { "" };
            format!(
                "Not enough positional command line arguments specified!\nMust specify at least {} positional \
                 argument{plural}: See: {program} --help",
                positional.at_least
            )
        } else if let Some(most) = positional.at_most.filter(|&most| there > most) {
            format!(
                "Too many positional arguments specified!\nCan specify at most {most} positional arguments: See: \
                 {program} --help"
            )
        } else {
            return;
        };
        self.report(&message);
    }

    fn check_required(&mut self) {
        let is_missing = |option: &&LlvmOption| option.is_required() && !self.met.contains(&option.name);
        let missing: Vec<_> = self.tool.options.iter().filter(is_missing).collect();
        for option in missing {
            self.refuse(option, "must be specified at least once!");
        }
    }

    fn unknown(&mut self, argument: &[u8]) {
        let argument = text(argument);
        let program = &self.program;
        self.report(&format!("Unknown command line argument '{argument}'.  Try: '{program} --help'"));
    }

    fn refuse(&mut self, option: &LlvmOption, message: &str) {
        self.report(&format!("for the {} option: {message}", dashed(option.name)));
    }

    fn report(&mut self, message: &str) {
        self.errors += &format!("{}: {message}\n", self.name);
    }

    fn done(self, action: ExitAction) -> Stop {
        let out = match action {
            ExitAction::Help => help::by_category(self.tool, &self.name, false),
            ExitAction::HelpHidden => help::by_category(self.tool, &self.name, true),
            ExitAction::HelpList => help::list(self.tool, &self.name, false),
            ExitAction::HelpListHidden => help::list(self.tool, &self.name, true),
            ExitAction::Version => format!("fatbin {} in place of {}\n", env!("CARGO_PKG_VERSION"), self.program),
        };
        Stop { out, err: self.errors, status: 0 }
    }
}

impl LlvmOption {
    fn is_comma_separated(&self) -> bool {
        matches!(self.occurs, Occurs::CommaSeparated | Occurs::RequiredCommaSeparated)
    }

    fn is_required(&self) -> bool {
        matches!(self.occurs, Occurs::Required | Occurs::RequiredCommaSeparated)
    }

    fn requires_value(&self) -> bool {
        !matches!(self.value, ValueType::Flag | ValueType::Immediately(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_response_files_have_the_wording_of_the_tools() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let failure = |name: &str| {
            expand_response_files(&[format!("@{}", path(name).display()).into()])
                .map_err(|error| error.replace(&directory.path().display().to_string(), "DIR"))
        };
        std::fs::write(path("loop"), format!("a '@{}'", path("loop").display())).unwrap();
        std::fs::write(path("odd"), b"\xff\xfe-\0a").unwrap();
        std::fs::create_dir(path("directory")).unwrap();
        assert_eq!(
            failure("loop"),
            Err("recursive expansion of: 'DIR/loop'".replace('/', std::path::MAIN_SEPARATOR_STR))
        );
        assert_eq!(failure("odd"), Err("Could not convert UTF16 to UTF8".to_owned()));
        let unreadable = failure("directory").unwrap_err();
        let expected = "cannot not open file 'DIR/directory': ".replace('/', std::path::MAIN_SEPARATOR_STR);
        assert!(unreadable.starts_with(&expected), "{unreadable}");
    }
}
