//! The text of each kernel in PTX.

use std::ops::Range;

use super::lexer::{Lexer, Token};
use crate::base::brackets::Brackets;
use crate::base::bytes::offset_of_rest;

/// Name of each kernel with a body, and the range of its text from `.entry` to the closing brace of the body.
pub fn bodies(text: &str) -> Vec<(&str, Range<usize>)> {
    let mut bodies = Vec::new();
    let mut lexer = Lexer::new(text);
    while let Some(token) = lexer.next() {
        if token == Token::Word(ENTRY)
            && let Some(before) = text.get(..position(text, &lexer)).and_then(|read| read.strip_suffix(ENTRY))
            && let Some(name) = entry(&mut lexer)
        {
            bodies.push((name, before.len()..position(text, &lexer)));
        }
    }
    bodies
}

/// Directive at the start of a kernel.
const ENTRY: &str = ".entry";

/// Offset of the text after the last token.
fn position(text: &str, lexer: &Lexer<'_>) -> usize {
    offset_of_rest(text, lexer.rest())
}

/// Reads a kernel after `.entry`, up to the end of its body. Returns its name; `None` for a declaration.
fn entry<'text>(lexer: &mut Lexer<'text>) -> Option<&'text str> {
    let mut name = None;
    let mut blocks = Brackets::default();
    let mut is_after_text = false;
    for token in lexer {
        match token {
            Token::Word(word) if name.is_none() && !word.starts_with('.') => name = Some(word),
            Token::Punctuation('{') => blocks.open(),
            Token::Punctuation('}') => {
                blocks.close();
                if !blocks.is_open() {
                    return name;
                }
            }
            // `.pragma` is the only directive that ends with a semicolon. Its operands are strings.
            Token::Punctuation(';') if !blocks.is_open() && !is_after_text => return None,
            _ => {}
        }
        is_after_text = matches!(token, Token::Quoted(_));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_text_of_each_kernel() {
        let text = ".version 8.0\n.visible .entry f(.param .u64 f_param_0)\n{\n{ ret; }\n}\n.func g() { ret; }\n\
                    .entry declared();\n.entry h() .pragma \"nounroll\"; // {\n{ ret; }";
        let found: Vec<_> = bodies(text).into_iter().map(|(name, range)| (name, &text[range])).collect();
        let expected = [
            ("f", ".entry f(.param .u64 f_param_0)\n{\n{ ret; }\n}"),
            ("h", ".entry h() .pragma \"nounroll\"; // {\n{ ret; }"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_kernel_whose_body_does_not_end_has_no_text() {
        assert_eq!(bodies(".entry f() { ret;"), []);
        assert_eq!(bodies(".entry"), []);
    }
}
