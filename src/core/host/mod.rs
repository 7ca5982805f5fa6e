//! Host objects: a plan of plain data, and its emission as a relocatable.
//!
//! A plan describes the contents of an object: sections with pointers in them, symbols, functions that call other
//! functions with addresses. It is independent of machines. A [`Host`] is a machine and a system. The machine's
//! `Architecture` turns the functions into code, relocations and unwind information; the writer of the system's object
//! format writes the file. So the registration of images (`wrap`), the machines and the formats (here) share only data,
//! and a new one needs one addition instead of one for each combination.

mod architecture;
mod assembler;
mod code;
mod coff;
mod compile;
#[cfg(test)]
mod divisible_tests;
mod eh_frame;
mod elf;
mod error;
mod hosts;
mod ir;
mod layout;
mod machines;
mod macho;
mod plan;
pub mod rewrite;
mod symbol;
mod systems;

pub use code::{Call, Comparison, Function, LoadedField, Local, Part, Step, Value, Width};
pub use error::HostError;
pub use hosts::{Host, ObjectFormat};
pub use ir::{emit_bitcode, write_text};
pub use plan::{Data, Field, ObjectPlan, PlanSection, SectionKind};
pub use symbol::{AbsoluteSymbol, Definition, Scope, SectionId, Symbol, SymbolAddress, SymbolId};

use crate::base::io::Sink;
use hosts::Emitter;

/// Writes the object that `plan` describes for `host` into `sink`.
pub fn emit(plan: &ObjectPlan, host: Host, sink: &mut Sink) -> Result<(), HostError> {
    match host.row().emitter {
        Emitter::Elf(architecture) => elf::emit(plan, architecture, sink),
        Emitter::Coff(machine, runtime) => coff::emit(plan, machine, runtime, sink),
        Emitter::MachO(machine) => macho::emit(plan, machine, sink),
    }
}

/// Returns the object that `plan` describes, for tests.
#[cfg(test)]
fn emitted(plan: &ObjectPlan, host: Host) -> Vec<u8> {
    let mut sink = Sink::new([]);
    emit(plan, host, &mut sink).unwrap();
    let mut bytes = Vec::new();
    sink.copy_to(&mut bytes).unwrap();
    bytes
}
