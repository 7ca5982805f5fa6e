//! Kernel descriptors: 64 bytes that the packet processor reads when it starts a kernel.
//!
//! Only fields with plain values are read. Numbers of registers are skipped, because their units depend on the
//! processor. Source: LLVM, User Guide for AMDGPU Backend, section Kernel Descriptor.

use object::{Object, ObjectSection, ObjectSymbol};

use crate::base::bytes::Extent;
use crate::base::error::{Cause, Malformed};
use crate::image::elf::{Elf, ElfSymbol};
use crate::image::kernel::Kernel;

const DESCRIPTOR_SIZE: u64 = 64;

/// Offsets of GROUP_SEGMENT_FIXED_SIZE, PRIVATE_SEGMENT_FIXED_SIZE, KERNARG_SIZE, and the properties of the code.
const GROUP_SEGMENT: u64 = 0;
const PRIVATE_SEGMENT: u64 = 4;
const KERNARG: u64 = 8;
const CODE_PROPERTIES: u64 = 56;

/// ENABLE_WAVEFRONT_SIZE32 and USES_DYNAMIC_STACK among the properties.
const WAVEFRONT_SIZE_32: u16 = 1 << 10;
const DYNAMIC_STACK: u16 = 1 << 11;

/// Reads the descriptor at a symbol. The name of the kernel is left empty.
pub fn read(elf: &Elf<'_>, symbol: &ElfSymbol<'_, '_>) -> Result<Kernel, Malformed> {
    let no_section = || {
        let cause = Cause::Described("not in a section".to_owned());
        elf.view.malformed("AMDGPU kernel descriptor", 0, cause)
    };
    let section =
        symbol.section_index().and_then(|index| elf.file.section_by_index(index).ok()).ok_or_else(no_section)?;
    let bytes = elf.bytes(&section)?;
    let offset = symbol.address().wrapping_sub(section.address());
    let descriptor = bytes.part("AMDGPU kernel descriptor", Extent { offset, size: DESCRIPTOR_SIZE })?;
    let field = |offset| descriptor.u32("AMDGPU kernel descriptor", offset).map(u64::from);
    let properties = descriptor.u16("AMDGPU kernel descriptor", CODE_PROPERTIES)?;
    Ok(Kernel {
        shared: Some(field(GROUP_SEGMENT)?),
        scratch: Some(field(PRIVATE_SEGMENT)?),
        scratch_is_minimum: properties & DYNAMIC_STACK != 0,
        parameter_size: Some(field(KERNARG)?),
        wave_size: Some(if properties & WAVEFRONT_SIZE_32 != 0 { 32 } else { 64 }),
        ..Default::default()
    })
}
