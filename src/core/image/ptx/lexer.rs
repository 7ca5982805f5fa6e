//! Lexer for PTX.
//!
//! An instruction is one word, including its dots and suffixes. Directives need no space between them: `.param.u64` is
//! two words. Comments are skipped. Source: NVIDIA, PTX ISA, section Syntax; ptxas 13.5.

use crate::format::ptx::{BLANK, WORD, is_of};

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'text> {
    /// A directive, an instruction, a name or a number.
    Word(&'text str),
    /// Text between quotation marks.
    Quoted(&'text str),
    /// Any other character except spaces.
    Punctuation(char),
}

/// Returns whether a byte is part of the name of a directive.
fn is_in_directive(byte: u8) -> bool {
    byte != b'.' && is_of(byte, WORD)
}

/// Iterator over the tokens of a text.
#[derive(Debug, Clone)]
pub struct Lexer<'text> {
    rest: &'text str,
}

impl<'text> Lexer<'text> {
    /// Creates a lexer for this text.
    pub fn new(text: &'text str) -> Self {
        Lexer { rest: text }
    }

    /// Text after the last token.
    pub fn rest(&self) -> &'text str {
        self.rest
    }

    /// Takes the first `count` bytes off the rest.
    fn take(&mut self, count: usize) -> &'text str {
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    /// Takes the bytes of a kind of ASCII characters at the start of the rest.
    fn take_all(&mut self, kind: u8) -> &'text str {
        self.take(self.rest.bytes().position(|byte| !is_of(byte, kind)).unwrap_or(self.rest.len()))
    }

    fn skip_space_and_comments(&mut self) {
        loop {
            self.take_all(BLANK);
            let after = if let Some(comment) = self.rest.strip_prefix("//") {
                comment.split_once('\n')
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                comment.split_once("*/")
            } else {
                return;
            };
            self.rest = after.map_or("", |(_, rest)| rest);
        }
    }
}

impl<'text> Iterator for Lexer<'text> {
    type Item = Token<'text>;

    fn next(&mut self) -> Option<Token<'text>> {
        self.skip_space_and_comments();
        let directive =
            self.rest.strip_prefix('.').and_then(|name| name.bytes().position(|byte| !is_in_directive(byte)));
        let word = match directive {
            Some(end @ 1..) => self.take(end.saturating_add(1)),
            _ => self.take_all(WORD),
        };
        if !word.is_empty() {
            return Some(Token::Word(word));
        }
        let first = self.rest.chars().next()?;
        self.take(first.len_utf8());
        if first != '"' {
            return Some(Token::Punctuation(first));
        }
        let end = self.rest.find('"').unwrap_or(self.rest.len());
        let quoted = self.take(end);
        self.take(self.rest.len().min(1));
        Some(Token::Quoted(quoted))
    }
}

#[cfg(test)]
mod tests {
    use super::Token::{Punctuation, Quoted, Word};
    use super::*;

    #[test]
    fn skips_comments_and_keeps_suffixes() {
        let text = ".file 1 \"a b.cu\" // .entry no(\n/* .entry\n no( */ld.param.u64 %rd1, [k_param_0];";
        let words = [
            Word(".file"),
            Word("1"),
            Quoted("a b.cu"),
            Word("ld.param.u64"),
            Word("%rd1"),
            Punctuation(','),
            Punctuation('['),
            Word("k_param_0"),
            Punctuation(']'),
            Punctuation(';'),
        ];
        assert_eq!(Lexer::new(text).collect::<Vec<_>>(), words);
    }

    #[test]
    fn directives_need_no_space() {
        let text = ".visible.entry k(.param.align 8 .b8 p[4]){.reg.b32 r;ld.param.u64 %rd1;..x .";
        let words: Vec<&str> = Lexer::new(text)
            .filter_map(|token| match token {
                Word(word) => Some(word),
                _ => None,
            })
            .collect();
        let expected = ".visible .entry k .param .align 8 .b8 p 4 .reg .b32 r ld.param.u64 %rd1 ..x .";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn the_start_of_a_comment_does_not_end_it() {
        assert_eq!(Lexer::new("/*/ .entry */ ret").collect::<Vec<_>>(), [Word("ret")]);
    }

    #[test]
    fn unterminated_tokens_end_with_the_text() {
        for text in ["\"", "\"abc", "/*", "/* x", "//", "é\"", "", " \n"] {
            assert!(Lexer::new(text).count() <= 2, "{text:?}");
        }
    }
}
