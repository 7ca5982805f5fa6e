//! PTX text between other data.
//!
//! Host code passes it as a C string, so a NUL usually ends it. Rust's `include_str!` adds none, and the linker puts other texts
//! right behind it; then it ends with the last statement of the module. Source: NVIDIA, PTX ISA, sections Syntax and
//! Directives; texts of nvcc 11.8 to 13.5, LLVM 14 to 22 and GCC 12; the grammar that ptxas 13.5 accepts.

use super::{EmbeddedImage, Region};
use crate::bytes::{Resource, text_work};
use crate::error::{Cause, Malformed};
use crate::target::nvptx::Ptx;

/// Directive that begins every module.
const VERSION: &[u8] = b".version";

/// Number of bytes before the directive that are searched for comments, and of those behind the start of a region that are
/// searched for it.
const MAX_COMMENTS: usize = 16 << 10;

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

/// First words of other statements of a module, after its header.
const OTHERS: [&[u8]; 5] = [b".file", b".section", PRAGMA, b".loc", b"@@DWARF"];

/// Directive with a string, of a module or of a function.
const PRAGMA: &[u8] = b".pragma";

/// Words that only the header of a module has.
const HEADER: [&[u8]; 2] = [b".target", b".address_size"];

/// Finds the module with the directive `.version` at an offset of the region.
pub fn find(region: Region<'_>, at: u64) -> Result<EmbeddedImage<'_>, Malformed> {
    let view = region.view;
    let error = |why: &str| view.malformed("PTX module", at, Cause::Described(why.to_owned()));
    let text = view.data();
    let (before, after) = text.split_at_checked(at as usize).ok_or_else(|| error("no such offset"))?;
    if Ptx::read(after).is_none() {
        return Err(error("no target"));
    }
    let start = start(before).ok_or_else(|| error("inside a comment"))?;
    if !start.is_delimited && !region.may_hold_text {
        return Err(error("inside other text"));
    }
    let length = after.iter().position(|&byte| byte.is_ascii_control() && !byte.is_ascii_whitespace());
    let printable = after.get(..length.unwrap_or(after.len())).unwrap_or_default();
    view.charge("PTX module", Resource::Work, text_work(printable.len()))?;
    let end = statements_end(printable).ok_or_else(|| error("no functions or variables"))?;
    let is_terminated = length.is_none_or(|length| after.get(length) == Some(&0));
    let has_stated_end = is_terminated && without_comments(printable.get(end..).unwrap_or_default()).is_empty();
    let size = if has_stated_end { printable.len() } else { end };
    let size = before.len().saturating_sub(start.at).saturating_add(size);
    let image = view.part("PTX module", at, start.at as u64, size as u64)?;
    Ok(EmbeddedImage { has_stated_end, ..EmbeddedImage::new(image) })
}

/// Returns the module that begins at the region's first byte, with comments or without.
pub fn at_start(region: Region<'_>) -> Option<EmbeddedImage<'_>> {
    Ptx::read(region.view.data())?;
    let head = region.view.data();
    let head = head.get(..MAX_COMMENTS).unwrap_or(head);
    let at = head.len().checked_sub(without_comments(head).len())?;
    find(region, at as u64).ok()
}

/// Start of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    at: usize,
    /// True where a NUL precedes it, or nothing.
    is_delimited: bool,
}

/// Returns the start of the comments and spaces at the end of `before`; `None` where the end is inside a comment.
fn start(before: &[u8]) -> Option<Start> {
    let limit = before.len().saturating_sub(MAX_COMMENTS);
    let mut at = before.len();
    loop {
        let rest = before.get(limit..at)?;
        let trimmed = rest.trim_ascii_end();
        let end = limit.saturating_add(trimmed.len());
        if trimmed.is_empty() && limit == 0 || trimmed.last() == Some(&0) {
            return Some(Start { at: end, is_delimited: true });
        }
        let is_on_a_line_of_its_own = at == before.len() || rest.get(trimmed.len()..)?.contains(&b'\n');
        let from = if trimmed.ends_with(b"*/") {
            let open = trimmed.windows(2).rposition(|pair| pair == b"/*")?;
            limit.saturating_add(open)
        } else {
            let line =
                trimmed.iter().rposition(|&byte| byte == b'\n' || byte == 0).map_or(0, |end| end.saturating_add(1));
            let text = trimmed.get(line..)?;
            let indent = text.len().saturating_sub(text.trim_ascii_start().len());
            let ends_in_this_line = at == before.len() && !rest.get(trimmed.len()..)?.contains(&b'\n');
            if text.trim_ascii_start().starts_with(b"//") {
                if ends_in_this_line {
                    return None;
                }
                limit.saturating_add(line).saturating_add(indent)
            } else if text.ends_with(b"//") && !ends_in_this_line && is_on_a_line_of_its_own {
                // The empty comment with which generated headers begin, right behind other text.
                return Some(Start { at: end.saturating_sub(2), is_delimited: false });
            } else {
                return Some(Start { at, is_delimited: false });
            }
        };
        at = from;
    }
}

/// Returns the text without spaces and comments at its start.
fn without_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        text = match text {
            [b'/', b'/', rest @ ..] => after(rest, b"\n").unwrap_or_default(),
            [b'/', b'*', rest @ ..] => after(rest, b"*/").unwrap_or_default(),
            _ => return text,
        };
    }
}

fn after<'text>(text: &'text [u8], end: &[u8]) -> Option<&'text [u8]> {
    let at = text.windows(end.len()).position(|window| window == end)?;
    text.get(at.saturating_add(end.len())..)
}

/// Returns the end of the last statement of the module that begins with `.version`, with the line break behind it; `None` if
/// it defines nothing.
fn statements_end(text: &[u8]) -> Option<usize> {
    let mut rest = text.strip_prefix(VERSION)?;
    rest = skip_header(rest);
    let (mut end, mut defines) = (None, false);
    loop {
        let statement = without_comments(rest);
        let length = statement
            .iter()
            .skip(1)
            .position(|byte| !is_word(*byte))
            .map_or(statement.len(), |at| at.saturating_add(1));
        let word = statement.get(..length)?;
        let is_definition = DEFINITIONS.contains(&word);
        if !is_definition && !OTHERS.contains(&word) {
            break;
        }
        rest = if word == b".file" || word == b".loc" || word == b"@@DWARF" {
            line_statement(statement)
        } else {
            let Some(rest) = statement_rest(statement) else { break };
            rest
        };
        defines |= is_definition;
        end = Some(text.len().saturating_sub(rest.len()));
    }
    let end = end.filter(|_| defines)?;
    let behind = text.get(end..)?;
    let blank = behind.iter().take_while(|byte| b"\r\n".contains(byte)).count();
    Some(end.saturating_add(blank))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the text behind the directives of the header: operands of `.version` and `.target`, and `.address_size`.
fn skip_header(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        rest = without_comments(rest);
        let is_operand = rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_,".contains(byte));
        if let Some(word) = HEADER.iter().find(|word| rest.starts_with(word)) {
            rest = rest.get(word.len()..).unwrap_or_default();
        } else if is_operand || matches!(rest, [b'.', digit, ..] if digit.is_ascii_digit()) {
            rest = rest.get(1..).unwrap_or_default();
        } else {
            return rest;
        }
    }
}

/// Returns the text behind a statement that ends with its line, or at the next directive: GCC writes stubs without any
/// spaces.
fn line_statement(statement: &[u8]) -> &[u8] {
    let mut in_string = false;
    for (at, &byte) in statement.iter().enumerate().skip(1) {
        match byte {
            b'"' => in_string = !in_string,
            b'\n' | b'.' if !in_string => return statement.get(at..).unwrap_or_default(),
            _ => {}
        }
    }
    &[]
}

/// Returns the text behind a statement with its block or semicolon; `None` if it has no end.
fn statement_rest(statement: &[u8]) -> Option<&[u8]> {
    let (mut depth, mut parentheses, mut rest) = (0_usize, 0_usize, statement);
    let (mut has_initial_value, mut clause_start) = (false, 0_usize);
    loop {
        let at = rest.iter().position(|byte| b"\"/{}();=".contains(byte))?;
        let (&byte, behind) = rest.get(at..)?.split_first()?;
        rest = behind;
        match byte {
            b'"' => rest = after(behind, b"\"")?,
            b'/' if behind.starts_with(b"*") => rest = after(behind.get(1..)?, b"*/")?,
            b'/' if behind.starts_with(b"/") => rest = after(behind, b"\n")?,
            b'(' => parentheses = parentheses.saturating_add(1),
            b')' => parentheses = parentheses.saturating_sub(1),
            b'=' if depth == 0 => has_initial_value = true,
            b'{' => depth = depth.saturating_add(1),
            b'}' => {
                depth = depth.checked_sub(1)?;
                // The initial value of a variable has braces and a semicolon.
                if depth == 0 && !has_initial_value {
                    return Some(rest);
                }
            }
            b';' if depth == 0 && parentheses == 0 => {
                // The pragmas of a function stand between its head and its body.
                let length = statement.len().saturating_sub(rest.len());
                let (clause, _) = statement.split_at_checked(length)?;
                let clause = clause.windows(PRAGMA.len()).rposition(|window| window == PRAGMA);
                let is_inner = clause.is_some_and(|at| at >= clause_start.max(1));
                clause_start = length;
                if !is_inner {
                    return Some(rest);
                }
            }
            _ => {}
        }
    }
}
