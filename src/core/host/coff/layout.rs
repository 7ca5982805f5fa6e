//! Layout of a plan as the sections of a COFF object.
//!
//! Relocations of COFF have no addend: the relocated bytes hold it. They refer to symbols, each with its own position,
//! so that addends stay small: the immediate of an ARM64 instruction holds no large one.

use object::pe;

use super::unwind;
use crate::format::embed_record::is_part_of;
use crate::host::architecture::{CoffMachine, UnwindFormat};
use crate::host::assembler::{CodeRelocation, CodeTarget};
use crate::host::layout::{Code, EncodedFields, SectionContent, TEXT};
use crate::host::plan::{Data, Field, ObjectPlan, PlanSection, SectionKind};
use crate::host::symbol::{Definition, SymbolId};
use crate::host::systems::WindowsRuntime;

const READ_ONLY: pe::SectionFlags = pe::SectionFlags(pe::IMAGE_SCN_CNT_INITIALIZED_DATA.0 | pe::IMAGE_SCN_MEM_READ.0);
const ZERO: pe::SectionFlags =
    pe::SectionFlags(pe::IMAGE_SCN_CNT_UNINITIALIZED_DATA.0 | pe::IMAGE_SCN_MEM_READ.0 | pe::IMAGE_SCN_MEM_WRITE.0);
const CODE: pe::SectionFlags =
    pe::SectionFlags(pe::IMAGE_SCN_CNT_CODE.0 | pe::IMAGE_SCN_MEM_EXECUTE.0 | pe::IMAGE_SCN_MEM_READ.0);

/// A COFF section without its offset in the file.
#[derive(Debug)]
pub struct CoffSection<'plan> {
    pub name: String,
    pub flags: pe::SectionFlags,
    pub alignment: u64,
    pub content: SectionContent<'plan>,
    pub relocations: Vec<CoffRelocation>,
    /// True for a COMDAT section, which the linker drops unless something refers to it.
    pub is_comdat: bool,
}

/// A relocation; its addend is in the contents of the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoffRelocation {
    pub offset: u64,
    pub kind: pe::RelocationType,
    pub target: CoffTarget,
}

/// Target of a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoffTarget {
    /// A symbol of the plan.
    Symbol(SymbolId),
    /// The start of a section, by its index among [`CoffSection`]s.
    Section(usize),
}

/// A plan and everything that its layout depends on.
pub struct CoffLayout<'plan> {
    pub plan: &'plan ObjectPlan<'plan>,
    pub machine: &'plan CoffMachine,
    pub runtime: WindowsRuntime,
    pub code: &'plan Code,
}

impl<'plan> CoffLayout<'plan> {
    /// Index of the code; the plan's own sections follow.
    pub const TEXT: usize = 0;

    /// Returns all sections in order.
    pub fn sections(&self) -> Vec<CoffSection<'plan>> {
        let mut sections = vec![self.text()];
        sections.extend(self.plan.sections.iter().map(|section| self.section(section)));
        if !self.code.functions.is_empty() {
            let unwind_section = sections.len();
            sections.extend(self.unwind_sections(unwind_section));
        }
        sections
    }

    fn text(&self) -> CoffSection<'plan> {
        let mut bytes = self.code.bytes.clone();
        let mut relocations = Vec::new();
        for (start, function) in self.code.placed() {
            for relocation in &function.relocations {
                relocations.push(self.code_relocation(&mut bytes, start, relocation));
            }
        }
        CoffSection {
            name: TEXT.to_owned(),
            flags: CODE,
            alignment: self.machine.architecture.function_alignment,
            content: SectionContent::own(bytes),
            relocations,
            is_comdat: false,
        }
    }

    /// Stores the addend of a relocation in the function at `start` of the code, and returns the relocation.
    fn code_relocation(&self, code: &mut [u8], start: u64, relocation: &CodeRelocation) -> CoffRelocation {
        let CodeTarget::Symbol(symbol) = relocation.target else {
            unreachable!("the machines of Windows refer to symbols only")
        };
        let mut kinds = self.machine.code_relocations.iter();
        let &(_, kind) = kinds.find(|(elf, _)| *elf == relocation.kind).expect("a row for each relocation of code");
        let offset = start + relocation.offset;
        (self.machine.store_addend)(code, offset as usize, kind, relocation.addend);
        CoffRelocation { offset, kind, target: CoffTarget::Symbol(symbol) }
    }

    fn section(&self, section: &'plan PlanSection<'plan>) -> CoffSection<'plan> {
        let (content, mut relocations) = match &section.data {
            Data::Bytes(content) => (SectionContent::Plan(content), Vec::new()),
            Data::Fields(fields) => self.fields(fields),
            Data::Zero(size) => (SectionContent::Zero(*size), Vec::new()),
        };
        // A relocation that changes nothing is still a reference, and a referenced section is not removed.
        relocations.extend(section.keep.iter().map(|&symbol| CoffRelocation {
            offset: 0,
            kind: pe::RelocationType(0),
            target: CoffTarget::Symbol(symbol),
        }));
        let name = match section.kind {
            SectionKind::Constructors(priority) => self.runtime.constructors(priority),
            SectionKind::Destructors(priority) => self.runtime.destructors(priority),
            // The loader relocates read-only data as well.
            _ if is_part_of(&section.name, ".rodata") || is_part_of(&section.name, ".data.rel.ro") => {
                ".rdata".to_owned()
            }
            _ => section.name.clone(),
        };
        let flags = match (&section.data, section.kind) {
            (Data::Zero(_), _) => ZERO,
            (_, SectionKind::Constructors(_) | SectionKind::Destructors(_)) => READ_ONLY | self.runtime.array_flags(),
            // A linker merges the contributions to a section only if their flags are equal, and clang's entries are
            // read-only.
            _ => READ_ONLY,
        };
        let is_comdat = self.plan.is_divisible && !section.kind.is_retained();
        let flags = if is_comdat { flags | pe::IMAGE_SCN_LNK_COMDAT } else { flags };
        CoffSection { name, flags, alignment: section.alignment, content, relocations, is_comdat }
    }

    fn fields(&self, fields: &[Field]) -> (SectionContent<'plan>, Vec<CoffRelocation>) {
        let EncodedFields { mut bytes, pointers } = EncodedFields::new(fields, self.machine.architecture.endianness);
        let mut relocations = Vec::new();
        for (offset, address) in pointers {
            let at = offset as usize;
            bytes[at..at + 8].copy_from_slice(&address.offset.to_le_bytes());
            let target = CoffTarget::Symbol(address.symbol);
            relocations.push(CoffRelocation { offset, kind: self.machine.absolute, target });
        }
        (SectionContent::own(bytes), relocations)
    }

    /// Returns `.xdata` with the unwind information of each function, and `.pdata` with the table of functions, which
    /// refers to it. `.xdata` will be the section `index`.
    fn unwind_sections(&self, index: usize) -> [CoffSection<'plan>; 2] {
        let mut information = Vec::new();
        let mut table = Vec::new();
        let mut relocations = Vec::new();
        for (function, code) in self.code.functions.iter().enumerate() {
            let symbol = CoffTarget::Symbol(self.symbol_of(function));
            let end = (self.machine.unwind == UnwindFormat::X64).then_some((symbol, code.bytes.len()));
            let columns = [Some((symbol, 0)), end, Some((CoffTarget::Section(index), information.len()))];
            for (target, addend) in columns.into_iter().flatten() {
                let offset = table.len() as u64;
                let kind = self.machine.image_relative;
                relocations.push(CoffRelocation { offset, kind, target });
                table.extend((addend as u32).to_le_bytes());
            }
            information.extend(unwind::information(self.machine.unwind, code));
        }
        let section = |name: &str, bytes, relocations| CoffSection {
            name: name.to_owned(),
            flags: READ_ONLY,
            alignment: 4,
            content: SectionContent::own(bytes),
            relocations,
            is_comdat: false,
        };
        [section(".xdata", information, vec![]), section(".pdata", table, relocations)]
    }

    fn symbol_of(&self, function: usize) -> SymbolId {
        let is_function = |definition: Definition| definition == Definition::Function(function);
        let position = self.plan.symbols.iter().position(|symbol| is_function(symbol.definition));
        SymbolId(position.expect("a symbol for each function"))
    }
}
