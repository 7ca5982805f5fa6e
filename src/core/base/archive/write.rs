//! Writing static libraries: GNU's format by default, with a symbol table and without timestamps and user IDs.

use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, ObjectReader, write_archive_to_stream};
use object::{File, Object, ObjectSymbol, SymbolKind};

/// The library's object reader, except for its function for symbols: that one panics on unreadable symbol names, and
/// these files are untrusted.
static OBJECT_READER: ObjectReader = ObjectReader { get_symbols, ..DEFAULT_OBJECT_READER };

/// Format of a static library. It determines the symbol table and the long names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryFormat {
    /// GNU's.
    Gnu,
    /// Microsoft's, with a second symbol table.
    Coff,
    /// Apple's.
    Darwin,
}

impl From<LibraryFormat> for ArchiveKind {
    fn from(format: LibraryFormat) -> Self {
        match format {
            LibraryFormat::Gnu => ArchiveKind::Gnu,
            LibraryFormat::Coff => ArchiveKind::Coff,
            LibraryFormat::Darwin => ArchiveKind::Darwin,
        }
    }
}

/// Writes an archive of members, each a name and its bytes, to `to`, in GNU's format.
pub fn write<'a>(members: impl Iterator<Item = (String, &'a [u8])>, to: &mut (impl Write + Seek)) -> io::Result<()> {
    write_as(LibraryFormat::Gnu, members, to)
}

/// Writes an archive of members, each a name and its bytes, to `to`. The output equals llvm-ar's, with one exception:
/// symbols of LLVM bitcode are not in the symbol table, because bitcode is not parsed here.
pub fn write_as<'a>(
    format: LibraryFormat,
    members: impl Iterator<Item = (String, &'a [u8])>,
    to: &mut (impl Write + Seek),
) -> io::Result<()> {
    let members: Vec<(String, &[u8])> = members.collect();
    let has_object = members.iter().any(|(_, bytes)| File::parse(*bytes).is_ok());
    let members: Vec<NewArchiveMember> =
        members.into_iter().map(|(name, bytes)| NewArchiveMember::new(bytes, &OBJECT_READER, name)).collect();
    if has_object {
        return write_archive_to_stream(to, &members, format.into(), false, None);
    }
    write_archive_to_stream(&mut WithoutTable { to, at: 0 }, &members, format.into(), false, None)
}

/// Range of an empty symbol table, which follows the archive's magic: a header, no symbols, and padding.
const EMPTY_TABLE: Range<u64> = 8..8 + 60 + 8;

/// A writer that omits the empty symbol table, which the library always writes. LLVM and binutils write one only if
/// there is an object that could have symbols.
struct WithoutTable<W> {
    to: W,
    at: u64,
}

impl<W: Write> Write for WithoutTable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Number of bytes before an offset of the output, which may be behind.
        let left =
            |boundary: u64| bytes.len().min(usize::try_from(boundary.saturating_sub(self.at)).unwrap_or(usize::MAX));
        self.to.write_all(bytes.split_at(left(EMPTY_TABLE.start)).0)?;
        self.to.write_all(bytes.split_at(left(EMPTY_TABLE.end)).1)?;
        self.at = self.at.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Reports the position that the library expects.
impl<W> Seek for WithoutTable<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(0) => Ok(self.at),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Calls `symbol` with the name of each symbol that a linker may look up; returns whether the bytes are an object.
fn get_symbols(bytes: &[u8], symbol: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<bool> {
    let Ok(file) = File::parse(bytes) else { return Ok(false) };
    for known in file.symbols() {
        let named = ![SymbolKind::File, SymbolKind::Section].contains(&known.kind());
        if named
            && known.is_global()
            && !known.is_undefined()
            && let Ok(name) = known.name_bytes()
        {
            symbol(name)?;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::{MemberContent, members};
    use super::*;
    use crate::base::bytes::View;

    #[test]
    fn writes_a_symbol_table_if_there_is_an_object() {
        let written = |bytes: &[u8]| {
            let mut archive = io::Cursor::new(Vec::new());
            write([("a".to_owned(), bytes)].into_iter(), &mut archive).unwrap();
            archive.into_inner()
        };
        assert!(written(b"text").starts_with(b"!<arch>\na/ "));
        let object = include_bytes!("../../../../fixtures/answer-x86_64.so");
        assert!(written(object).starts_with(b"!<arch>\n/  "));
    }

    #[test]
    fn archives_round_trip_and_are_reproducible() {
        let long = "a-name-that-does-not-fit-into-sixteen-bytes.o";
        let written = || {
            let mut bytes = io::Cursor::new(Vec::new());
            let given = [("a.o", &b"one"[..]), (long, b"four"), ("empty.o", b"")];
            write(given.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)), &mut bytes).unwrap();
            bytes.into_inner()
        };
        let bytes = written();
        assert_eq!(bytes, written());
        let read = members(View::new(&bytes)).unwrap().unwrap();
        let names: Vec<&str> = read.iter().filter_map(|member| member.name.as_deref()).collect();
        assert_eq!(names, ["a.o", long, "empty.o"]);
        let MemberContent::Here(view) = &read[1].content else { panic!("a member of an archive that is not thin") };
        assert_eq!(view.data(), b"four");
    }
}
