//! Layout of a plan as the sections of an object: functions in one section, references to symbols of the file.
//!
//! References to data that the object itself defines go through the section's symbol, as assemblers do it, so that the
//! names can be stripped. References to functions go through the function's symbol, because a symbol may carry more
//! than a position: on Power, the local entry point for callers within the module.

use object::{Endianness, elf};

use crate::format::offload_binary;
use crate::host::architecture::Architecture;
use crate::host::assembler::{CodeRelocation, CodeTarget};
use crate::host::eh_frame;
use crate::host::layout::{Code, EncodedFields, SectionContent, TEXT};
use crate::host::plan::{Data, Field, ObjectPlan, PlanSection, SectionKind};
use crate::host::symbol::{Definition, SectionId, SymbolId};

/// `R_<machine>_NONE`, the same number on every machine.
const R_NONE: elf::RelocationType = elf::RelocationType(0);

/// An ELF section without its offset in the file.
pub struct ElfSection<'plan> {
    pub name: String,
    pub kind: elf::SectionType,
    pub flags: elf::SectionFlags,
    pub alignment: u64,
    pub content: SectionContent<'plan>,
    pub relocations: Vec<Relocation>,
}

/// A relocation whose target is a section or a symbol of the file.
pub struct Relocation {
    pub offset: u64,
    pub kind: elf::RelocationType,
    pub target: RelocationTarget,
    pub addend: i64,
}

/// Target of a relocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelocationTarget {
    /// A section, by its index among [`ElfSection`]s.
    Section(usize),
    /// A function, or a symbol that the object does not define.
    Symbol(SymbolId),
    /// A byte of the text section that another instruction refers to.
    Label(u64),
    /// A symbol that the ABI defines.
    Abi(&'static str),
}

/// Positions of the plan's functions and sections in the object's sections.
pub struct ObjectLayout<'plan> {
    plan: &'plan ObjectPlan<'plan>,
    architecture: &'plan Architecture,
    code: &'plan Code,
}

impl<'plan> ObjectLayout<'plan> {
    /// Index of the text section; the plan's own sections follow.
    pub const TEXT: usize = 0;

    /// Creates the layout of a plan and its compiled functions.
    pub fn new(plan: &'plan ObjectPlan<'plan>, architecture: &'plan Architecture, code: &'plan Code) -> Self {
        ObjectLayout { plan, architecture, code }
    }

    /// Returns section, offset and size of a symbol that the object defines.
    pub fn place(&self, definition: Definition) -> Option<(usize, u64, u64)> {
        match definition {
            Definition::Undefined | Definition::UndefinedWeak | Definition::UndefinedHidden => None,
            Definition::Data { section, offset, size } => Some((Self::place_of(section), offset, size)),
            Definition::Function(index) => {
                let (offset, size) = self.code.place(index);
                Some((Self::TEXT, offset, size))
            }
        }
    }

    /// Returns the index of one of the plan's sections among the object's sections.
    fn place_of(section: SectionId) -> usize {
        Self::TEXT + 1 + section.0
    }

    fn relocation(&self, offset: u64, kind: elf::RelocationType, symbol: SymbolId, addend: i64) -> Relocation {
        match self.plan.symbols[symbol.0].definition {
            Definition::Data { section, offset: place, .. } => {
                let target = RelocationTarget::Section(Self::place_of(section));
                Relocation { offset, kind, target, addend: addend + place as i64 }
            }
            _ => Relocation { offset, kind, target: RelocationTarget::Symbol(symbol), addend },
        }
    }

    /// Returns the relocation in the function that begins at `start` of the text section.
    fn code_relocation(&self, start: u64, code: &CodeRelocation) -> Relocation {
        let offset = start + code.offset;
        let kind = code.kind;
        let addend = code.addend;
        let target = match code.target {
            CodeTarget::Symbol(symbol) => return self.relocation(offset, kind, symbol, addend),
            CodeTarget::Here(place) => RelocationTarget::Label(start + place),
            CodeTarget::Abi(name) => RelocationTarget::Abi(name),
        };
        Relocation { offset, kind, target, addend }
    }

    fn section(&self, section: &'plan PlanSection<'plan>) -> ElfSection<'plan> {
        let read_only = elf::SHF_ALLOC;
        let writable = elf::SHF_ALLOC | elf::SHF_WRITE;
        let (mut kind, mut flags) = match section.kind {
            SectionKind::ReadOnly => (elf::SHT_PROGBITS, read_only),
            SectionKind::Retained => (elf::SHT_PROGBITS, read_only | elf::SHF_GNU_RETAIN),
            SectionKind::Writable => (elf::SHT_PROGBITS, writable),
            SectionKind::RetainedWritable => (elf::SHT_PROGBITS, writable | elf::SHF_GNU_RETAIN),
            SectionKind::Note => (elf::SHT_NOTE, read_only),
            SectionKind::Offloading => (offload_binary::SECTION_TYPE, read_only),
            SectionKind::Constructors(_) => (elf::SHT_INIT_ARRAY, writable),
            SectionKind::Destructors(_) => (elf::SHT_FINI_ARRAY, writable),
        };
        let mut name = match section.kind {
            // The linker sorts these sections by the number in their names.
            SectionKind::Constructors(priority) | SectionKind::Destructors(priority) => {
                format!("{}.{priority}", section.name)
            }
            _ => section.name.clone(),
        };
        if let (true, Some(large)) = (section.large, self.architecture.elf.large_section) {
            // GNU ld recognizes the name, the other linkers the flag.
            name = format!(
                ".lrodata{}",
                name.strip_prefix(".rodata").filter(|rest| rest.starts_with('.')).unwrap_or(&name)
            );
            flags |= large;
        }
        let (content, mut relocations) = match &section.data {
            Data::Bytes(content) => (SectionContent::Plan(content), Vec::new()),
            Data::Fields(fields) => self.fields(fields),
            Data::Zero(size) => {
                kind = elf::SHT_NOBITS;
                (SectionContent::Zero(*size), Vec::new())
            }
        };
        // A relocation that changes nothing is still a reference, and a referenced section is not removed.
        relocations.extend(section.keep.iter().map(|&symbol| self.relocation(0, R_NONE, symbol, 0)));
        ElfSection::new(name, kind, flags, section.alignment, content, relocations)
    }

    /// The bytes of a sequence of fields, and a relocation for each address among them.
    fn fields(&self, fields: &[Field]) -> (SectionContent<'plan>, Vec<Relocation>) {
        let EncodedFields { bytes, pointers } = EncodedFields::new(fields, self.architecture.endianness);
        let absolute = self.architecture.elf.absolute;
        let relocations =
            pointers.into_iter().map(|(at, to)| self.relocation(at, absolute, to.symbol, to.offset as i64)).collect();
        (SectionContent::own(bytes), relocations)
    }

    /// Returns all sections in order, without the tables that describe them.
    pub fn sections(&self) -> gimli::write::Result<Vec<ElfSection<'plan>>> {
        let mut sections = vec![self.text()];
        sections.extend(self.plan.sections.iter().map(|section| self.section(section)));
        // This section declares that the code needs no executable stack; without it linkers make the program's
        // executable.
        let none = elf::SectionFlags(0);
        sections.push(ElfSection::new(
            ".note.GNU-stack",
            elf::SHT_PROGBITS,
            none,
            1,
            SectionContent::own(vec![]),
            vec![],
        ));
        sections.extend(self.architecture.elf.hardening.map(|(kind, bits)| self.property_note(kind, bits)));
        if !self.code.functions.is_empty() {
            sections.push(self.eh_frame()?);
        }
        Ok(sections)
    }

    /// Returns `.note.gnu.property` with one property of 32 bits (Linux Extensions to gABI): note header, name, then
    /// type, size, value and padding to 8.
    fn property_note(&self, kind: elf::GnuPropertyType, bits: u32) -> ElfSection<'plan> {
        let name = match self.architecture.endianness {
            Endianness::Little => u32::from_le_bytes(*b"GNU\0"),
            Endianness::Big => u32::from_be_bytes(*b"GNU\0"),
        };
        let words = [4, 16, elf::NT_GNU_PROPERTY_TYPE_0.0, name, kind.0, 4, bits, 0];
        let (content, relocations) = self.fields(&words.map(Field::U32));
        ElfSection::new(".note.gnu.property", elf::SHT_NOTE, elf::SHF_ALLOC, 8, content, relocations)
    }

    fn text(&self) -> ElfSection<'plan> {
        let mut relocations = Vec::new();
        for (start, function) in self.code.placed() {
            relocations.extend(function.relocations.iter().map(|it| self.code_relocation(start, it)));
        }
        let flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
        let alignment = self.architecture.function_alignment;
        let content = SectionContent::own(self.code.bytes.clone());
        ElfSection::new(TEXT, elf::SHT_PROGBITS, flags, alignment, content, relocations)
    }

    fn eh_frame(&self) -> gimli::write::Result<ElfSection<'plan>> {
        let unwind = eh_frame::build(self.architecture, &self.code.functions)?;
        let relocations = unwind.function_starts.iter().zip(&self.code.starts).map(|(&offset, &start)| Relocation {
            offset,
            kind: self.architecture.elf.relative,
            target: RelocationTarget::Section(Self::TEXT),
            addend: start as i64,
        });
        let kind = self.architecture.elf.eh_frame_type;
        let content = SectionContent::own(unwind.bytes);
        Ok(ElfSection::new(".eh_frame", kind, elf::SHF_ALLOC, 8, content, relocations.collect()))
    }
}

impl<'plan> ElfSection<'plan> {
    fn new(
        name: impl Into<String>,
        kind: elf::SectionType,
        flags: elf::SectionFlags,
        alignment: u64,
        content: SectionContent<'plan>,
        relocations: Vec<Relocation>,
    ) -> Self {
        let name = name.into();
        ElfSection { name, kind, flags, alignment, content, relocations }
    }
}
