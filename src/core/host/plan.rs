//! The plan of a host object, as plain data that tests can compare.

use std::collections::HashMap;

use super::code::{Function, Step};
use super::symbol::{AbsoluteSymbol, Definition, Scope, SectionId, Symbol, SymbolAddress, SymbolId};
use crate::base::content::Content;

/// Everything that goes into one host object, independent of machine and file format.
#[derive(Debug, Default)]
pub struct ObjectPlan<'data> {
    /// Name of the source file that the object records.
    pub source_name: &'static str,
    /// Sections of data.
    pub sections: Vec<PlanSection<'data>>,
    /// Functions, which share a section of code.
    pub functions: Vec<Function>,
    /// Symbols, which sections and functions refer to by index.
    pub symbols: Vec<Symbol>,
    /// Absolute symbols, which nothing in the plan refers to. LLVM IR has none.
    pub absolute_symbols: Vec<AbsoluteSymbol>,
    /// True if the linker may drop each unreferenced section. ELF's linkers always do so on request. COFF then has a
    /// COMDAT section for each, and Mach-O one section whose parts begin at symbols. In each section, the first symbol
    /// of the plan is global, and a symbol is at the start.
    pub is_divisible: bool,
    /// The first undefined symbol of each name. [`ObjectPlan::scoped_symbol`] adds to it.
    pub undefined: HashMap<String, SymbolId>,
}

/// A section of data.
#[derive(Debug)]
pub struct PlanSection<'data> {
    /// Name of the section, without the priority of constructors and destructors.
    pub name: String,
    /// Treatment by the linker and the loader.
    pub kind: SectionKind,
    /// Alignment in bytes, a power of two.
    pub alignment: u64,
    /// Contents.
    pub data: Data<'data>,
    /// True if the section could push code and data out of each other's reach, and belongs where the linker puts large
    /// sections, on machines that have a flag for them.
    pub large: bool,
    /// Symbols whose sections stay in the link as long as this one does.
    pub keep: Vec<SymbolId>,
}

/// Contents of a section.
#[derive(Debug)]
pub enum Data<'data> {
    /// Bytes that mean the same on every machine.
    Bytes(Content<'data>),
    /// Structures, field after field without gaps; padding is a field like any other.
    Fields(Vec<Field>),
    /// This number of zero bytes, which take no space in the file.
    Zero(u64),
}

/// A field of a structure, in the byte order of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// One byte.
    U8(u8),
    /// Two bytes.
    U16(u16),
    /// Four bytes.
    U32(u32),
    /// Eight bytes.
    U64(u64),
    /// An address, filled in by the linker or the loader.
    Pointer(SymbolAddress),
}

/// Treatment of a section by the linker and the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// Mapped read-only.
    ReadOnly,
    /// Mapped read-only, and never removed as unused.
    Retained,
    /// Mapped writable, so that the loader can relocate it.
    Writable,
    /// Mapped writable, and never removed as unused.
    RetainedWritable,
    /// Mapped read-only and marked as device images, `SHT_LLVM_OFFLOADING`.
    Offloading,
    /// A note of ELF. Other formats have none.
    Note,
    /// An array of functions that the loader calls, low priorities first.
    Constructors(u16),
    /// An array of functions that are called when the program ends or the library is closed, low priorities last.
    Destructors(u16),
}

impl SectionKind {
    /// Returns whether the linker must keep a section even if nothing refers to it.
    pub fn is_retained(self) -> bool {
        matches!(self, SectionKind::Retained | SectionKind::RetainedWritable)
    }
}

impl<'data> ObjectPlan<'data> {
    /// Adds a section.
    pub fn section(&mut self, section: PlanSection<'data>) -> SectionId {
        self.sections.push(section);
        SectionId(self.sections.len() - 1)
    }

    /// Returns the index of the next section, for symbols that are known before its data.
    pub fn next_section(&self) -> SectionId {
        SectionId(self.sections.len())
    }

    /// Adds a symbol.
    pub fn symbol(&mut self, name: impl Into<String>, definition: Definition) -> SymbolId {
        self.scoped_symbol(name, definition, Scope::Local)
    }

    /// Adds a symbol that other objects of the link may refer to.
    pub fn scoped_symbol(&mut self, name: impl Into<String>, definition: Definition, scope: Scope) -> SymbolId {
        let name = name.into();
        let id = SymbolId(self.symbols.len());
        if definition.strength().is_some() {
            self.undefined.entry(name.clone()).or_insert(id);
        }
        self.symbols.push(Symbol { name, definition, scope });
        id
    }

    /// Returns the undefined symbol of a name, and adds it if it is missing. Of two definitions it has the stronger
    /// one.
    pub fn reference(&mut self, name: &str, definition: Definition) -> SymbolId {
        let Some(&id) = self.undefined.get(name) else { return self.symbol(name, definition) };
        let symbol = &mut self.symbols[id.0];
        if definition.strength() > symbol.definition.strength() {
            symbol.definition = definition;
        }
        id
    }

    /// Adds steps to a function, whose symbol [`ObjectPlan::function`] returned.
    ///
    /// # Panics
    /// If the symbol does not name a function of this plan.
    pub fn append_steps(&mut self, function: SymbolId, steps: Vec<Step>) {
        let Definition::Function(index) = self.symbols[function.0].definition else { panic!("not a function") };
        self.functions[index].steps.extend(steps);
    }

    /// Adds a function and the symbol that names it.
    pub fn function(&mut self, name: &str, steps: Vec<Step>) -> SymbolId {
        self.functions.push(Function::new(steps));
        self.symbol(name, Definition::Function(self.functions.len() - 1))
    }
}

impl<'data> PlanSection<'data> {
    /// Creates a section of ordinary size that keeps no other section.
    pub fn new(name: impl Into<String>, kind: SectionKind, alignment: u64, data: Data<'data>) -> Self {
        PlanSection { name: name.into(), kind, alignment, data, large: false, keep: Vec::new() }
    }
}
