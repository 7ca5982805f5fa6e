//! Patched archives, compared with archives that a maintained library writes of the same members.

use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, ObjectReader, write_archive_to_stream};
use object::read::archive::ArchiveFile;

use super::*;
use fatbin_core::base::error::Malformed;

/// Reads the symbols that a test member lists in its first line.
static READER: ObjectReader = ObjectReader {
    get_symbols: |bytes, symbol| {
        let Some(line) = bytes.strip_prefix(b"symbols ") else { return Ok(false) };
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        for name in line.split(|&byte| byte == b' ') {
            symbol(name)?;
        }
        Ok(true)
    },
    ..DEFAULT_OBJECT_READER
};

/// A member: name, bytes that stay, bytes that change, bytes that stay.
type Pieces = (String, [Vec<u8>; 3]);

/// A small deterministic generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn bytes(&mut self, limit: u64) -> Vec<u8> {
        let size = self.below(limit);
        (0..size).map(|_| self.below(256) as u8).collect()
    }

    fn members(&mut self) -> Vec<Pieces> {
        let count = self.below(6) + 1;
        let member = |number| {
            let name = format!("{number}{}", "long_name".repeat(self.below(4) as usize));
            let symbols = format!("symbols {name}_a {name}_b\n").into_bytes();
            (name, [symbols, self.bytes(40), self.bytes(9)])
        };
        (0..count).map(member).collect()
    }
}

fn write(kind: ArchiveKind, members: &[Pieces]) -> Vec<u8> {
    let member = |(name, pieces): &Pieces| NewArchiveMember::new(pieces.concat(), &READER, name.clone());
    let members: Vec<NewArchiveMember> = members.iter().map(member).collect();
    let mut bytes = std::io::Cursor::new(Vec::new());
    write_archive_to_stream(&mut bytes, &members, kind, false, None).unwrap();
    bytes.into_inner()
}

/// A member's name and bytes.
type NamedBytes = (String, Vec<u8>);

/// Returns each member's name and bytes, and each symbol with the name of its member.
fn contents(archive: &[u8]) -> (Vec<NamedBytes>, Vec<(String, String)>) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let file = ArchiveFile::parse(archive).unwrap();
    let members = file.members().map(|member| {
        let member = member.unwrap();
        (text(member.name()), member.data(archive).unwrap().to_vec())
    });
    let symbols = file.symbols().unwrap().into_iter().flatten().map(|symbol| {
        let symbol = symbol.unwrap();
        (text(symbol.name()), text(file.member(symbol.offset()).unwrap().name()))
    });
    (members.collect(), symbols.collect())
}

/// Returns the patches that replace the second piece of some members.
fn changes<'a>(archive: &[u8], old: &[Pieces], new: &'a [Pieces]) -> Patches<'a> {
    let file = ArchiveFile::parse(archive).unwrap();
    let members = file.members().map(|member| member.unwrap().file_range().0);
    let patches = members.zip(old).zip(new).filter(|((_, old), new)| old != new).map(|((start, old), new)| {
        let start = start + old.1[0].len() as u64;
        Patch::resizing(start..start + old.1[1].len() as u64, Content::from(&new.1[1][..]))
    });
    Patches::new(patches.collect()).unwrap()
}

/// Calls `check` with the kind, the archive before, its patched form, and the archive that the library writes instead.
fn each_case(kinds: &[ArchiveKind], mut check: impl FnMut(&[u8], &[u8], &[u8])) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..300 {
        let kind = kinds[round % kinds.len()];
        let old = random.members();
        let mut new = old.clone();
        for (_, pieces) in &mut new {
            if random.below(2) == 0 {
                pieces[1] = random.bytes(60);
            }
        }
        let archive = write(kind, &old);
        let patches = with_members(View::new(&archive), changes(&archive, &old, &new)).unwrap();
        check(&archive, &patches.to_vec(View::new(&archive)), &write(kind, &new));
    }
}

#[test]
fn patched_archives_of_gnu_and_coff_are_those_of_the_writer() {
    each_case(&[ArchiveKind::Gnu, ArchiveKind::Gnu64, ArchiveKind::Coff], |_, patched, expected| {
        assert_eq!(patched.escape_ascii().to_string(), expected.escape_ascii().to_string());
    });
}

/// The writer also pads the names, to align the members; an edit keeps the names and pads the bytes.
#[test]
fn members_of_patched_bsd_archives_are_those_of_the_writer_and_stay_aligned() {
    let kinds = [ArchiveKind::Bsd, ArchiveKind::Darwin, ArchiveKind::Darwin64];
    each_case(&kinds, |archive, patched, expected| {
        let (members, symbols) = contents(patched);
        let (expected, expected_symbols) = contents(expected);
        assert_eq!(symbols, expected_symbols);
        assert_eq!(members.len(), expected.len());
        for ((name, bytes), (expected_name, expected)) in members.iter().zip(&expected) {
            let text = |bytes: &[u8]| bytes.trim_ascii_end().to_vec();
            assert_eq!((name, text(bytes)), (expected_name, text(expected)));
        }
        let starts = |bytes: &[u8]| -> Vec<u64> {
            let file = ArchiveFile::parse(bytes).unwrap();
            file.members().map(|member| member.unwrap().file_range().0 % 8).collect()
        };
        assert_eq!(starts(patched), starts(archive));
    });
}

#[test]
fn an_edit_without_changes_and_changes_of_the_same_size_patch_only_members() {
    let members = Random(7).members();
    let archive = write(ArchiveKind::Gnu, &members);
    let view = View::new(&archive);
    assert!(with_members(view, Patches::default()).unwrap().is_empty());
    let start = archive.windows(8).position(|bytes| bytes == b"symbols ").unwrap() as u64;
    let same = Patches::new(vec![Patch::resizing(start..start + 7, Content::from(&b"SYMBOLS"[..]))]).unwrap();
    let patched = with_members(view, same).unwrap().to_vec(view);
    let expected = [&archive[..start as usize], b"SYMBOLS", &archive[start as usize + 7..]].concat();
    assert_eq!(patched, expected);
}

#[test]
fn the_last_member_may_lack_its_padding() {
    let header = |size| format!("{:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", "a/", 0, 0, 0, 644);
    for (old, new, expected) in
        [("abc", "ab", "ab"), ("abc", "a", "a\n"), ("abcd", "a", "a\n"), ("abc\n", "xyzu", "xyzu")]
    {
        let size = old.trim_ascii_end().len();
        let archive = ["!<arch>\n", &header(size), old].concat();
        let span = 68..68 + size as u64;
        let changes = Patches::new(vec![Patch::resizing(span, Content::from(new.as_bytes()))]).unwrap();
        let view = View::new(archive.as_bytes());
        let patched = with_members(view, changes).unwrap().to_vec(view);
        assert_eq!(String::from_utf8(patched).unwrap(), ["!<arch>\n", &header(new.len()), expected].concat());
    }
}

fn error_of(archive: &[u8], span: std::ops::Range<u64>) -> String {
    let changes = Patches::new(vec![Patch::resizing(span, Content::new())]).unwrap();
    with_members(View::new(archive), changes).unwrap_err().to_string()
}

#[test]
fn malformed_archives_and_spans_outside_of_members_are_errors() {
    let members = Random(3).members();
    let archive = write(ArchiveKind::Gnu, &members);
    let start = archive.windows(8).position(|bytes| bytes == b"symbols ").unwrap() as u64;
    let last = archive.len() as u64;
    assert!(error_of(&archive, 70..71).contains("is not in one member"), "in the symbol table");
    assert!(error_of(&archive, start - 1..start + 1).contains("is not in one member"), "in a header");
    assert!(error_of(&archive, start..last + 9).contains("is not in one member"), "beyond the end");
    assert!(error_of(b"!<thin>\n", 0..1).contains("change these files"));
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = archive.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        error_of(&damaged, start..start + 1)
    };
    for (at, bytes, expected) in [
        (8 + 48, &b"x"[..], "archive member size at 0x38"),
        (8 + 48, b"99999999", "archive member size at 0x38: offset 68 with size 99999999"),
        (68, b"\xff", "archive symbol table at 0x44: offset 4"),
        (72, b"\0\0\0\x07", "archive symbol table at 0x48: offset 0x7 is not that of a member"),
    ] {
        let error = with(at, bytes);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn truncated_and_damaged_archives_do_not_panic() {
    let members = Random(5).members();
    for kind in [ArchiveKind::Gnu, ArchiveKind::Gnu64, ArchiveKind::Coff, ArchiveKind::Bsd, ArchiveKind::Darwin64] {
        let archive = write(kind, &members);
        let start = archive.windows(8).position(|bytes| bytes == b"symbols ").unwrap() as u64;
        let changed = |bytes: &[u8]| -> Result<Vec<u8>, Malformed> {
            let changes = Patches::new(vec![Patch::resizing(start..start + 3, Content::new())]).unwrap();
            let view = View::new(bytes);
            match with_members(view, changes) {
                Ok(patches) => Ok(patches.to_vec(view)),
                Err(_) => Ok(Vec::new()),
            }
        };
        for at in 0..archive.len() {
            changed(&archive[..at]).unwrap();
            let mut flipped = archive.clone();
            flipped[at] ^= 0xff;
            changed(&flipped).unwrap();
        }
    }
}
