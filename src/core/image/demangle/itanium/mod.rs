//! The mangling scheme of the Itanium C++ ABI, which HIP and CUDA compilers use.
//!
//! A one-pass parser builds a tree, and a printer writes it as llvm-cxxfilt does. Time and memory are proportional to
//! the length of the name and of its text for every name.

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

/// Demangles a name; `None` if the name does not follow the scheme, or exceeds a limit on nesting or length.
pub fn demangle(name: &str) -> Option<String> {
    let mut parser = Parser::new(name);
    let root = parser.mangled_name()?;
    Printer::new(&parser.nodes, &parser.forward).print(root)
}
