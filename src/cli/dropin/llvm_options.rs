//! Command lines as LLVM's tools take them: an option has one dash or two, its value stands behind `=` or is the next
//! argument, and inputs stand anywhere.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// An option of a tool.
pub struct LlvmOption {
    pub name: &'static str,
    /// What the value is called in the help; `None` for an option without one.
    pub value: Option<&'static str>,
    pub help: &'static str,
}

/// A command line, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Options with their values, in order.
    pub options: Vec<(&'static str, OsString)>,
    pub inputs: Vec<OsString>,
}

/// Takes a command line apart; an error is the tool's message, without its name.
pub fn parse(program: &OsStr, known: &'static [LlvmOption], arguments: &[OsString]) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.to_str().filter(|text| text.len() > 1 && text.starts_with('-')) else {
            parsed.inputs.push(argument.clone());
            continue;
        };
        if text == "--" {
            parsed.inputs.extend(arguments.by_ref().cloned());
            break;
        }
        let word = text.strip_prefix("--").unwrap_or(&text[1..]);
        let (name, inline) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let Some(option) = known.iter().find(|option| option.name == name) else {
            let program = program.to_string_lossy();
            return Err(format!("Unknown command line argument '{text}'.  Try: '{program} --help'"));
        };
        let value = match (option.value, inline) {
            (None, None) => OsString::new(),
            (None, Some(value)) => {
                return Err(format!("for the --{name} option: does not allow a value! '{value}' specified."));
            }
            (Some(_), Some(value)) => value.into(),
            (Some(_), None) => {
                arguments.next().ok_or_else(|| format!("for the --{name} option: requires a value!"))?.clone()
            }
        };
        parsed.options.push((option.name, value));
    }
    Ok(parsed)
}

impl Parsed {
    /// The value of an option, the last where it repeats.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.all(name).last()
    }

    /// All values of an option.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &OsStr> {
        self.options.iter().filter(move |(option, _)| *option == name).map(|(_, value)| value.as_os_str())
    }

    /// Whether an option is there.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

/// The tool's help: what it does, how it is called, and a line for each option.
pub fn help(overview: &str, program: &OsStr, usage: &str, known: &[LlvmOption]) -> String {
    let program = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    let mut text = format!("OVERVIEW: {overview}\n\nUSAGE: {program} {usage}\n\nOPTIONS:\n");
    let spelled = |option: &LlvmOption| match option.value {
        Some(value) => format!("--{}=<{value}>", option.name),
        None => format!("--{}", option.name),
    };
    let width = known.iter().map(|option| spelled(option).len()).max().unwrap_or(0);
    for option in known {
        text += &format!("  {:width$} - {}\n", spelled(option), option.help);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    static KNOWN: [LlvmOption; 2] = [
        LlvmOption { name: "target", value: Some("triple"), help: "" },
        LlvmOption { name: "help", value: None, help: "" },
    ];

    fn parse(line: &str) -> Result<Parsed, String> {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        super::parse(OsStr::new("tool"), &KNOWN, &arguments)
    }

    #[test]
    fn one_dash_or_two_and_a_value_behind_or_after() {
        for line in ["--target=x in", "-target=x in", "-target x in", "in --target x"] {
            let parsed = parse(line).unwrap();
            assert_eq!(parsed.value("target"), Some(OsStr::new("x")), "{line}");
            assert_eq!(parsed.inputs, ["in"], "{line}");
        }
        assert_eq!(parse("-- --target=x -").unwrap().inputs, ["--target=x", "-"]);
    }

    #[test]
    fn what_is_wrong_is_said_as_llvm_says_it() {
        let cases = [
            ("-frob", "Unknown command line argument '-frob'.  Try: 'tool --help'"),
            ("--target", "for the --target option: requires a value!"),
            ("--help=1", "for the --help option: does not allow a value! '1' specified."),
        ];
        for (line, message) in cases {
            assert_eq!(parse(line).unwrap_err(), message, "{line}");
        }
    }
}
