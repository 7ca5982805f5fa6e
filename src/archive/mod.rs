//! Archives: files that hold files. What is in them is nobody's business here.
//!
//! Static libraries are `ar` archives in one of three dialects (GNU, BSD, and thin ones that only name their members);
//! `object` reads them all, and members come out as views, so that a library of gigabytes costs the reading of its
//! headers.

mod write;

use std::ops::Range;
use std::path::PathBuf;

use object::read::archive::ArchiveFile;

use crate::bytes::View;
use crate::error::{Cause, Malformed};

pub use write::write;

/// What `ar` archives begin with, and what thin ones do.
const MAGICS: [&[u8]; 2] = [b"!<arch>\n", b"!<thin>\n"];

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'data> {
    /// As it stands in the archive; in a thin one a path. Bytes that are not UTF-8 are replaced.
    pub name: String,
    pub content: MemberContent<'data>,
}

/// Where a member's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberContent<'data> {
    Here(View<'data>),
    /// In a file of its own; the path counts from the folder of the archive.
    Elsewhere(PathBuf),
}

/// Whether the view begins as an archive does.
pub fn is_archive(view: View) -> bool {
    MAGICS.iter().any(|magic| view.starts_with(magic))
}

/// The members of an archive in its order, without its symbol table and its table of long names.
pub fn members(view: View<'_>) -> Result<Vec<Member<'_>>, Malformed> {
    let broken = |at, error: object::Error| view.malformed("archive", at, Cause::HostFile(error.to_string()));
    tables_are_whole(view)?;
    let archive = ArchiveFile::parse(view.data()).map_err(|error| broken(0, error))?;
    let mut members = Vec::new();
    let mut end = 0;
    for member in archive.members() {
        let member = member.map_err(|error| broken(end, error))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let (offset, size) = member.file_range();
        let content = if member.is_thin() {
            MemberContent::Elsewhere(PathBuf::from(&name))
        } else {
            // The range was checked by the library; if that was wrong, this is an error and not a panic.
            end = offset.saturating_add(size);
            MemberContent::Here(view.part("archive member size", offset, offset, size)?)
        };
        members.push(Member { name, content });
    }
    Ok(members)
}

/// What stands in front of the members, by its name: symbol tables, and the table of long names.
const TABLES: [&[u8]; 3] = [b"/", b"//", b"/SYM64/"];

/// A member's header: its size, and where the member's name and its size stand in it.
const HEADER: u64 = 60;
const NAME: Range<usize> = 0..16;
const SIZE: Range<usize> = 48..58;

/// A thin archive that ends within its tables would seem to have no members: the library takes what it skips unread for
/// being there.
fn tables_are_whole(view: View) -> Result<(), Malformed> {
    let mut at = MAGICS[0].len() as u64;
    while let Ok(header) = view.part("archive member", at, at, HEADER) {
        let text = |range: Range<usize>| header.data()[range].trim_ascii_end();
        if !TABLES.contains(&text(NAME)) {
            break;
        }
        let size = str::from_utf8(text(SIZE)).ok().and_then(|digits| digits.parse().ok());
        // What is no number is for the library to complain about.
        let Some(size) = size else { break };
        view.part("archive table size", at + SIZE.start as u64, at + HEADER, size)?;
        at = (at + HEADER + size).next_multiple_of(2);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, size: usize) -> String {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644)
    }

    fn names(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let members = members(View::new(bytes)).unwrap();
        members
            .into_iter()
            .map(|member| match member.content {
                MemberContent::Here(view) => (member.name, view.data().to_vec()),
                MemberContent::Elsewhere(path) => (member.name, path.to_str().unwrap().as_bytes().to_vec()),
            })
            .collect()
    }

    #[test]
    fn members_of_every_dialect_are_found() {
        let gnu =
            ["!<arch>\n", &header("//", 20), "a-very-long-name.o/\n", &header("/0", 3), "one\n", &header("b.o/", 2)];
        let bytes = [gnu.concat().as_bytes(), b"\x00\x01"].concat();
        let expected = [("a-very-long-name.o".to_owned(), b"one".to_vec()), ("b.o".to_owned(), vec![0, 1])];
        assert_eq!(names(&bytes), expected);
        let bsd = ["!<arch>\n", &header("#1/8", 11), "c.o\0\0\0\0\0two"].concat();
        assert_eq!(names(bsd.as_bytes()), [("c.o".to_owned(), b"two".to_vec())]);
        let thin = ["!<thin>\n", &header("//", 10), "sub/d.o/\n\n", &header("/0", 999)].concat();
        assert_eq!(names(thin.as_bytes()), [("sub/d.o".to_owned(), b"sub/d.o".to_vec())]);
    }

    #[test]
    fn an_archive_without_members_is_one() {
        assert!(is_archive(View::new(b"!<arch>\n")));
        assert_eq!(names(b"!<arch>\n"), []);
    }

    #[test]
    fn a_thin_archive_that_ends_within_its_tables_is_broken() {
        let whole = ["!<thin>\n", &header("/", 4), "\0\0\0\0", &header("//", 6), "a.o/\n\n", &header("/0", 9)].concat();
        assert_eq!(names(whole.as_bytes()), [("a.o".to_owned(), b"a.o".to_vec())]);
        for end in 68..whole.len() {
            let is_between = [72, 138].contains(&end);
            assert_eq!(members(View::new(&whole.as_bytes()[..end])).is_ok(), is_between, "{end}");
        }
    }

    #[test]
    fn no_prefix_of_an_archive_is_a_panic() {
        let bytes = ["!<arch>\n", &header("a.o/", 4), "four", &header("b.o/", 4), "five"].concat();
        for end in 0..bytes.len() {
            let view = View::new(&bytes.as_bytes()[..end]);
            if let Ok(found) = members(view) {
                assert!([8, 72, 140].contains(&end), "{end}: {found:?}");
            }
        }
    }
}
