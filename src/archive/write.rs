//! Writing static libraries: GNU's dialect, with a symbol table and without anything that depends on the day or the user.

use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, ObjectReader, write_archive_to_stream};
use object::{File, Object, ObjectSymbol, SymbolKind};

/// As the library has it, but that it panics where a symbol's name cannot be read, and these files are anyone's.
static OBJECT_READER: ObjectReader = ObjectReader { get_symbols, ..DEFAULT_OBJECT_READER };

/// Writes an archive of members, each a name and its bytes, to `to`. What llvm-ar would write, but for one thing: the
/// symbols of LLVM bitcode are not in the symbol table, for nothing here reads bitcode.
pub fn write<'a>(members: impl Iterator<Item = (String, &'a [u8])>, to: &mut (impl Write + Seek)) -> io::Result<()> {
    let members: Vec<(String, &[u8])> = members.collect();
    let has_object = members.iter().any(|(_, bytes)| File::parse(*bytes).is_ok());
    let members: Vec<NewArchiveMember> =
        members.into_iter().map(|(name, bytes)| NewArchiveMember::new(bytes, &OBJECT_READER, name)).collect();
    if has_object {
        return write_archive_to_stream(to, &members, ArchiveKind::Gnu, false, None);
    }
    write_archive_to_stream(&mut WithoutTable { to, at: 0 }, &members, ArchiveKind::Gnu, false, None)
}

/// What an empty symbol table takes, behind the archive's magic: a header, no symbols, and padding.
const EMPTY_TABLE: Range<u64> = 8..8 + 60 + 8;

/// Leaves out the empty symbol table that the library writes in any case. LLVM, and binutils, write one only where there
/// is an object that might have had symbols.
struct WithoutTable<W> {
    to: W,
    at: u64,
}

impl<W: Write> Write for WithoutTable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left =
            |boundary: u64| bytes.len().min(usize::try_from(boundary.saturating_sub(self.at)).unwrap_or(usize::MAX));
        let (in_front, inside) = (left(EMPTY_TABLE.start), left(EMPTY_TABLE.end));
        self.to.write_all(&bytes[..in_front])?;
        self.to.write_all(&bytes[inside..])?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Where the writer believes to be.
impl<W> Seek for WithoutTable<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(0) => Ok(self.at),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Calls `symbol` with the name of each symbol that a linker may look for; says whether this is an object at all.
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
    use crate::bytes::View;

    #[test]
    fn a_table_of_symbols_is_there_if_anything_could_have_some() {
        let written = |bytes: &[u8]| {
            let mut archive = io::Cursor::new(Vec::new());
            write([("a".to_owned(), bytes)].into_iter(), &mut archive).unwrap();
            archive.into_inner()
        };
        assert!(written(b"text").starts_with(b"!<arch>\na/ "));
        let object = include_bytes!("../../fixtures/answer-x86_64.so");
        assert!(written(object).starts_with(b"!<arch>\n/  "));
    }

    #[test]
    fn what_is_written_is_read_back_and_depends_on_nothing_else() {
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
        let MemberContent::Here(view) = &read[1].content else { panic!("an archive that is not thin") };
        assert_eq!(view.data(), b"four");
    }
}
