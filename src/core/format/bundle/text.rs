//! Text form of a bundle: files between comment lines, which users can read and edit around.
//!
//! ```text
//! <empty line>
//! // __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-unknown-linux-gnu-
//! ...
//! // __CLANG_OFFLOAD_BUNDLE____END__ host-x86_64-unknown-linux-gnu-
//! ```
//!
//! The newline before a marker belongs to the marker, so a file need not end in a newline. A file ends at the marker
//! with the same ID, and may contain other markers. The reference ends it at the first marker, of any ID, and writes
//! beyond its memory if none is left. The original proposal of the format has only the second kind of line, after each
//! file. Such bundles are read as well, and so are files with Windows line endings.
//!
//! Texts may be large and should not be loaded as a whole. The caller, which has the file, finds the [`MARK`]s in it,
//! and only the bytes around them are inspected here.
//!
//! Sources: Clang Offload Bundler document, Bundled Text File Layout; the proposal of 2016 (RFC); LLVM 22.1.8.

use aho_corasick::AhoCorasick;

use super::file_type::COMMENTS;
use super::raw::{MAGIC, MAGIC_TEXT};
use super::read::BundleEntry;
use crate::base::bytes::{View, offset_of_rest};
use crate::base::content::Content;
use crate::base::error::{Cause, Malformed};
use crate::target::BundleEntryId;

/// Text in every line between files; the reader searches for it.
pub const MARK: &[u8] = b"__CLANG_OFFLOAD_BUNDLE____";

const START: &str = "__START__ ";
const END: &str = "__END__ ";

/// Maximum length of a line, longer than any ID; a bound for hostile files.
const LONGEST_LINE: usize = 4096;

/// Writes a text bundle of these IDs and files, whose bytes are borrowed.
pub fn write<'data>(entries: &[(&str, &'data [u8])], comment: &str) -> Content<'data> {
    let mut content = Content::new();
    for (id, text) in entries {
        content.push(format!("\n{comment} {MAGIC_TEXT}{START}{id}\n").into_bytes());
        content.push(*text);
        content.push(format!("\n{comment} {MAGIC_TEXT}{END}{id}\n").into_bytes());
    }
    content
}

/// Returns the start of a line that ends a file. A file that contains such a line, even as its first, is
/// indistinguishable from one that ends there. The ID is not part of the marker, because the reference ends a file at
/// the first marker, of any ID.
pub fn end_marker(comment: &str) -> Vec<u8> {
    [comment.as_bytes(), b" ", MAGIC, END.as_bytes()].concat()
}

/// Returns the offsets of the marks in bytes in memory.
pub fn marks(bytes: &[u8]) -> Vec<u64> {
    marks_searcher().find_iter(bytes).map(|mark| mark.start() as u64).collect()
}

/// Returns a searcher for the marks.
pub fn marks_searcher() -> AhoCorasick {
    AhoCorasick::new([MARK]).expect("one short text")
}

/// Returns whether the first line of a file, or the first after an empty line, starts a text of a bundle. In bundles of
/// the proposal, no line precedes the first text.
pub fn begins(view: View<'_>) -> bool {
    let start = [b"\r\n".as_slice(), b"\n"].into_iter().find(|newline| view.starts_with(newline));
    let line = view.from(start.map_or(0, |newline| newline.len() as u64));
    COMMENTS.iter().any(|comment| line.starts_with(format!("{comment} {MAGIC_TEXT}{START}").as_bytes()))
}

/// A line that separates files.
struct Marker<'data> {
    comment: &'data str,
    is_start: bool,
    id: &'data str,
    id_at: u64,
    /// Range from the newline before the line to after the newline at its end.
    start: u64,
    end: u64,
    /// Offset of the line itself.
    line: u64,
}

/// Reads a text bundle with marks at these offsets; `None` if none of them is in a line that separates files.
/// `comments` are the possible starts of such a line.
pub fn read<'data>(
    view: View<'data>,
    marks: &[u64],
    comments: &[&str],
) -> Result<Option<Vec<BundleEntry<'data>>>, Malformed> {
    let mut markers: Vec<Marker> = marks.iter().filter_map(|&mark| Marker::read(view, mark, comments)).collect();
    // All markers use the comment syntax of the first.
    let comment = markers.first().map(|marker| marker.comment);
    markers.retain(|marker| Some(marker.comment) == comment);
    let has_start = markers.iter().any(|marker| marker.is_start);
    let entries = if has_start { between(view, &markers)? } else { before(view, &markers)? };
    Ok((!entries.is_empty()).then_some(entries))
}

/// Reads files between a start and the next end of the same ID.
fn between<'data>(view: View<'data>, markers: &[Marker<'data>]) -> Result<Vec<BundleEntry<'data>>, Malformed> {
    let mut entries = Vec::new();
    let mut rest = markers.iter();
    while let Some(start) = rest.find(|marker| marker.is_start) {
        let Some(end) = rest.find(|marker| !marker.is_start && marker.id == start.id) else {
            let cause = Cause::MissingEndMarker { id: start.id.to_owned() };
            return Err(view.malformed("text bundle", start.start, cause));
        };
        // If an editor removed the empty line of an empty file, the markers share a newline.
        entries.push(entry(view, start, start.end, end.start.max(start.end))?);
    }
    Ok(entries)
}

/// Reads files before an end each, as in the proposal.
fn before<'data>(view: View<'data>, markers: &[Marker<'data>]) -> Result<Vec<BundleEntry<'data>>, Malformed> {
    let mut entries = Vec::new();
    let mut start = 0;
    for marker in markers {
        // In the proposal, the newline before a marker belongs to the file's last line.
        entries.push(entry(view, marker, start, marker.line.max(start))?);
        start = marker.end;
    }
    Ok(entries)
}

fn entry<'data>(
    view: View<'data>,
    marker: &Marker<'data>,
    start: u64,
    end: u64,
) -> Result<BundleEntry<'data>, Malformed> {
    let id = BundleEntryId::parse(marker.id).ok_or_else(|| {
        view.malformed("bundle entry id", marker.id_at, Cause::BundleEntryId { id: marker.id.to_owned() })
    })?;
    let code_object = view.between(view.field("text bundle", marker.start), start..end)?;
    Ok(BundleEntry { text: marker.id, id, code_object })
}

impl<'data> Marker<'data> {
    /// Reads the line around a mark; `None` if it does not separate files.
    fn read(view: View<'data>, mark: u64, comments: &[&str]) -> Option<Self> {
        let data = view.data();
        let (before, marked) = data.split_at_checked(usize::try_from(mark).ok()?)?;
        if !marked.starts_with(MARK) {
            return None;
        }
        let (before_line, comment) = split_comment(before, comments)?;
        let line_at = before_line.len();
        let rest = data.get(line_at..)?;
        let line = rest.get(..LONGEST_LINE).unwrap_or(rest).split(|&byte| byte == b'\n').next()?;
        if line.len() == LONGEST_LINE {
            return None;
        }
        let (comment, marker) = str::from_utf8(line).ok()?.split_at_checked(comment.len())?;
        let marker = marker.strip_prefix(' ')?.strip_prefix(MAGIC_TEXT)?;
        let (is_start, id) = match (marker.strip_prefix(START), marker.strip_prefix(END)) {
            (Some(id), _) => (true, id),
            (_, Some(id)) => (false, id),
            _ => return None,
        };
        let is_windows = id.ends_with('\r');
        // Include the newline before the line, which is absent at the start of the file.
        let file = match before_line {
            [file @ .., b'\r', b'\n'] if is_windows => file,
            [file @ .., b'\n'] => file,
            _ => before_line,
        };
        let before_id = line.strip_suffix(id.as_bytes())?;
        let after_line = rest.get(line.len()..)?;
        Some(Marker {
            comment,
            is_start,
            id: id.trim_end_matches('\r'),
            id_at: offset_of_rest(data, rest.get(before_id.len()..)?) as u64,
            start: file.len() as u64,
            end: offset_of_rest(data, after_line.strip_prefix(b"\n").unwrap_or(after_line)) as u64,
            line: line_at as u64,
        })
    }
}

/// Splits the comment that begins the line of a mark off the bytes before the mark.
fn split_comment<'data, 'a>(before_mark: &'data [u8], comments: &[&'a str]) -> Option<(&'data [u8], &'a str)> {
    let before_mark = before_mark.strip_suffix(b" ")?;
    comments.iter().find_map(|&comment| {
        let before_line = before_mark.strip_suffix(comment.as_bytes())?;
        (before_line.is_empty() || before_line.ends_with(b"\n")).then_some((before_line, comment))
    })
}
