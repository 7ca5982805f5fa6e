//! Host objects: a plan of plain data, and its emission as an ELF relocatable.
//!
//! A plan describes the contents of an object: sections with pointers in them, symbols, functions that call other functions
//! with addresses. It is independent of machines. A [`Host`]'s `Architecture` turns the functions into code, relocations and unwind
//! information, and names the relocation numbers; [`emit`] writes the file. So the registration of
//! images (`wrap`) and the machines (here) meet in data, and their combinations cost a sum and not a product.

mod architecture;
mod assembler;
mod code;
mod compile;
mod eh_frame;
mod elf;
mod error;
mod hosts;
mod ir;
mod machines;
mod plan;
mod symbol;

pub use code::{Call, Comparison, Function, LoadedField, Local, Part, Step, Value, Width};
pub use elf::emit;
pub use error::HostError;
pub use hosts::Host;
pub use ir::{emit_bitcode, write_text};
pub use plan::{Data, Field, ObjectPlan, PlanSection, SectionKind};
pub use symbol::{Definition, SectionId, Symbol, SymbolAddress, SymbolId};
