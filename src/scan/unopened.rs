//! Recognition of files in which others are packed, of formats that are not opened.

use crate::bytes::View;
use crate::inventory::NotOpened;

/// First bytes by format. Source: the specifications of the formats, and the database of file(1).
const MAGICS: [(&[u8], NotOpened); 13] = [
    (b"\xfd7zXZ\0", NotOpened::Xz),
    // Followed by the first block, or by the end of an empty file.
    (b"BZh", NotOpened::Bzip2),
    (b"LZIP\x01", NotOpened::Lzip),
    (b"\x04\x22\x4d\x18", NotOpened::Lz4),
    (b"\x1f\x9d", NotOpened::Compress),
    (b"7z\xbc\xaf\x27\x1c", NotOpened::SevenZip),
    (b"Rar!\x1a\x07", NotOpened::Rar),
    (b"MSCF\0\0\0\0", NotOpened::Cabinet),
    (b"\xed\xab\xee\xdb", NotOpened::Rpm),
    (b"xar!\0\x1c", NotOpened::Xar),
    (b"070701", NotOpened::Cpio),
    (b"070702", NotOpened::Cpio),
    (b"070707", NotOpened::Cpio),
];

/// Offset of the first block of a bzip2 file, and the numbers with which a block and the end begin.
const BZIP2_BLOCK: u64 = 4;
const BZIP2_STARTS: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];

/// Size of the header of a cpio file in digits, for each of its formats.
const CPIO_DIGITS: usize = 76;

/// Returns the format of a file that cannot be opened; `None` for any other file.
pub fn format(view: View<'_>) -> Option<NotOpened> {
    let (_, format) = MAGICS.into_iter().find(|(magic, _)| view.starts_with(magic))?;
    let has_format = match format {
        NotOpened::Bzip2 => BZIP2_STARTS.iter().any(|start| view.from(BZIP2_BLOCK).starts_with(start)),
        // Flags: the largest width of a code, from 9 to 16 bits.
        NotOpened::Compress => view.data().get(2).is_some_and(|flags| (9..=16).contains(&(flags & 0x7f))),
        NotOpened::Cpio => {
            view.data().get(..CPIO_DIGITS).is_some_and(|header| header.iter().all(u8::is_ascii_hexdigit))
        }
        _ => true,
    };
    has_format.then_some(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8]) -> Option<&'static str> {
        format(View::new(bytes)).map(NotOpened::name)
    }

    #[test]
    fn recognizes_files_by_their_first_bytes() {
        let cpio = [&b"070701"[..], &[b'0'; 104]].concat();
        let cases: [(&[u8], &str); 6] = [
            // Output of `xz`, `bzip2`, `bzip2` without input, `compress`, `lz4` and `cpio -H newc`.
            (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46", "xz"),
            (b"BZh91AY&SY\xd3\x1a", "bzip2"),
            (b"BZh9\x17\x72\x45\x38\x50\x90\0\0", "bzip2"),
            (b"\x1f\x9d\x90\x68\x02", "compress"),
            (b"\x04\x22\x4d\x18\x64\x40\xa7", "lz4"),
            (&cpio, "cpio"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(name(bytes), Some(expected));
        }
        for other in [&b""[..], b"BZh9 is text", b"\x1f\x9d", b"\x1f\x9d\xff", b"070701 as a date", b"7z", b"Rar!"] {
            assert_eq!(name(other), None, "{other:x?}");
        }
    }
}
