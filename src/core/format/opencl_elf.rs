//! OpenCL's ELF files for Intel's GPUs: machine code and SPIR-V of one program, in a section each.
//!
//! Source: Intel, compute-runtime, `ocl_elf.h`; output of ocloc 22.43.

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};

use crate::base::bytes::{Extent, View};

/// Types of the files, which are for no machine.
const TYPES: [u16; 3] = [0xff02, 0xff03, 0xff04];

/// Types of sections with machine code and SPIR-V.
pub const DEVICE_BINARY: u32 = 0xff00_0005;
pub const SPIRV: u32 = 0xff00_0009;

/// Returns the machine code: zebin, or code with patch tokens.
pub fn machine_code(view: View<'_>) -> Option<View<'_>> {
    section(view, DEVICE_BINARY).filter(|code| header(*code).is_none())
}

/// Returns the SPIR-V.
pub fn spirv(view: View<'_>) -> Option<View<'_>> {
    section(view, SPIRV)
}

/// Returns the header of such a file; `None` for any other bytes.
fn header(view: View<'_>) -> Option<&FileHeader64<Endianness>> {
    let header = FileHeader64::<Endianness>::parse(view.data()).ok()?;
    TYPES.contains(&header.e_type(header.endian().ok()?).0).then_some(header)
}

fn section(view: View<'_>, section_type: u32) -> Option<View<'_>> {
    let header = header(view)?;
    let endian = header.endian().ok()?;
    let sections = header.section_headers(endian, view.data()).ok()?;
    let section = sections.iter().find(|section| section.sh_type(endian).0 == section_type)?;
    let (offset, size) = section.file_range(endian)?;
    view.part("OpenCL section", Extent { offset, size }).ok()
}
