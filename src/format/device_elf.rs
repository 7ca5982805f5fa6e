//! Device code as ELF: AMD code objects, NVIDIA cubins, shared objects for OpenMP's host plugins.
//!
//! They are ordinary ELF files with the architecture in `e_machine` and `e_flags` (see [`crate::target`]), so `object`
//! reads them. Cubins carry the toolkit's number in `e_version`, which a reader must not insist on.

use object::elf::{self, FileHeader64};
use object::endian::{Endian, Endianness};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use crate::bytes::View;
use crate::error::{Cause, Malformed};
use crate::target::{amdgpu, nvptx, triple};

/// What the headers of a device ELF file say.
pub struct DeviceElf {
    pub triple: Option<&'static str>,
    pub arch: Option<String>,
    /// The end of whatever the headers point to, in bytes from the first.
    pub size: u64,
}

/// Reads the headers of a 64-bit ELF file (no device is 32-bit), and checks that what they point to is there.
pub fn read(view: View<'_>) -> Result<DeviceElf, Malformed> {
    let malformed = |error: object::Error| view.malformed("ELF header", 0, Cause::HostFile(error.to_string()));
    let header = FileHeader64::<Endianness>::parse(view.data()).map_err(malformed)?;
    let endian = header.endian().map_err(malformed)?;
    let machine = header.e_machine(endian);
    let flags = header.e_flags(endian).0;
    let arch = match machine {
        elf::EM_AMDGPU => amdgpu::target_id_of_e_flags(flags),
        elf::EM_CUDA => nvptx::arch_of_e_flags(header.e_ident().abi_version, flags),
        _ => None,
    };
    let size = size(header, endian, view).map_err(malformed)?;
    if size > view.size() {
        let cause = Cause::Truncated { needed: size, available: view.size() };
        return Err(view.malformed("ELF file", 0, cause));
    }
    Ok(DeviceElf { triple: triple::of_machine(machine, endian.is_little_endian()), arch, size })
}

/// An ELF file does not state its size; it ends with the last thing that its headers point to.
fn size(header: &FileHeader64<Endianness>, endian: Endianness, view: View<'_>) -> object::Result<u64> {
    let data = view.data();
    let table = |offset: u64, count: usize, entry: u16| offset.saturating_add(count as u64 * u64::from(entry));
    let sections = header.section_headers(endian, data)?;
    let segments = header.program_headers(endian, data)?;
    let tables = [
        u64::from(header.e_ehsize(endian)),
        table(header.e_shoff(endian), sections.len(), header.e_shentsize(endian)),
        table(header.e_phoff(endian), segments.len(), header.e_phentsize(endian)),
    ];
    let section_ends = sections.iter().filter_map(|section| section.file_range(endian));
    let segment_ends = segments.iter().map(|segment| segment.file_range(endian));
    let ends = section_ends.chain(segment_ends).map(|(offset, size): (u64, u64)| offset.saturating_add(size));
    Ok(tables.into_iter().chain(ends).max().unwrap_or(0))
}
