//! PTX functions: parameters, directives and the names used in the body.

use std::collections::HashSet;
use std::ops::Range;

use super::lexer::Token;
use super::stub::BodyStart;
use super::variable::{Tokens, Variable, number, place, variables};
use crate::base::brackets::Brackets;
use crate::base::bytes::NameState;
use crate::image::kernel::Parameter;
use crate::image::kernel::Stub;

/// An `.entry` or a `.func`.
#[derive(Debug, Default)]
pub struct PtxFunction<'text> {
    pub name: &'text str,
    pub is_entry: bool,
    pub has_body: bool,
    own_parameters: Vec<Variable<'text>>,
    pub max_threads: Option<[u64; 3]>,
    pub required_threads: Option<[u64; 3]>,
    pub min_blocks: Option<u64>,
    pub max_registers: Option<u64>,
    /// Variables of shared memory in the body.
    pub shared: Vec<Variable<'text>>,
    /// All words in the body that may be the name of a function or variable.
    pub names: HashSet<&'text str, NameState>,
    /// What it does, if it has no body.
    pub stub: Option<Stub>,
    /// File number and line of the first instruction with a line.
    pub location: Option<(u64, u64)>,
}

impl PtxFunction<'_> {
    /// Parameters with their offsets, and their total size. Without a total, a size exceeds 64 bits; the parameters
    /// before it are listed.
    pub fn parameters(&self) -> (Vec<Parameter>, Option<u64>) {
        let mut end = Some(0);
        let parameters = self.own_parameters.iter().map_while(|variable| {
            let place = place(end?, variable);
            end = place.as_ref().map(|place| place.end);
            let Range { start, end } = place?;
            let size = end.checked_sub(start)?;
            Some(Parameter { name: Some(variable.name.to_owned()), offset: start, size })
        });
        (parameters.collect(), end)
    }
}

/// Parses a function after `.entry` or `.func`, up to the end of its body, or up to the semicolon of a declaration.
pub fn read<'text>(is_entry: bool, tokens: &mut Tokens<'text>) -> Option<PtxFunction<'text>> {
    let mut function = PtxFunction { is_entry, ..Default::default() };
    // The result of a function precedes its name.
    if tokens.peek() == Some(&Token::Punctuation('(')) {
        parameters(tokens);
    }
    while let Some(&Token::Word(word)) = tokens.peek() {
        tokens.next();
        // Attributes may precede the name too.
        if !word.starts_with('.') {
            function.name = word;
            break;
        }
    }
    if tokens.peek() == Some(&Token::Punctuation('(')) {
        function.own_parameters = parameters(tokens);
    }
    directives(&mut function, tokens);
    if tokens.next_if_eq(&Token::Punctuation('{')).is_some() {
        function.has_body = true;
        body(&mut function, tokens);
    }
    (!function.name.is_empty()).then_some(function)
}

/// Parses the declarations between parentheses.
fn parameters<'text>(tokens: &mut Tokens<'text>) -> Vec<Variable<'text>> {
    let mut parameters = Vec::new();
    while let Some(token) = tokens.next_if(|token| *token != Token::Punctuation(')')) {
        if token == Token::Word(".param") {
            parameters.extend(variables(tokens));
        }
    }
    tokens.next();
    parameters
}

/// Parses the directives between the parameters and the body.
fn directives(function: &mut PtxFunction<'_>, tokens: &mut Tokens<'_>) {
    while let Some(&token) = tokens.peek() {
        match token {
            Token::Word(".maxntid") => function.max_threads = dimensions(tokens),
            Token::Word(".reqntid") => function.required_threads = dimensions(tokens),
            Token::Word(".minnctapersm") => function.min_blocks = number_after_directive(tokens),
            Token::Word(".maxnreg") => function.max_registers = number_after_directive(tokens),
            // The only directive that ends with a semicolon.
            Token::Word(".pragma") => while tokens.next().is_some_and(|token| token != Token::Punctuation(';')) {},
            Token::Punctuation('{' | ';') => return,
            _ => {
                tokens.next();
            }
        }
    }
}

fn number_after_directive(tokens: &mut Tokens<'_>) -> Option<u64> {
    tokens.next();
    next_number(tokens)
}

/// Parses a number, if one is next.
pub fn next_number(tokens: &mut Tokens<'_>) -> Option<u64> {
    let Some(&Token::Word(word)) = tokens.peek() else { return None };
    let value = number(word)?;
    tokens.next();
    Some(value)
}

/// Parses up to three numbers. Missing numbers are 1.
fn dimensions(tokens: &mut Tokens<'_>) -> Option<[u64; 3]> {
    let mut dimensions = [number_after_directive(tokens)?, 1, 1];
    for dimension in &mut dimensions[1..] {
        if tokens.next_if_eq(&Token::Punctuation(',')).is_none() {
            break;
        }
        *dimension = next_number(tokens)?;
    }
    Some(dimensions)
}

fn body<'text>(function: &mut PtxFunction<'text>, tokens: &mut Tokens<'text>) {
    // Blocks inside the body.
    let mut blocks = Brackets::default();
    let mut start = BodyStart::default();
    while let Some(token) = tokens.next() {
        start.take(token);
        match token {
            Token::Punctuation('{') => blocks.open(),
            Token::Punctuation('}') if !blocks.is_open() => {
                function.stub = start.stub();
                return;
            }
            Token::Punctuation('}') => blocks.close(),
            Token::Word(".shared") => function.shared.extend(variables(tokens)),
            Token::Word(".loc") => {
                let file = next_number(tokens);
                let line = next_number(tokens).filter(|&line| line > 0);
                function.location = function.location.or(file.zip(line));
            }
            // Registers begin with a percent sign, and instructions have dots.
            Token::Word(word) if is_name(word) => {
                function.names.insert(word);
            }
            _ => {}
        }
    }
}

fn is_name(word: &str) -> bool {
    !word.starts_with(|first: char| matches!(first, '0'..='9' | '%' | '.')) && !word.as_bytes().contains(&b'.')
}
