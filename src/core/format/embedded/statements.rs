//! The statements of a PTX module, up to its end in other data. Source: NVIDIA, PTX ISA, sections Syntax and
//! Directives.

use crate::base::brackets::Brackets;
use crate::base::bytes::offset_of_rest;

/// First words of statements that define or declare something.
const DEFINITIONS: [&[u8]; 13] = [
    b".entry",
    b".func",
    b".visible",
    b".extern",
    b".weak",
    b".common",
    b".global",
    b".const",
    b".shared",
    b".tex",
    b".alias",
    b".blocksareclusters",
    b".attribute",
];

/// First words of other statements: those that end with a block or a semicolon, and those that end with their line.
const OTHERS: [&[u8]; 2] = [b".section", PRAGMA];
const LINES: [&[u8]; 3] = [b".file", b".loc", b"@@DWARF"];

/// Directive with a string, of a module or of a function.
const PRAGMA: &[u8] = b".pragma";

/// Directive that begins every module, and the other directives of its header.
const VERSION: &[u8] = b".version";
const HEADER: [&[u8]; 2] = [b".target", b".address_size"];

/// End of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Size of the module in bytes.
    pub size: usize,
    /// True if a NUL follows, or nothing.
    pub is_stated: bool,
}

/// A reader of statements.
#[derive(Debug, Clone, Copy)]
pub struct Statements<'text> {
    text: &'text [u8],
    /// Number of bytes that were read.
    pub read: usize,
}

impl<'text> Statements<'text> {
    /// Creates a reader of the module at the start of a text.
    pub fn new(text: &'text [u8]) -> Self {
        Statements { text, read: 0 }
    }

    /// Returns the end of the module; `None` if it defines nothing.
    pub fn end_of_module(&mut self) -> Option<End> {
        self.skip_header();
        let mut end = 0;
        let mut defines = false;
        loop {
            self.skip_comments();
            let statement = self.rest();
            let is_end = |&at: &usize| !statement.get(at).is_some_and(|&byte| is_word(byte));
            let length = (1..statement.len()).find(is_end).unwrap_or(statement.len());
            let word = statement.get(..length).unwrap_or_default();
            let is_definition = DEFINITIONS.contains(&word);
            let is_complete = if LINES.contains(&word) {
                self.skip_line_statement();
                true
            } else {
                (is_definition || OTHERS.contains(&word)) && self.skip_statement()
            };
            if !is_complete {
                break;
            }
            defines |= is_definition;
            end = self.read;
        }
        if !defines {
            return None;
        }
        let mut behind = Statements { read: end, ..*self };
        behind.skip_comments();
        if matches!(behind.rest(), [] | [0, ..]) {
            return Some(End { size: behind.read, is_stated: true });
        }
        let mut behind = Statements { read: end, ..*self };
        behind.skip(behind.rest().iter().take_while(|byte| b"\r\n".contains(byte)).count());
        Some(End { size: behind.read, is_stated: false })
    }

    /// Returns the text after the comments and spaces at its start.
    pub fn after_comments(mut self) -> &'text [u8] {
        self.skip_comments();
        self.rest()
    }

    fn rest(&self) -> &'text [u8] {
        self.text.get(self.read..).unwrap_or_default()
    }

    /// Skips bytes, or the rest if there are fewer.
    fn skip(&mut self, size: usize) {
        let after = self.rest().get(size..).unwrap_or_default();
        self.read = offset_of_rest(self.text, after);
    }

    /// Skips everything up to a byte of a kind. A control character ends the module before it is found.
    fn skip_to(&mut self, is_wanted: impl Fn(u8) -> bool) -> Option<u8> {
        let rest = self.rest();
        let stop = rest.iter().position(|&byte| is_wanted(byte) || byte.is_ascii_control() && !is_space(byte));
        self.skip(stop.unwrap_or(rest.len()));
        self.rest().first().copied().filter(|&byte| is_wanted(byte))
    }

    /// Like [`Self::skip_to`], and skips the byte.
    fn skip_past(&mut self, is_wanted: impl Fn(u8) -> bool) -> Option<u8> {
        let byte = self.skip_to(is_wanted)?;
        self.skip(1);
        Some(byte)
    }

    /// Skips spaces and comments. A comment without an end reaches up to the next control character.
    fn skip_comments(&mut self) {
        loop {
            let spaces = self.rest().iter().take_while(|&&byte| is_space(byte)).count();
            self.skip(spaces);
            match self.rest() {
                [b'/', b'/', ..] => drop(self.skip_past(|byte| byte == b'\n')),
                [b'/', b'*', ..] => {
                    self.skip(2);
                    while self.skip_past(|byte| byte == b'*').is_some() {
                        if self.rest().starts_with(b"/") {
                            self.skip(1);
                            break;
                        }
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips the directives of the header with their operands.
    fn skip_header(&mut self) {
        self.skip(VERSION.len());
        loop {
            self.skip_comments();
            let rest = self.rest();
            match (HEADER.iter().find(|word| rest.starts_with(word)), rest) {
                (Some(word), _) => self.skip(word.len()),
                (None, [b'.', digit, ..]) if digit.is_ascii_digit() => self.skip(1),
                (None, [byte, ..]) if is_word(*byte) || *byte == b',' => self.skip(1),
                _ => return,
            }
        }
    }

    /// Skips a statement that ends with its line, or at the next directive: GCC writes stubs without any spaces.
    fn skip_line_statement(&mut self) {
        self.skip(1);
        while let Some(byte) = self.skip_to(|byte| b"\"\n.".contains(&byte)) {
            if byte == b'.' {
                return;
            }
            self.skip(1);
            if byte == b'\n' {
                return;
            }
            self.skip_past(|byte| byte == b'"');
        }
    }

    /// Skips a statement with its block or semicolon, and returns whether it has one.
    fn skip_statement(&mut self) -> bool {
        let mut braces = Brackets::default();
        let mut parentheses = Brackets::default();
        let mut has_initial_value = false;
        // The first word may be a pragma.
        self.skip(1);
        let mut clause = self.read;
        while let Some(byte) = self.skip_to(|byte| b"\"/{}();=".contains(&byte)) {
            if matches!(self.rest(), [b'/', b'/' | b'*', ..]) {
                self.skip_comments();
                continue;
            }
            self.skip(1);
            match byte {
                b'"' => drop(self.skip_past(|byte| byte == b'"')),
                b'(' => parentheses.open(),
                b')' => parentheses.close(),
                b'=' if !braces.is_open() => has_initial_value = true,
                b'{' => braces.open(),
                b'}' if !braces.is_open() => return false,
                b'}' => {
                    braces.close();
                    // The initial value of a variable has braces and a semicolon.
                    if !braces.is_open() && !has_initial_value {
                        return true;
                    }
                }
                b';' if !braces.is_open() && !parentheses.is_open() => {
                    // The pragmas of a function stand between its head and its body.
                    let text = self.text.get(clause..self.read).unwrap_or_default();
                    if !text.windows(PRAGMA.len()).any(|window| window == PRAGMA) {
                        return true;
                    }
                    clause = self.read;
                }
                _ => {}
            }
        }
        false
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
