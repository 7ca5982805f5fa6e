//! Words of command lines that a person pastes into a shell.

/// Returns a word, in quotes where a shell needs them.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let cases =
            [("lib/a-1.so", "lib/a-1.so"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''"), ("$x", "'$x'")];
        for (word, expected) in cases {
            assert_eq!(quoted(word), expected, "{word}");
        }
    }
}
