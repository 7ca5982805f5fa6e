//! The bundle in its text form: files between lines of comment that people can read and edit around.
//!
//! ```text
//! <empty line>
//! // __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-unknown-linux-gnu-
//! ...
//! // __CLANG_OFFLOAD_BUNDLE____END__ host-x86_64-unknown-linux-gnu-
//! ```
//!
//! The newline before a marker belongs to the marker, so a file need not end in one. A file ends at the marker with its own
//! id, and may hold others: the reference takes the first one, of whatever id, and where none is left writes on beyond its
//! memory. The proposal that the format began with has the second kind of line only, behind each file; such bundles are
//! read as well. So are files whose lines have come to end as Windows ends them.
//!
//! Texts may be large and are not to be looked at as a whole, so whoever has the file finds the [`MARK`]s in it, and here it
//! is only looked at around them.
//!
//! Sources: Clang Offload Bundler document, Bundled Text File Layout; the proposal of 2016 (RFC); LLVM 22.1.8.

use memchr::memmem;

use super::raw::MAGIC;
use super::read::{Entry, MOST_ENTRIES};
use crate::bytes::View;
use crate::content::Content;
use crate::error::{Cause, Malformed};
use crate::target::BundleEntryId;

/// What stands in every line between files, and what to look for to find them.
pub const MARK: &[u8] = b"__CLANG_OFFLOAD_BUNDLE____";

const START: &str = "__START__ ";
const END: &str = "__END__ ";

/// Longer than any id; a bound for hostile files.
const LONGEST_LINE: usize = 4096;

/// A text bundle of these ids and files, whose bytes stay borrowed.
pub fn write<'data>(entries: &[(&str, &'data [u8])], comment: &str) -> Content<'data> {
    let magic = std::str::from_utf8(MAGIC).expect("it is ASCII");
    let mut content = Content::new();
    for (id, text) in entries {
        content.push(format!("\n{comment} {magic}{START}{id}\n").into_bytes());
        content.push(*text);
        content.push(format!("\n{comment} {magic}{END}{id}\n").into_bytes());
    }
    content
}

/// What a line begins with that ends a file. A file that has such a line, be it its first, cannot be told from one that ends
/// there; the id in it is left out, because the reference ends a file at the first one, of whatever id.
pub fn end_marker(comment: &str) -> Vec<u8> {
    [comment.as_bytes(), b" ", MAGIC, END.as_bytes()].concat()
}

/// Where the marks are in bytes that are in memory.
pub fn marks(bytes: &[u8]) -> Vec<u64> {
    memmem::find_iter(bytes, MARK).map(|at| at as u64).collect()
}

/// A line that separates files.
struct Marker<'data> {
    comment: &'data str,
    is_start: bool,
    id: &'data str,
    id_at: u64,
    /// From the newline before it to behind the one at its end.
    start: u64,
    end: u64,
    /// Where the line itself begins.
    line: u64,
}

/// Reads a text bundle with marks at these offsets; `None` where none of them stands in a line that separates files.
/// `comments` are what such a line may begin with.
pub fn read<'data>(
    view: View<'data>,
    marks: &[u64],
    comments: &[&str],
) -> Result<Option<Vec<Entry<'data>>>, Malformed> {
    let mut markers: Vec<Marker> = marks.iter().filter_map(|&mark| Marker::read(view, mark, comments)).collect();
    // All are of one kind, that of the first.
    let comment = markers.first().map(|marker| marker.comment);
    markers.retain(|marker| Some(marker.comment) == comment);
    let entries = match markers.iter().any(|marker| marker.is_start) {
        true => between(view, &markers)?,
        false => before(view, &markers)?,
    };
    Ok((!entries.is_empty()).then_some(entries))
}

/// Each file stands between a start and the next end of the same id.
fn between<'data>(view: View<'data>, markers: &[Marker<'data>]) -> Result<Vec<Entry<'data>>, Malformed> {
    let mut entries = Vec::new();
    let mut rest = markers.iter();
    while let Some(start) = rest.find(|marker| marker.is_start) {
        let Some(end) = rest.find(|marker| !marker.is_start && marker.id == start.id) else {
            let cause = Cause::NoEnd { id: start.id.to_owned() };
            return Err(view.malformed("text bundle", start.start, cause));
        };
        // In an empty file of which an editor has taken the empty line, the markers share a newline.
        entries.push(entry(view, start, start.end, end.start.max(start.end), &entries)?);
    }
    Ok(entries)
}

/// Each file stands before an end, as the proposal had it.
fn before<'data>(view: View<'data>, markers: &[Marker<'data>]) -> Result<Vec<Entry<'data>>, Malformed> {
    let mut entries = Vec::new();
    let mut start = 0;
    for marker in markers {
        // There the newline before a marker was that of the file's last line.
        entries.push(entry(view, marker, start, marker.line.max(start), &entries)?);
        start = marker.end;
    }
    Ok(entries)
}

fn entry<'data>(
    view: View<'data>,
    marker: &Marker<'data>,
    start: u64,
    end: u64,
    others: &[Entry],
) -> Result<Entry<'data>, Malformed> {
    let id = BundleEntryId::parse(marker.id).ok_or_else(|| {
        view.malformed("bundle entry id", marker.id_at, Cause::BundleEntryId { id: marker.id.to_owned() })
    })?;
    if others.len() as u64 == MOST_ENTRIES {
        let cause = Cause::Unexpected { value: MOST_ENTRIES + 1, expected: "at most 4096" };
        return Err(view.malformed("number of text bundle entries", marker.start, cause));
    }
    let code_object = view.part("text bundle", marker.start, start, end - start)?;
    Ok(Entry { text: marker.id, id, code_object })
}

impl<'data> Marker<'data> {
    /// The line around a mark; `None` where it is none that separates files.
    fn read(view: View<'data>, mark: u64, comments: &[&str]) -> Option<Self> {
        let data = view.data();
        let before = data.get(..usize::try_from(mark).ok()?).filter(|_| view.from(mark).starts_with(MARK))?;
        let comment = comments.iter().find(|comment| {
            let line = before.strip_suffix(b" ").and_then(|line| line.strip_suffix(comment.as_bytes()));
            line.is_some_and(|line| line.is_empty() || line.ends_with(b"\n"))
        })?;
        let comment_at = mark - 1 - comment.len() as u64;
        let rest = view.from(comment_at).data();
        let line = rest[..rest.len().min(LONGEST_LINE)].split(|&byte| byte == b'\n').next()?;
        if line.len() == LONGEST_LINE {
            return None;
        }
        let text = std::str::from_utf8(line).ok()?;
        let behind = &text[comment.len() + 1 + MAGIC.len()..];
        let (is_start, id) = match (behind.strip_prefix(START), behind.strip_prefix(END)) {
            (Some(id), _) => (true, id),
            (_, Some(id)) => (false, id),
            _ => return None,
        };
        let is_windows = id.ends_with('\r');
        let id_at = comment_at + (text.len() - id.len()) as u64;
        // The newline before the line; none where the file begins with it.
        let start = match &data[..comment_at as usize] {
            [.., b'\r', b'\n'] if is_windows => comment_at - 2,
            [.., b'\n'] => comment_at - 1,
            _ => comment_at,
        };
        let end = (comment_at + line.len() as u64 + 1).min(view.size());
        let (comment, id) = (&text[..comment.len()], id.trim_end_matches('\r'));
        Some(Marker { comment, is_start, id, id_at, start, end, line: comment_at })
    }
}
