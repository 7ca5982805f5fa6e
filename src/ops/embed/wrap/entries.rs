//! Offload entries: the table where a runtime finds kernels and variables by name.
//!
//! Clang writes the entries into a section of every host object; the linker concatenates the sections and defines the
//! bounds. The wrapper adds an empty placeholder, so that the section exists, and the entries themselves for host
//! programs that clang has not compiled.
//!
//! | old (32 bytes, LLVM 19 and before) | offset | new (56 bytes, LLVM 20 on) | offset |
//! |---|---|---|---|
//! | addr | 0 | Reserved, 0 | 0 |
//! | name | 8 | Version u16 = 1, Kind u16, Flags u32 | 8, 10, 12 |
//! | size, 0 for a function | 16 | Address | 16 |
//! | flags i32 | 24 | SymbolName | 24 |
//! | reserved or data, i32 | 28 | Size, 0 for a kernel | 32 |
//! | | | Data | 40 |
//! | | | AuxAddr | 48 |

use super::Request;
use crate::embed::llvm::wrapper_abi::{CoffBounds, EntryLayout};
use fatbin_core::base::content::Content;
use fatbin_core::host::{
    Data, Definition, Field, LoadedField, Local, ObjectFormat, ObjectPlan, Part, PlanSection, SectionKind,
    SymbolAddress, SymbolId, Value, Width,
};

/// Alignment of the entries in bytes.
const ENTRY_ALIGNMENT: u64 = 8;

/// An entry that the wrapper writes instead of a compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct OffloadEntry {
    /// Name in the device image.
    pub name: String,
    /// Symbol whose address identifies it in the host program.
    pub host_symbol: String,
    /// Size in bytes; 0 for a kernel.
    pub size: u64,
    /// Flags, whose meaning depends on the release.
    pub flags: u32,
    /// Alignment of a managed variable, type of a surface or texture.
    pub data: u32,
    /// Symbol of the host's pointer to a managed variable; new entries only.
    pub aux_symbol: Option<String>,
}

impl OffloadEntry {
    /// Creates the entry of a kernel.
    pub fn new(name: impl Into<String>, host_symbol: impl Into<String>) -> Self {
        OffloadEntry { name: name.into(), host_symbol: host_symbol.into(), ..OffloadEntry::default() }
    }
}

/// Bounds of the entries of the whole program or library.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Address of the first entry.
    pub begin: SymbolAddress,
    /// Address after the last entry.
    pub end: SymbolAddress,
    /// Symbol in the section of the entries that the wrapper must refer to. With `--gc-sections`, ld.lld drops a
    /// section if there are only references to its bounds.
    pub keep: Option<SymbolId>,
}

/// Adds the entries of a request and everything that their bounds need in the host's object format. Returns the bounds.
pub fn section(plan: &mut ObjectPlan, request: &Request) -> Bounds {
    match (request.format, request.abi.coff) {
        (ObjectFormat::Coff, Some(bounds)) => coff_sections(plan, request, bounds),
        (ObjectFormat::MachO, _) => mach_o_section(plan, request),
        (ObjectFormat::Elf | ObjectFormat::Coff, _) => elf_section(plan, request),
    }
}

/// Adds one section with the placeholder and the entries; the linker defines its bounds.
fn elf_section(plan: &mut ObjectPlan, request: &Request) -> Bounds {
    let abi = &request.abi;
    let names = names_section(plan, request);
    let name = abi.entry_section(request.kind);
    let section = plan.next_section();
    let placeholder = plan.symbol(abi.placeholder(request.kind), Definition::Data { section, offset: 0, size: 0 });
    entry_symbols(plan, request);
    let entries = all_fields(plan, request, names);
    let (section_kind, data) = match (request.entries.as_slice(), abi.retain) {
        // Read-only, as LLVM makes it. Clang's own entries are read-only without -fPIC and writable with it. mold 1.10
        // keeps one output section for each, and gives __start_ and __stop_ to the writable one. A read-only
        // placeholder joins the entries or loses to them; a writable one would take the bounds away from read-only
        // entries.
        ([], false) => (SectionKind::ReadOnly, Data::Bytes(Content::new())),
        ([], true) => (SectionKind::Retained, Data::Bytes(Content::new())),
        // The linker or the loader fills in their addresses.
        _ => (SectionKind::Writable, Data::Fields(entries)),
    };
    plan.section(PlanSection::new(name, section_kind, ENTRY_ALIGNMENT, data));
    Bounds {
        begin: plan.reference(&format!("__start_{name}"), Definition::UndefinedHidden).start(),
        end: plan.reference(&format!("__stop_{name}"), Definition::UndefinedHidden).start(),
        keep: (request.keep_entries || !request.entries.is_empty()).then_some(placeholder),
    }
}

/// Adds a section for each bound and one for the entries between them, in the order of a linker for Windows.
///
/// LLVM defines the bounds as weak symbols of the whole program. Here they are local. Every contribution to the first
/// section precedes all entries, and every contribution to the last one follows them, so each object may have separate
/// bounds. With bounds of zeros, one of two objects has a bound of the other among its entries. That bound is of no
/// kind, so runtimes skip it.
fn coff_sections(plan: &mut ObjectPlan, request: &Request, bounds: CoffBounds) -> Bounds {
    let name = request.abi.entry_section(request.kind);
    let zeros = match bounds {
        CoffBounds::Empty => 0,
        CoffBounds::ZeroEntry => request.abi.entries.size().into(),
    };
    let bound = |plan: &mut ObjectPlan, symbol: &str, part: &str| {
        let section = plan.next_section();
        let symbol = plan.symbol(format!("{symbol}{name}"), Definition::Data { section, offset: 0, size: zeros });
        let data = Data::Bytes(Content::from(vec![0; zeros as usize]));
        plan.section(PlanSection::new(format!("{name}${part}"), SectionKind::ReadOnly, ENTRY_ALIGNMENT, data));
        symbol
    };
    if bounds == CoffBounds::Empty {
        // In a program without entries, lld-link 22 drops a section without bytes and then rejects references to its
        // bounds, LLVM's as well. These bytes precede the first bound.
        let data = Data::Bytes(Content::from(vec![0; ENTRY_ALIGNMENT as usize]));
        plan.section(PlanSection::new(format!("{name}$O"), SectionKind::ReadOnly, ENTRY_ALIGNMENT, data));
    }
    let begin = bound(plan, "__start_", "OA").plus(zeros);
    if !request.entries.is_empty() {
        let names = names_section(plan, request);
        entry_symbols(plan, request);
        let entries = all_fields(plan, request, names);
        let name = format!("{name}$OE");
        plan.section(PlanSection::new(name, SectionKind::Writable, ENTRY_ALIGNMENT, Data::Fields(entries)));
    }
    Bounds { begin, end: bound(plan, "__stop_", "OZ").start(), keep: None }
}

/// Adds the entries as an array. Without entries, adds the placeholder of clang's section, where the linker defines the
/// bounds.
///
/// An object never has both: ld64.lld 22 drops everything in the segment `__LLVM`, clang's entries as well, and other
/// linkers may.
fn mach_o_section(plan: &mut ObjectPlan, request: &Request) -> Bounds {
    if !request.entries.is_empty() {
        let names = names_section(plan, request);
        let section = plan.next_section();
        let count = request.entries.len() as u64;
        let size = u64::from(request.abi.entries.size()) * count;
        let array = plan.symbol(".offloading.entries", Definition::Data { section, offset: 0, size });
        let entries = all_fields(plan, request, names);
        plan.section(PlanSection::new(".data.rel.ro", SectionKind::Writable, ENTRY_ALIGNMENT, Data::Fields(entries)));
        return Bounds { begin: array.start(), end: array.plus(size), keep: None };
    }
    const SECTION: &str = "__LLVM,offload_entries";
    let section = plan.next_section();
    plan.symbol(format!("__dummy.{SECTION}"), Definition::Data { section, offset: 0, size: 0 });
    plan.section(PlanSection::new(SECTION, SectionKind::Retained, ENTRY_ALIGNMENT, Data::Bytes(Content::new())));
    let mut bound = |part: &str| {
        // The byte 1 marks names that do not get the underscore of C's.
        let name = format!("\x01section${part}$__LLVM$offload_entries");
        plan.reference(&name, Definition::UndefinedHidden).start()
    };
    Bounds { begin: bound("start"), end: bound("end"), keep: None }
}

/// Adds a symbol for each entry in the next section.
fn entry_symbols(plan: &mut ObjectPlan, request: &Request) {
    let section = plan.next_section();
    let size = u64::from(request.abi.entries.size());
    for (index, entry) in request.entries.iter().enumerate() {
        let definition = Definition::Data { section, offset: size * index as u64, size };
        plan.symbol(format!("{}{}", request.abi.entry_symbol(), entry.name), definition);
    }
}

fn all_fields(plan: &mut ObjectPlan, request: &Request, names: Vec<SymbolAddress>) -> Vec<Field> {
    let abi = &request.abi;
    let mut all = Vec::new();
    for (entry, name) in request.entries.iter().zip(names) {
        let host = plan.reference(&entry.host_symbol, Definition::Undefined);
        let mut entry_fields = fields(abi.entries, request.kind_number, entry, Field::Pointer(host.start()), name);
        if let (Some(aux), EntryLayout::New) = (&entry.aux_symbol, abi.entries) {
            let aux = plan.reference(aux, Definition::Undefined);
            *entry_fields.last_mut().expect("AuxAddr is the last") = Field::Pointer(aux.start());
        }
        all.extend(entry_fields);
    }
    all
}

/// Adds the section with the names of `entries` and returns their addresses.
fn names_section(plan: &mut ObjectPlan, request: &Request) -> Vec<SymbolAddress> {
    if request.entries.is_empty() {
        return Vec::new();
    }
    let section = plan.next_section();
    let mut text = Vec::new();
    let addresses = request
        .entries
        .iter()
        .map(|entry| {
            let offset = text.len() as u64;
            let size = entry.name.len() as u64 + 1;
            text.extend_from_slice(entry.name.as_bytes());
            text.push(0);
            plan.symbol(".offloading.entry_name", Definition::Data { section, offset, size }).start()
        })
        .collect();
    let name = match request.abi.entries {
        EntryLayout::Old => ".rodata",
        EntryLayout::New => ".llvm.rodata.offloading",
    };
    plan.section(PlanSection::new(name, SectionKind::ReadOnly, 1, Data::Bytes(Content::from(text))));
    addresses
}

/// Returns the fields of one entry, in order.
pub fn fields(layout: EntryLayout, kind: u16, entry: &OffloadEntry, address: Field, name: SymbolAddress) -> Vec<Field> {
    let name = Field::Pointer(name);
    let size = Field::U64(entry.size);
    let flags = Field::U32(entry.flags);
    match layout {
        EntryLayout::Old => vec![address, name, size, flags, Field::U32(entry.data)],
        EntryLayout::New => {
            let reserved = Field::U64(0);
            let version = Field::U16(1);
            let kind = Field::U16(kind);
            let data = Field::U64(entry.data.into());
            let aux_address = Field::U64(0);
            vec![reserved, version, kind, flags, address, name, size, data, aux_address]
        }
    }
}

/// Fields of the current entry of a loop over the entries.
impl EntryLayout {
    /// Returns the size of an entry in bytes.
    pub fn size(self) -> u32 {
        match self {
            EntryLayout::Old => 32,
            EntryLayout::New => 56,
        }
    }

    /// Returns the offload kind; `None` for old entries, whose section is for one kind.
    pub fn kind(self) -> Option<Value> {
        match self {
            EntryLayout::Old => None,
            EntryLayout::New => Some(field(10, Width::U16, Part::All)),
        }
    }

    /// Returns the address in the host program.
    pub fn address(self) -> Value {
        field(self.pick(0, 16), Width::U64, Part::All)
    }

    /// Returns the address of the name.
    pub fn name(self) -> Value {
        field(self.pick(8, 24), Width::U64, Part::All)
    }

    /// Returns the size of the variable, or 0 for a kernel.
    pub fn size_field(self) -> Value {
        field(self.pick(16, 32), Width::U64, Part::All)
    }

    /// Returns the flags, or a part of them.
    pub fn flags(self, part: Part) -> Value {
        field(self.pick(24, 12), Width::U32, part)
    }

    /// Returns the alignment, or the type of a surface or texture, as an `int`. In the new layout it is the low half of
    /// 64 bits, which is not the first half on every machine.
    pub fn data(self) -> Value {
        match self {
            EntryLayout::Old => field(28, Width::U32, Part::SignedLow32),
            EntryLayout::New => field(40, Width::U64, Part::SignedLow32),
        }
    }

    /// Returns the pointer of a managed variable.
    pub fn aux_address(self) -> Value {
        field(48, Width::U64, Part::All)
    }

    fn pick(self, old: u32, new: u32) -> u32 {
        match self {
            EntryLayout::Old => old,
            EntryLayout::New => new,
        }
    }
}

fn field(offset: u32, width: Width, part: Part) -> Value {
    Value::Field(LoadedField { of: Local::Entry, offset, width, part })
}
