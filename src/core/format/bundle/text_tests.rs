//! Texts of all kinds: written by the reference, edited by users, and malformed.

use super::text::{end_marker, marks, read, write};
use super::*;
use crate::base::error::Cause;

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const DEVICE: &str = "hip-amdgcn-amd-amdhsa--gfx906";

/// Reads any text bundle.
fn parse(bytes: &[u8]) -> Result<Vec<(&str, &[u8])>, Malformed> {
    let entries = read(View::new(bytes), &marks(bytes), &COMMENTS)?;
    Ok(entries.unwrap_or_default().into_iter().map(|entry| (entry.text, entry.code_object.data())).collect())
}

/// Reads line by line as with an editor, and only well-formed text.
fn naive(bytes: &[u8], comment: &str) -> Vec<(String, String)> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let start = format!("\n{comment} __CLANG_OFFLOAD_BUNDLE____START__ ");
    let files = text.split(&start).skip(1);
    files
        .map(|file| {
            let (id, rest) = file.split_once('\n').unwrap();
            let end = rest.find(&format!("\n{comment} __CLANG_OFFLOAD_BUNDLE____END__ {id}\n")).unwrap();
            (id.to_owned(), rest[..end].to_owned())
        })
        .collect()
}

#[test]
fn output_equals_that_of_the_reference() {
    let expected = "\n; __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-unknown-linux-gnu-\na\nb\
                    \n; __CLANG_OFFLOAD_BUNDLE____END__ host-x86_64-unknown-linux-gnu-\n\
                    \n; __CLANG_OFFLOAD_BUNDLE____START__ hip-amdgcn-amd-amdhsa--gfx906\nc\n\
                    \n; __CLANG_OFFLOAD_BUNDLE____END__ hip-amdgcn-amd-amdhsa--gfx906\n";
    let written = write(&[(HOST, b"a\nb"), (DEVICE, b"c\n")], ";").to_vec();
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

#[test]
fn files_of_any_content_round_trip() {
    let nested = write(&[(DEVICE, b"inner")], "//").to_vec();
    let first_line = b"// __CLANG_OFFLOAD_BUNDLE____END__ hip-amdgcn-amd-amdhsa--gfx906\ntext";
    let files: [&[u8]; 8] =
        [b"", b"\n", b"\n\n", b"text", b"text\r\n", b"\0\xff\n// not a marker\n", &nested, first_line];
    for comment in COMMENTS {
        for one in files {
            for other in files {
                let entries = [(HOST, one), (DEVICE, other), ("hip-amdgcn-amd-amdhsa--gfx908", one)];
                let marker = [b"\n", &end_marker(comment)[..]].concat();
                let clashes = |file: &[u8]| [b"\n", file].concat().windows(marker.len()).any(|part| part == marker);
                if clashes(one) || clashes(other) {
                    continue;
                }
                let bytes = write(&entries, comment).to_vec();
                assert_eq!(parse(&bytes).unwrap(), entries, "{comment}");
                if std::str::from_utf8(&bytes).is_ok() && one != nested && other != nested {
                    let found = naive(&bytes, comment);
                    assert!(
                        found
                            .iter()
                            .zip(entries)
                            .all(|((id, file), (text, bytes))| id == text && file.as_bytes() == bytes)
                    );
                }
            }
        }
    }
}

#[test]
fn reads_bundles_changed_by_an_editor() {
    let line = |mark: &str, id: &str| format!("# __CLANG_OFFLOAD_BUNDLE____{mark}__ {id}");
    let cases = [
        ("without the empty line before it", format!("{}\nx\n{}\n", line("START", HOST), line("END", HOST))),
        ("without the newline behind it", format!("\n{}\nx\n{}", line("START", HOST), line("END", HOST))),
        ("with other lines around it", format!("#!/x\n{}\nx\n{}\nmore\n", line("START", HOST), line("END", HOST))),
        ("with Windows' line ends", format!("\r\n{}\r\nx\r\n{}\r\n", line("START", HOST), line("END", HOST))),
    ];
    for (name, text) in cases {
        assert_eq!(parse(text.as_bytes()).unwrap(), [(HOST, &b"x"[..])], "{name}");
    }
    let joined = format!("{}\n{}\n", line("START", HOST), line("END", HOST));
    assert_eq!(parse(joined.as_bytes()).unwrap(), [(HOST, &b""[..])]);
}

#[test]
fn reads_the_form_of_the_proposal() {
    let text = format!(
        "int a;\n// __CLANG_OFFLOAD_BUNDLE____END__ {HOST}\n// __CLANG_OFFLOAD_BUNDLE____END__ {DEVICE}\nint b;\n\
         // __CLANG_OFFLOAD_BUNDLE____END__ hip-amdgcn-amd-amdhsa--gfx908\n"
    );
    let expected: [(&str, &[u8]); 3] =
        [(HOST, b"int a;\n"), (DEVICE, b""), ("hip-amdgcn-amd-amdhsa--gfx908", b"int b;\n")];
    assert_eq!(parse(text.as_bytes()).unwrap(), expected);
}

#[test]
fn only_comments_of_the_files_own_language_are_markers() {
    let bytes = write(&[(HOST, b"x")], "//").to_vec();
    assert_eq!(read(View::new(&bytes), &marks(&bytes), &[";"]), Ok(None));
    let inner = write(&[(DEVICE, b"y")], "#").to_vec();
    let bytes = write(&[(HOST, &inner)], "//").to_vec();
    assert_eq!(parse(&bytes).unwrap(), [(HOST, &inner[..])]);
}

#[test]
fn a_file_without_an_end_is_an_error() {
    let bytes = write(&[(HOST, b"x"), (DEVICE, b"y")], "//").to_vec();
    let cut = &bytes[..bytes.len() - 40];
    let error = parse(cut).unwrap_err();
    assert_eq!(error.cause, Cause::MissingEndMarker { id: DEVICE.to_owned() });
    for end in 0..bytes.len() {
        let _ = parse(&bytes[..end]);
    }
}

#[test]
fn errors_state_invalid_ids() {
    let bytes = write(&[("host-x/../y-z-", b"x")], "//").to_vec();
    let error = parse(&bytes).unwrap_err().to_string();
    assert_eq!(
        error,
        "bundle entry id at 0x26: invalid bundle entry ID \"host-x/../y-z-\", expected <offload kind>-<triple>[-<target id>]"
    );
}
