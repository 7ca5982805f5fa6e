//! Recognizes files with packed files in them, in formats that are not opened.

use crate::base::bytes::View;
use crate::scan::inventory::NotOpened;

/// First bytes by format. Source: the specifications of the formats, and the database of file(1).
const MAGICS: [(&[u8], NotOpened); 16] = [
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
    // The properties that all programs write: 3 context bits, no position bits for literals, 2 for matches.
    (b"\x5d\0\0", NotOpened::Lzma),
    (b"hsqs", NotOpened::Squashfs),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", NotOpened::Ole),
];

/// Identifier of the first volume descriptor of an ISO 9660 file system, and its offset after the 16 system sectors
/// (ECMA-119, 8.1).
const ISO_IDENTIFIER: &[u8] = b"CD001";
const ISO_IDENTIFIER_AT: u64 = 0x8001;

/// Offsets in the header of an lzma file: the size of the dictionary, the decompressed size, and the first byte of the
/// stream, which is 0. Source: LZMA SDK, `lzma-specification.txt`.
const LZMA_DICTIONARY: u64 = 1;
const LZMA_SIZE: u64 = 5;
const LZMA_STREAM: u64 = 13;

/// Smallest accepted dictionary of lzma in bytes, and largest accepted decompressed size. Other files begin with the
/// same bytes.
const LZMA_MIN_DICTIONARY: u32 = 1 << 12;
const LZMA_MAX_SIZE: u64 = 1 << 40;

/// Offset of the first block of a bzip2 file, and the magic numbers of a block and of the end.
const BZIP2_BLOCK: u64 = 4;
const BZIP2_STARTS: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];

/// Size of the header of a cpio file in digits, for each of its formats.
const CPIO_DIGITS: usize = 76;

/// Format of a file that cannot be opened; `None` for any other file.
pub fn format(view: View<'_>) -> Option<NotOpened> {
    if view.from(ISO_IDENTIFIER_AT).starts_with(ISO_IDENTIFIER) {
        return Some(NotOpened::Iso);
    }
    let (_, format) = MAGICS.into_iter().find(|(magic, _)| view.starts_with(magic))?;
    let has_format = match format {
        NotOpened::Bzip2 => BZIP2_STARTS.iter().any(|start| view.from(BZIP2_BLOCK).starts_with(start)),
        // Flags: the largest width of a code, from 9 to 16 bits.
        NotOpened::Compress => view.data().get(2).is_some_and(|flags| (9..=16).contains(&(flags & 0x7f))),
        NotOpened::Cpio => {
            view.data().get(..CPIO_DIGITS).is_some_and(|header| header.iter().all(u8::is_ascii_hexdigit))
        }
        NotOpened::Lzma => is_lzma(view),
        _ => true,
    };
    has_format.then_some(format)
}

/// True if the header of an lzma file is plausible. The dictionary size is a power of two, or one and a half times a
/// power of two. The decompressed size is stated, or unknown (all ones).
fn is_lzma(view: View<'_>) -> bool {
    let dictionary = view.u32("lzma dictionary", LZMA_DICTIONARY).unwrap_or_default();
    let size = view.u64("lzma size", LZMA_SIZE).unwrap_or_default();
    let is_usual = dictionary >= LZMA_MIN_DICTIONARY && matches!(dictionary >> dictionary.trailing_zeros(), 1 | 3);
    let has_size = size == u64::MAX || (1..=LZMA_MAX_SIZE).contains(&size);
    is_usual && has_size && view.from(LZMA_STREAM).starts_with(&[0])
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
        let iso = [&[0; 0x8001][..], b"CD001\x01\0"].concat();
        let cases: [(&[u8], &str); 11] = [
            // Output of `xz`, `bzip2`, `bzip2` without input, `compress`, `lz4` and `cpio -H newc`.
            (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46", "xz"),
            (b"BZh91AY&SY\xd3\x1a", "bzip2"),
            (b"BZh9\x17\x72\x45\x38\x50\x90\0\0", "bzip2"),
            (b"\x1f\x9d\x90\x68\x02", "compress"),
            (b"\x04\x22\x4d\x18\x64\x40\xa7", "lz4"),
            (&cpio, "cpio"),
            // Output of `xz --format=lzma` for a pipe and for a file of 5 bytes, of `mksquashfs`, of `genisoimage`, and
            // of msitools.
            (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x34", "lzma"),
            (b"\x5d\0\0\x80\0\x05\0\0\0\0\0\0\0\0\x34", "lzma"),
            (b"hsqs\x02\0\0\0", "squashfs"),
            (&iso, "iso"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "ole"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(name(bytes), Some(expected));
        }
        for other in [
            &b""[..],
            b"BZh9 is text",
            b"\x1f\x9d",
            b"\x1f\x9d\xff",
            b"070701 as a date",
            b"7z",
            b"Rar!",
            b"]\0\0 text, and more of it",
        ] {
            assert_eq!(name(other), None, "{other:x?}");
        }
    }
}
