//! PTX: kernels by their directives.
//!
//! The number of registers and the size of local memory are determined when PTX is compiled; directives state only
//! limits for the compiler. Shared memory is the size of the variables in the kernel and in the functions that it
//! calls. Source: NVIDIA, PTX ISA, sections Directives and Performance-Tuning Directives.

mod bodies;
mod function;
mod lexer;
mod shared;
mod stub;
mod variable;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::debug::{DebugInfo, DebugLevel};
use super::kernel::{Kernel, LocatedKernel, SourceLine};
use super::{Inspection, charge_kernel};
use crate::base::bytes::{NameMap, View};
use crate::base::error::Malformed;
use crate::base::range::offset_from;
use crate::format::ptx::{is_section_line, is_source_line};
use crate::format::{self, ImageKind};
pub use bodies::bodies;
use function::PtxFunction;
use lexer::{Lexer, Token};
use shared::SharedMemory;
use variable::{Tokens, Variable};

/// Number of threads in lockstep. PTX defines it as `WARP_SZ`, with value 32.
const WARP_SIZE: u64 = 32;

/// Returns the lines with source locations, and everything from the first section on: debug information.
pub fn debug_lines(text: &[u8]) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let end = offset_from(start, line.len() as u64);
        if is_section_line(line) {
            ranges.push(start..text.len() as u64);
            break;
        }
        if is_source_line(line) {
            ranges.push(start..end);
        }
        start = end;
    }
    ranges
}

/// Inspects PTX text.
pub fn inspect(view: View<'_>) -> Inspection {
    // Unlike the conversion with replacements, the check of UTF-8 skips ASCII in words.
    let text = str::from_utf8(view.data()).map_or_else(|_| String::from_utf8_lossy(view.data()), Cow::Borrowed);
    let module = PtxModule::read(&text);
    let level = match (module.has_debug_section, module.has_lines) {
        (true, _) => DebugLevel::Full,
        (false, true) => DebugLevel::Lines,
        (false, false) => DebugLevel::None,
    };
    let mut shared = SharedMemory::new(&module.functions, &module.shared);
    let entries = module.functions.iter().enumerate().filter(|(_, function)| function.is_entry);
    let kernels = entries.map_while(|(index, function)| {
        let shared = shared.size(view, index).ok()?;
        module.kernel(view, function, shared).ok()
    });
    let found = kernels.map(|kernel| LocatedKernel { kernel, entry: None }).collect();
    let problems = format::check_image(ImageKind::Ptx, view).err().into_iter().collect();
    Inspection::from_kernels(view, found, DebugInfo { level, units: Vec::new() }, problems)
}

/// Declarations in a PTX module.
#[derive(Default)]
struct PtxModule<'text> {
    functions: Vec<PtxFunction<'text>>,
    /// Variables in shared memory outside of functions.
    shared: NameMap<&'text str, Variable<'text>>,
    /// Source files, by number.
    files: HashMap<u64, &'text str>,
    has_lines: bool,
    has_debug_section: bool,
}

impl<'text> PtxModule<'text> {
    fn read(text: &'text str) -> Self {
        let mut module = PtxModule::default();
        let mut tokens = Lexer::new(text).peekable();
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(".entry") => module.function(true, &mut tokens),
                Token::Word(".func") => module.function(false, &mut tokens),
                Token::Word(".shared") => {
                    let variables = variable::variables(&mut tokens);
                    module.shared.extend(variables.into_iter().map(|variable| (variable.name, variable)));
                }
                Token::Word(".file") => module.file(&mut tokens),
                Token::Word(".section") => {
                    module.has_debug_section |= tokens.peek() == Some(&Token::Word(".debug_info"));
                }
                _ => {}
            }
        }
        module
    }

    fn function(&mut self, is_entry: bool, tokens: &mut Tokens<'text>) {
        if let Some(function) = function::read(is_entry, tokens) {
            self.has_lines |= function.location.is_some();
            // A declaration without a body adds nothing to its definition.
            if function.has_body {
                self.functions.push(function);
            }
        }
    }

    /// Reads `.file NUMBER "NAME"`.
    fn file(&mut self, tokens: &mut Tokens<'text>) {
        let index = function::next_number(tokens);
        if let (Some(index), Some(&Token::Quoted(name))) = (index, tokens.peek()) {
            self.files.entry(index).or_insert(name);
        }
    }

    fn kernel(&self, view: View<'_>, function: &PtxFunction<'text>, shared: Option<u64>) -> Result<Kernel, Malformed> {
        let (parameters, parameter_size) = function.parameters();
        let located = function.location.and_then(|(file, line)| Some((self.files.get(&file)?, line)));
        let product = |dimensions: [u64; 3]| dimensions.iter().try_fold(1_u64, |all, &one| all.checked_mul(one));
        let file_size = located.map_or(0, |(file, _)| file.len());
        charge_kernel(view, [function.name.len(), file_size], parameters.len())?;
        Ok(Kernel {
            name: function.name.to_owned(),
            max_registers: function.max_registers,
            shared,
            parameters,
            parameter_size,
            wave_size: Some(WARP_SIZE),
            max_threads: function.max_threads.and_then(product),
            required_threads: function.required_threads,
            min_blocks: function.min_blocks,
            stub: function.stub,
            source: located.map(|(file, line)| SourceLine { file: (*file).to_owned(), line }),
            ..Default::default()
        })
    }
}

#[cfg(test)]
mod tests;
