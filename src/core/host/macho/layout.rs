//! Layout of a plan as the sections of a Mach-O object. Every relocation refers to a symbol.

use object::macho;

use crate::host::architecture::{AddendForm, MachOMachine};
use crate::host::assembler::{CodeRelocation, CodeTarget};
use crate::host::layout::{Code, EncodedFields, SectionContent, TEXT};
use crate::host::plan::{Data, Field, ObjectPlan, PlanSection, SectionKind};
use crate::host::symbol::{Definition, SymbolId};
use crate::host::systems::mach_o_section;

/// The relocation that stores an address, of the same number on both machines.
const UNSIGNED: macho::RelocationType = macho::X86_64_RELOC_UNSIGNED;

/// Binary logarithm of the size of a relocated word of four and of eight bytes.
const FOUR_BYTES: u8 = 2;
const EIGHT_BYTES: u8 = 3;

/// A section without its offset in the file.
#[derive(Debug)]
pub struct MachOSection<'plan> {
    /// Segment and section, separated by a comma.
    pub name: String,
    pub flags: macho::SectionFlags,
    pub alignment: u64,
    pub content: SectionContent<'plan>,
    pub relocations: Vec<MachORelocation>,
}

/// A relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachORelocation {
    pub offset: u64,
    pub kind: macho::RelocationType,
    pub is_relative: bool,
    /// Binary logarithm of the size in bytes.
    pub size: u8,
    pub target: MachOTarget,
}

/// Target of a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachOTarget {
    /// A symbol of the plan.
    Symbol(SymbolId),
    /// No target: the addend of the next relocation.
    Addend(i64),
}

/// Place of a section of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartPlace {
    /// Index among [`MachOSection`]s.
    pub section: usize,
    /// Offset in that section.
    pub offset: u64,
}

/// A plan and everything that its layout depends on.
pub struct MachOLayout<'plan> {
    pub plan: &'plan ObjectPlan<'plan>,
    pub machine: &'plan MachOMachine,
    pub code: &'plan Code,
}

impl<'plan> MachOLayout<'plan> {
    /// Index of the code; the plan's own sections follow.
    pub const TEXT: usize = 0;

    /// Returns all sections in order, and the place of each section of the plan in them.
    pub fn sections(&self) -> (Vec<MachOSection<'plan>>, Vec<PartPlace>) {
        let mut sections = vec![self.text()];
        let mut places = Vec::new();
        for section in &self.plan.sections {
            places.push(self.add(self.section(section), &mut sections));
        }
        if !self.code.functions.is_empty() {
            sections.push(self.compact_unwind());
        }
        (sections, places)
    }

    /// Adds a section or, if the plan is divisible, the next part of a section of that name, and returns its place. A
    /// file has at most 255 sections, and the linker drops parts of them.
    fn add(&self, mut part: MachOSection<'plan>, sections: &mut Vec<MachOSection<'plan>>) -> PartPlace {
        if self.plan.is_divisible {
            part.content = part.content.into_runs();
        }
        let is_same = |section: &&mut MachOSection| (&section.name, section.flags) == (&part.name, part.flags);
        let same = sections.iter_mut().enumerate().find(|(_, section)| self.plan.is_divisible && is_same(section));
        let (Some((index, section)), SectionContent::Own(content)) = (same, &mut part.content) else {
            sections.push(part);
            return PartPlace { section: sections.len() - 1, offset: 0 };
        };
        let SectionContent::Own(joined) = &mut section.content else { unreachable!("parts of equal flags") };
        joined.align(part.alignment);
        let offset = joined.size();
        joined.append(std::mem::take(content));
        section.alignment = section.alignment.max(part.alignment);
        for relocation in &mut part.relocations {
            relocation.offset += offset;
        }
        section.relocations.append(&mut part.relocations);
        PartPlace { section: index, offset }
    }

    fn text(&self) -> MachOSection<'plan> {
        let mut bytes = self.code.bytes.clone();
        let mut relocations = Vec::new();
        for (start, function) in self.code.placed() {
            for relocation in &function.relocations {
                self.relocate_code(&mut bytes, start, relocation, &mut relocations);
            }
        }
        MachOSection {
            name: mach_o_section(TEXT).to_owned(),
            flags: macho::S_REGULAR | macho::S_ATTR_PURE_INSTRUCTIONS | macho::S_ATTR_SOME_INSTRUCTIONS,
            alignment: self.machine.architecture.function_alignment,
            content: SectionContent::own(bytes),
            relocations,
        }
    }

    /// Adds the relocation of the function at `start` of the code, and its addend where the machine has it.
    fn relocate_code(
        &self,
        code: &mut [u8],
        start: u64,
        relocation: &CodeRelocation,
        relocations: &mut Vec<MachORelocation>,
    ) {
        let CodeTarget::Symbol(symbol) = relocation.target else {
            unreachable!("the machines of macOS refer to symbols only")
        };
        let mut kinds = self.machine.code_relocations.iter();
        let &(_, kind, is_relative) =
            kinds.find(|(elf, ..)| *elf == relocation.kind).expect("a row for each relocation of code");
        let offset = start + relocation.offset;
        let add = |kind, is_relative, target| MachORelocation { offset, kind, is_relative, size: FOUR_BYTES, target };
        match self.machine.addend {
            AddendForm::Code(store) => store(code, offset as usize, relocation.addend),
            AddendForm::Relocation(_) if relocation.addend == 0 => {}
            AddendForm::Relocation(kind) => relocations.push(add(kind, false, MachOTarget::Addend(relocation.addend))),
        }
        relocations.push(add(kind, is_relative, MachOTarget::Symbol(symbol)));
    }

    fn section(&self, section: &'plan PlanSection<'plan>) -> MachOSection<'plan> {
        let (content, relocations) = match &section.data {
            Data::Bytes(content) => (SectionContent::Plan(content), Vec::new()),
            Data::Fields(fields) => self.fields(fields),
            Data::Zero(size) => (SectionContent::Zero(*size), Vec::new()),
        };
        let flags = match (&section.data, section.kind) {
            (Data::Zero(_), _) => macho::S_ZEROFILL.into(),
            (_, SectionKind::Constructors(_)) => macho::S_MOD_INIT_FUNC_POINTERS.into(),
            (_, SectionKind::Destructors(_)) => macho::S_MOD_TERM_FUNC_POINTERS.into(),
            (_, SectionKind::Retained | SectionKind::RetainedWritable) => {
                macho::S_REGULAR | macho::S_ATTR_NO_DEAD_STRIP
            }
            (_, SectionKind::ReadOnly | SectionKind::Writable | SectionKind::Note | SectionKind::Offloading) => {
                macho::S_REGULAR.into()
            }
        };
        let name = mach_o_section(&section.name).to_owned();
        MachOSection { name, flags, alignment: section.alignment, content, relocations }
    }

    fn fields(&self, fields: &[Field]) -> (SectionContent<'plan>, Vec<MachORelocation>) {
        let EncodedFields { mut bytes, pointers } = EncodedFields::new(fields, self.machine.architecture.endianness);
        let mut relocations = Vec::new();
        for (offset, address) in pointers {
            let at = offset as usize;
            bytes[at..at + 8].copy_from_slice(&address.offset.to_le_bytes());
            relocations.push(pointer(offset, address.symbol));
        }
        (SectionContent::own(bytes), relocations)
    }

    /// Returns the compact unwind information, which the linker turns into a table: for each function its address, its
    /// size, its encoding, and no personality and no data.
    fn compact_unwind(&self) -> MachOSection<'plan> {
        let mut bytes = Vec::new();
        let mut relocations = Vec::new();
        for (index, function) in self.code.functions.iter().enumerate() {
            relocations.push(pointer(bytes.len() as u64, self.symbol_of(index)));
            let size = function.bytes.len() as u32;
            let encoding = (self.machine.compact_unwind)(function);
            bytes.extend([0; 8]);
            bytes.extend([size, encoding].map(u32::to_le_bytes).concat());
            bytes.extend([0; 16]);
        }
        MachOSection {
            name: "__LD,__compact_unwind".to_owned(),
            flags: macho::S_REGULAR | macho::S_ATTR_DEBUG,
            alignment: 8,
            content: SectionContent::own(bytes),
            relocations,
        }
    }

    fn symbol_of(&self, function: usize) -> SymbolId {
        let mut symbols = self.plan.symbols.iter();
        let position = symbols.position(|symbol| symbol.definition == Definition::Function(function));
        SymbolId(position.expect("a symbol for each function"))
    }
}

/// Returns the relocation of eight bytes that hold an address.
fn pointer(offset: u64, symbol: SymbolId) -> MachORelocation {
    MachORelocation {
        offset,
        kind: UNSIGNED,
        is_relative: false,
        size: EIGHT_BYTES,
        target: MachOTarget::Symbol(symbol),
    }
}
