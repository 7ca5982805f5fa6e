//! The command line of fatbinary, in the syntax of NVIDIA's tools: a long name after two dashes or a short one after one, and
//! a value after `=` or as the next argument.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use super::image_spec::ImageSpec;
use super::option_files::{self, MAX_DEPTH};
use super::options::{FatbinaryOption, OPTIONS, ValueType};
use super::{ToolFailure, fatal, warning};
use crate::cli::dropin::llvm_options::{bytes, os_string, text};

/// Options and their values.
#[derive(Debug, Default)]
pub struct ParsedLine {
    flags: BTreeSet<&'static str>,
    texts: BTreeMap<&'static str, Vec<u8>>,
    /// Images in order, with the names of their options.
    pub images: Vec<(&'static str, ImageSpec)>,
    /// True if an argument belongs to no option.
    pub has_other_arguments: bool,
    /// Warnings so far, complete lines.
    pub warnings: String,
}

impl ParsedLine {
    /// Parses arguments. After an error, the warnings so far remain.
    pub fn parse(&mut self, arguments: &[OsString]) -> Result<(), ToolFailure> {
        let arguments = arguments.iter().map(|argument| bytes(argument).to_vec()).collect();
        self.parse_at_depth(arguments, 0)
    }

    /// Parses the contents of an option file that may name no further ones.
    pub fn parse_option_file(&mut self, contents: &[u8]) -> Result<(), ToolFailure> {
        self.parse_contents(contents, MAX_DEPTH)
    }

    /// Returns whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.flags.contains(name)
    }

    /// Returns the value of an option that is not empty.
    pub fn text(&self, name: &str) -> Option<&[u8]> {
        self.texts.get(name).map(Vec::as_slice).filter(|value| !value.is_empty())
    }

    /// Returns the value of an option, which may be empty.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.texts.get(name).map(Vec::as_slice)
    }

    /// Returns the path that is the value of an option.
    pub fn path(&self, name: &str) -> Option<OsString> {
        self.value(name).map(|value| os_string(value.to_vec()))
    }

    fn parse_at_depth(&mut self, arguments: Vec<Vec<u8>>, depth: usize) -> Result<(), ToolFailure> {
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (name, stated) = match argument.iter().position(|&byte| byte == b'=') {
                Some(at) => (&argument[..at], Some(argument[at + 1..].to_vec())),
                None => (&argument[..], None),
            };
            let Some(option) = find(name)? else {
                self.has_other_arguments = true;
                continue;
            };
            if option.is_deprecated {
                self.warnings += &warning(&format!("option '{}' has been deprecated", option.long));
            }
            if option.value == ValueType::Flag {
                if stated.is_some() {
                    return Err(fatal(format!("no argument expected after '{}'", text(name))));
                }
                self.flags.insert(option.long);
                continue;
            }
            let expected = || fatal(format!("argument expected after '{}'", text(name)));
            let value = stated.or_else(|| arguments.next()).ok_or_else(expected)?;
            self.set(option, value, depth)?;
        }
        Ok(())
    }

    fn set(&mut self, option: &FatbinaryOption, value: Vec<u8>, depth: usize) -> Result<(), ToolFailure> {
        match option.value {
            ValueType::Flag => {}
            ValueType::Boolean if ![&b"true"[..], b"false"].contains(&&value[..]) => {
                return Err(fatal(format!("'{}': expected true or false", text(&value))));
            }
            ValueType::Boolean | ValueType::Text(_) => {
                if self.texts.get(option.long).is_some_and(|earlier| *earlier != value) {
                    let name = option.long;
                    self.warnings += &warning(&format!(
                        "incompatible redefinition for option '{name}', the last value of this option was used"
                    ));
                }
                self.texts.insert(option.long, value);
            }
            ValueType::OptionFiles(_) => {
                for file in split(&value)? {
                    self.include(os_string(file), depth)?;
                }
            }
            ValueType::Image(keywords) => {
                self.images.push((option.long, ImageSpec::parse(option.long, keywords, &split(&value)?)?));
            }
        }
        Ok(())
    }

    /// Parses the arguments in an option file.
    fn include(&mut self, file: OsString, depth: usize) -> Result<(), ToolFailure> {
        if depth >= MAX_DEPTH {
            return Err(fatal(format!("Too many options file opened '{}'", file.display())));
        }
        let contents = read(&file).map_err(|_| fatal(format!("Could not open options file '{}'", file.display())))?;
        self.parse_contents(&contents, depth + 1)
    }

    fn parse_contents(&mut self, contents: &[u8], depth: usize) -> Result<(), ToolFailure> {
        let arguments = option_files::arguments(contents).map_err(|unterminated| stray(unterminated.0))?;
        self.parse_at_depth(arguments, depth)
    }
}

/// Reads an option file. A directory is an empty one.
fn read(file: &OsStr) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(file)?.is_dir() { Ok(Vec::new()) } else { std::fs::read(file) }
}

/// Returns the option with a name, `None` for an argument without dashes.
fn find(name: &[u8]) -> Result<Option<&'static FatbinaryOption>, ToolFailure> {
    let (found, name) = match name {
        [b'-', b'-', long @ ..] => (OPTIONS.iter().find(|option| option.long.as_bytes() == long), &name[1..]),
        [b'-', short @ ..] if !short.is_empty() => {
            (OPTIONS.iter().find(|option| option.short.as_bytes() == short), short)
        }
        _ => return Ok(None),
    };
    found.map(Some).ok_or_else(|| fatal(format!("Unknown option '{}'", text(name))))
}

fn stray(character: &str) -> ToolFailure {
    fatal(format!("Stray '{character}' character"))
}

/// Splits a list at commas outside of double quotes, which are removed. Blanks around an item do not count, and neither do
/// empty items.
fn split(list: &[u8]) -> Result<Vec<Vec<u8>>, ToolFailure> {
    let (mut items, mut item, mut is_quoted) = (Vec::new(), Vec::new(), false);
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
        return Err(stray("\""));
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
    use super::*;

    fn parse(arguments: &[&str]) -> (ParsedLine, Option<String>) {
        let mut line = ParsedLine::default();
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
        assert!(line.has_other_arguments && !line.flag("debug"));
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
            let items: Vec<String> = split(list.as_bytes()).unwrap().iter().map(|item| text(item)).collect();
            assert_eq!(items, expected, "{list}");
        }
    }
}
