//! From a plan to the sections of an object: functions compiled and laid out, references resolved as far as they go.
//!
//! References to data that the object itself defines go through the section's symbol, as assemblers do it, so that the
//! names can be stripped. Those to functions go through the function's, because a symbol may say more than a place: on
//! Power, where a caller within the module enters.

use object::{Endianness, elf};

use crate::content::Content;
use crate::format::offload_binary;
use crate::host::architecture::Architecture;
use crate::host::assembler::{Code, CodeRelocation, CodeTarget};
use crate::host::eh_frame;
use crate::host::plan::{Data, Field, ObjectPlan, Section, SectionKind};
use crate::host::symbol::{Address, Definition, SectionId, SymbolId};

/// `R_<machine>_NONE`, the same number on every machine.
const R_NONE: elf::RelocationType = elf::RelocationType(0);

/// Where the functions go. A linker puts it beside other code that runs once.
const TEXT: &str = ".text.startup";

/// A section as ELF has it, without its place in the file.
pub struct ElfSection<'plan> {
    pub name: String,
    pub kind: elf::SectionType,
    pub flags: elf::SectionFlags,
    pub alignment: u64,
    content: Runs<'plan>,
    pub relocations: Vec<Relocation>,
}

enum Runs<'plan> {
    Plan(&'plan Content<'plan>),
    Own(Content<'static>),
    /// Nothing in the file.
    Zero(u64),
}

/// A relocation whose target is a section or a symbol of the file.
pub struct Relocation {
    pub offset: u64,
    pub kind: elf::RelocationType,
    pub target: Target,
    pub addend: i64,
}

/// What a relocation refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A section, by its place among [`ElfSection`]s.
    Section(usize),
    /// A function, or a symbol that the object does not define.
    Symbol(SymbolId),
    /// A byte of the text section that another instruction refers to.
    Label(u64),
    /// A symbol that the ABI defines.
    Abi(&'static str),
}

/// Where the plan's functions and sections are among the object's sections.
pub struct Layout<'plan> {
    plan: &'plan ObjectPlan<'plan>,
    architecture: &'plan Architecture,
    /// Offset of each function in the text section, and its size.
    functions: Vec<(u64, u64)>,
}

impl<'plan> Layout<'plan> {
    /// The text section is the first, the plan's own follow.
    pub const TEXT: usize = 0;

    /// Lays out the text section.
    pub fn new(plan: &'plan ObjectPlan<'plan>, architecture: &'plan Architecture, code: &[Code]) -> Self {
        let mut end: u64 = 0;
        let functions = code
            .iter()
            .map(|code| {
                let start = end.next_multiple_of(architecture.function_alignment);
                end = start + code.bytes.len() as u64;
                (start, code.bytes.len() as u64)
            })
            .collect();
        Layout { plan, architecture, functions }
    }

    /// The section, offset and size of a symbol that the object defines.
    pub fn place(&self, definition: Definition) -> Option<(usize, u64, u64)> {
        match definition {
            Definition::Undefined | Definition::UndefinedWeak | Definition::UndefinedHidden => None,
            Definition::Data { section, offset, size } => Some((Self::place_of(section), offset, size)),
            Definition::Function(index) => {
                let (offset, size) = self.functions[index];
                Some((Self::TEXT, offset, size))
            }
        }
    }

    /// The place of one of the plan's sections.
    fn place_of(section: SectionId) -> usize {
        Self::TEXT + 1 + section.0
    }

    fn relocation(&self, offset: u64, kind: elf::RelocationType, symbol: SymbolId, addend: i64) -> Relocation {
        match self.plan.symbols[symbol.0].definition {
            Definition::Data { section, offset: place, .. } => {
                let target = Target::Section(Self::place_of(section));
                Relocation { offset, kind, target, addend: addend + place as i64 }
            }
            _ => Relocation { offset, kind, target: Target::Symbol(symbol), addend },
        }
    }

    /// A relocation in the function that begins at `start` of the text section.
    fn code_relocation(&self, start: u64, code: &CodeRelocation) -> Relocation {
        let (offset, kind, addend) = (start + code.offset, code.kind, code.addend);
        let target = match code.target {
            CodeTarget::Symbol(symbol) => return self.relocation(offset, kind, symbol, addend),
            CodeTarget::Here(place) => Target::Label(start + place),
            CodeTarget::Abi(name) => Target::Abi(name),
        };
        Relocation { offset, kind, target, addend }
    }

    fn section(&self, section: &'plan Section<'plan>) -> ElfSection<'plan> {
        let read_only = elf::SHF_ALLOC;
        let writable = elf::SHF_ALLOC | elf::SHF_WRITE;
        let (mut kind, mut flags) = match section.kind {
            SectionKind::ReadOnly => (elf::SHT_PROGBITS, read_only),
            SectionKind::Retained => (elf::SHT_PROGBITS, read_only | elf::SHF_GNU_RETAIN),
            SectionKind::Writable => (elf::SHT_PROGBITS, writable),
            SectionKind::Offloading => (offload_binary::SECTION_TYPE, read_only),
            SectionKind::Constructors => (elf::SHT_INIT_ARRAY, writable),
            SectionKind::Destructors => (elf::SHT_FINI_ARRAY, writable),
        };
        let mut name = section.name.clone();
        if let (true, Some(large)) = (section.large, self.architecture.large_section) {
            // GNU ld goes by the name, the other linkers by the flag.
            name = format!(".lrodata{name}");
            flags |= large;
        }
        let (content, mut relocations) = match &section.data {
            Data::Bytes(content) => (Runs::Plan(content), Vec::new()),
            Data::Fields(fields) => self.fields(fields),
            Data::Zero(size) => {
                kind = elf::SHT_NOBITS;
                (Runs::Zero(*size), Vec::new())
            }
        };
        // A relocation that changes nothing is a reference all the same, and what is referred to is not removed.
        relocations.extend(section.keep.iter().map(|&symbol| self.relocation(0, R_NONE, symbol, 0)));
        ElfSection::new(name, kind, flags, section.alignment, content, relocations)
    }

    /// The bytes of a sequence of fields, and a relocation for each address among them.
    fn fields(&self, fields: &[Field]) -> (Runs<'plan>, Vec<Relocation>) {
        let mut bytes = Vec::new();
        let mut relocations = Vec::new();
        for field in fields {
            match *field {
                Field::U8(value) => bytes.push(value),
                Field::U16(value) => bytes.extend(self.ordered(value.to_le_bytes())),
                Field::U32(value) => bytes.extend(self.ordered(value.to_le_bytes())),
                Field::U64(value) => bytes.extend(self.ordered(value.to_le_bytes())),
                Field::Pointer(Address { symbol, offset }) => {
                    let at = bytes.len() as u64;
                    relocations.push(self.relocation(at, self.architecture.absolute, symbol, offset as i64));
                    bytes.extend([0; 8]);
                }
            }
        }
        (Runs::own(bytes), relocations)
    }

    /// The little-endian bytes of a number in the order of the machine.
    fn ordered<const N: usize>(&self, mut bytes: [u8; N]) -> [u8; N] {
        if self.architecture.endianness == Endianness::Big {
            bytes.reverse();
        }
        bytes
    }

    /// All sections in their order, without the tables that describe them.
    pub fn sections(&self, code: &[Code]) -> gimli::write::Result<Vec<ElfSection<'plan>>> {
        let mut sections = vec![self.text(code)];
        sections.extend(self.plan.sections.iter().map(|section| self.section(section)));
        // Its presence says that the code needs no executable stack; without it linkers make the program's executable.
        let none = elf::SectionFlags(0);
        sections.push(ElfSection::new(".note.GNU-stack", elf::SHT_PROGBITS, none, 1, Runs::own(vec![]), vec![]));
        sections.extend(self.architecture.hardening.map(|(kind, bits)| self.property_note(kind, bits)));
        sections.push(self.eh_frame(code)?);
        Ok(sections)
    }

    /// `.note.gnu.property` with one property of 32 bits (Linux Extensions to gABI): note header, name, then type, size,
    /// value and padding to 8.
    fn property_note(&self, kind: elf::GnuPropertyType, bits: u32) -> ElfSection<'plan> {
        let name = match self.architecture.endianness {
            Endianness::Little => u32::from_le_bytes(*b"GNU\0"),
            Endianness::Big => u32::from_be_bytes(*b"GNU\0"),
        };
        let words = [4, 16, elf::NT_GNU_PROPERTY_TYPE_0.0, name, kind.0, 4, bits, 0];
        let (content, relocations) = self.fields(&words.map(Field::U32));
        ElfSection::new(".note.gnu.property", elf::SHT_NOTE, elf::SHF_ALLOC, 8, content, relocations)
    }

    fn text(&self, code: &[Code]) -> ElfSection<'plan> {
        let mut bytes = Vec::new();
        let mut relocations = Vec::new();
        for (code, &(start, _)) in code.iter().zip(&self.functions) {
            let gap = start as usize - bytes.len();
            bytes.extend(self.architecture.fill.iter().cycle().take(gap));
            bytes.extend(&code.bytes);
            relocations.extend(code.relocations.iter().map(|it| self.code_relocation(start, it)));
        }
        let flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
        let alignment = self.architecture.function_alignment;
        ElfSection::new(TEXT, elf::SHT_PROGBITS, flags, alignment, Runs::own(bytes), relocations)
    }

    fn eh_frame(&self, code: &[Code]) -> gimli::write::Result<ElfSection<'plan>> {
        let unwind = eh_frame::build(self.architecture, code)?;
        let relocations = unwind.function_starts.iter().zip(&self.functions).map(|(&offset, &(start, _))| Relocation {
            offset,
            kind: self.architecture.relative,
            target: Target::Section(Self::TEXT),
            addend: start as i64,
        });
        let kind = self.architecture.eh_frame_type;
        let content = Runs::own(unwind.bytes);
        Ok(ElfSection::new(".eh_frame", kind, elf::SHF_ALLOC, 8, content, relocations.collect()))
    }
}

impl<'plan> ElfSection<'plan> {
    fn new(
        name: impl Into<String>,
        kind: elf::SectionType,
        flags: elf::SectionFlags,
        alignment: u64,
        content: Runs<'plan>,
        relocations: Vec<Relocation>,
    ) -> Self {
        let name = name.into();
        ElfSection { name, kind, flags, alignment, content, relocations }
    }

    /// The section's bytes in the file.
    pub fn content(&self) -> Option<&Content<'_>> {
        match &self.content {
            Runs::Plan(content) => Some(content),
            Runs::Own(content) => Some(content),
            Runs::Zero(_) => None,
        }
    }

    /// The section's size in memory, in bytes.
    pub fn size(&self) -> u64 {
        match &self.content {
            Runs::Zero(size) => *size,
            Runs::Plan(content) => content.size(),
            Runs::Own(content) => content.size(),
        }
    }
}

impl Runs<'_> {
    fn own(bytes: Vec<u8>) -> Self {
        Runs::Own(Content::from(bytes))
    }
}
