//! cpio archives: the portable format (`odc`), and the formats of SVR4 without and with checksum (`newc`, `crc`).
//!
//! Source: cpio(5) of libarchive 3.7; `lib/cpio.cc` of RPM 4.18 for its format without names.

use super::{Member, MemberContent};
use crate::base::bytes::{Cursor, View};
use crate::base::error::{Cause, Malformed};

/// Magics of `newc`, `crc` and `odc`.
pub const MAGICS: [&[u8]; 3] = [b"070701", b"070702", ODC];
const ODC: &[u8] = b"070707";

/// Magic of the format that RPM writes if a file has 4 GiB or more. It numbers the files of the package's header.
pub const STRIPPED: &[u8] = b"07070X";

/// Name of the entry that ends an archive.
const TRAILER: &[u8] = b"TRAILER!!!";

/// Type in a mode: the mask, and a regular file.
const TYPE: u64 = 0o170_000;
const REGULAR: u64 = 0o100_000;

/// Ranges of the fields in a header, and its size.
struct Layout {
    radix: u32,
    mode: (u64, u64),
    name_size: (u64, u64),
    size: (u64, u64),
    header: u64,
    /// Header with name, and contents, are padded to a multiple of this.
    alignment: u64,
}

const NEWC_LAYOUT: Layout =
    Layout { radix: 16, mode: (14, 8), name_size: (94, 8), size: (54, 8), header: 110, alignment: 4 };
const ODC_LAYOUT: Layout =
    Layout { radix: 8, mode: (18, 6), name_size: (59, 6), size: (65, 11), header: 76, alignment: 1 };

fn layout(view: View<'_>) -> &'static Layout {
    if view.starts_with(ODC) { &ODC_LAYOUT } else { &NEWC_LAYOUT }
}

/// Returns whether a file that begins with a magic has a header of digits.
pub fn is_cpio(view: View<'_>) -> bool {
    let layout = layout(view);
    let header = view.data().get(..layout.header as usize);
    header.is_some_and(|header| header.iter().all(|&digit| char::from(digit).is_digit(layout.radix)))
}

/// Reads the regular files. Of several names of a file, only the last has its contents.
pub fn members<'data>(view: View<'data>, take: &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(view);
    loop {
        if !MAGICS.iter().any(|magic| cursor.rest().starts_with(magic)) {
            let available = cursor.rest().size();
            let cause = if available < NEWC_LAYOUT.header { Cause::EndsInside } else { invalid() };
            return Err(cursor.malformed("cpio header", cause));
        }
        let layout = layout(cursor.rest());
        let header = cursor.take("cpio header", layout.header)?;
        let name_size = number(header, "cpio name size", layout.name_size, layout.radix)?;
        let name = cursor.take_stated(header.field("cpio name size", layout.name_size.0), name_size)?.data();
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        cursor.align(layout.alignment);
        let size = number(header, "cpio file size", layout.size, layout.radix)?;
        let content = cursor.take_stated(header.field("cpio file size", layout.size.0), size)?;
        cursor.align(layout.alignment);
        if name == TRAILER {
            return Ok(());
        }
        if number(header, "cpio mode", layout.mode, layout.radix)? & TYPE == REGULAR {
            super::charge_name(view, name)?;
            let name = Some(String::from_utf8_lossy(name).into_owned());
            take(Member::new(name, MemberContent::Here(content)));
        }
    }
}

/// Reads RPM's format without names, which is not opened.
pub fn stripped<'data>(_: View<'data>, take: &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed> {
    let reason = "not opened: cpio archive without names, of an RPM package with files of 4 GiB; unpack the package \
                  with rpm2archive"
        .to_owned();
    take(Member::new(None, MemberContent::Unreadable(reason)));
    Ok(())
}

fn invalid() -> Cause {
    Cause::Described("not the start of an entry".to_owned())
}

fn number(header: View<'_>, field: &'static str, (at, digits): (u64, u64), radix: u32) -> Result<u64, Malformed> {
    let digits = header.from(at).prefix(header.field(field, at), digits)?.data();
    let number = digits.iter().try_fold(0_u64, |number, &digit| {
        number.checked_mul(radix.into())?.checked_add(char::from(digit).to_digit(radix)?.into())
    });
    number.ok_or_else(|| header.malformed(field, at, Cause::Described("not a number".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an entry as `cpio -H newc` or `cpio -H odc` does.
    fn entry(format: &[u8], name: &str, mode: u32, content: &[u8]) -> Vec<u8> {
        let name_size = name.len() + 1;
        let size = content.len();
        if format == ODC {
            let header = format!("070707{:018o}{:024o}{:011o}{name_size:06o}{size:011o}", mode, 0, 0);
            return [header.as_bytes(), name.as_bytes(), b"\0", content].concat();
        }
        let fields = [0, mode as usize, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0].map(|field| format!("{field:08x}"));
        let mut bytes = [format, fields.concat().as_bytes(), name.as_bytes(), b"\0"].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn archive(format: &[u8]) -> Vec<u8> {
        let entries = [("lib", 0o40_755, &b""[..]), ("lib/a.so", 0o100_644, b"content"), ("b", 0o100_644, b"more")];
        let entries = entries.map(|(name, mode, content)| entry(format, name, mode, content)).concat();
        [&entries[..], &entry(format, "TRAILER!!!", 0, b""), &[0; 300]].concat()
    }

    fn listed(bytes: &[u8]) -> (Vec<(String, Vec<u8>)>, Option<String>) {
        let mut found = Vec::new();
        let read = members(View::new(bytes), &mut |member| match member.content {
            MemberContent::Here(view) => found.push((member.name.unwrap(), view.data().to_vec())),
            other => panic!("{other:?}"),
        });
        (found, read.err().map(|error| error.to_string()))
    }

    #[test]
    fn regular_files_of_every_format_are_members() {
        for format in MAGICS {
            let bytes = archive(format);
            let expected = [("lib/a.so", "content"), ("b", "more")].map(|(name, text)| (name.to_owned(), text.into()));
            assert_eq!(listed(&bytes), (expected.to_vec(), None));
            assert!(is_cpio(View::new(&bytes)));
            // The padding of the last entry may be missing.
            let end = bytes.len() - 304;
            for cut in 0..end {
                assert!(listed(&bytes[..cut]).1.is_some(), "{cut}");
            }
        }
        assert!(!is_cpio(View::new(b"070701 as a date")));
    }

    #[test]
    fn damage_is_an_error_at_its_field() {
        // The second entry begins after a header and a name of 116 bytes.
        let cases: [(usize, &[u8], &str); 5] = [
            (116, b"x", "cpio header at 0x74: not the start of an entry"),
            (116 + 54, b"ffffffff", "cpio file size at 0xaa: offset 236 with size 4294967295 is out of bounds"),
            (116 + 54, b"zzzzzzzz", "cpio file size at 0xaa: not a number"),
            (116 + 94, b"ffffffff", "cpio name size at 0xd2: offset 226 with size 4294967295 is out of bounds"),
            (116 + 14, b"+00081a4", "cpio mode at 0x82: not a number"),
        ];
        for (at, bytes, expected) in cases {
            let mut damaged = archive(MAGICS[0]);
            damaged[at..at + bytes.len()].copy_from_slice(bytes);
            let (found, error) = listed(&damaged);
            assert!(error.as_ref().is_some_and(|error| error.starts_with(expected)), "{error:?}, expected {expected}");
            assert_eq!(found, []);
        }
    }
}
