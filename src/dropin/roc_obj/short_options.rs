//! Options of one letter, as Perl's `Getopt::Std` parses them.

use std::ffi::OsString;

use crate::llvm_options::{bytes, os_string};

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ShortOptions {
    /// Flags.
    flags: Vec<u8>,
    /// Value of the option `-o`.
    pub output: Option<OsString>,
    /// Arguments after the options.
    pub operands: Vec<OsString>,
    /// Messages about unknown options, which are ignored.
    pub warnings: String,
    /// True for `--version`.
    pub is_version: bool,
}

impl ShortOptions {
    /// Parses arguments with the known flags. `o` is an option with a value if it is among them.
    pub fn parse(arguments: &[OsString], known: &[u8]) -> Self {
        let mut parsed = ShortOptions::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let letters = match bytes(argument) {
                b"--" => break,
                b"--version" => {
                    parsed.is_version = true;
                    continue;
                }
                b"--help" => b"h",
                [b'-', letters @ ..] if !letters.is_empty() => letters,
                _ => {
                    parsed.operands.push(argument.clone());
                    break;
                }
            };
            parsed.letters(letters, known, &mut rest);
        }
        parsed.operands.extend(rest.cloned());
        parsed
    }

    fn letters<'a>(&mut self, letters: &[u8], known: &[u8], rest: &mut impl Iterator<Item = &'a OsString>) {
        for (at, letter) in letters.iter().enumerate() {
            if *letter == b'o' && known.contains(letter) {
                let attached = &letters[at + 1..];
                self.output =
                    if attached.is_empty() { rest.next().cloned() } else { Some(os_string(attached.to_vec())) };
                return;
            }
            if known.contains(letter) {
                self.flags.push(*letter);
            } else {
                self.warnings += &format!("Unknown option: {}\n", char::from(*letter));
            }
        }
    }

    /// True if a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags.contains(&flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_as_perl_does() {
        let parse =
            |arguments: &[&str]| ShortOptions::parse(&arguments.iter().map(OsString::from).collect::<Vec<_>>(), b"vho");
        let parsed = parse(&["-vo", "dir", "a", "-h"]);
        assert!(parsed.has(b'v') && !parsed.has(b'h'));
        assert_eq!((parsed.output, parsed.operands), (Some("dir".into()), vec!["a".into(), "-h".into()]));
        assert_eq!(parse(&["-odir"]).output, Some("dir".into()));
        assert_eq!(parse(&["--", "-v"]).operands, [OsString::from("-v")]);
        assert_eq!(parse(&["-"]).operands, [OsString::from("-")]);
        assert_eq!(parse(&["-x", "-v"]).warnings, "Unknown option: x\n");
        assert!(parse(&["--help"]).has(b'h') && parse(&["--version"]).is_version);
    }
}
