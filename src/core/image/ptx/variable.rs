//! Declarations of variables and parameters, and their sizes.
//!
//! Source: NVIDIA, PTX ISA, sections State Spaces, Types, and Variables; Kernel PtxFunction Parameter Attribute `.ptr`.

use std::iter::Peekable;
use std::ops::Range;

use super::lexer::{Lexer, Token};

/// Tokens of a text.
pub type Tokens<'text> = Peekable<Lexer<'text>>;

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable<'text> {
    pub name: &'text str,
    /// 0 if the launch determines it; `None` if it exceeds 64 bits.
    pub size: Option<u64>,
    pub alignment: u64,
}

/// Sizes of the fundamental types. Textures, samplers and surfaces take no space in the parameter memory, as
/// `EIATTR_CBANK_PARAM_SIZE` of the cubin shows.
const TYPES: [(&str, u64); 25] = [
    (".b8", 1),
    (".u8", 1),
    (".s8", 1),
    (".b16", 2),
    (".u16", 2),
    (".s16", 2),
    (".f16", 2),
    (".bf16", 2),
    (".b32", 4),
    (".u32", 4),
    (".s32", 4),
    (".f32", 4),
    (".f16x2", 4),
    (".bf16x2", 4),
    (".b64", 8),
    (".u64", 8),
    (".s64", 8),
    (".f64", 8),
    (".f32x2", 8),
    (".b128", 16),
    (".e4m3", 1),
    (".e5m2", 1),
    (".texref", 0),
    (".samplerref", 0),
    (".surfref", 0),
];

const VECTORS: [(&str, u64); 3] = [(".v2", 2), (".v4", 4), (".v8", 8)];

fn value_of(table: &[(&str, u64)], word: &str) -> Option<u64> {
    table.iter().find(|(name, _)| *name == word).map(|&(_, value)| value)
}

/// Parses a PTX number: decimal or hexadecimal, optionally with the suffix `U` for unsigned.
pub fn number(word: &str) -> Option<u64> {
    let word = word.strip_suffix('U').unwrap_or(word);
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Parses the variables after a state space (`.shared`, `.param`): one, or several of one type separated by commas.
/// Leaves the punctuation after them.
pub fn variables<'text>(tokens: &mut Tokens<'text>) -> Vec<Variable<'text>> {
    let mut element = 0;
    let mut lanes = 1;
    let mut own_alignment = None;
    let mut aligns_pointee = false;
    while let Some(Token::Word(word)) =
        tokens.next_if(|token| matches!(token, Token::Word(word) if word.starts_with('.')))
    {
        match word {
            ".align" => {
                let alignment = next_word(tokens).and_then(number);
                own_alignment = if aligns_pointee { own_alignment } else { alignment };
            }
            ".ptr" => aligns_pointee = true,
            _ => {
                element = value_of(&TYPES, word).unwrap_or(element);
                lanes = value_of(&VECTORS, word).unwrap_or(lanes);
            }
        }
    }
    // Numbers of the tables above.
    let element_size: u64 = [element, lanes].iter().product();
    let mut variables = Vec::new();
    while let Some(name) = next_word(tokens) {
        let size = dimensions(tokens).try_fold(element_size, u64::checked_mul);
        variables.push(Variable { name, size, alignment: own_alignment.unwrap_or(element_size) });
        if tokens.next_if_eq(&Token::Punctuation(',')).is_none() {
            break;
        }
    }
    variables
}

/// Takes the next token if it is a word but not a directive.
fn next_word<'text>(tokens: &mut Tokens<'text>) -> Option<&'text str> {
    match tokens.next_if(|token| matches!(token, Token::Word(word) if !word.starts_with('.')))? {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

/// Parses the counts in brackets. An empty pair of brackets counts as 0.
fn dimensions(tokens: &mut Tokens<'_>) -> impl Iterator<Item = u64> {
    std::iter::from_fn(|| {
        tokens.next_if_eq(&Token::Punctuation('['))?;
        let count = next_word(tokens).and_then(number).unwrap_or(0);
        tokens.next_if_eq(&Token::Punctuation(']'));
        Some(count)
    })
}

/// Bytes of a variable after `end` bytes of other variables; `None` beyond 64 bits.
pub fn place(end: u64, variable: &Variable<'_>) -> Option<Range<u64>> {
    let alignment = if variable.alignment.is_power_of_two() { variable.alignment } else { 1 };
    let start = end.checked_next_multiple_of(alignment)?;
    Some(start..start.checked_add(variable.size?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(&str, u64, u64)> {
        let variables = variables(&mut Lexer::new(text).peekable());
        variables.first().map(|it| (it.name, it.size.unwrap(), it.alignment))
    }

    #[test]
    fn reads_size_and_alignment() {
        assert_eq!(read(".u64 k_param_0,"), Some(("k_param_0", 8, 8)));
        assert_eq!(read(".align 16 .b8 table[4][0x10];"), Some(("table", 64, 16)));
        assert_eq!(read(".u64 .ptr .global .align 16 out)"), Some(("out", 8, 8)));
        assert_eq!(read(".align 4 .b8 dynamic[];"), Some(("dynamic", 0, 4)));
        assert_eq!(read(".v4 .f32 four;"), Some(("four", 16, 16)));
        assert_eq!(read(");"), None);
        let several = variables(&mut Lexer::new(".b32 a, b[3], c;").peekable());
        assert_eq!(
            several.iter().map(|it| (it.name, it.size)).collect::<Vec<_>>(),
            [("a", Some(4)), ("b", Some(12)), ("c", Some(4))]
        );
    }

    #[test]
    fn huge_sizes_are_unknown() {
        let huge = &variables(&mut Lexer::new(".b64 x[0xffffffffffffffff][99];").peekable())[0];
        assert_eq!((huge.size, place(0, huge)), (None, None));
        assert_eq!(place(u64::MAX, &Variable { name: "x", size: Some(1), alignment: 16 }), None);
        assert_eq!(place(u64::MAX, &Variable { name: "x", size: Some(1), alignment: 1 }), None);
        assert_eq!(place(5, &Variable { name: "x", size: Some(1), alignment: 3 }), Some(5..6));
    }
}
