//! Symbol tables of AMD code objects without the symbols that neither a loader nor a linker reads.
//!
//! ROCr finds kernels and variables in `.symtab`, unless `LOADER_USE_DYNSYM` is set: the table cannot go. It skips all
//! types of symbols except objects, common symbols and kernels. Compilers since LLVM 20 add absolute symbols without a
//! type for the resources of each function, such as `name.num_vgpr`, and lld has read them when a file is linked.
//! Functions stay, because debuggers and profilers name code by them.
//!
//! The driver of NVIDIA finds kernels in `.symtab`, too, and `.nv.info` and relocations refer to its symbols by index:
//! tables of cubins stay as they are.
//!
//! Sources: ROCR-Runtime, `amd_hsa_code.cpp`, `PullElfV2`, and `amd_elf_image.cpp`, `getSymbolTable`; LLVM,
//! `AMDGPUMCResourceInfo.cpp`.

use std::collections::HashMap;

use object::LittleEndian as LE;
use object::elf::{self, SectionHeader64, Sym64};
use object::pod::bytes_of;
use object::read::elf::{ProgramHeader, SectionHeader, Sym};

use super::{DeviceElf, set};
use crate::base::bytes::{Resource, text_work};
use crate::base::elf_layout::ELF64;
use crate::base::error::{Cause, Malformed};

/// The sections of a symbol table and its strings.
struct Tables<'data> {
    symbols: &'data SectionHeader64<LE>,
    strings: &'data SectionHeader64<LE>,
}

/// Returns the file with smaller tables at the old offsets, followed by bytes that are in no section. `None` if all
/// symbols stay, and for other files than linked AMD code objects.
pub fn without_resources(elf: &DeviceElf<'_>) -> Result<Option<Vec<u8>>, Malformed> {
    let Some(tables) = Tables::of(elf) else { return Ok(None) };
    let Some(kept) = Kept::of(elf, &tables)? else { return Ok(None) };
    let mut bytes = elf.view.data().to_vec();
    set(&mut bytes, tables.symbols.sh_offset(LE), &kept.symbols);
    set(&mut bytes, tables.strings.sh_offset(LE), &kept.strings);
    let headers = elf.sections.iter().map(|section| {
        let mut new = *section;
        if std::ptr::eq(section, tables.symbols) {
            new.sh_size.set(LE, kept.symbols.len() as u64);
            new.sh_info.set(LE, kept.locals);
        } else if std::ptr::eq(section, tables.strings) {
            new.sh_size.set(LE, kept.strings.len() as u64);
        }
        new
    });
    let headers: Vec<u8> = headers.flat_map(|header| bytes_of(&header).to_vec()).collect();
    set(&mut bytes, elf.header.e_shoff.get(LE), &headers);
    Ok(Some(bytes))
}

/// The new tables.
struct Kept {
    symbols: Vec<u8>,
    strings: Vec<u8>,
    /// Index of the first symbol that is not local.
    locals: u32,
}

impl Kept {
    /// `None` if the tables get no smaller.
    fn of(elf: &DeviceElf<'_>, tables: &Tables<'_>) -> Result<Option<Kept>, Malformed> {
        let offset = tables.symbols.sh_offset(LE);
        let malformed = |error| elf.view.malformed("ELF symbol table", offset, Cause::object_file(error));
        let symbols: &[Sym64<LE>] = tables.symbols.data_as_array(LE, elf.view.data()).map_err(malformed)?;
        let Some(names) = tables.strings.strings(LE, elf.view.data()).map_err(malformed)? else { return Ok(None) };
        elf.view.charge("ELF symbol table", Resource::Work, symbols.len() as u64)?;
        let mut kept = Kept { symbols: Vec::new(), strings: vec![0], locals: 0 };
        let mut locals = 0_u32..;
        let mut offsets: HashMap<&[u8], u32> = HashMap::from([(&b""[..], 0)]);
        for (index, symbol) in symbols.iter().enumerate() {
            if is_resource(symbol) {
                continue;
            }
            let name = symbol.name(LE, names).map_err(malformed)?;
            elf.view.charge("ELF symbol name", Resource::Work, text_work(name.len()))?;
            let offset = *offsets.entry(name).or_insert_with(|| {
                let offset = kept.strings.len() as u32;
                kept.strings.extend(name.iter().chain(b"\0"));
                offset
            });
            let mut new = *symbol;
            new.st_name.set(LE, offset);
            kept.symbols.extend_from_slice(bytes_of(&new));
            if (index as u64) < u64::from(tables.symbols.sh_info(LE)) {
                locals.next();
            }
        }
        kept.locals = locals.start;
        let is_smaller = kept.symbols.len() < size_of_val(symbols);
        Ok((is_smaller && kept.strings.len() as u64 <= tables.strings.sh_size(LE)).then_some(kept))
    }
}

impl<'data> Tables<'data> {
    /// Returns the tables of a linked code object, if nothing else refers to the table by index, and no other part of the
    /// file shares their bytes.
    fn of(elf: &DeviceElf<'data>) -> Option<Self> {
        if elf.header.e_machine.get(LE) != elf::EM_AMDGPU || elf.header.e_type.get(LE) != elf::ET_DYN {
            return None;
        }
        let mut found = elf.sections.iter().enumerate().filter(|(_, it)| it.sh_type(LE) == elf::SHT_SYMTAB);
        let (index, symbols) = found.next()?;
        let link = symbols.sh_link(LE) as usize;
        let strings = elf.sections.get(link)?;
        let has_section_names = usize::from(elf.header.e_shstrndx.get(LE).0) == link;
        let links = |index: usize| elf.sections.iter().filter(|it| it.sh_link(LE) as usize == index).count();
        let is_own = found.next().is_none() && !has_section_names && links(index) == 0 && links(link) == 1;
        let are_alone = is_alone(elf, symbols) && is_alone(elf, strings);
        (is_own && are_alone && strings.sh_type(LE) == elf::SHT_STRTAB).then_some(Tables { symbols, strings })
    }
}

/// Returns whether the bytes of a section are in no other section, segment or table.
fn is_alone(elf: &DeviceElf<'_>, section: &SectionHeader64<LE>) -> bool {
    let own = (section.sh_offset(LE), section.sh_size(LE));
    // Ranges that end behind the address space overlap everything.
    let is_before = |one: (u64, u64), other: (u64, u64)| one.0.checked_add(one.1).is_some_and(|end| end <= other.0);
    let overlaps = |part: (u64, u64)| part.1 > 0 && !is_before(part, own) && !is_before(own, part);
    let sections = elf.sections.iter().filter(|it| it.sh_type(LE) != elf::SHT_NOBITS);
    let sections = sections.filter(|it| !std::ptr::eq(*it, section)).map(|it| (it.sh_offset(LE), it.sh_size(LE)));
    let segments = elf.segments.iter().map(|it| it.file_range(LE));
    let tables = [
        (0, ELF64.header_size),
        (elf.header.e_shoff.get(LE), size_of_val(elf.sections) as u64),
        (elf.header.e_phoff.get(LE), size_of_val(elf.segments) as u64),
    ];
    own.1 > 0 && !sections.chain(segments).chain(tables).any(overlaps)
}

fn is_resource(symbol: &Sym64<LE>) -> bool {
    symbol.st_type() == elf::STT_NOTYPE && symbol.st_shndx(LE) == elf::SHN_ABS
}
