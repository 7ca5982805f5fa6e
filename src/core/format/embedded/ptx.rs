//! PTX text between other data.
//!
//! Host code passes PTX as a C string, so a NUL usually ends it. Rust's `include_str!` adds none, and the linker puts
//! other texts right after it. PTX then ends with the last statement of the module. Source: texts of nvcc 11.8 to 13.5,
//! LLVM 14 to 22 and GCC 12; the grammar that ptxas 13.5 accepts.

use super::statements::Statements;
use super::{EmbeddedImage, Region};
use crate::base::bytes::{Resource, offset_of_rest, text_work};
use crate::base::error::{Cause, Malformed};
use crate::target::nvptx::Ptx;

/// Number of bytes before the directive `.version` that are searched for comments. At the start of a region, the same
/// number of bytes is searched for the directive.
const MAX_COMMENTS: usize = 16 << 10;

/// Finds the module with the directive `.version` at an offset of the region.
pub fn find(region: Region<'_>, at: u64) -> Result<EmbeddedImage<'_>, Malformed> {
    let view = region.view;
    let error = |why: &str| view.malformed("PTX module", at, Cause::Described(why.to_owned()));
    let split = usize::try_from(at).ok().and_then(|at| view.data().split_at_checked(at));
    let (before, after) = split.ok_or_else(|| error("no such offset"))?;
    if Ptx::read(after).is_none() {
        return Err(error("no target"));
    }
    let mut start = start(before).ok_or_else(|| error("inside a comment"))?;
    if !Statements::new(start.comments).after_comments().is_empty() {
        // Read from their start, the bytes are something else.
        start = Start { comments: b"", is_delimited: false };
    }
    if !start.is_delimited && !region.may_hold_text {
        return Err(error("inside other text"));
    }
    let mut statements = Statements::new(after);
    let end = statements.end_of_module();
    view.charge("PTX module", Resource::Work, text_work(statements.read))?;
    let end = end.ok_or_else(|| error("no functions or variables"))?;
    let field = view.field("PTX module", at);
    let after_start = view.from(at).prefix(field, end.size as u64)?;
    let start_at = offset_of_rest(before, start.comments) as u64;
    let image = view.between(field, start_at..after_start.range_in(view).end)?;
    Ok(EmbeddedImage { has_stated_end: end.is_stated, ..EmbeddedImage::new(image) })
}

/// Returns the module that begins at the region's first byte, with comments or without.
pub fn at_start(region: Region<'_>) -> Option<EmbeddedImage<'_>> {
    let head = region.view.data();
    let head = head.get(..MAX_COMMENTS).unwrap_or(head);
    Ptx::read(head)?;
    let at = head.len().checked_sub(Statements::new(head).after_comments().len())?;
    find(region, at as u64).ok()
}

/// Start of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start<'text> {
    /// Comments and spaces before the directive `.version`.
    comments: &'text [u8],
    /// True if a NUL precedes it, or nothing.
    is_delimited: bool,
}

/// Finds the start of the comments and spaces that end `before`; `None` if it ends inside a comment.
fn start(before: &[u8]) -> Option<Start<'_>> {
    let tail = before.rchunks(MAX_COMMENTS).next().unwrap_or_default();
    let is_whole = tail.len() == before.len();
    let start = |front: &[u8], is_delimited| Some(Start { comments: tail.get(front.len()..)?, is_delimited });
    // The bytes before the comments that were found.
    let mut front = tail;
    loop {
        let text = front.trim_ascii_end();
        let has_line_break = front.len() < tail.len() || front.get(text.len()..)?.contains(&b'\n');
        // Comments have no control characters.
        let line = text.rsplit(|&byte| byte == b'\n' || is_foreign(byte)).next()?;
        let comment = line.trim_ascii_start();
        front = match text {
            [] if is_whole => return start(text, true),
            [.., 0] => return start(text, true),
            // `/*/` begins a comment and does not end it.
            [inside @ .., b'*', b'/'] => {
                let (before_comment, comment) =
                    text.split_at_checked(inside.windows(2).rposition(|it| it == b"/*")?)?;
                if comment.iter().any(|&byte| is_foreign(byte)) {
                    return start(front, false);
                }
                before_comment
            }
            _ if comment.starts_with(b"//") && has_line_break => text.strip_suffix(comment)?,
            _ if comment.starts_with(b"//") => return None,
            // The empty comment at the start of generated headers, right after other text.
            [before_comment @ .., b'/', b'/'] if has_line_break => return start(before_comment, false),
            _ => return start(front, false),
        };
    }
}

/// Control characters do not occur in texts, except for whitespace.
fn is_foreign(byte: u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
}
