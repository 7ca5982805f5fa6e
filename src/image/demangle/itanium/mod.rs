//! The mangling scheme of the Itanium C++ ABI, which HIP and CUDA compilers use.
//!
//! A parser in one pass builds a tree, and a printer writes it as llvm-cxxfilt does. Time and memory are proportional to the
//! length of the name and of its text, whatever the name is.

mod encodings;
mod expressions;
mod literals;
mod names;
mod node;
mod operators;
mod parser;
mod printer;
mod templates;
#[cfg(test)]
mod tests;
mod types;

use parser::Parser;
use printer::Printer;

/// Returns the demangled name; `None` if the name does not follow the scheme, or is nested or long beyond all limits.
pub fn demangle(name: &str) -> Option<String> {
    let mut parser = Parser::new(name);
    let root = parser.mangled_name()?;
    Printer::new(&parser.nodes, &parser.forward).print(root)
}
