//! Recognizes files with packed files in them, in formats that are not opened.

use crate::base::bytes::View;
use crate::format::bundle::text;
use crate::scan::inventory::NotOpened;

/// First bytes by format. Source: the specifications of the formats, and the database of file(1).
const MAGICS: [(&[u8], NotOpened); 6] = [
    (b"\x1f\x9d", NotOpened::Compress),
    (b"7z\xbc\xaf\x27\x1c", NotOpened::SevenZip),
    (b"Rar!\x1a\x07", NotOpened::Rar),
    (b"MSCF\0\0\0\0", NotOpened::Cabinet),
    (b"xar!\0\x1c", NotOpened::Xar),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", NotOpened::Ole),
];

/// Identifier of the first volume descriptor of an ISO 9660 file system, and its offset after the 16 system sectors
/// (ECMA-119, 8.1).
const ISO_IDENTIFIER: &[u8] = b"CD001";
const ISO_IDENTIFIER_AT: u64 = 0x8001;

/// Format of a file that cannot be opened; `None` for any other file.
pub fn format(view: View<'_>) -> Option<NotOpened> {
    if view.from(ISO_IDENTIFIER_AT).starts_with(ISO_IDENTIFIER) {
        return Some(NotOpened::Iso);
    }
    if text::begins(view) {
        return Some(NotOpened::TextBundle);
    }
    let (_, format) = MAGICS.into_iter().find(|(magic, _)| view.starts_with(magic))?;
    let has_format = match format {
        // Flags: the largest width of a code, from 9 to 16 bits.
        NotOpened::Compress => view.data().get(2).is_some_and(|flags| (9..=16).contains(&(flags & 0x7f))),
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
        let iso = [&[0; 0x8001][..], b"CD001\x01\0"].concat();
        // Output of `compress`, of `genisoimage`, and of msitools.
        let cases: [(&[u8], &str); 3] =
            [(b"\x1f\x9d\x90\x68\x02", "compress"), (&iso, "iso"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "ole")];
        for (bytes, expected) in cases {
            assert_eq!(name(bytes), Some(expected));
        }
        for comment in ["//", "#", ";"] {
            let bundle = text::write(&[("host-x86_64-unknown-linux-gnu-", b"text")], comment).to_vec();
            assert_eq!(name(&bundle), Some("text-bundle"));
            assert_eq!(name(&bundle[1..]), Some("text-bundle"), "an editor removed the first line");
            assert_eq!(name(&[b"other", &bundle[..]].concat()), None);
        }
        for other in [&b""[..], b"\x1f\x9d", b"\x1f\x9d\xff", b"7z", b"Rar!"] {
            assert_eq!(name(other), None, "{other:x?}");
        }
    }
}
