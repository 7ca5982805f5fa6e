//! Archives: files that hold files. What is in them is nobody's business here.
//!
//! Static libraries are `ar` archives, wheels are zip files, and what is published for download is often a tar file that
//! is compressed. Kept libraries read all of them. Members that are stored as they are come out as views, so that a
//! library of gigabytes costs the reading of its headers; others know how to unpack themselves.

mod ar;
mod compressed;
#[cfg(feature = "archives")]
mod tar;
mod universal;
mod write;
#[cfg(feature = "archives")]
mod zip;

use std::io::{self, Write};
use std::path::PathBuf;

use crate::bytes::View;
use crate::codec;
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
    /// Whether it is one, where other files have that magic too.
    is_one: fn(View<'_>) -> bool,
    /// The members of an archive in its order.
    pub members: for<'data> fn(View<'data>) -> Members<'data>,
}

/// A form whose magic no other files have.
const fn form(magic: &'static [u8], offset: u64, members: for<'data> fn(View<'data>) -> Members<'data>) -> Form {
    Form { magic, offset, is_one: |_| true, members }
}

const fn universal_form(magic: &'static [u8]) -> Form {
    Form { is_one: universal::holds_archives, ..form(magic, 0, universal::members) }
}

const FORMS: &[Form] = &[
    form(ar::MAGICS[0], 0, ar::members),
    form(ar::MAGICS[1], 0, ar::members),
    #[cfg(feature = "archives")]
    form(b"PK\x03\x04", 0, zip::members),
    // A zip file without any file in it.
    #[cfg(feature = "archives")]
    form(b"PK\x05\x06", 0, zip::members),
    // POSIX and GNU have a version behind it that differs.
    #[cfg(feature = "archives")]
    form(b"ustar", 257, tar::members),
    form(b"\x1f\x8b\x08", 0, compressed::gzip),
    form(&codec::ZSTD_MAGIC, 0, compressed::zstd),
    // A skippable frame, which parallel compressors begin with.
    form(b"\x50\x2a\x4d\x18", 0, compressed::zstd),
    universal_form(universal::MAGIC_32),
    universal_form(universal::MAGIC_64),
];

impl Form {
    /// The form that the view begins as.
    pub fn of(view: View) -> Option<&'static Form> {
        FORMS.iter().find(|form| view.from(form.offset).starts_with(form.magic) && (form.is_one)(view))
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
