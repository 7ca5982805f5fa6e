//! Emission of a plan as LLVM IR, which a compiler of any release turns into the object.
//!
//! LLVM's wrappers write IR, and the compiler that calls them compiles it. IR depends on the machine only by the
//! triple. It has two forms: bitcode, where bytes of images remain as they are, and text.

mod bitcode;
mod bitstream;
mod build;
mod builder;
mod content;
mod function;
mod module;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, Write};

use super::plan::ObjectPlan;
use crate::base::io::Sink;

/// Writes the module that `plan` describes for `triple` into `sink`, as bitcode.
pub fn emit_bitcode(plan: &ObjectPlan, triple: &str, sink: &mut Sink) {
    let module = build::build(plan, triple);
    bitcode::write(&module, plan).finish(sink);
}

/// Writes the module that `plan` describes for `triple` as text.
pub fn write_text(plan: &ObjectPlan, triple: &str, output: impl Write) -> io::Result<()> {
    let module = build::build(plan, triple);
    text::write(&module, plan, output)
}
