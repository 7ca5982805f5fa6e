//! The text of a response file.

use std::ffi::OsStr;

use super::dialect::{Dialect, Escapes};

/// Text of a response file with these words, one a line.
pub fn write<'a>(words: impl IntoIterator<Item = &'a OsStr>, dialect: &Dialect) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        let bytes = word.as_encoded_bytes();
        text.push(b'"');
        for (at, &byte) in bytes.iter().enumerate() {
            let is_escaped = match dialect.escapes {
                Escapes::Everything => matches!(byte, b'"' | b'\\'),
                // A backslash is doubled only if a quote follows the backslashes.
                Escapes::Quotes => {
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
    use std::ffi::OsString;

    use super::super::dialect::{GNU, LLVM, LLVM_WINDOWS, MOLD};
    use super::super::split;
    use super::*;

    #[test]
    fn words_that_are_written_are_read_again() {
        let words = ["a b", r#"quote"d"#, r"back\slash", r"end\", r#"\\""#, "it's", "@x"].map(OsString::from);
        for dialect in [&GNU, &LLVM, &LLVM_WINDOWS, &MOLD] {
            let text = write(words.iter().map(OsString::as_os_str), dialect);
            let read = split(&text, dialect).unwrap();
            assert!(read.iter().zip(&words).all(|(read, word)| *read == word.as_encoded_bytes()), "{dialect:?}");
            assert_eq!(read.len(), words.len());
        }
    }
}
