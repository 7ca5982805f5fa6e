//! Archive members, as views of the archive.
//!
//! Static libraries and Debian's packages are `ar` archives, wheels are zip files, and downloads are often compressed tar
//! files. Codecs are maintained libraries. Members that are stored uncompressed are returned as views, so that reading a
//! library of gigabytes costs reading its headers; other members are returned with a function that unpacks them.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub mod ar;
mod compressed;
mod cpio;
mod rpm;
mod squashfs;
mod tar;
mod universal;
mod write;
pub mod zip;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::base::bytes::{Resource, View, record_memory};
use crate::base::codec;
use crate::base::error::Malformed;
use crate::base::universal::{MAGIC_32, MAGIC_64};

pub use write::write;
pub use write::{LibraryFormat, write_as};
pub use zip::comparison::RowComparison;

/// A file in an archive.
#[derive(Debug)]
pub struct Member<'data> {
    /// Name in the archive; bytes that are not UTF-8 are replaced. Absent where the archive is one compressed file.
    pub name: Option<String>,
    /// Number of bytes of the archive that its contents take, where the archive states it.
    pub packed_size: Option<u64>,
    /// Stated size of its contents, where they are compressed and the archive states it.
    pub size: Option<u64>,
    /// Bytes of the member.
    pub content: MemberContent<'data>,
    /// Comparison with the record of its wheel, for whoever reads the bytes.
    pub comparison: Option<RowComparison<'data>>,
}

impl<'data> Member<'data> {
    /// Creates a member whose sizes the archive does not state.
    pub fn new(name: Option<String>, content: MemberContent<'data>) -> Self {
        Member { name, packed_size: None, size: None, content, comparison: None }
    }
}

/// Location of a member's bytes.
pub enum MemberContent<'data> {
    /// In the archive, uncompressed.
    Here(View<'data>),
    /// In a separate file; the path is relative to the directory of the archive. It is read only if the archive is a
    /// file on disk too: an archive from another machine must not choose files of this one.
    Elsewhere(PathBuf),
    /// In the archive, compressed.
    Packed(Unpack<'data>),
    /// Not readable, for this reason.
    Unreadable(String),
}

impl fmt::Debug for MemberContent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberContent::Here(view) => f.debug_tuple("Here").field(&view.start()).field(&view.size()).finish(),
            MemberContent::Elsewhere(path) => f.debug_tuple("Elsewhere").field(path).finish(),
            MemberContent::Packed(_) => f.debug_tuple("Packed").finish_non_exhaustive(),
            MemberContent::Unreadable(reason) => f.debug_tuple("Unreadable").field(reason).finish(),
        }
    }
}

/// Charges the name of a member. Several members may have the same name.
fn charge_name(archive: View<'_>, name: &[u8]) -> Result<(), Malformed> {
    archive.charge("archive member name", Resource::Memory, record_memory(size_of::<Member<'_>>(), [name.len()]))
}

/// Reason for not reading [`MemberContent::Elsewhere`] of a nested archive.
pub const NESTED_THIN_MEMBER: &str = "member of a thin archive inside another archive is not read";

/// Function that writes the bytes of a member.
pub type Unpack<'data> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'data>;

/// Members of an archive.
#[derive(Debug, Default)]
pub struct Members<'data> {
    /// The members that can be located, in the order of the archive.
    pub members: Vec<Member<'data>>,
    /// Reason why the remaining members cannot be located.
    pub defect: Option<Malformed>,
}

/// Takes the members one after another, up to the first that cannot be located.
type ReadMembers = for<'data> fn(View<'data>, &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed>;

/// Reader of a format.
#[derive(Debug)]
enum Reader {
    /// Of an archive.
    Members(ReadMembers),
    /// Of zip files. It reads the directory, which may be larger than the members, before the first member.
    Zip,
    /// Unpacks a file that is compressed as a whole. It is an archive with one unnamed member.
    Compressed(for<'data> fn(View<'data>) -> Unpack<'data>),
}

/// A format of archives: its magic, the offset of the magic, and its reader.
#[derive(Debug)]
pub struct ArchiveFormat {
    magic: &'static [u8],
    offset: u64,
    /// Returns whether a file with this magic has the format, for a magic that other files share.
    has_format: fn(View<'_>) -> bool,
    reader: Reader,
    /// Checks that the members are all that the file has, if the format can show it.
    check_whole: fn(View<'_>) -> Result<(), Malformed>,
}

/// Defines a format whose magic no other files have.
const fn format(magic: &'static [u8], reader: Reader) -> ArchiveFormat {
    ArchiveFormat { magic, offset: 0, has_format: |_| true, reader, check_whole: |_| Ok(()) }
}

const fn universal_format(magic: &'static [u8]) -> ArchiveFormat {
    ArchiveFormat { has_format: universal::holds_archives, ..format(magic, Reader::Members(universal::members)) }
}

const fn cpio_format(magic: &'static [u8]) -> ArchiveFormat {
    ArchiveFormat { has_format: cpio::is_cpio, ..format(magic, Reader::Members(cpio::members)) }
}

const fn zip_format(magic: &'static [u8]) -> ArchiveFormat {
    ArchiveFormat { check_whole: zip::check_whole, ..format(magic, Reader::Zip) }
}

const fn library_format(magic: &'static [u8]) -> ArchiveFormat {
    ArchiveFormat { check_whole: ar::tables_have_members, ..format(magic, Reader::Members(ar::members)) }
}

const FORMATS: &[ArchiveFormat] = &[
    library_format(ar::MAGICS[0]),
    library_format(ar::MAGICS[1]),
    zip_format(zip::MAGIC),
    // A zip file without files.
    zip_format(b"PK\x05\x06"),
    // The version that follows differs between POSIX and GNU.
    ArchiveFormat { offset: 257, ..format(b"ustar", Reader::Members(tar::members)) },
    format(b"\x1f\x8b\x08", Reader::Compressed(compressed::gzip)),
    format(&codec::ZSTD_MAGIC, Reader::Compressed(compressed::zstd)),
    // A skippable frame. Parallel compressors begin with one.
    format(b"\x50\x2a\x4d\x18", Reader::Compressed(compressed::zstd)),
    // Method 8 with the largest window, as zlib writes it. Other files begin with an x.
    ArchiveFormat { has_format: compressed::is_zlib, ..format(b"\x78", Reader::Compressed(compressed::zlib)) },
    format(b"\xfd7zXZ\0", Reader::Compressed(compressed::xz)),
    format(b"LZIP\x01", Reader::Compressed(compressed::lzip)),
    // The properties that all programs write: 3 context bits, no position bits for literals, 2 for matches.
    ArchiveFormat { has_format: compressed::is_lzma, ..format(b"\x5d\0\0", Reader::Compressed(compressed::lzma)) },
    ArchiveFormat { has_format: compressed::is_bzip2, ..format(b"BZh", Reader::Compressed(compressed::bzip2)) },
    format(b"\x04\x22\x4d\x18", Reader::Compressed(compressed::lz4)),
    format(rpm::MAGIC, Reader::Members(rpm::members)),
    cpio_format(cpio::MAGICS[0]),
    cpio_format(cpio::MAGICS[1]),
    cpio_format(cpio::MAGICS[2]),
    format(cpio::STRIPPED, Reader::Members(cpio::stripped)),
    format(squashfs::MAGIC, Reader::Members(squashfs::members)),
    universal_format(MAGIC_32),
    universal_format(MAGIC_64),
];

impl ArchiveFormat {
    /// Returns every format.
    pub fn all() -> &'static [ArchiveFormat] {
        FORMATS
    }

    /// Returns the format that the view begins with.
    pub fn of(view: View) -> Option<&'static ArchiveFormat> {
        FORMATS.iter().find(|format| view.from(format.offset).starts_with(format.magic) && (format.has_format)(view))
    }

    /// Returns the members of an archive in this format.
    pub fn members<'data>(&self, view: View<'data>) -> Members<'data> {
        let mut members = Vec::new();
        let defect = self.each_member(view, &|_| {}, &mut |member| members.push(member)).err();
        Members { members, defect }
    }

    /// Calls `take` with each member before the next one is read, and `read` with the number of bytes of each part of a
    /// directory that is read. An error is the reason why the remaining members cannot be located.
    pub fn each_member<'data>(
        &self,
        view: View<'data>,
        read: &dyn Fn(u64),
        take: &mut dyn FnMut(Member<'data>),
    ) -> Result<(), Malformed> {
        let unpack = match self.reader {
            Reader::Members(read_members) => return read_members(view, take),
            Reader::Zip => return zip::members(view, read, take),
            Reader::Compressed(unpack) => unpack(view),
        };
        take(Member::new(None, MemberContent::Packed(unpack)));
        Ok(())
    }

    /// Checks that no members are missing at the end, and that all readers find the same members. LLVM's tools do not
    /// check that.
    pub fn check_whole(&self, view: View<'_>) -> Result<(), Malformed> {
        (self.check_whole)(view)
    }

    /// Returns the format of a zip file at the end of a view that begins with something else, and the offset of its
    /// first member. A comment may end it only if the view begins with one of `programs`: searching the end of every
    /// file would take too long.
    pub fn of_appended_zip(view: View<'_>, programs: [&[u8]; 3]) -> Option<(&'static ArchiveFormat, u64)> {
        let may_have_comment = programs.iter().any(|magic| view.starts_with(magic));
        let start = zip::appended_start(view, may_have_comment)?;
        FORMATS.iter().find(|format| format.magic == zip::MAGIC).map(|format| (format, start))
    }

    /// Returns whether this is the format of zip files.
    pub fn is_zip(&self) -> bool {
        matches!(self.reader, Reader::Zip)
    }

    /// Returns whether this is the format of static libraries.
    pub fn is_library(&self) -> bool {
        self.magic.starts_with(b"!<")
    }
}

/// Returns the members of an intact archive, in its order; `None` where the view is not an archive.
pub fn members(view: View<'_>) -> Option<Result<Vec<Member<'_>>, Malformed>> {
    let format = ArchiveFormat::of(view)?;
    let Members { members, defect } = format.members(view);
    Some(defect.map_or_else(|| format.check_whole(view).map(|()| members), Err))
}

#[cfg(test)]
mod tests;
