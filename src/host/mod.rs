//! Host objects: a plan of plain data, and its emission as an ELF relocatable.
//!
//! A plan says *what* an object holds: sections with pointers in them, symbols, functions that call other functions with
//! addresses. It says nothing of machines. An [`Architecture`] turns the functions into code, relocations and unwind
//! information, and names the relocation numbers; [`emit`] writes the file. So what registers an image (`wrap`) and
//! what a machine looks like (here) meet in data, and their combinations cost a sum and not a product.

mod architecture;
mod assembler;
mod code;
mod compile;
mod eh_frame;
mod elf;
mod machines;
mod plan;
mod symbol;
mod triple;

pub use architecture::Architecture;
pub use code::{Call, Comparison, Field as LoadedField, Function, Local, Part, Step, Value, Width};
pub use elf::emit;
pub use plan::{Data, Field, ObjectPlan, Section, SectionKind};
pub use symbol::{Address, Definition, SectionId, Symbol, SymbolId};
pub use triple::{for_triple, native, native_triple};
