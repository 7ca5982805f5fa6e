//! The start of a PTX kernel, up to the first instruction with an effect.

use super::lexer::Token;
use crate::image::kernel::Stub;

/// What the tokens of a body mean so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BodyStart<'text> {
    /// A statement starts.
    #[default]
    Start,
    /// A word that is a label or an instruction.
    Word(&'text str),
    /// A statement without effect has not ended.
    NoEffect,
    /// The kernel ends, or traps.
    Ends(Stub),
    /// It has an effect, or branches.
    Body,
}

impl<'text> BodyStart<'text> {
    /// Continues with a token of the body.
    pub fn take(&mut self, token: Token<'text>) {
        *self = match (*self, token) {
            (BodyStart::Start, Token::Word(word)) => BodyStart::of_first(word),
            (BodyStart::Start, Token::Punctuation('{' | '}' | ';')) => BodyStart::Start,
            (BodyStart::Word(_), Token::Punctuation(':')) => BodyStart::Start,
            (BodyStart::Word("ret" | "exit" | "ret.uni"), Token::Punctuation(';')) => BodyStart::Ends(Stub::Exit),
            (BodyStart::Word("trap" | "brkpt"), Token::Punctuation(';')) => BodyStart::Ends(Stub::Trap),
            (BodyStart::Word(word), Token::Word(_) | Token::Punctuation('{')) if is_without_effect(word) => {
                BodyStart::NoEffect
            }
            (BodyStart::NoEffect, Token::Punctuation(';')) => BodyStart::Start,
            (BodyStart::NoEffect, _) => BodyStart::NoEffect,
            (BodyStart::Ends(stub), _) => BodyStart::Ends(stub),
            (BodyStart::Start | BodyStart::Word(_) | BodyStart::Body, _) => BodyStart::Body,
        };
    }

    fn of_first(word: &'text str) -> Self {
        match word {
            // The numbers of a line follow, without a semicolon.
            ".loc" => BodyStart::Start,
            _ if word.starts_with(|first: char| first.is_ascii_digit()) => BodyStart::Start,
            // Only a body has variables in shared memory, and their reader takes the semicolon.
            ".shared" => BodyStart::Body,
            _ if word.starts_with('.') => BodyStart::NoEffect,
            _ => BodyStart::Word(word),
        }
    }

    /// Returns what the kernel does, after its closing brace.
    pub fn stub(self) -> Option<Stub> {
        match self {
            BodyStart::Start => Some(Stub::Exit),
            BodyStart::Ends(stub) => Some(stub),
            BodyStart::Word(_) | BodyStart::NoEffect | BodyStart::Body => None,
        }
    }
}

/// Returns whether an instruction only fills registers. Unoptimized code reads all parameters first.
fn is_without_effect(instruction: &str) -> bool {
    ["mov.", "cvta.", "ld.param."].iter().any(|start| instruction.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::super::lexer::Lexer;
    use super::*;

    #[test]
    fn bodies_that_only_end_or_trap() {
        let cases = [
            ("ret; }", Some(Stub::Exit)),
            ("}", Some(Stub::Exit)),
            ("{ exit; } }", Some(Stub::Exit)),
            (".reg .b64 %rd<3>;\n.loc 1 2 0\n$L__BB0_1:\nld.param.u64 %rd1, [p]; mov.u64 %rd2, %rd1; trap; exit; }", {
                Some(Stub::Trap)
            }),
            ("st.global.u32 [%rd1], 0; ret; }", None),
            ("@%p1 trap; ret; }", None),
            ("bra $L; ret; }", None),
            ("ret", None),
            ("mov.u32 %r1, %tid.x; bar.sync 0; ret; }", None),
        ];
        for (text, expected) in cases {
            let mut start = BodyStart::default();
            Lexer::new(text).for_each(|token| start.take(token));
            assert_eq!(start.stub(), expected, "{text}");
        }
    }
}
