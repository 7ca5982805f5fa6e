//! Parsing of command lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use super::{KeywordValues, NvidiaOption, NvidiaTool, ToolFailure, ValueType};
use crate::llvm_options::{bytes, os_string, split_value, text};
use fatbin_ops::link::response_files::{self, NVIDIA, Unterminated};

/// Options and their values.
#[derive(Debug)]
pub struct ParsedLine {
    tool: NvidiaTool,
    flags: BTreeSet<&'static str>,
    texts: BTreeMap<&'static str, Vec<u8>>,
    lists: BTreeMap<&'static str, Vec<Vec<u8>>>,
    /// Images in order, with the names of their options.
    pub images: Vec<(&'static str, KeywordValues)>,
    /// Arguments that belong to no option.
    pub others: Vec<Vec<u8>>,
    /// Warnings so far, complete lines.
    pub warnings: String,
}

impl ParsedLine {
    /// Creates an empty command line of a tool.
    pub fn new(tool: NvidiaTool) -> Self {
        ParsedLine {
            tool,
            flags: BTreeSet::new(),
            texts: BTreeMap::new(),
            lists: BTreeMap::new(),
            images: Vec::new(),
            others: Vec::new(),
            warnings: String::new(),
        }
    }

    /// Parses arguments. After an error, the warnings so far remain.
    pub fn parse(&mut self, arguments: &[OsString]) -> Result<(), ToolFailure> {
        let arguments = arguments.iter().map(|argument| bytes(argument).to_vec()).collect();
        self.parse_at_depth(arguments, 0)
    }

    /// Parses the contents of an option file. Nested option files are errors.
    pub fn parse_option_file(&mut self, contents: &[u8]) -> Result<(), ToolFailure> {
        self.parse_contents(contents, NVIDIA.depth().unwrap_or_default())
    }

    /// True if a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.flags.contains(name)
    }

    /// Value of an option, unless it is empty.
    pub fn text(&self, name: &str) -> Option<&[u8]> {
        self.texts.get(name).map(Vec::as_slice).filter(|value| !value.is_empty())
    }

    /// Value of an option; it may be empty.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.texts.get(name).map(Vec::as_slice)
    }

    /// Texts of a list; `None` without the option.
    pub fn list(&self, name: &str) -> Option<&[Vec<u8>]> {
        self.lists.get(name).map(Vec::as_slice)
    }

    /// Path that is the value of an option.
    pub fn path(&self, name: &str) -> Option<OsString> {
        self.value(name).map(|value| os_string(value.to_vec()))
    }

    fn parse_at_depth(&mut self, arguments: Vec<Vec<u8>>, depth: usize) -> Result<(), ToolFailure> {
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (name, stated) = split_value(&argument);
            let Some(option) = self.find(name)? else {
                self.others.push(argument);
                continue;
            };
            if option.is_deprecated {
                self.warnings += &self.tool.warning(&format!("option '{}' has been deprecated", option.long));
            }
            if option.value == ValueType::Flag {
                if stated.is_some() {
                    return Err(self.tool.fatal(format!("no argument expected after '{}'", text(name))));
                }
                self.flags.insert(option.long);
                continue;
            }
            let expected = || self.tool.fatal(format!("argument expected after '{}'", text(name)));
            let value = stated.map(<[u8]>::to_vec).or_else(|| arguments.next()).ok_or_else(expected)?;
            self.set(&option, value, depth)?;
        }
        Ok(())
    }

    fn set(&mut self, option: &NvidiaOption, value: Vec<u8>, depth: usize) -> Result<(), ToolFailure> {
        let tool = self.tool;
        match option.value {
            ValueType::Flag => {}
            ValueType::Boolean if ![&b"true"[..], b"false"].contains(&&value[..]) => {
                return Err(tool.fatal(format!("'{}': expected true or false", text(&value))));
            }
            ValueType::Number if !is_number(&value) => {
                return Err(tool.fatal(format!("'{}': expected a number", text(&value))));
            }
            ValueType::Choice(allowed) if !allowed.split(' ').any(|allowed| allowed.as_bytes() == value) => {
                let name = option.long;
                return Err(tool.fatal(format!("Value '{}' is not defined for option '{name}'", text(&value))));
            }
            ValueType::Boolean | ValueType::Text | ValueType::Number | ValueType::Choice(_) => {
                self.set_text(option, value);
            }
            ValueType::List => self.lists.entry(option.long).or_default().extend(split(&tool, &value)?),
            ValueType::OptionFiles => {
                for file in split(&tool, &value)? {
                    self.include(os_string(file), depth)?;
                }
            }
            ValueType::Image(keywords) => {
                let values = KeywordValues::parse(&tool, option.long, keywords, &split(&tool, &value)?)?;
                self.images.push((option.long, values));
            }
        }
        Ok(())
    }

    fn set_text(&mut self, option: &NvidiaOption, value: Vec<u8>) {
        let name = option.long;
        if self.texts.get(name).is_some_and(|earlier| *earlier != value) {
            self.warnings += &self.tool.warning(&format!(
                "incompatible redefinition for option '{name}', the last value of this option was used"
            ));
        }
        self.texts.insert(name, value);
    }

    /// `None` for an argument without dashes.
    fn find(&self, name: &[u8]) -> Result<Option<NvidiaOption>, ToolFailure> {
        let mut options = (self.tool.options)().into_iter();
        let (found, name) = match name {
            [b'-', b'-', long @ ..] => (options.find(|option| option.long.as_bytes() == long), &name[1..]),
            [b'-', short @ ..] if !short.is_empty() => (options.find(|option| option.short.as_bytes() == short), short),
            _ => return Ok(None),
        };
        found.map(Some).ok_or_else(|| self.tool.fatal(format!("Unknown option '{}'", text(name))))
    }

    /// Parses the arguments in an option file.
    fn include(&mut self, file: OsString, depth: usize) -> Result<(), ToolFailure> {
        if NVIDIA.depth().is_some_and(|most| depth >= most) {
            return Err(self.tool.fatal(format!("Too many options file opened '{}'", file.display())));
        }
        let failure = |_| self.tool.fatal(format!("Could not open options file '{}'", file.display()));
        let contents = read(&file).map_err(failure)?;
        self.parse_contents(&contents, depth + 1)
    }

    fn parse_contents(&mut self, contents: &[u8], depth: usize) -> Result<(), ToolFailure> {
        let arguments = response_files::split(contents, &NVIDIA).map_err(|end| match end {
            Unterminated::Backslash => stray(&self.tool, ""),
            Unterminated::Quote => stray(&self.tool, "\""),
        })?;
        self.parse_at_depth(arguments, depth)
    }
}

/// Reads an option file. A directory reads as an empty file.
fn read(file: &OsStr) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(file)?.is_dir() { Ok(Vec::new()) } else { std::fs::read(file) }
}

/// The tools accept digits after an optional sign, and an empty text.
fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    digits.iter().all(u8::is_ascii_digit)
}

fn stray(tool: &NvidiaTool, character: &str) -> ToolFailure {
    tool.fatal(format!("Stray '{character}' character"))
}

/// Splits a list at commas outside of double quotes, and removes the quotes. Blanks around an item do not count, and
/// neither do empty items.
fn split(tool: &NvidiaTool, list: &[u8]) -> Result<Vec<Vec<u8>>, ToolFailure> {
    let mut items = Vec::new();
    let mut item = Vec::new();
    let mut is_quoted = false;
    let mut previous = 0;
    for &byte in list {
        match byte {
            b'"' if !is_quoted || previous != b'\\' => is_quoted = !is_quoted,
            b',' if !is_quoted => items.push(std::mem::take(&mut item)),
            _ => item.push(byte),
        }
        previous = byte;
    }
    if is_quoted {
        return Err(stray(tool, "\""));
    }
    items.push(item);
    let items = items.iter().map(|item| trim_blanks(item).to_vec());
    Ok(items.filter(|item| !item.is_empty()).collect())
}

fn trim_blanks(mut item: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = item {
        item = rest;
    }
    item
}

#[cfg(test)]
mod tests {
    use super::super::option;
    use super::*;

    const TOOL: NvidiaTool = NvidiaTool {
        name: "tool",
        help: "",
        options: || {
            vec![
                option("create", "create", ValueType::Text),
                option("debug", "g", ValueType::Flag),
                option("embedded-fatbin", "fatbin", ValueType::Text),
                option("extract", "x", ValueType::List),
                option("gpu", "arch", ValueType::Choice("sm_75 sm_90")),
                option("ident", "ident", ValueType::Text),
                option("index", "i", ValueType::Number),
            ]
        },
    };

    fn parse(arguments: &[&str]) -> (ParsedLine, Option<String>) {
        let mut line = ParsedLine::new(TOOL);
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let failure = line.parse(&arguments).err().map(|failure| failure.message);
        (line, failure)
    }

    #[test]
    fn values_follow_an_equals_sign_or_are_the_next_argument() {
        for arguments in [["--create=x", "-g"], ["-create=x", "--debug"]] {
            let (line, failure) = parse(&arguments);
            assert_eq!((line.text("create"), line.flag("debug"), failure), (Some(&b"x"[..]), true, None));
        }
        let (line, _) = parse(&["--ident", "-g", "-fatbin", "--create=x", "other"]);
        assert_eq!((line.text("ident"), line.text("embedded-fatbin")), (Some(&b"-g"[..]), Some(&b"--create=x"[..])));
        assert!(line.others == [b"other"] && !line.flag("debug"));
    }

    #[test]
    fn lists_are_split_outside_of_quotes() {
        let cases: [(&str, &[&str]); 7] = [
            ("a=b,c=d", &["a=b", "c=d"]),
            (" a=b ,, c=d,", &["a=b", "c=d"]),
            ("file=\"a,b\"", &["file=a,b"]),
            ("\"file=a,b\",x", &["file=a,b", "x"]),
            ("file=a\",\"b", &["file=a,b"]),
            ("file=\"a\\\"b\"", &["file=a\\\"b"]),
            ("", &[]),
        ];
        for (list, expected) in cases {
            let items: Vec<String> = split(&TOOL, list.as_bytes()).unwrap().iter().map(|item| text(item)).collect();
            assert_eq!(items, expected, "{list}");
        }
    }
    #[test]
    fn values_have_types() {
        let (line, failure) = parse(&["-x", "a,b", "--extract=c", "-arch=sm_75", "-arch", "sm_90", "-i", "12"]);
        assert_eq!(failure, None);
        assert_eq!(line.list("extract").unwrap(), [b"a", b"b", b"c"]);
        assert_eq!((line.text("gpu"), line.text("index")), (Some(&b"sm_90"[..]), Some(&b"12"[..])));
        assert!(line.warnings.starts_with("tool warning : incompatible redefinition for option 'gpu', "));
        let message = |arguments: &[&str]| parse(arguments).1.unwrap();
        assert_eq!(message(&["-arch=sm_70"]), "tool fatal   : Value 'sm_70' is not defined for option 'gpu'\n");
        assert_eq!(message(&["-i", "x"]), "tool fatal   : 'x': expected a number\n");
        assert_eq!(message(&["--bogus"]), "tool fatal   : Unknown option '-bogus'\n");
    }
}
