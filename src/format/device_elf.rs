//! Device code as ELF: AMD code objects, NVIDIA cubins, Intel's zebin, shared objects for OpenMP's host plugins.
//!
//! They are ordinary ELF files with the architecture in `e_machine` and `e_flags` (see [`crate::target`]), so `object`
//! parses them. Cubins store the toolkit's number in `e_version`, so a reader must not check that field.

use object::elf::{self, FileHeader64};
use object::endian::{Endian, Endianness};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};

use crate::base::bytes::{Extent, Resource, Table, View};
use crate::base::elf_layout::{ELF64, LITTLE_ENDIAN_64};
use crate::base::error::{Cause, Malformed};
use crate::target::cuda_tool_note::{self, CudaToolNote};
use crate::target::nvptx::{self, Cubin};
use crate::target::{amdgpu, intel, musa, triple};

/// Properties of a device ELF file, from its headers.
pub struct DeviceElf<'data> {
    pub triple: Option<&'static str>,
    pub arch: Option<String>,
    /// Further properties of an NVIDIA cubin.
    pub cubin: Option<nvptx::Cubin<'data>>,
    /// End of the last structure that the headers point to, in bytes from the first byte.
    pub size: u64,
}

/// Cubin section types without bytes in the file: `CUDA_GLOBAL`, `CUDA_LOCAL` and `CUDA_SHARED` in the output of
/// cuobjdump. Relocatable cubins of CUDA 11.8 to 12.8 have them; CUDA 13 uses SHT_NOBITS.
const SHT_CUDA_NOBITS: [elf::SectionType; 3] =
    [elf::SectionType(0x7000_0007), elf::SectionType(0x7000_0009), elf::SectionType(0x7000_000a)];

/// Returns whether sections of a type have bytes in the file.
pub fn has_stored_bytes(machine: elf::Machine, section_type: elf::SectionType) -> bool {
    let is_cuda_nobits = machine == elf::EM_CUDA && SHT_CUDA_NOBITS.contains(&section_type);
    ![elf::SHT_NULL, elf::SHT_NOBITS].contains(&section_type) && !is_cuda_nobits
}

/// Prefixes of the names of sections with debug information.
const DEBUG: [&[u8]; 4] = [b".debug_", b".zdebug_", b".nv_debug_", b".gdb_index"];

/// Prefix of the twin that most sections have in images for sm_100 and newer, for the finalizer of the driver.
pub const MERCURY_TWIN: &[u8] = b".nv.merc";

/// Returns whether a section with this name holds debug information.
pub fn is_debug_section(name: &[u8]) -> bool {
    let name = name.strip_prefix(MERCURY_TWIN).unwrap_or(name);
    DEBUG.iter().any(|prefix| name.starts_with(prefix))
}

/// Type of the section `.nv.compat`: `SHT_LOPROC` + 0x86 in every cubin that has it.
const SHT_NV_COMPAT: elf::SectionType = elf::SectionType(0x7000_0086);

/// Reads the headers of a 64-bit ELF file (no device is 32-bit), and checks that everything they point to exists.
pub fn read(view: View<'_>) -> Result<DeviceElf<'_>, Malformed> {
    let malformed = |error: object::Error| view.malformed("ELF header", 0, Cause::object_file(error));
    let available = view.size();
    if available < ELF64.header_size {
        return Err(view.malformed("ELF header", 0, Cause::Truncated { needed: ELF64.header_size, available }));
    }
    let header = FileHeader64::<Endianness>::parse(view.data()).map_err(malformed)?;
    let endian = header.endian().map_err(malformed)?;
    let machine = header.e_machine(endian);
    let flags = header.e_flags(endian).0;
    let size = end(header, endian, view)?;
    let cubin = (machine == elf::EM_CUDA).then(|| cubin(header, endian, view));
    let arch = match machine {
        elf::EM_AMDGPU => amdgpu::target_id_of_e_flags(flags),
        intel::EM_INTELGT => intel_arch(header, endian, view),
        _ => cubin.as_ref().and_then(Cubin::arch).map(|arch| arch.to_string()),
    };
    let triple = match machine {
        musa::EM_MTGPU => has_musa_note(header, endian, view).then_some(musa::TRIPLE),
        _ => triple::of_machine(machine, endian.is_little_endian()),
    };
    Ok(DeviceElf { triple, arch, cubin, size })
}

/// Returns the defect of an ELF file whose first header fields state a device. `None` for an intact file and for any
/// other bytes.
pub fn broken(view: View<'_>) -> Option<Malformed> {
    let machine = view.u16("ELF machine", ELF64.e_machine).ok().map(elf::Machine)?;
    let is_for_a_device = is_device_machine(machine) && view.starts_with(LITTLE_ENDIAN_64);
    if is_for_a_device { read(view).err() } else { None }
}

/// Returns whether a machine is a GPU.
pub fn is_device_machine(machine: elf::Machine) -> bool {
    [elf::EM_AMDGPU, elf::EM_CUDA, intel::EM_INTELGT].contains(&machine)
}

fn has_musa_note(header: &FileHeader64<Endianness>, endian: Endianness, view: View<'_>) -> bool {
    let sections = header.section_headers(endian, view.data()).unwrap_or_default();
    let mut notes = sections.iter().filter_map(|section| section.notes(endian, view.data()).ok().flatten());
    notes.any(|mut notes| {
        while let Ok(Some(note)) = notes.next() {
            if view.charge("ELF note", Resource::Work, 1).is_err() {
                return false;
            }
            if note.name() == musa::NOTE_OWNER && note.n_type(endian).0 == musa::NOTE_TYPE {
                return true;
            }
        }
        false
    })
}

/// Reads the processor's name from the notes of a zebin, or the version of its architecture.
fn intel_arch(header: &FileHeader64<Endianness>, endian: Endianness, view: View<'_>) -> Option<String> {
    let sections = header.section_headers(endian, view.data()).unwrap_or_default();
    let mut product = None;
    let mut version = None;
    for mut notes in sections.iter().filter_map(|section| section.notes(endian, view.data()).ok().flatten()) {
        while let Ok(Some(note)) = notes.next() {
            view.charge("ELF note", Resource::Work, 1).ok()?;
            let number = view.derived(note.desc()).u32("ELF note", 0).ok();
            match (note.name() == intel::NOTE_OWNER, note.n_type(endian).0, number) {
                (true, intel::NOTE_PRODUCT_FAMILY, Some(number)) => product = intel::product_name(number).or(product),
                (true, intel::NOTE_PRODUCT_CONFIG, Some(config)) => version = Some(intel::ip_version(config)),
                _ => {}
            }
        }
    }
    intel::arch_of_notes(product, version.as_deref())
}

/// The tables of the cubin must have been checked.
fn cubin<'data>(header: &FileHeader64<Endianness>, endian: Endianness, view: View<'data>) -> nvptx::Cubin<'data> {
    let sections = header.section_headers(endian, view.data()).unwrap_or_default();
    let compat = sections.iter().find(|section| section.sh_type(endian) == SHT_NV_COMPAT);
    let compat = compat.and_then(|section| section.data(endian, view.data()).ok());
    let mut notes = sections.iter().filter_map(|section| section.notes(endian, view.data()).ok().flatten());
    let command_arch = notes.find_map(|notes| command_arch(view, notes, endian));
    nvptx::Cubin { abi_version: header.e_ident().abi_version, e_flags: header.e_flags(endian).0, compat, command_arch }
}

/// Reads the architecture from the command line of the tool that wrote the cubin last. Its note is the first one.
fn command_arch(
    view: View<'_>,
    mut notes: NoteIterator<'_, FileHeader64<Endianness>>,
    endian: Endianness,
) -> Option<nvptx::Arch> {
    while let Ok(Some(note)) = notes.next() {
        view.charge("ELF note", Resource::Work, 1).ok()?;
        if note.n_type(endian).0 == cuda_tool_note::NOTE_TYPE {
            return CudaToolNote(view.derived(note.desc())).arch();
        }
    }
    None
}

/// Finds the end of an ELF file. The file does not state its size. It ends with the last structure that its headers
/// point to, and all of these must be within the view.
fn end(header: &FileHeader64<Endianness>, endian: Endianness, view: View<'_>) -> Result<u64, Malformed> {
    let malformed = |field, at, error: object::Error| view.malformed(field, at, Cause::object_file(error));
    let part_end = |field, extent| view.part(field, extent).map(|part| part.range_in(view).end);
    let segments_field = view.field("ELF program header offset", ELF64.e_phoff);
    let sections_field = view.field("ELF section header offset", ELF64.e_shoff);
    let phoff = header.e_phoff(endian);
    let shoff = header.e_shoff(endian);
    let segments_table = |count| Table { offset: phoff, count, entry_size: ELF64.segment_header_size };
    let sections_table = |count| Table { offset: shoff, count, entry_size: ELF64.section_header_size };
    // A table at offset 0 does not exist. A count that is too large for the header is in section 0. That section exists
    // even if the header states none; the header's count is then the minimum.
    let least = |offset: u64, count: u16| if offset == 0 { 0 } else { u64::from(count) };
    let least_sections = least(shoff, header.e_shnum(endian).max(1));
    view.part(segments_field, segments_table(least(phoff, header.e_phnum(endian))).extent())?;
    view.part(sections_field, sections_table(least_sections).extent())?;
    let segments = header.program_headers(endian, view.data());
    let segments = segments.map_err(|error| malformed("ELF program header offset", ELF64.e_phoff, error))?;
    let sections = header.section_headers(endian, view.data());
    let sections = sections.map_err(|error| malformed("ELF section header offset", ELF64.e_shoff, error))?;
    let segments_table = segments_table(segments.len() as u64);
    let sections_table = sections_table(sections.len() as u64);
    let work = [segments_table.count, sections_table.count].iter().sum();
    view.charge("ELF section header offset", Resource::Work, work)?;
    let all_sections = Table { count: least_sections.max(sections_table.count), ..sections_table };
    let mut ends = vec![ELF64.header_size];
    ends.push(part_end(segments_field, segments_table.extent())?);
    ends.push(part_end(sections_field, all_sections.extent())?);
    for (segment, record) in segments.iter().zip(view.table(segments_field, segments_table)?) {
        let (offset, size) = segment.file_range(endian);
        ends.push(part_end(record.field("ELF segment offset", ELF64.p_offset), Extent { offset, size })?);
    }
    for (section, record) in sections.iter().zip(view.table(sections_field, sections_table)?) {
        if has_stored_bytes(header.e_machine(endian), section.sh_type(endian)) {
            let extent = Extent { offset: section.sh_offset(endian), size: section.sh_size(endian) };
            ends.push(part_end(record.field("ELF section offset", ELF64.sh_offset), extent)?);
        }
    }
    Ok(ends.into_iter().max().unwrap_or(ELF64.header_size))
}
