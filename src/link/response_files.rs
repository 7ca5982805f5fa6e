//! Response files: words of a command line in a file, `@FILE`.
//!
//! GNU's and LLVM's programs read them in the same way, except for two styles of quotes. A word for a file that does
//! not exist stays unchanged. Sources: GCC 12 and binutils 2.40 (`buildargv`), clang and lld 22 on Linux; lld-link 22
//! for Windows' rules.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::{LinkError, Result};
use super::words::Quoting;
use crate::base::error::Error;
use crate::base::io::{Access, Input, os_string};

/// Words of a command line after the expansion of response files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The words.
    pub words: Vec<OsString>,
    /// True if some of them are from response files.
    pub has_response_files: bool,
}

/// Maximum depth of nested response files.
const MAX_NESTING: usize = 32;

const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF_16_LITTLE_MARK: &[u8] = b"\xff\xfe";
const UTF_16_BIG_MARK: &[u8] = b"\xfe\xff";

/// Replaces `@FILE` by the words in the file.
pub fn expand(words: impl IntoIterator<Item = OsString>, quoting: Quoting, access: Access) -> Result<Expanded> {
    let mut expanded = Expanded::default();
    add(&mut expanded, words.into_iter().collect(), quoting, access, 0)?;
    Ok(expanded)
}

fn add(to: &mut Expanded, words: Vec<OsString>, quoting: Quoting, access: Access, depth: usize) -> Result<()> {
    for word in words {
        match response_file(&word) {
            Some(path) if depth == MAX_NESTING => return Err(LinkError::ResponseFiles { path }),
            Some(path) => {
                let input = Input::open_file(path.clone(), access)?;
                to.has_response_files = true;
                add(to, split(&text(input.view().data(), &path)?, quoting), quoting, access, depth + 1)?;
            }
            None => to.words.push(word),
        }
    }
    Ok(())
}

fn response_file(word: &OsStr) -> Option<PathBuf> {
    let path = PathBuf::from(os_string(word.as_encoded_bytes().strip_prefix(b"@")?));
    path.is_file().then_some(path)
}

/// Text of a file as UTF-8. Microsoft's build tools write UTF-16.
fn text(bytes: &[u8], path: &Path) -> Result<Vec<u8>> {
    let from_utf_16 = |bytes: &[u8], number: fn([u8; 2]) -> u16| {
        let units = bytes.chunks(2).map(|unit| number([unit[0], unit.get(1).copied().unwrap_or_default()]));
        char::decode_utf16(units).collect::<Result<String, _>>().map(String::into_bytes).map_err(|cause| {
            let cause = std::io::Error::new(std::io::ErrorKind::InvalidData, cause);
            LinkError::File(Error::io(path, "read")(cause))
        })
    };
    if let Some(rest) = bytes.strip_prefix(UTF_16_LITTLE_MARK) {
        from_utf_16(rest, u16::from_le_bytes)
    } else if let Some(rest) = bytes.strip_prefix(UTF_16_BIG_MARK) {
        from_utf_16(rest, u16::from_be_bytes)
    } else {
        Ok(bytes.strip_prefix(UTF_8_MARK).unwrap_or(bytes).to_owned())
    }
}

/// Splits the text of a response file into words.
pub fn split(text: &[u8], quoting: Quoting) -> Vec<OsString> {
    let words = match quoting {
        Quoting::Gnu => split_gnu(text),
        Quoting::Windows => split_windows(text),
    };
    words.iter().map(|word| os_string(word)).collect()
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0 || byte == 0x0b
}

fn split_gnu(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (_, None) if is_space(byte) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

fn split_windows(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut is_quoted = false;
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                let mut count = 1;
                while bytes.next_if_eq(&b'\\').is_some() {
                    count += 1;
                }
                let is_before_quote = bytes.peek() == Some(&b'"');
                let kept = if is_before_quote { count / 2 } else { count };
                word.get_or_insert_default().extend(std::iter::repeat_n(b'\\', kept));
                if is_before_quote && count % 2 == 1 {
                    word.get_or_insert_default().extend(bytes.next());
                }
            }
            b'"' if is_quoted && bytes.peek() == Some(&b'"') => word.get_or_insert_default().extend(bytes.next()),
            b'"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            _ if is_space(byte) && !is_quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

/// Text of a response file with these words, one a line.
pub fn write<'a>(words: impl IntoIterator<Item = &'a OsStr>, quoting: Quoting) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        let bytes = word.as_encoded_bytes();
        text.push(b'"');
        for (at, &byte) in bytes.iter().enumerate() {
            let is_escaped = match quoting {
                Quoting::Gnu => matches!(byte, b'"' | b'\\'),
                // A backslash is doubled only if a quote follows the backslashes.
                Quoting::Windows => {
                    let next = bytes[at..].iter().find(|&&next| next != b'\\');
                    byte == b'"' || byte == b'\\' && matches!(next, None | Some(b'"'))
                }
            };
            if is_escaped {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.extend(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_counts_everywhere_in_gnus_style_and_before_quotes_in_that_of_windows() {
        // Compared with the tools by the trial link/response-files.
        let cases: [(&str, &[&str], &[&str]); 7] = [
            ("", &[], &[]),
            ("a  b\n\tc\r\n", &["a", "b", "c"], &["a", "b", "c"]),
            (r#""a b" "" x"y z""#, &["a b", "", "xy z"], &["a b", "", "xy z"]),
            (r"dir\a.o", &["dira.o"], &[r"dir\a.o"]),
            (r#""a\"b" c\\d"#, &[r#"a"b"#, r"c\d"], &[r#"a"b"#, r"c\\d"]),
            ("'a b'", &["a b"], &["'a", "b'"]),
            (r#""a\\" b"#, &[r"a\", "b"], &[r"a\", "b"]),
        ];
        for (text, gnu, windows) in cases {
            assert_eq!(split(text.as_bytes(), Quoting::Gnu), gnu, "{text}");
            assert_eq!(split(text.as_bytes(), Quoting::Windows), windows, "{text}");
        }
    }

    #[test]
    fn words_that_are_written_are_read_again() {
        let words = ["a b", r#"quote"d"#, r"back\slash", r"end\", r#"\\""#, "", "it's", "@x"].map(OsString::from);
        for quoting in [Quoting::Gnu, Quoting::Windows] {
            let text = write(words.iter().map(OsString::as_os_str), quoting);
            assert_eq!(split(&text, quoting), words, "{quoting:?}");
        }
    }

    #[test]
    fn files_are_read_in_files_in_every_encoding_and_refer_to_one_another_only_so_often() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let reference = |name: &str| {
            let mut word = OsString::from("@");
            word.push(path(name));
            word
        };
        std::fs::write(path("inner"), [UTF_8_MARK, b"k.o"].concat()).unwrap();
        let utf_16: Vec<u8> = "ä.o\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(path("wide"), [UTF_16_LITTLE_MARK, &utf_16].concat()).unwrap();
        std::fs::write(path("outer"), write([&*reference("inner"), &*reference("wide")], Quoting::Gnu)).unwrap();
        std::fs::write(path("loop"), write([&*reference("loop")], Quoting::Gnu)).unwrap();
        let words = ["a.o".into(), reference("outer"), "@none".into()];
        let expanded = expand(words, Quoting::Gnu, Access::read()).unwrap();
        assert_eq!(
            (expanded.words, expanded.has_response_files),
            (["a.o", "k.o", "ä.o", "@none"].map(OsString::from).into(), true)
        );
        let error = expand([reference("loop")], Quoting::Gnu, Access::read()).unwrap_err().to_string();
        assert!(error.ends_with("response files are nested too deeply"), "{error}");
    }
}
