//! The words of a text.

use std::iter::{Copied, Peekable};
use std::slice::Iter;

use super::dialect::{Dialect, Escapes, Nul, OpenEnd, Removal};

/// A quote or an escape at the end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unterminated {
    /// A backslash.
    Backslash,
    /// A quote.
    Quote,
}

/// Splits a text into words.
pub fn split(text: &[u8], dialect: &Dialect) -> Result<Vec<Vec<u8>>, Unterminated> {
    let end = if dialect.nul == Nul::EndsText { nul_or_end(text) } else { text.len() };
    let (text, _) = text.split_at(end);
    let mut splitter = Splitter { dialect, bytes: text.iter().copied().peekable(), word: None, words: Vec::new() };
    splitter.run()?;
    Ok(splitter.words)
}

/// Offset of the first NUL, or of the end.
fn nul_or_end(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == 0).unwrap_or(text.len())
}

struct Splitter<'a> {
    dialect: &'a Dialect,
    bytes: Peekable<Copied<Iter<'a, u8>>>,
    /// The word so far; `None` between words.
    word: Option<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Splitter<'_> {
    fn run(&mut self) -> Result<(), Unterminated> {
        let mut quote = None;
        while let Some(byte) = self.bytes.next() {
            match byte {
                b'\\' => self.backslash()?,
                _ if quote == Some(byte) => {
                    let is_doubled = self.dialect.escapes == Escapes::Quotes && self.bytes.next_if_eq(&byte).is_some();
                    if is_doubled {
                        self.push(byte);
                    } else {
                        quote = None;
                        self.quote(byte);
                    }
                }
                _ if quote.is_none() && self.dialect.quotes.contains(&byte) => {
                    quote = Some(byte);
                    self.quote(byte);
                }
                _ if quote.is_none() && self.dialect.spaces.contains(&byte) => self.end_word(),
                _ => self.push(byte),
            }
        }
        if quote.is_some() && self.dialect.open_end == OpenEnd::Refused {
            return Err(Unterminated::Quote);
        }
        self.end_word();
        Ok(())
    }

    fn push(&mut self, byte: u8) {
        self.word.get_or_insert_default().push(byte);
    }

    /// Begins or ends a quoted part.
    fn quote(&mut self, quote: u8) {
        let word = self.word.get_or_insert_default();
        if self.dialect.removal == Removal::FromWords {
            word.push(quote);
        }
    }

    /// Reads what follows a backslash.
    fn backslash(&mut self) -> Result<(), Unterminated> {
        if self.dialect.escapes == Escapes::Quotes {
            self.backslashes();
            return Ok(());
        }
        self.word.get_or_insert_default();
        match (self.bytes.next(), self.dialect.open_end) {
            (Some(escaped), _) => self.push(escaped),
            (None, OpenEnd::KeepsBackslash) => self.push(b'\\'),
            (None, OpenEnd::DropsBackslash) => {}
            (None, OpenEnd::Refused) => return Err(Unterminated::Backslash),
        }
        Ok(())
    }

    /// Reads the rest of a run of backslashes, which count only before a quote.
    fn backslashes(&mut self) {
        let mut count = 1;
        while self.bytes.next_if_eq(&b'\\').is_some() {
            count += 1;
        }
        let quote = self.bytes.peek().copied().filter(|next| self.dialect.quotes.contains(next));
        let kept = if quote.is_some() { count / 2 } else { count };
        self.word.get_or_insert_default().extend(std::iter::repeat_n(b'\\', kept));
        if quote.is_some() && count % 2 == 1 {
            self.word.get_or_insert_default().extend(self.bytes.next());
        }
    }

    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else { return };
        if word.is_empty() && !self.dialect.keeps_empty {
            return;
        }
        if self.dialect.removal == Removal::FromWords {
            word = without_quotes(&word, self.dialect.quotes);
        }
        word.truncate(nul_or_end(&word));
        self.words.push(word);
    }
}

/// Removes the quotes that do not follow a backslash.
fn without_quotes(word: &[u8], quotes: &[u8]) -> Vec<u8> {
    let mut previous = 0;
    let is_kept = |byte: &&u8| {
        let is_kept = !quotes.contains(byte) || previous == b'\\';
        previous = **byte;
        is_kept
    };
    word.iter().filter(is_kept).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::super::dialect::{GNU, LLVM, LLVM_WINDOWS, MOLD, NVIDIA};
    use super::*;

    /// A text, and its words for GNU's programs, LLVM's programs, and LLVM's programs for Windows: read by GNU ld 2.40,
    /// gold 1.16, GCC 12, lld 19, clang 19, lld-link 19 and clang-cl 19.
    type Case = (&'static [u8], &'static [&'static str], &'static [&'static str], &'static [&'static str]);

    const CASES: [Case; 30] = [
        (b"", &[], &[], &[]),
        (b" a\tb\r\nc\n", &["a", "b", "c"], &["a", "b", "c"], &["a", "b", "c"]),
        (b"a\x0bb\x0cc", &["a", "b", "c"], &["a\x0bb\x0cc"], &["a\x0bb\x0cc"]),
        (b"a\0b c", &["a"], &["a", "c"], &["a", "b", "c"]),
        (b"a \0c d", &["a"], &["a", "", "d"], &["a", "c", "d"]),
        (br"'c\d.o'", &["cd.o"], &["cd.o"], &[r"'c\d.o'"]),
        (br#""c\d""#, &["cd"], &["cd"], &[r"c\d"]),
        (br"c\d", &["cd"], &["cd"], &[r"c\d"]),
        (br"c\\d", &[r"c\d"], &[r"c\d"], &[r"c\\d"]),
        (br"'c\\d'", &[r"c\d"], &[r"c\d"], &[r"'c\\d'"]),
        (br#""c\\d""#, &[r"c\d"], &[r"c\d"], &[r"c\\d"]),
        (br"'it\'s'", &["it's"], &["it's"], &[r"'it\'s'"]),
        (br#""q\"r""#, &["q\"r"], &["q\"r"], &["q\"r"]),
        (br#"x"y z"w"#, &["xy zw"], &["xy zw"], &["xy zw"]),
        (b"x'y z'w", &["xy zw"], &["xy zw"], &["x'y", "z'w"]),
        (br"a\ b", &["a b"], &["a b"], &["a\\", "b"]),
        (b"\"\" b", &["", "b"], &["b"], &["", "b"]),
        (b"'' b", &["", "b"], &["b"], &["''", "b"]),
        (b"\"u\"\"v\"", &["uv"], &["uv"], &["u\"v"]),
        (b"\"p\"\"\" q", &["p", "q"], &["p", "q"], &["p\"", "q"]),
        (br#""a\\" b"#, &["a\\", "b"], &["a\\", "b"], &["a\\", "b"]),
        (br#""a\\\" b""#, &["a\\\" b"], &["a\\\" b"], &["a\\\" b"]),
        (br"a\", &["a"], &["a\\"], &["a\\"]),
        (b"\"open q", &["open q"], &["open q"], &["open q"]),
        (b"'open q", &["open q"], &["open q"], &["'open", "q"]),
        (b"a\\\nb", &["a\nb"], &["a\nb"], &["a\\", "b"]),
        (b"'a\\\nb'", &["a\nb"], &["a\nb"], &["'a\\", "b'"]),
        (b"# x\n; y", &["#", "x", ";", "y"], &["#", "x", ";", "y"], &["#", "x", ";", "y"]),
        (br#"\"a b\""#, &["\"a", "b\""], &["\"a", "b\""], &["\"a", "b\""]),
        (br"\\srv\x", &["\\srvx"], &["\\srvx"], &[r"\\srv\x"]),
    ];

    fn words(text: &[u8], dialect: &Dialect) -> Vec<String> {
        split(text, dialect).unwrap().into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn texts_have_the_words_that_the_programs_read() {
        for (text, gnu, llvm, windows) in CASES {
            let read = [&GNU, &LLVM, &LLVM_WINDOWS].map(|dialect| words(text, dialect));
            assert_eq!(read, [gnu, llvm, windows], "{}", text.escape_ascii());
            if let Ok(read) = split(text, &MOLD).map(|_| words(text, &MOLD)) {
                let is_gnu = read == gnu || text.contains(&0);
                assert!(is_gnu, "{}: {read:?}", text.escape_ascii());
            }
        }
        for text in [&b"\"open"[..], b"'open", b"a\\"] {
            split(text, &MOLD).unwrap_err();
        }
    }

    /// The values that fatbinary 13.5 stores for `--ident` in an option file.
    #[test]
    fn option_files_have_the_words_that_fatbinary_reads() {
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
        for (text, expected) in cases {
            assert_eq!(words(text, &NVIDIA), expected, "{}", text.escape_ascii());
        }
        assert_eq!(split(b"a \"b", &NVIDIA), Err(Unterminated::Quote));
        assert_eq!(split(b"a\\", &NVIDIA), Err(Unterminated::Backslash));
    }
}
