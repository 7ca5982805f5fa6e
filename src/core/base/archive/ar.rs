//! Static libraries: `ar` archives in the dialects of GNU and BSD, and thin archives, which only list their members.

use std::ops::Range;
use std::path::PathBuf;

use object::read::archive::{ArchiveFile, ArchiveMember};

use super::{Member, MemberContent};
use crate::base::bytes::{Cursor, Extent, View};
use crate::base::error::{Cause, Malformed};

/// Magics of archives that contain their members, and of thin ones.
pub const MAGICS: [&[u8]; 2] = [b"!<arch>\n", b"!<thin>\n"];

/// Reads the members, without the symbol table and the table of long names.
pub fn members<'data>(view: View<'data>, take: &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed> {
    let broken = |at, error: object::Error| view.malformed("archive", at, Cause::object_file(error));
    tables(view)?;
    let archive = ArchiveFile::parse(view.data()).map_err(|error| broken(0, error))?;
    let mut end = 0;
    for member in archive.members() {
        let member = member.map_err(|error| broken(end, error))?;
        super::charge_name(view, member.name())?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let (offset, size) = member.file_range();
        let content = if member.is_thin() {
            MemberContent::Elsewhere(PathBuf::from(&name))
        } else {
            // The library checked the range; if it is wrong nevertheless, this is an error and not a panic.
            let content = view.record("archive member size", Extent { offset, size })?;
            end = content.range_in(view).end;
            MemberContent::Here(content)
        };
        take(Member::new(Some(name), content));
    }
    Ok(())
}

/// Checks that the symbol table and the table of long names refer to no member beyond the end. An archive cut between
/// two members is otherwise complete, and linkers' tools do not check for that.
pub fn tables_have_members(view: View<'_>) -> Result<(), Malformed> {
    let Ok(archive) = ArchiveFile::parse(view.data()) else { return Ok(()) };
    symbols_have_members(view, &archive)?;
    long_names_have_members(view, &archive)
}

fn symbols_have_members(view: View<'_>, archive: &ArchiveFile<'_>) -> Result<(), Malformed> {
    let Ok(Some(symbols)) = archive.symbols() else { return Ok(()) };
    let last = symbols.map_while(Result::ok).map(|symbol| symbol.offset().0).max();
    last.map_or(Ok(()), |offset| {
        view.part(view.field("archive symbol table", MAGIC_SIZE), Extent { offset, size: HEADER }).map(|_| ())
    })
}

/// Checks that a member uses the last long name. Archivers write one name per member, in the order of the members.
fn long_names_have_members(view: View<'_>, archive: &ArchiveFile<'_>) -> Result<(), Malformed> {
    let tables = tables(view)?;
    let Some((_, names)) = tables.iter().find(|(name, _)| *name == LONG_NAMES) else { return Ok(()) };
    // Names end with a line break, or with NUL in archives of COFF objects. Both are padding as well.
    let separates = |&byte: &u8| [b'\n', 0].contains(&byte);
    let Some(end) = names.data().iter().rposition(|byte| !separates(byte)) else { return Ok(()) };
    let preceding = names.data().get(..end).unwrap_or_default();
    let last_size = preceding.rsplit(separates).next().map_or(0, <[u8]>::len);
    let last = preceding.len().abs_diff(last_size);
    let is_last = |member: ArchiveMember<'_>| member.header().and_then(|header| long_name(&header.name)) == Some(last);
    if archive.members().map_while(Result::ok).any(is_last) {
        return Ok(());
    }
    let field = names.field("archive long name", last as u64);
    view.part(field, Extent { offset: view.size(), size: HEADER }).map(|_| ())
}

/// Returns the offset into the table of long names that a member has instead of a name: `/12`, or `/12:345` if thin
/// archives are nested.
fn long_name(name: &[u8]) -> Option<usize> {
    let digits = name.strip_prefix(b"/")?.split(|byte| !byte.is_ascii_digit()).next()?;
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Names of the tables that precede the members: symbol tables, and the table of long names.
const TABLES: [&[u8]; 3] = [b"/", LONG_NAMES, b"/SYM64/"];
const LONG_NAMES: &[u8] = b"//";

/// Size of the archive's magic.
const MAGIC_SIZE: u64 = 8;

/// Size of a member's header, and ranges of the member's name and size in it (System V `ar.h`).
const HEADER: u64 = 60;
const NAME: Range<usize> = 0..16;
const SIZE: Extent = Extent { offset: 48, size: 10 };

/// Header of a member.
#[derive(Debug, Clone, Copy)]
pub struct ArHeader<'data> {
    /// All of the header.
    pub whole: View<'data>,
    /// Name without padding.
    pub name: &'data [u8],
    /// Digits of the size, with padding.
    pub digits: View<'data>,
    /// Number of bytes that follow.
    pub size: u64,
}

impl<'data> ArHeader<'data> {
    /// Skips the magic of an archive.
    pub fn first(archive: View<'data>) -> Result<Cursor<'data>, Malformed> {
        let mut cursor = Cursor::new(archive);
        cursor.take("archive magic", MAGIC_SIZE)?;
        Ok(cursor)
    }

    /// Reads the header at a cursor.
    pub fn take(cursor: &mut Cursor<'data>) -> Result<Self, Malformed> {
        let whole = cursor.take("archive member", HEADER)?;
        let name = whole.data().get(NAME).unwrap_or_default().trim_ascii_end();
        let digits = whole.record("archive member size", SIZE)?;
        let size = decimal(digits.data().trim_ascii_end());
        let size = size.ok_or_else(|| digits.malformed("archive member size", 0, Cause::Unreadable))?;
        Ok(ArHeader { whole, name, digits, size })
    }

    /// Takes everything that the size counts, and skips the padding behind it.
    pub fn take_content(&self, cursor: &mut Cursor<'data>) -> Result<View<'data>, Malformed> {
        let content = cursor.take_stated(self.digits.field("archive member size", 0), self.size)?;
        cursor.align(2);
        Ok(content)
    }
}

/// Reads a decimal number of a header.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the tables by their names. They must be complete: the library assumes that bytes which it skips exist, so a
/// thin archive truncated within its tables would seem to have no members.
fn tables<'data>(view: View<'data>) -> Result<Vec<(&'data [u8], View<'data>)>, Malformed> {
    let mut tables = Vec::new();
    let mut cursor = ArHeader::first(view)?;
    // The library reports a header that is truncated, or has an invalid number.
    while let Ok(header) = ArHeader::take(&mut cursor) {
        if !TABLES.contains(&header.name) {
            break;
        }
        tables.push((header.name, header.take_content(&mut cursor)?));
    }
    Ok(tables)
}
