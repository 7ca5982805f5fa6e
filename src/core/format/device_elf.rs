//! Device code as ELF: AMD code objects, NVIDIA cubins, Intel's zebin, shared objects for OpenMP's host plugins.
//!
//! They are ordinary ELF files with the architecture in `e_machine` and `e_flags` (see [`crate::target`]), so `object`
//! parses them. Cubins store the toolkit's number in `e_version`, so a reader must not check that field.

use std::iter;

use object::elf::{self, FileHeader32, FileHeader64};
use object::endian::{Endian, Endianness};
use object::read::elf::{FileHeader, Note, ProgramHeader, SectionHeader};

use crate::base::bytes::{Extent, Resource, Table, View};
use crate::base::elf_layout::{ELF32, ELF64, ElfLayout, LITTLE_ENDIAN_32, LITTLE_ENDIAN_64};
use crate::base::error::{Cause, Malformed};
use crate::base::range::offset_from;
use crate::target::cuda_tool_note::{self, CudaToolNote};
use crate::target::nvptx::{self, Cubin};
use crate::target::{amdgpu, intel, musa, triple};

/// Properties of a device ELF file, from its headers.
pub struct DeviceElf<'data> {
    pub triple: Option<&'static str>,
    pub arch: Option<String>,
    /// Further properties of an NVIDIA cubin.
    pub cubin: Option<nvptx::Cubin<'data>>,
    /// True for an AMD code object that must be linked before a runtime loads it.
    pub is_unlinked: bool,
    /// True if it has debug information and no code.
    pub is_debug_only: bool,
    /// End of the last structure that the headers point to, in bytes from the first byte.
    pub size: u64,
}

/// Cubin section types without bytes in the file: `CUDA_GLOBAL`, `CUDA_LOCAL` and `CUDA_SHARED` in the output of
/// cuobjdump. Relocatable cubins of CUDA 11.8 to 12.8 have them; CUDA 13 uses SHT_NOBITS.
const SHT_CUDA_NOBITS: [elf::SectionType; 3] =
    [elf::SectionType(0x7000_0007), elf::SectionType(0x7000_0009), elf::SectionType(0x7000_000a)];

/// Returns whether sections of a type have bytes in the file.
#[inline]
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

/// Returns whether a file is a cubin with 32-bit addresses. `nvcc -m32` and `ptxas -m32` up to CUDA 12.0 write them; all
/// other device code is 64-bit.
pub fn is_32_bit_cubin(view: View<'_>) -> bool {
    let machine = view.u16("ELF machine", ELF32.e_machine).ok().map(elf::Machine);
    view.starts_with(LITTLE_ENDIAN_32) && machine == Some(elf::EM_CUDA)
}

/// Reads the headers of an ELF file for a device, and checks that everything they point to exists.
pub fn read(view: View<'_>) -> Result<DeviceElf<'_>, Malformed> {
    if is_32_bit_cubin(view) {
        return read_headers::<FileHeader32<Endianness>>(view, &ELF32);
    }
    read_headers::<FileHeader64<Endianness>>(view, &ELF64)
}

fn read_headers<'data, H: FileHeader<Endian = Endianness>>(
    view: View<'data>,
    layout: &ElfLayout,
) -> Result<DeviceElf<'data>, Malformed> {
    let malformed = |error: object::Error| view.malformed("ELF header", 0, Cause::object_file(error));
    let available = view.size();
    if available < layout.header_size {
        return Err(view.malformed("ELF header", 0, Cause::Truncated { needed: layout.header_size, available }));
    }
    let header = H::parse(view.data()).map_err(malformed)?;
    let endian = header.endian().map_err(malformed)?;
    let machine = header.e_machine(endian);
    let size = end(header, layout, endian, view)?;
    let cubin = (machine == elf::EM_CUDA).then(|| cubin(header, endian, view));
    let code_object = amdgpu::Header {
        os_abi: header.e_ident().os_abi.0,
        abi_version: header.e_ident().abi_version,
        e_flags: header.e_flags(endian).0,
    };
    let arch = match machine {
        elf::EM_AMDGPU if code_object.has_isa_note() => {
            isa_of_note(header, endian, view).or_else(|| code_object.target_id())
        }
        elf::EM_AMDGPU => code_object.target_id(),
        intel::EM_INTELGT => intel_arch(header, endian, view),
        _ => cubin.as_ref().and_then(Cubin::arch).map(|arch| arch.to_string()),
    };
    let triple = match machine {
        elf::EM_CUDA if !header.is_class_64() => Some(triple::NVPTX),
        musa::EM_MTGPU => has_musa_note(header, endian, view).then_some(musa::TRIPLE),
        elf::EM_AMDGPU => code_object.triple(),
        _ => triple::of_machine(machine, endian.is_little_endian()),
    };
    let is_gpu = [elf::EM_AMDGPU, elf::EM_CUDA].contains(&machine);
    let is_unlinked = is_gpu && header.e_type(endian) == elf::ET_REL;
    let is_debug_only = is_debug_only(header, endian, view);
    Ok(DeviceElf { triple, arch, cubin, is_unlinked, is_debug_only, size })
}

/// Returns the defect of an ELF file whose first header fields state a device. `None` for an intact file and for any
/// other bytes.
pub fn broken(view: View<'_>) -> Option<Malformed> {
    let machine = view.u16("ELF machine", ELF64.e_machine).ok().map(elf::Machine)?;
    let is_for_a_device = is_32_bit_cubin(view) || is_device_machine(machine) && view.starts_with(LITTLE_ENDIAN_64);
    if is_for_a_device { read(view).err() } else { None }
}

/// Returns whether a machine is a GPU.
pub fn is_device_machine(machine: elf::Machine) -> bool {
    [elf::EM_AMDGPU, elf::EM_CUDA, intel::EM_INTELGT].contains(&machine)
}

/// Notes of all sections, until the budget is exhausted.
fn notes<'data, H: FileHeader<Endian = Endianness>>(
    header: &H,
    endian: Endianness,
    view: View<'data>,
) -> impl Iterator<Item = Note<'data, H>> {
    let sections = header.section_headers(endian, view.data()).unwrap_or_default();
    let lists = sections.iter().filter_map(move |section| section.notes(endian, view.data()).ok().flatten());
    let notes = lists.flat_map(|mut list| iter::from_fn(move || list.next().ok().flatten()));
    notes.take_while(move |_| view.charge("ELF note", Resource::Work, 1).is_ok())
}

/// Reads the target ID from the note of a code object of version 2: sizes of two names as `u16`, then major, minor and
/// stepping of the instruction set as `u32`, then the names. Source: AMDGPU usage guide, section Code Object V2 Note
/// Records.
fn isa_of_note(header: &impl FileHeader<Endian = Endianness>, endian: Endianness, view: View<'_>) -> Option<String> {
    let note = notes(header, endian, view).find(|note| (note.name(), note.n_type(endian).0) == amdgpu::ISA_NOTE)?;
    let note = view.derived(note.desc());
    let field = |offset| note.u32("NT_AMD_HSA_ISA_VERSION", offset).ok();
    amdgpu::target_id_of_isa([field(4)?, field(8)?, field(12)?])
}

/// Returns whether a file has debug information and no code: split debug information (`.dwo`, `.dwp`), which has no
/// section in memory, or what `--only-keep-debug` leaves, whose code has no bytes. Cubins without kernels have no
/// section in memory, and ptxas writes no split debug information.
fn is_debug_only(header: &impl FileHeader<Endian = Endianness>, endian: Endianness, view: View<'_>) -> bool {
    let sections = header.section_headers(endian, view.data()).unwrap_or_default();
    let strings = header.section_strings(endian, view.data(), sections).unwrap_or_default();
    let in_memory = || sections.iter().filter(|it| it.sh_flags(endian).contains(elf::SHF_ALLOC));
    let has_no_code = if in_memory().next().is_none() {
        header.e_machine(endian) != elf::EM_CUDA
    } else {
        in_memory().all(|section| has_no_bytes(section, endian))
            && in_memory().any(|section| is_removed_code(section, endian))
    };
    // Names are read last: most files have code.
    has_no_code && sections.iter().any(|it| it.name(endian, strings).is_ok_and(is_debug_section))
}

fn has_no_bytes(section: &impl SectionHeader<Endian = Endianness>, endian: Endianness) -> bool {
    [elf::SHT_NOBITS, elf::SHT_NOTE].contains(&section.sh_type(endian))
}

fn is_removed_code(section: &impl SectionHeader<Endian = Endianness>, endian: Endianness) -> bool {
    let is_without_bytes = section.sh_type(endian) == elf::SHT_NOBITS && section.sh_size(endian).into() > 0;
    is_without_bytes && section.sh_flags(endian).contains(elf::SHF_EXECINSTR)
}

fn has_musa_note(header: &impl FileHeader<Endian = Endianness>, endian: Endianness, view: View<'_>) -> bool {
    notes(header, endian, view).any(|it| it.name() == musa::NOTE_OWNER && it.n_type(endian).0 == musa::NOTE_TYPE)
}

/// Reads the processor's name from the notes of a zebin, or the version of its architecture.
fn intel_arch(header: &impl FileHeader<Endian = Endianness>, endian: Endianness, view: View<'_>) -> Option<String> {
    let mut product = None;
    let mut version = None;
    for note in notes(header, endian, view).filter(|note| note.name() == intel::NOTE_OWNER) {
        match (note.n_type(endian).0, view.derived(note.desc()).u32("ELF note", 0).ok()) {
            (intel::NOTE_PRODUCT_FAMILY, Some(number)) => product = intel::product_name(number).or(product),
            (intel::NOTE_PRODUCT_CONFIG, Some(config)) => version = Some(intel::ip_version(config)),
            _ => {}
        }
    }
    intel::arch_of_notes(product, version.as_deref())
}

/// The tables of the cubin must have been checked.
fn cubin<'data>(
    header: &impl FileHeader<Endian = Endianness>,
    endian: Endianness,
    view: View<'data>,
) -> nvptx::Cubin<'data> {
    let sections = header.section_headers(endian, view.data()).unwrap_or_default();
    let compat = sections.iter().find(|section| section.sh_type(endian) == SHT_NV_COMPAT);
    let compat = compat.and_then(|section| section.data(endian, view.data()).ok());
    // The first note is of the tool that wrote the cubin last, and has its command line.
    let tool = notes(header, endian, view).find(|note| note.n_type(endian).0 == cuda_tool_note::NOTE_TYPE);
    let command_arch = tool.and_then(|note| CudaToolNote(view.derived(note.desc())).arch());
    nvptx::Cubin { abi_version: header.e_ident().abi_version, e_flags: header.e_flags(endian).0, compat, command_arch }
}

/// Finds the end of an ELF file. The file does not state its size. It ends with the last structure that its headers
/// point to, and all of these must be within the view.
fn end<H: FileHeader<Endian = Endianness>>(
    header: &H,
    layout: &ElfLayout,
    endian: Endianness,
    view: View<'_>,
) -> Result<u64, Malformed> {
    let malformed = |field, at, error: object::Error| view.malformed(field, at, Cause::object_file(error));
    let part_end = |name, at, extent: Extent| match extent.end() {
        end if end <= view.size() => Ok(end),
        end => view.part(view.field(name, at), extent).map(|_| end),
    };
    let segments_end = |table: Table| part_end("ELF program header offset", layout.e_phoff, table.extent());
    let sections_end = |table: Table| part_end("ELF section header offset", layout.e_shoff, table.extent());
    let phoff = header.e_phoff(endian).into();
    let shoff = header.e_shoff(endian).into();
    let segments_table = |count| Table { offset: phoff, count, entry_size: layout.segment_header_size };
    let sections_table = |count| Table { offset: shoff, count, entry_size: layout.section_header_size };
    // A table at offset 0 does not exist. A count that is too large for the header is in section 0. That section exists
    // even if the header states none; the header's count is then the minimum.
    let least = |offset: u64, count: u16| if offset == 0 { 0 } else { u64::from(count) };
    let least_sections = least(shoff, header.e_shnum(endian).max(1));
    segments_end(segments_table(least(phoff, header.e_phnum(endian))))?;
    sections_end(sections_table(least_sections))?;
    let segments = header.program_headers(endian, view.data());
    let segments = segments.map_err(|error| malformed("ELF program header offset", layout.e_phoff, error))?;
    let sections = header.section_headers(endian, view.data());
    let sections = sections.map_err(|error| malformed("ELF section header offset", layout.e_shoff, error))?;
    let segments_table = segments_table(segments.len() as u64);
    let sections_table = sections_table(sections.len() as u64);
    let work = [segments_table.count, sections_table.count].iter().sum();
    view.charge("ELF section header offset", Resource::Work, work)?;
    let all_sections = Table { count: least_sections.max(sections_table.count), ..sections_table };
    let machine = header.e_machine(endian);
    let mut end = segments_end(segments_table)?.max(sections_end(all_sections)?).max(layout.header_size);
    for (segment, at) in segments.iter().zip(segments_table.offsets()) {
        let (offset, size) = segment.file_range(endian);
        let at = offset_from(at, layout.p_offset);
        end = end.max(part_end("ELF segment offset", at, Extent { offset, size })?);
    }
    for (section, at) in sections.iter().zip(sections_table.offsets()) {
        if has_stored_bytes(machine, section.sh_type(endian)) {
            let extent = Extent { offset: section.sh_offset(endian).into(), size: section.sh_size(endian).into() };
            end = end.max(part_end("ELF section offset", offset_from(at, layout.sh_offset), extent)?);
        }
    }
    Ok(end)
}
