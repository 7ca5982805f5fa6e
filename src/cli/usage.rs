//! Errors in the arguments of a command line, in the form of all other errors.

use std::num::{IntErrorKind, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

use fatbin_core::base::spelling::{Suggestions, enumerated, is_beyond};

/// Commands of other programs, and the one that does the same here.
const COMMANDS_ELSEWHERE: [(&str, &str); 6] = [
    ("ls", "scan"),
    ("info", "scan"),
    ("show", "scan"),
    ("dump", "inspect"),
    ("kernels", "inspect"),
    ("test", "verify"),
];

/// Options that people try, and the ones that a command may have for it.
const OPTIONS_ELSEWHERE: [(&str, &str); 11] = [
    ("--arch", "--keep"),
    ("--archs", "--arch"),
    ("--gpu", "--device"),
    ("--gpus", "--device"),
    ("--target", "--device"),
    ("--gpu-architecture", "--device"),
    ("--offload-arch", "--arch"),
    ("--name", "--symbol"),
    ("--inplace", "--in-place"),
    ("--out", "--output"),
    ("-q", "--quiet"),
];

/// Names that people use for values, and the values.
const OTHER_NAMES: [(&str, &str); 4] = [("rocm", "hip"), ("amd", "hip"), ("nvidia", "cuda"), ("gzip", "zlib")];

/// A message about the arguments of a command line.
#[derive(Debug, PartialEq, Eq)]
pub struct UsageMessage {
    /// The error.
    pub message: String,
    /// Form of the command line, if the error is about the presence of arguments.
    pub usage: Option<String>,
}

impl UsageMessage {
    /// Describes an error of the arguments of `program`.
    pub fn new(error: &Error, program: &Command) -> UsageMessage {
        let usage = error.get(ContextKind::Usage).map(ToString::to_string);
        let usage = usage.map(|usage| usage.trim_start_matches("Usage: ").trim().to_owned());
        let command = usage.as_deref().and_then(|usage| command_of(usage, program)).unwrap_or(program);
        let details = Details { error, command, usage: usage.as_deref() };
        UsageMessage { message: details.message(), usage }
    }
}

/// Returns the subcommand that a usage is for.
fn command_of<'a>(usage: &str, program: &'a Command) -> Option<&'a Command> {
    program.find_subcommand(usage.split(' ').nth(1)?)
}

struct Details<'a> {
    error: &'a Error,
    command: &'a Command,
    usage: Option<&'a str>,
}

impl Details<'_> {
    fn message(&self) -> String {
        let argument = self.text(ContextKind::InvalidArg).unwrap_or_default();
        match self.error.kind() {
            ErrorKind::UnknownArgument => self.unknown_argument(&argument),
            ErrorKind::InvalidSubcommand => {
                let name = self.text(ContextKind::InvalidSubcommand).unwrap_or_default();
                let elsewhere = COMMANDS_ELSEWHERE.iter().find(|(known, _)| *known == name);
                let suggestions = match elsewhere {
                    Some((_, command)) => Suggestions(vec![(*command).to_owned()]),
                    None => Suggestions::new(&name, self.command.get_subcommands().map(Command::get_name)),
                };
                if suggestions.0.is_empty() {
                    return format!("{name:?} is no command, and no such file exists");
                }
                format!("unknown command {name:?}{suggestions}")
            }
            ErrorKind::InvalidValue => self.invalid_value(&argument),
            ErrorKind::ValueValidation => {
                let value = self.text(ContextKind::InvalidValue).unwrap_or_default();
                if value.is_empty() && argument.starts_with('-') {
                    return format!("{} needs a value", name(&argument));
                }
                let subject = if argument.starts_with('-') { format!("{} {value}", name(&argument)) } else { value };
                format!("{subject}: {}", self.reason())
            }
            ErrorKind::MissingRequiredArgument => format!("missing {}", self.missing().join(" and ")),
            ErrorKind::ArgumentConflict => self.conflict(&argument),
            ErrorKind::NoEquals => format!("{} needs = before its value", name(&argument)),
            _ => self.first_line(),
        }
    }

    /// Returns the values of a context as texts.
    fn texts(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => vec![text.clone()],
            Some(ContextValue::Strings(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    fn text(&self, kind: ContextKind) -> Option<String> {
        self.texts(kind).into_iter().next()
    }

    fn first_line(&self) -> String {
        let text = self.error.to_string();
        text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
    }

    fn unknown_argument(&self, argument: &str) -> String {
        if !argument.starts_with('-') {
            let takes_a_line = self.usage.is_some_and(|usage| usage.contains(" -- <"));
            let remedy = if takes_a_line { "write -- before the command of the link".to_owned() } else { self.takes() };
            return format!("unexpected argument {argument:?}; {remedy}");
        }
        if argument.strip_prefix('-').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
            return format!("unknown option {argument}; numbers have no sign");
        }
        let suggestion = self.text(ContextKind::SuggestedArg).or_else(|| self.elsewhere(argument));
        let suggestion = suggestion.or_else(|| self.other_case(argument));
        let suggestion = suggestion.map(|other| format!("; did you mean {}?", name(&other))).unwrap_or_default();
        format!("unknown option {argument}{suggestion}")
    }

    /// Returns the arguments that the command takes.
    fn takes(&self) -> String {
        let names: Vec<String> = self.command.get_positionals().map(|it| name(&it.to_string())).collect();
        let (command, names) = (self.command.get_name(), names.join(" and "));
        let takes = if names.is_empty() { "options only".to_owned() } else { format!("one {names}") };
        let is_for_files = |it: &&Arg| it.is_required_set() && it.to_string().ends_with("=FILE>");
        let option = self.command.get_arguments().find(is_for_files).map(|it| format!("; specify files with {it}"));
        format!("{command} takes {takes}{}", option.unwrap_or_default())
    }

    /// Returns the option of the command for one that people try.
    fn elsewhere(&self, argument: &str) -> Option<String> {
        let mut options = OPTIONS_ELSEWHERE.iter().filter(|(tried, _)| *tried == argument).map(|(_, option)| *option);
        let is_defined =
            |option: &str| self.command.get_arguments().any(|it| it.get_long() == option.strip_prefix("--"));
        options.find(|option| is_defined(option)).map(str::to_owned)
    }

    /// Returns an option that differs from one with a single letter only in its case.
    fn other_case(&self, argument: &str) -> Option<String> {
        let letter = argument.strip_prefix('-')?;
        let shorts = self.command.get_arguments().filter_map(Arg::get_short);
        let mut same = shorts.filter(|short| letter.eq_ignore_ascii_case(&short.to_string()));
        same.next().map(|short| format!("-{short}"))
    }

    fn invalid_value(&self, argument: &str) -> String {
        let (name, known) = (name(argument), self.texts(ContextKind::ValidValue));
        let value = self.text(ContextKind::InvalidValue).unwrap_or_default();
        if value.is_empty() {
            return format!("{name} needs a value{}", listed(&known));
        }
        let other = OTHER_NAMES.iter().find(|(written, _)| written.eq_ignore_ascii_case(&value)).map(|(_, name)| *name);
        let meant = known.iter().find(|name| Some(name.as_str()) == other);
        let suggestions = match meant {
            Some(meant) => Suggestions(vec![meant.clone()]),
            None if is_beyond(&value, &known) => Suggestions::default(),
            None => Suggestions::new(&value, known.iter().map(String::as_str)),
        };
        if argument.starts_with('-') {
            format!("{name} {value}: unknown value{suggestions}{}", listed(&known))
        } else {
            format!("unknown {} {value:?}{suggestions}{}", name.to_lowercase(), listed(&known))
        }
    }

    /// Returns the arguments that are missing, with their values if they are from a list.
    fn missing(&self) -> Vec<String> {
        let values = |written: &str| {
            let argument = self.command.get_arguments().find(|argument| argument.to_string() == written);
            let argument = argument.filter(|argument| !argument.is_hide_possible_values_set());
            let values = argument.map(Arg::get_possible_values).unwrap_or_default();
            listed(&values.iter().map(|value| value.get_name().to_owned()).collect::<Vec<_>>())
        };
        let missing = self.texts(ContextKind::InvalidArg);
        let described = |written: &String| match written.strip_prefix("<-").and_then(|group| group.strip_suffix('>')) {
            Some(group) => format!("one of -{}", group.replace('|', ", ")),
            None if written.ends_with("<DEVICE>") => format!("{written} (such as H100, sm_90 or gfx90a)"),
            None if written.ends_with("<ID=FILE>") => {
                format!(
                    "{written} (such as hip-amdgcn-amd-amdhsa--gfx90a=a.hsaco; fatbin list prints the IDs of a bundle)"
                )
            }
            None if written == "<LINKER>..." => {
                "the command of the link after --, such as -- cc main.o -o main".to_owned()
            }
            None => format!("{written}{}", values(written)),
        };
        missing.iter().map(described).collect()
    }

    fn conflict(&self, argument: &str) -> String {
        let prior: Vec<String> = self.texts(ContextKind::PriorArg).iter().map(|prior| name(prior)).collect();
        match prior.as_slice() {
            [] => format!("{} cannot be used with one of the other options", name(argument)),
            [same] if *same == name(argument) => format!("{same} cannot be used twice"),
            _ => format!("{} cannot be used with {}", name(argument), prior.join(" and ")),
        }
    }

    /// Returns the reason why a parser rejects a value. Errors of Rust's parsers of numbers are translated.
    fn reason(&self) -> String {
        let Some(source) = std::error::Error::source(self.error) else { return self.first_line() };
        if let Some(error) = source.downcast_ref::<ParseIntError>() {
            return match error.kind() {
                IntErrorKind::Zero => "expected a number from 1".to_owned(),
                IntErrorKind::PosOverflow => "the number is too large".to_owned(),
                _ => "expected a whole number".to_owned(),
            };
        }
        let reason = source.to_string();
        match reason.split_once(" is not in ").and_then(|(_, range)| range.split_once("..")) {
            Some((low, high)) => format!("expected a number from {low} to {}", high.trim_start_matches('=')),
            None => reason,
        }
    }
}

/// Returns the name of an argument that is written with its value: `--kind` for `--kind <KIND>`, and `CODE` for
/// `[CODE]...`.
fn name(written: &str) -> String {
    let first = written.split([' ', '=']).next().unwrap_or(written);
    let first = if first.starts_with('-') { first.split('[').next().unwrap_or(first) } else { written };
    first.trim_matches(['<', '>', '[', ']', '.']).to_owned()
}

fn listed(values: &[String]) -> String {
    if values.is_empty() { String::new() } else { format!(" (available: {})", enumerated(values)) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn message(line: &str) -> String {
        let mut program = crate::Arguments::command();
        program.build();
        let words = std::iter::once("fatbin").chain(line.split(' '));
        let error = program.try_get_matches_from_mut(words).unwrap_err();
        UsageMessage::new(&error, &program).message
    }

    #[test]
    fn messages_have_one_line_with_the_option_and_the_remedy() {
        let cases = [
            (
                "wrap --kind hop -o o a",
                "--kind hop: unknown value; did you mean hip? (available: openmp, cuda, hip, sycl)",
            ),
            ("wrap --knd hip -o o a", "unknown option --knd; did you mean --kind?"),
            ("wrap a", "missing --kind <KIND> (available: openmp, cuda, hip, sycl) and --output <OUT>"),
            (
                "wrap --kind rocm -o o a",
                "--kind rocm: unknown value; did you mean hip? (available: openmp, cuda, hip, sycl)",
            ),
            (
                "prune a",
                "missing --device <DEVICE> (such as H100, sm_90 or gfx90a) and one of --output <OUT>, --dry-run, --in-place",
            ),
            ("warp a", "unknown command \"warp\"; did you mean wrap?"),
            ("prune --arch gfx90a -o o a", "unknown option --arch; did you mean --keep?"),
            ("embed --name a=b -o o", "unknown option --name; did you mean --symbol?"),
            ("prune --keep gfx90a -o o a b", "unexpected argument \"b\"; prune takes one INPUT"),
            (
                "bundle -o o a",
                "unexpected argument \"a\"; bundle takes options only; specify files with --target <ID=FILE>",
            ),
            ("diff a b c", "unexpected argument \"c\"; diff takes one OLD and NEW"),
            ("ls a", "unknown command \"ls\"; did you mean scan?"),
            ("-v", "unknown option -v; did you mean -V?"),
            (
                "replace -o o a b",
                "unexpected argument \"b\"; replace takes one INPUT; specify files with --image <SELECTOR=FILE>",
            ),
            (
                "wrap --kind hip --abi llvm9 -o o a",
                "--abi llvm9: unknown value (available: auto, llvm10 to llvm24, main, aomp)",
            ),
            ("link", "missing the command of the link after --, such as -- cc main.o -o main"),
            ("scan --threads 0 a", "--threads 0: expected a number from 1"),
            ("scan --threads x a", "--threads x: expected a whole number"),
            ("scan --limit-factor 0 a", "--limit-factor 0: expected a number from 1 to 1000000"),
            ("link cc a.o", "unexpected argument \"cc\"; write -- before the command of the link"),
            ("scan --json --ndjson a", "--json cannot be used with --ndjson"),
            ("completions tcsh", "unknown shell \"tcsh\" (available: bash, elvish, fish, powershell, zsh)"),
            ("scan --limit-factor -5 a", "unknown option -5; numbers have no sign"),
            ("scan --arch= a", "--arch needs a value"),
            ("scan --triple= a", "--triple needs a value"),
            ("scan --device= a", "--device needs a value"),
            ("prune --keep gfx90a -q -o o a", "unknown option -q; did you mean --quiet?"),
            ("scan --color", "--color needs a value (available: auto, always, never)"),
        ];
        for (line, expected) in cases {
            assert_eq!(message(line), expected, "{line}");
        }
    }

    #[test]
    fn names_are_without_values() {
        let cases = [
            ("--kind <KIND>", "--kind"),
            ("[CODE]...", "CODE"),
            ("<SHELL>", "SHELL"),
            ("--check-entries[=<MODE>]", "--check-entries"),
        ];
        for (written, expected) in cases {
            assert_eq!(name(written), expected);
        }
    }
}
