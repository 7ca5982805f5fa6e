//! PTX as fatbinary stores it: without comments and redundant blanks.
//!
//! Derived from the output of fatbinary 13.5 for random texts of the characters that matter.

/// Text before the version of a module.
const VERSION: &[u8] = b".version";

/// Removes comments, and blanks after white space. Line breaks and strings remain. `/*/` is a whole comment. A quote
/// after a backslash neither begins nor ends a string.
pub fn minify(text: &[u8]) -> Vec<u8> {
    let mut minified = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut previous = 0;
    let mut is_string = false;
    while let [byte, after @ ..] = rest {
        if *byte == b'"' && previous != b'\\' {
            is_string = !is_string;
        }
        let comment = if is_string { None } else { after_comment(rest) };
        if let Some(after) = comment {
            (rest, previous) = (after, b'/');
            continue;
        }
        let is_redundant = matches!(byte, b' ' | b'\t') && is_space(previous) && !is_string;
        if !is_redundant {
            minified.push(*byte);
        }
        (rest, previous) = (after, *byte);
    }
    minified
}

/// Returns the text after the comment at its start; `None` if it does not start with one.
fn after_comment(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'/', b'/', ..] => {
            let end = text.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(text.len());
            Some(text.get(end..).unwrap_or_default())
        }
        [b'/', b'*', ..] => {
            let after = text.get(1..)?;
            let end = after.windows(2).position(|pair| pair == b"*/");
            Some(end.and_then(|end| after.get(end + 2..)).unwrap_or_default())
        }
        _ => None,
    }
}

/// White space of C's `isspace`.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Returns the version that fatbinary records for a text: the number after the first `.version`, even in a comment.
/// Only the first digit of the minor number counts.
pub fn version(text: &[u8]) -> Option<(u16, u16)> {
    let text = text.split(|&byte| byte == 0).next()?;
    let at = text.windows(VERSION.len()).position(|window| window == VERSION)?;
    let rest = text.get(at..)?.strip_prefix(VERSION)?;
    let rest = rest.get(rest.iter().position(|&byte| !is_space(byte))?..)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (major, rest) = rest.split_at_checked(digits)?;
    let major =
        major.iter().fold(0_i64, |number, digit| number.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    match rest {
        [b'.', minor, ..] if minor.is_ascii_digit() => Some((major as u16, u16::from(minor - b'0'))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts and the bytes that fatbinary 13.5 stores; `linker-tests/fatbinary` compares random ones.
    #[test]
    fn removes_comments_and_blanks_as_fatbinary_does() {
        let cases = [
            ("a  b\t \tc", "a b\tc"),
            ("a /*x*/ b", "a  b"),
            ("a/*x\ny*/b", "ab"),
            ("a //x\\\nb", "a \nb"),
            ("a//x\r\nb", "a\r\nb"),
            ("a \"b  c // d\" e  f", "a \"b  c // d\" e f"),
            ("a \"b \\\"  c\" d", "a \"b \\\"  c\" d"),
            ("\\\"//x", "\\\""),
            ("a\n \n\t\tb", "a\n\nb"),
            ("  a", " a"),
            ("a \x0b b\x0c\x0c", "a \x0bb\x0c\x0c"),
            ("a/*/b*/c", "ab*/c"),
            ("a/**/b", "ab"),
            ("a /* open", "a "),
            ("a / b  /", "a / b /"),
            ("\"open  ", "\"open  "),
        ];
        for (text, expected) in cases {
            assert_eq!(String::from_utf8(minify(text.as_bytes())).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn reads_versions_as_fatbinary_does() {
        let cases = [
            (".version 8.8", Some((8, 8))),
            ("// .version 1.2\n.version 8.8", Some((1, 2))),
            (".version\n\x0b 9.10", Some((9, 1))),
            ("x.version.3", Some((0, 3))),
            (".version 65537.7", Some((1, 7))),
            (".version 99999999999999999999.1", Some((65535, 1))),
            (".versionx 3.3 .version 4.4", None),
            (".version 3. 4", None),
            (".version /**/ 3.3", None),
            ("a\0.version 3.3", None),
            (".version", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(version(text.as_bytes()), expected, "{text:?}");
        }
    }
}
