//! Archives: files that hold files. What is in them is nobody's business here.
//!
//! Static libraries are `ar` archives, wheels are zip files, and what is published for download is often a tar file that
//! is compressed. Kept libraries read all of them. Members that are stored as they are come out as views, so that a
//! library of gigabytes costs the reading of its headers; others know how to unpack themselves.

mod ar;
mod compressed;
mod tar;
mod write;
mod zip;

use std::io::{self, Write};
use std::path::PathBuf;

use crate::bytes::View;
use crate::error::Malformed;

pub use write::write;

/// A file in an archive.
pub struct Member<'data> {
    /// As it stands in the archive; bytes that are not UTF-8 are replaced. Absent where the archive is one compressed file.
    pub name: Option<String>,
    pub content: MemberContent<'data>,
}

/// Where a member's bytes are.
pub enum MemberContent<'data> {
    Here(View<'data>),
    /// In a file of its own; the path counts from the folder of the archive.
    Elsewhere(PathBuf),
    /// Here, but compressed.
    Packed(Unpack<'data>),
    /// Nowhere that can be reached, and why.
    Unreadable(String),
}

/// Writes the bytes of a member.
pub type Unpack<'data> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'data>;

/// All members, or why there are none to be had.
pub type Members<'data> = Result<Vec<Member<'data>>, Malformed>;

/// A form of archives: what one begins with, how far from its first byte that stands, and who reads it.
pub struct Form {
    magic: &'static [u8],
    offset: u64,
    /// The members of an archive in its order.
    pub members: for<'data> fn(View<'data>) -> Members<'data>,
}

const FORMS: [Form; 8] = [
    Form { magic: b"!<arch>\n", offset: 0, members: ar::members },
    Form { magic: b"!<thin>\n", offset: 0, members: ar::members },
    Form { magic: b"PK\x03\x04", offset: 0, members: zip::members },
    // A zip file without any file in it.
    Form { magic: b"PK\x05\x06", offset: 0, members: zip::members },
    // POSIX and GNU have a version behind it that differs.
    Form { magic: b"ustar", offset: 257, members: tar::members },
    Form { magic: b"\x1f\x8b\x08", offset: 0, members: compressed::gzip },
    Form { magic: b"\x28\xb5\x2f\xfd", offset: 0, members: compressed::zstd },
    // A skippable frame, which parallel compressors begin with.
    Form { magic: b"\x50\x2a\x4d\x18", offset: 0, members: compressed::zstd },
];

impl Form {
    /// The form that the view begins as.
    pub fn of(view: View) -> Option<&'static Form> {
        FORMS.iter().find(|form| view.from(form.offset).starts_with(form.magic))
    }

    /// Whether it is the form of static libraries.
    pub fn is_library(&self) -> bool {
        self.magic.starts_with(b"!<")
    }
}

/// The members of an archive in its order; `None` where the view does not begin as one does.
pub fn members(view: View<'_>) -> Option<Members<'_>> {
    Form::of(view).map(|form| (form.members)(view))
}

#[cfg(test)]
mod tests;
