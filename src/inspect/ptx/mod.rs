//! PTX: kernels by their directives.
//!
//! The numbers of registers and the size of local memory are determined when PTX is compiled; directives state only limits
//! for the compiler. Shared memory is the size of the variables in the kernel and in the functions that it calls. Source: NVIDIA, PTX ISA, sections Directives and Performance-Tuning Directives.

mod bodies;
mod function;
mod lexer;
mod variable;

use std::collections::{HashMap, HashSet};

use super::debug::{DebugInfo, DebugLevel};
use super::kernel::{Kernel, LocatedKernel, SourceLine};
use super::{Inspection, charge_kernel};
use crate::bytes::{Resource, View};
use crate::error::Malformed;
use crate::format::{self, ImageKind};
pub use bodies::bodies;
use function::PtxFunction;
use lexer::{Lexer, Token};
use variable::{Tokens, Variable, place};

/// Number of threads in lockstep; PTX defines it as `WARP_SZ`, with value 32.
const WARP_SIZE: u64 = 32;

/// Steps of work for looking up a name among the functions and variables.
const NAME_WORK: u64 = 4;

/// Inspects PTX text.
pub fn inspect(view: View<'_>) -> Inspection {
    let text = String::from_utf8_lossy(view.data());
    let module = PtxModule::read(&text);
    let level = if module.has_debug_section {
        DebugLevel::Full
    } else if module.has_lines {
        DebugLevel::Lines
    } else {
        DebugLevel::None
    };
    let entries = module.functions.iter().filter(|function| function.is_entry);
    let kernels = entries.map_while(|function| module.kernel(view, function).ok());
    let found = kernels.map(|kernel| LocatedKernel { kernel, entry: None }).collect();
    let problems = format::check_image(ImageKind::Ptx, view).err().into_iter().collect();
    Inspection::from_kernels(view, found, DebugInfo { level, units: Vec::new() }, problems)
}

/// Declarations in a PTX module.
#[derive(Default)]
struct PtxModule<'text> {
    functions: Vec<PtxFunction<'text>>,
    /// Indices into `functions`.
    by_name: HashMap<&'text str, usize>,
    /// Variables in shared memory outside of functions.
    shared: HashMap<&'text str, Variable<'text>>,
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
                self.by_name.insert(function.name, self.functions.len());
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

    fn kernel(&self, view: View<'_>, function: &PtxFunction<'text>) -> Result<Kernel, Malformed> {
        let (parameters, parameter_size) = function.parameters();
        let located = function.location.and_then(|(file, line)| Some((self.files.get(&file)?, line)));
        let product = |dimensions: [u64; 3]| dimensions.iter().try_fold(1_u64, |all, &one| all.checked_mul(one));
        let file_size = located.map_or(0, |(file, _)| file.len());
        charge_kernel(view, [function.name.len(), file_size], parameters.len())?;
        Ok(Kernel {
            name: function.name.to_owned(),
            max_registers: function.max_registers,
            shared: Some(self.shared_of(view, function)?),
            parameters,
            parameter_size: Some(parameter_size),
            wave_size: Some(WARP_SIZE),
            max_threads: function.max_threads.and_then(product),
            required_threads: function.required_threads,
            min_blocks: function.min_blocks,
            source: located.map(|(file, line)| SourceLine { file: (*file).to_owned(), line }),
            ..Default::default()
        })
    }

    /// Returns the size of the shared memory of a kernel and of all functions that it calls, counting each variable once.
    /// ptxas lays the variables out in the order of their declarations, followed by dynamic shared memory.
    fn shared_of(&self, view: View<'_>, kernel: &PtxFunction<'text>) -> Result<u64, Malformed> {
        let (mut open, mut seen, mut used) = (vec![kernel], HashSet::from([kernel.name]), Vec::new());
        while let Some(function) = open.pop() {
            let names = function.names.len().saturating_add(function.shared.len()) as u64;
            view.charge("PTX function", Resource::Work, names.saturating_mul(NAME_WORK).saturating_add(1))?;
            used.extend(&function.shared);
            for name in function.names.iter().filter(|name| seen.insert(name)) {
                open.extend(self.by_name.get(name).and_then(|&number| self.functions.get(number)));
                used.extend(self.shared.get(name));
            }
        }
        // A name is a slice of the text at the declaration of its variable, so its address gives the order.
        used.sort_by_key(|variable| (variable.size == 0, variable.name.as_ptr().addr()));
        Ok(used.iter().fold(0, |end, variable| place(end, variable).saturating_add(variable.size)))
    }
}

#[cfg(test)]
mod tests;
