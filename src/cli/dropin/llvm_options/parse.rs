//! The reading of a command line, in the order in which the tools read it.
//!
//! Response files first. Then argument by argument: a mistake is complained about and reading goes on, so that one run
//! tells of all of them; a request for help or the version ends it there and then, with success whatever was wrong before.
//! Last, what is missing.
//!
//! An option of one letter may stand in a group with others (`-hx` is `-h -x`), and the tools take any argument that begins
//! with such a letter for a group: `-oFILE` is a complaint and not an output.

use std::ffi::{OsStr, OsString};

use super::arguments::{bytes, file_name, os_string, text};
use super::{Action, Line, LlvmOption, Occurs, Stop, Tool, Value, dashed, help, nearest, response_files, values};

/// Takes a command line apart. `program` is what the tool was called by, as messages repeat it.
pub fn parse(tool: &Tool, program: &OsStr, arguments: &[OsString]) -> Result<Line, Stop> {
    let arguments = arguments.iter().map(|argument| bytes(argument).to_vec()).collect();
    let arguments = match response_files::expand(arguments) {
        Ok(arguments) => arguments,
        Err(message) => return Err(Stop { out: String::new(), err: format!("{message}\n"), status: 1 }),
    };
    let reading = Reading {
        tool,
        program: program.to_string_lossy().into_owned(),
        name: file_name(program),
        line: Line::default(),
        met: Vec::new(),
        complaints: String::new(),
    };
    reading.read(&arguments)
}

struct Reading<'a> {
    tool: &'a Tool,
    /// The whole path, and its last part.
    program: String,
    name: String,
    line: Line,
    /// The options that were there, also with a value that was none: those are not missing.
    met: Vec<&'static str>,
    complaints: String,
}

/// An option as it was met: without a value, or with one behind `=`.
type Met<'a> = (&'static LlvmOption, Option<&'a [u8]>);

impl Reading<'_> {
    fn read(mut self, arguments: &[Vec<u8>]) -> Result<Line, Stop> {
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
        if self.complaints.is_empty() {
            return Ok(self.line);
        }
        Err(Stop { out: String::new(), err: self.complaints, status: 1 })
    }

    /// The option that a word names in full.
    fn whole<'word>(&self, word: &'word [u8]) -> Option<Met<'word>> {
        let (name, value) = match word.iter().position(|&byte| byte == b'=') {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
        Some((self.tool.option(name)?, value))
    }

    /// The last option of a group of single letters; those before it are switched on. `word` becomes what is left of it,
    /// which is what a suggestion is made for if nothing comes of this.
    fn in_group<'word>(&mut self, word: &mut &'word [u8]) -> Option<Met<'word>> {
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

    /// Gives an option its value, the next argument if it must have one; what it does if that ends the reading.
    fn provide<'line>(
        &mut self,
        option: &'static LlvmOption,
        value: Option<&'line [u8]>,
        rest: &mut impl Iterator<Item = &'line [u8]>,
    ) -> Option<Action> {
        if let Value::Immediately(action) = option.value {
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
            Some(value) if option.occurs == Occurs::CommaSeparated => {
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

    /// Notes an option with its value, and says whether that is one.
    fn occur(&mut self, option: &'static LlvmOption, value: &[u8]) -> bool {
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
        let (there, program) = (self.line.positional.len(), &self.program);
        let complaint = if there < positional.at_least {
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
        self.report(&complaint);
    }

    fn check_required(&mut self) {
        let is_missing = |option: &&LlvmOption| option.occurs == Occurs::Required && !self.met.contains(&option.name);
        let mut missing: Vec<_> = self.tool.options.iter().filter(is_missing).collect();
        missing.sort_by_key(|option| nearest::place(option.name));
        for option in missing {
            self.refuse(option, "must be specified at least once!");
        }
    }

    fn unknown(&mut self, argument: &[u8]) {
        let (argument, program) = (text(argument), &self.program);
        self.report(&format!("Unknown command line argument '{argument}'.  Try: '{program} --help'"));
    }

    fn refuse(&mut self, option: &LlvmOption, message: &str) {
        self.report(&format!("for the {} option: {message}", dashed(option.name)));
    }

    fn report(&mut self, message: &str) {
        self.complaints += &format!("{}: {message}\n", self.name);
    }

    fn done(self, action: Action) -> Stop {
        let out = match action {
            Action::Help => help::by_category(self.tool, &self.name, false),
            Action::HelpHidden => help::by_category(self.tool, &self.name, true),
            Action::HelpList => help::list(self.tool, &self.name, false),
            Action::HelpListHidden => help::list(self.tool, &self.name, true),
            Action::Version => format!("fatbin {} in place of {}\n", env!("CARGO_PKG_VERSION"), self.program),
        };
        Stop { out, err: self.complaints, status: 0 }
    }
}

impl LlvmOption {
    fn requires_value(&self) -> bool {
        !matches!(self.value, Value::Flag | Value::Immediately(_))
    }
}
