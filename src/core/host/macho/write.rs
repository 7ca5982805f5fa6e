//! Writes the file in one pass: header and load commands, section data, relocations, symbols, strings.

use object::write::macho::{
    BuildVersionCommand, DysymtabCommand, Encoder, MachHeader, Nlist, SectionHeader, SegmentCommand, SymtabCommand,
};
use object::write::{StringId, StringTable, WritableBuffer};
use object::{Endianness, macho};

use super::layout::{MachOLayout, MachOSection, MachOTarget, PartPlace};
use crate::base::content::Content;
use crate::base::io::Sink;
use crate::host::architecture::MachOMachine;
use crate::host::error::HostError;
use crate::host::layout::Code;
use crate::host::plan::ObjectPlan;
use crate::host::symbol::{Definition, Scope, Symbol, SymbolId};

/// Number of load commands: segment, version, symbols, dynamic symbols.
const COMMANDS: u32 = 4;

/// Alignment of relocations, symbols and strings in the file.
const TABLE_ALIGNMENT: u64 = 8;

/// Places of the parts of the file.
struct FileLayout {
    /// Offset of the data of each section; 0 for one of zeros.
    data: Vec<u64>,
    /// Address of each section in the object.
    addresses: Vec<u64>,
    /// Offset of the relocations of each section.
    relocations: Vec<u64>,
    symbols: u64,
    strings: u64,
    /// Flags in the header of the file.
    flags: macho::FileFlags,
    /// Offset of the segment, and of its end.
    start: u64,
    end_of_data: u64,
}

/// Symbols in the order of the file: local symbols, global symbols, then symbols that the object does not define.
/// Absolute symbols follow the last global one.
struct SymbolOrder {
    ids: Vec<SymbolId>,
    /// Index in the file of each symbol of the plan.
    index_of: Vec<u32>,
    /// Number of local symbols.
    local_count: u32,
    /// Number of symbols that the plan defines in sections.
    defined_count: u32,
    /// Number of absolute symbols.
    absolute_count: u32,
}

/// Writes the sections of a plan into `sink`.
pub fn write(
    plan: &ObjectPlan,
    machine: &MachOMachine,
    code: &Code,
    sections: &[MachOSection],
    places: &[PartPlace],
    sink: &mut Sink,
) -> Result<(), HostError> {
    let encoder = Encoder::new(Endianness::Little, true);
    let order = SymbolOrder::new(plan);
    let layout = FileLayout::new(encoder, plan, sections);
    let names = plan.symbols.iter().map(|symbol| &symbol.name);
    let names: Vec<String> =
        names.chain(plan.absolute_symbols.iter().map(|symbol| &symbol.name)).map(|name| file_name(name)).collect();
    let mut strings = StringTable::default();
    let names: Vec<StringId> = names.iter().map(|name| strings.add(name.as_bytes())).collect();
    let mut string_bytes = Vec::new();
    encoder.strtab(&mut string_bytes, &mut strings).map_err(HostError::object_file)?;
    if u32::try_from(layout.strings + string_bytes.len() as u64).is_err() {
        return Err(HostError::ObjectTooLarge { format: "Mach-O", size: layout.strings });
    }

    write_commands(encoder, machine, sections, &layout, &order, string_bytes.len(), sink);
    for (section, &offset) in sections.iter().zip(&layout.data) {
        if let Some(content) = section.content.in_file().filter(|content| content.size() > 0) {
            pad_until(sink, offset);
            for run in Content::runs(content) {
                sink.write_bytes(run);
            }
        }
    }
    for (section, &offset) in sections.iter().zip(&layout.relocations) {
        pad_until(sink, offset);
        write_relocations(encoder, section, &order, sink);
    }
    pad_until(sink, layout.symbols);
    let (defined, undefined) = order.ids.split_at(order.defined_count as usize);
    let entry = |&SymbolId(id): &SymbolId| {
        symbol(plan, &plan.symbols[id], strings.get_offset(names[id]), code, &layout, places)
    };
    for id in defined {
        encoder.nlist(sink, &entry(id));
    }
    for (symbol, &name) in plan.absolute_symbols.iter().zip(&names[plan.symbols.len()..]) {
        let n_type = macho::N_ABS | scope_flags(symbol.scope);
        let n_strx = strings.get_offset(name);
        let n_value = symbol.value;
        encoder.nlist(sink, &Nlist { n_strx, n_type, n_sect: 0, n_desc: macho::SymbolDesc(0), n_value });
    }
    for id in undefined {
        encoder.nlist(sink, &entry(id));
    }
    sink.write_bytes(&string_bytes);
    Ok(())
}

/// Returns the name of a symbol in the file, where a C name begins with an underscore. As in LLVM IR, a leading byte 1
/// marks a name that is used as it is.
fn file_name(name: &str) -> String {
    name.strip_prefix('\x01').map_or_else(|| format!("_{name}"), str::to_owned)
}

fn pad_until(sink: &mut Sink, offset: u64) {
    sink.write_zeros(offset - sink.size());
}

impl SymbolOrder {
    fn new(plan: &ObjectPlan) -> Self {
        let is_defined = |&SymbolId(id): &SymbolId| plan.symbols[id].definition.strength().is_none();
        let is_local = |&SymbolId(id): &SymbolId| plan.symbols[id].scope == Scope::Local;
        let (defined, undefined): (Vec<_>, Vec<_>) = (0..plan.symbols.len()).map(SymbolId).partition(is_defined);
        let defined_count = defined.len() as u32;
        let (mut ids, global): (Vec<_>, Vec<_>) = defined.into_iter().partition(is_local);
        let local_count = ids.len() as u32;
        ids.extend(global);
        ids.extend(undefined);
        let absolute_count = plan.absolute_symbols.len() as u32;
        let mut index_of = vec![0; ids.len()];
        for (index, &SymbolId(id)) in (0..).zip(&ids) {
            index_of[id] = if index < defined_count { index } else { index + absolute_count };
        }
        SymbolOrder { ids, index_of, local_count, defined_count, absolute_count }
    }

    /// Number of symbols in the file.
    fn count(&self) -> u32 {
        self.ids.len() as u32 + self.absolute_count
    }

    fn dysymtab(&self) -> DysymtabCommand {
        let iundefsym = self.defined_count + self.absolute_count;
        DysymtabCommand {
            nlocalsym: self.local_count,
            iextdefsym: self.local_count,
            nextdefsym: iundefsym - self.local_count,
            iundefsym,
            nundefsym: self.count() - iundefsym,
            ..Default::default()
        }
    }
}

impl FileLayout {
    fn new(encoder: Encoder<Endianness>, plan: &ObjectPlan, sections: &[MachOSection]) -> Self {
        // Addresses are distances from here, and so aligned as the offsets are.
        let alignment = sections.iter().map(|section| section.alignment).max().unwrap_or(1);
        let commands = encoder.mach_header_size() + size_of_commands(encoder, sections.len());
        let start = commands.next_multiple_of(alignment);
        let mut end = start;
        let mut data = Vec::new();
        for section in sections {
            let in_file = section.content.in_file().map(Content::size);
            // A section of no bytes has an offset as well.
            let offset = section.content.file_offset(end, section.alignment);
            data.push(if in_file.is_some() { offset } else { 0 });
            end = in_file.map_or(end, |size| offset + size);
        }
        let end_of_data = end;
        // Zeros follow everything that is in the file.
        let mut addresses: Vec<u64> = data.iter().map(|&offset| offset.saturating_sub(start)).collect();
        let mut address = end - start;
        for (section, at) in
            sections.iter().zip(&mut addresses).filter(|(section, _)| section.content.in_file().is_none())
        {
            *at = address.next_multiple_of(section.alignment);
            address = *at + section.content.size();
        }
        let mut relocations = Vec::new();
        end = end.next_multiple_of(TABLE_ALIGNMENT);
        for section in sections {
            relocations.push(end);
            end += section.relocations.len() as u64 * encoder.relocation_size();
        }
        let symbols = end;
        let symbol_count = (plan.symbols.len() + plan.absolute_symbols.len()) as u64;
        let strings = symbols + symbol_count * encoder.nlist_size();
        let flags = if plan.is_divisible { macho::MH_SUBSECTIONS_VIA_SYMBOLS } else { macho::FileFlags(0) };
        FileLayout { data, addresses, relocations, symbols, strings, flags, start, end_of_data }
    }
}

fn size_of_commands(encoder: Encoder<Endianness>, sections: usize) -> u64 {
    encoder.segment_command_size(sections as u32)
        + encoder.build_version_command_size(0)
        + encoder.symtab_command_size()
        + encoder.dysymtab_command_size()
}

fn write_commands(
    encoder: Encoder<Endianness>,
    machine: &MachOMachine,
    sections: &[MachOSection],
    layout: &FileLayout,
    order: &SymbolOrder,
    string_size: usize,
    sink: &mut Sink,
) {
    let (cputype, cpusubtype) = machine.cpu;
    let sizeofcmds = size_of_commands(encoder, sections.len()) as u32;
    let filetype = macho::MH_OBJECT;
    let flags = layout.flags;
    let header = MachHeader { cputype, cpusubtype: cpusubtype.into(), filetype, ncmds: COMMANDS, sizeofcmds, flags };
    encoder.mach_header(sink, &header);

    let ends = sections.iter().zip(&layout.addresses).map(|(section, address)| address + section.content.size());
    let protection = macho::VM_PROT_READ | macho::VM_PROT_WRITE | macho::VM_PROT_EXECUTE;
    encoder.segment_command(
        sink,
        &SegmentCommand {
            segname: [0; 16],
            vmaddr: 0,
            vmsize: ends.max().unwrap_or(0),
            fileoff: layout.start,
            filesize: layout.end_of_data - layout.start,
            maxprot: protection,
            initprot: protection,
            nsects: sections.len() as u32,
            flags: macho::SegmentFlags(0),
        },
    );
    for (index, section) in sections.iter().enumerate() {
        encoder.section_header(sink, &section_header(section, index, layout));
    }
    let (major, minor) = machine.oldest_system;
    let minos = macho::Version(u32::from(major) << 16 | u32::from(minor) << 8);
    let platform = macho::PLATFORM_MACOS;
    encoder.build_version_command(sink, &BuildVersionCommand { platform, minos, sdk: macho::Version(0), ntools: 0 });
    encoder.symtab_command(
        sink,
        &SymtabCommand {
            symoff: layout.symbols as u32,
            nsyms: order.count(),
            stroff: layout.strings as u32,
            strsize: string_size as u32,
        },
    );
    encoder.dysymtab_command(sink, &order.dysymtab());
}

fn section_header(section: &MachOSection, index: usize, layout: &FileLayout) -> SectionHeader {
    let (segment, name) = section.name.split_once(',').unwrap_or(("__DATA", &section.name));
    let count = section.relocations.len() as u32;
    SectionHeader {
        sectname: fixed(name),
        segname: fixed(segment),
        addr: layout.addresses[index],
        size: section.content.size(),
        offset: layout.data[index] as u32,
        align: section.alignment.trailing_zeros(),
        reloff: if count > 0 { layout.relocations[index] as u32 } else { 0 },
        nreloc: count,
        flags: section.flags,
        reserved1: 0,
        reserved2: 0,
        reserved3: 0,
    }
}

/// Returns a name of at most 16 bytes, filled up with zeros.
fn fixed(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

fn write_relocations(encoder: Encoder<Endianness>, section: &MachOSection, order: &SymbolOrder, sink: &mut Sink) {
    for relocation in &section.relocations {
        let (r_symbolnum, r_extern) = match relocation.target {
            MachOTarget::Symbol(SymbolId(id)) => (order.index_of[id], true),
            MachOTarget::Addend(addend) => (addend as u32 & 0x00ff_ffff, false),
        };
        encoder.relocation(
            sink,
            &macho::RelocationInfo {
                r_address: relocation.offset as u32,
                r_symbolnum,
                r_pcrel: relocation.is_relative,
                r_length: relocation.size,
                r_extern,
                r_type: relocation.kind,
            },
        );
    }
}

fn scope_flags(scope: Scope) -> macho::SymbolFlags {
    match scope {
        Scope::Local => macho::SymbolFlags(0),
        Scope::Global => macho::N_EXT,
        Scope::Hidden => macho::N_EXT | macho::N_PEXT,
    }
}

fn symbol(
    plan: &ObjectPlan,
    symbol: &Symbol,
    name: u32,
    code: &Code,
    layout: &FileLayout,
    places: &[PartPlace],
) -> Nlist {
    let undefined =
        |n_desc| Nlist { n_strx: name, n_type: macho::N_UNDF | macho::N_EXT, n_sect: 0, n_desc, n_value: 0 };
    let defined = |section: usize, offset: u64, n_desc| Nlist {
        n_strx: name,
        n_type: macho::N_SECT | scope_flags(symbol.scope),
        n_sect: section as u8 + 1,
        n_desc,
        n_value: layout.addresses[section] + offset,
    };
    let ordinary = macho::SymbolDesc(0);
    match symbol.definition {
        Definition::Undefined | Definition::UndefinedHidden => undefined(macho::SymbolDesc(0)),
        Definition::UndefinedWeak => undefined(macho::N_WEAK_REF),
        Definition::Data { section, offset, .. } => {
            let place = places[section.0];
            // No part that the linker may drop begins at a symbol inside of one.
            let is_inside = plan.is_divisible && offset > 0;
            defined(place.section, place.offset + offset, if is_inside { macho::N_ALT_ENTRY } else { ordinary })
        }
        Definition::Function(function) => defined(MachOLayout::TEXT, code.starts[function], ordinary),
    }
}
