//! The structure of PTX text: blocks, strings, comments and statements. Source: NVIDIA, PTX ISA, sections Syntax and
//! Directives.

use crate::base::brackets::Brackets;
use crate::base::bytes::{View, offset_of_rest};
use crate::base::error::{Cause, Malformed};

/// Directives without a semicolon or a block: the module's directives, and the table of source files that compilers
/// write at the end.
const LINE_DIRECTIVES: [&[u8]; 4] = [b".version", b".target", b".address_size", FILE];
const FILE: &[u8] = b".file";

/// First word of a line with the file, line and column of the instructions after it.
const LOCATION: &[u8] = b".loc";

/// First word of a section of debug information. Everything after it belongs to sections.
const SECTION: &[u8] = b".section";

/// Kinds of bytes, one bit each: parts of words (directives, instructions, names and numbers), blanks, starts of strings
/// and comments with braces, and semicolons.
pub const WORD: u8 = 1;
pub const BLANK: u8 = 2;
const STRUCTURE: u8 = 4;
const SEMICOLON: u8 = 8;

/// Kind of each byte. A text has megabytes, and a look-up takes half the time of comparisons.
static KINDS: [u8; 256] = kinds();

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "evaluated by the compiler")]
const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < kinds.len() {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | b'%' | b'.' => WORD,
            b' ' | b'\t'..=b'\r' => BLANK,
            b'"' | b'/' | b'{' | b'}' => STRUCTURE,
            b';' => SEMICOLON,
            _ => 0,
        };
        byte += 1;
    }
    kinds
}

/// Returns whether a byte is of one of these kinds.
pub fn is_of(byte: u8, wanted: u8) -> bool {
    KINDS.get(usize::from(byte)).is_some_and(|kind| kind & wanted != 0)
}

/// Returns the first word of a line.
fn first_word(line: &[u8]) -> &[u8] {
    line.trim_ascii_start().split(u8::is_ascii_whitespace).next().unwrap_or_default()
}

/// Returns whether a line names a source file. It may have a time stamp.
pub fn is_file_line(line: &[u8]) -> bool {
    first_word(line) == FILE
}

/// Returns whether a line is about sources: one more or less is no other code.
pub fn is_source_line(line: &[u8]) -> bool {
    [FILE, LOCATION].contains(&first_word(line))
}

/// Returns whether a line begins the debug information that ends a module.
pub fn is_section_line(line: &[u8]) -> bool {
    first_word(line) == SECTION
}

/// Checks that the text does not end inside a block, a string, a comment or a statement. A text that ends between two
/// functions, or after the directives of the module, is complete: nothing in it states the number of functions.
pub fn check(view: View<'_>) -> Result<(), Malformed> {
    last_statement(view).map(|_| ())
}

/// Like [`check`], and checks that the text has a statement, or ends like the empty modules that compilers write. Any
/// other file without statements is the remains of a module.
pub fn check_file(view: View<'_>) -> Result<(), Malformed> {
    match last_statement(view)? {
        0 if !is_empty_module(view.data()) => {
            Err(view.malformed("PTX module", 0, Cause::Described("no functions or variables".to_owned())))
        }
        _ => Ok(()),
    }
}

/// Whether a text without statements is a whole module. GCC writes a table of source files. nvcc (11.8 to 13.5) and
/// clang (15 to 22) write two blank lines after the header; before the first function of a module there is only one.
fn is_empty_module(text: &[u8]) -> bool {
    let end = text.iter().rev().take_while(|&byte| byte.is_ascii_whitespace() || *byte == 0);
    end.filter(|&byte| *byte == b'\n').count() > 2 || text.windows(FILE.len()).any(|word| word == FILE)
}

/// The end is 0 if the text has no statement.
fn last_statement(view: View<'_>) -> Result<usize, Malformed> {
    let text = view.data();
    let offset = |rest: &[u8]| offset_of_rest(text, rest);
    let open = |field, rest: &[u8]| view.malformed(field, offset(rest) as u64, Cause::EndsInside);
    let mut braces = Brackets::default();
    let mut block = text;
    let mut after_statement = text;
    let mut rest = text;
    while let Some(token) = from_first(rest, if braces.is_open() { STRUCTURE } else { STRUCTURE | SEMICOLON }) {
        match token {
            [b'"', after @ ..] => rest = after_first(after, b"\"").ok_or_else(|| open("PTX string", token))?,
            [b'/', b'*', after @ ..] => rest = after_first(after, b"*/").ok_or_else(|| open("PTX comment", token))?,
            [b'/', b'/', after @ ..] => rest = after_first(after, b"\n").unwrap_or_default(),
            [b'{', after @ ..] => {
                block = if braces.is_open() { block } else { token };
                braces.open();
                rest = after;
            }
            [b'}', after @ ..] => {
                braces.close();
                rest = after;
            }
            [_, after @ ..] => rest = after,
            [] => break,
        }
        if !braces.is_open() && matches!(token, [b'}' | b';', ..]) {
            after_statement = rest;
        }
    }
    if braces.is_open() {
        return Err(open("PTX block", block));
    }
    match unfinished_statement(after_statement) {
        Some(statement) => Err(open("PTX statement", statement)),
        None => Ok(offset(after_statement)),
    }
}

fn from_first(text: &[u8], wanted: u8) -> Option<&[u8]> {
    text.get(text.iter().position(|&byte| is_of(byte, wanted))?..)
}

fn after_first<'text>(text: &'text [u8], pattern: &[u8]) -> Option<&'text [u8]> {
    text.get(text.windows(pattern.len()).position(|part| part == pattern)?..)?.strip_prefix(pattern)
}

/// Finds a statement without an end; the result extends to the end of the text. Line directives have no end.
fn unfinished_statement(mut rest: &[u8]) -> Option<&[u8]> {
    let mut is_in_directive = false;
    loop {
        rest = match rest {
            [] => return None,
            [b'/', b'/', after @ ..] => after_first(after, b"\n").unwrap_or_default(),
            [b'/', b'*', after @ ..] => after_first(after, b"*/").unwrap_or_default(),
            [b'"', after @ ..] => after_first(after, b"\"").unwrap_or_default(),
            [_, after_byte @ ..] => {
                let length = rest.iter().position(|&byte| !is_of(byte, WORD)).unwrap_or(rest.len());
                let (word, after_word) = rest.split_at(length);
                is_in_directive |= LINE_DIRECTIVES.contains(&word);
                let is_directive = word.starts_with(b".") && !LINE_DIRECTIVES.contains(&word);
                if is_directive || !word.is_empty() && !is_in_directive {
                    return Some(rest);
                }
                if word.is_empty() { after_byte } else { after_word }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "//\n// Generated; {\n.version 8.1\n.target sm_90, debug\n.address_size 64\n";

    fn message(text: &str) -> String {
        check(View::new(text.as_bytes())).map_or_else(|error| error.to_string(), |()| "complete".to_owned())
    }

    #[test]
    fn complete_texts_end_after_a_statement_or_a_directive_of_lines() {
        let tails = [
            "",
            ".global .align 4 .b8 x[4] = {1, 2, 3, 4};\n",
            ".entry k()\n{\n\tret; // }\n}\n\t// -- End function; done",
            ".entry k() { /* { */ ret; }\n.file 1 \"/src/a;{.cu\", 123, 45\n.file\t2 \"b.cu\"\n",
            ".entry k() .pragma \"nounroll; {\"; { ret; }\n.section .debug_str\n{\n.b8 1\n}\n\0\0",
            ".extern .func f;",
        ];
        for tail in tails {
            assert_eq!(message(&format!("{HEAD}{tail}")), "complete", "{tail}");
        }
        for tail in ["", "\n"] {
            let cut = check_file(View::new(format!("{HEAD}{tail}").as_bytes())).unwrap_err().to_string();
            assert_eq!(cut, "PTX module at 0x0: no functions or variables");
        }
        let of_gcc = ".file 1 \"<dummy>\"\n";
        let of_clang = "\n\n";
        let of_nvcc = "\r\n\r\n\r\n\0";
        for tail in [tails[1], of_gcc, of_clang, of_nvcc] {
            assert_eq!(check_file(View::new(format!("{HEAD}{tail}").as_bytes())), Ok(()));
        }
    }

    #[test]
    fn every_cut_inside_a_statement_is_reported_at_its_start() {
        let cases = [
            ("PTX block", ".entry k() {", "{ ret; }\n ret; }"),
            ("PTX statement", "", ".extern .func (.param .b32 r) f(.param .b32 x) .noreturn;"),
            ("PTX string", ".pragma ", "\"nounroll; }\""),
            ("PTX comment", ".entry k() { ret; }\n", "/* the end } ; */"),
            ("PTX statement", ".entry k() { ret; }", ".global .b8 x;"),
            ("PTX statement", ".file 1 \"a.cu\"\n", ".visible .entry k()\n"),
        ];
        for (field, before, cut) in cases {
            let start = match field {
                "PTX block" => HEAD.len() + before.len() - 1,
                _ => HEAD.len() + before.len(),
            };
            // A comment begins with two characters.
            for end in 2..cut.trim_end().len() {
                let text = format!("{HEAD}{before}{}", &cut[..end]);
                let expected = format!("{field} at {start:#x}: truncated: the data ends inside");
                assert_eq!(message(&text), expected, "{}", &cut[..end]);
            }
        }
    }

    #[test]
    fn every_cut_of_a_compiled_module_before_its_last_brace_is_reported() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-sm_80.ptx");
        let text = std::fs::read(path).unwrap();
        assert_eq!(check_file(View::new(&text)), Ok(()));
        let last = text.iter().rposition(|&byte| byte == b'}').unwrap();
        let first = text.windows(8).position(|window| window == b".version").unwrap();
        for end in first..=last {
            assert!(check_file(View::new(&text[..end])).is_err(), "{end}");
        }
    }

    #[test]
    fn any_bytes_are_checked_without_a_panic() {
        for text in ["", "}", "/", "/*", "//", "\"", "{}{}};", "*/", "\0", "é", "/*/", ".entry é"] {
            let _ = message(text);
        }
    }
}
