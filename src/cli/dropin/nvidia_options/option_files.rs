//! Option files: an option names a file that contains further arguments.
//!
//! Blanks separate arguments. A backslash escapes the next character, and double quotes preserve blanks. Quotes are
//! then removed, even escaped ones, unless a backslash remains before them (fatbinary 13.5).

/// Maximum number of option files that include one another.
pub const MAX_DEPTH: usize = 15;

/// A quote or a backslash at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unterminated(pub &'static str);

/// Splits the contents of a file, up to a NUL, into arguments.
pub fn arguments(contents: &[u8]) -> Result<Vec<Vec<u8>>, Unterminated> {
    let mut arguments = Vec::new();
    let (mut argument, mut is_quoted) = (None::<Vec<u8>>, false);
    let mut bytes = contents.iter().copied().take_while(|&byte| byte != 0);
    while let Some(byte) = bytes.next() {
        let kept = match byte {
            b'\\' => bytes.next().ok_or(Unterminated(""))?,
            b' ' | b'\t' | b'\r' | b'\n' if !is_quoted => {
                arguments.extend(argument.take());
                continue;
            }
            _ => byte,
        };
        is_quoted ^= byte == b'"';
        argument.get_or_insert_default().push(kept);
    }
    if is_quoted {
        return Err(Unterminated("\""));
    }
    arguments.extend(argument);
    Ok(arguments.into_iter().map(|argument| without_quotes(&argument)).collect())
}

fn without_quotes(argument: &[u8]) -> Vec<u8> {
    let mut previous = 0;
    let is_kept = |&byte: &u8| {
        let is_kept = byte != b'"' || previous == b'\\';
        previous = byte;
        is_kept
    };
    argument.iter().copied().filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that fatbinary 13.5 stores for `--ident` in an option file.
    #[test]
    fn splits_arguments_as_fatbinary_does() {
        let cases: [(&[u8], &[&str]); 12] = [
            (b" a\tb\r\nc\n", &["a", "b", "c"]),
            (b"\"a b\" x\"y z\"w", &["a b", "xy zw"]),
            (b"a\\ b", &["a b"]),
            (b"a\\\\b", &["a\\b"]),
            (b"a\\\"b", &["ab"]),
            (b"\"a\\\"b\"", &["ab"]),
            (b"a\\\\\\\"b", &["a\\\"b"]),
            (b"\\\"a b\\\"", &["a", "b"]),
            (b"\"\"", &[""]),
            (b"'a b'", &["'a", "b'"]),
            (b"a\x0bb\0c", &["a\x0bb"]),
            (b"", &[]),
        ];
        for (contents, expected) in cases {
            let read = arguments(contents).unwrap();
            let read: Vec<_> = read.iter().map(|argument| std::str::from_utf8(argument).unwrap()).collect();
            assert_eq!(read, expected, "{}", contents.escape_ascii());
        }
        assert_eq!(arguments(b"a \"b"), Err(Unterminated("\"")));
        assert_eq!(arguments(b"a\\"), Err(Unterminated("")));
    }
}
