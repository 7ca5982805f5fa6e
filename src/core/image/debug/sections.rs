//! Debug sections of a device ELF file, decompressed and relocated, for `gimli`.
//!
//! Linked AMD code objects need no relocations. Cubins, linked or not, need them for every code address. A relocation
//! names the function, which distinguishes functions at address 0.

use std::borrow::Cow;
use std::collections::HashMap;

use gimli::{EndianSlice, RelocateReader, RunTimeEndian, SectionId};
use object::{CompressionFormat, Endianness, Object, ObjectSection, RelocationFlags, RelocationTarget, elf};

use crate::base::bytes::{Extent, Resource, View};
use crate::base::codec::{self, Codec};
use crate::base::error::{Cause, Malformed};
use crate::image::elf::{Elf, ElfSection, Width};

/// Reader of one debug section with its relocations applied.
pub type Reader<'a> = RelocateReader<EndianSlice<'a, RunTimeEndian>, &'a Relocations>;

/// Bytes of a section and their relocations.
#[derive(Debug, Default)]
pub struct DebugSection<'data> {
    bytes: Cow<'data, [u8]>,
    relocations: Relocations,
}

/// Relocated values, by offset.
#[derive(Default, Debug)]
pub struct Relocations(HashMap<usize, Relocated>);

#[derive(Debug, Clone, Copy)]
struct Relocated {
    value: u64,
    /// True if the bytes in the section are an addend.
    adds: bool,
}

/// Relocation types that are an absolute address or offset: `R_AMDGPU_ABS64`, `R_AMDGPU_ABS32` (LLVM, User Guide for
/// AMDGPU Backend, section Relocation Records); `R_CUDA_32` and `R_CUDA_64` as cuobjdump names 1 and 2.
const ABSOLUTE: [(elf::Machine, u32); 4] =
    [(elf::EM_AMDGPU, 3), (elf::EM_AMDGPU, 6), (elf::EM_CUDA, 1), (elf::EM_CUDA, 2)];

impl Relocations {
    fn at(&self, offset: usize, value: u64) -> u64 {
        match self.0.get(&offset) {
            Some(relocated) if relocated.adds => relocated.value.wrapping_add(value),
            Some(relocated) => relocated.value,
            None => value,
        }
    }
}

impl gimli::Relocate for &Relocations {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        Ok(self.at(offset, value))
    }

    fn relocate_offset(&self, offset: usize, value: usize) -> gimli::Result<usize> {
        usize::try_from(self.at(offset, value as u64)).map_err(|_| gimli::Error::UnsupportedOffset)
    }
}

impl<'data> DebugSection<'data> {
    #[cfg(test)]
    pub fn of(bytes: &'data [u8]) -> Self {
        DebugSection { bytes: Cow::Borrowed(bytes), relocations: Relocations::default() }
    }

    pub fn reader(&self, endian: RunTimeEndian) -> Reader<'_> {
        RelocateReader::new(EndianSlice::new(&self.bytes, endian), &self.relocations)
    }
}

/// Loads a section; empty if the file does not have it.
pub fn load<'data>(elf: &Elf<'data, impl Width>, id: SectionId) -> Result<DebugSection<'data>, Malformed> {
    // Sections in GNU's old compressed format have a different name.
    let old_name = id.name().replacen(".debug_", ".zdebug_", 1);
    let Some(section) = elf.section(id.name()).or_else(|| elf.section(&old_name)) else {
        return Ok(DebugSection::default());
    };
    Ok(DebugSection { bytes: bytes(elf, &section)?, relocations: relocations(elf, &section) })
}

/// Calls `visit` with the decompressed bytes of each compressed section.
pub fn for_each_compressed(
    elf: &Elf<'_, impl Width>,
    visit: &mut dyn FnMut(View<'_>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    for section in elf.file.sections() {
        if let Cow::Owned(decompressed) = bytes(elf, &section)? {
            visit(elf.view.derived(&decompressed))?;
        }
    }
    Ok(())
}

fn bytes<'data, W: Width>(
    elf: &Elf<'data, W>,
    section: &ElfSection<'data, '_, W>,
) -> Result<Cow<'data, [u8]>, Malformed> {
    let stored = elf.bytes(section)?;
    let host_file = |error: object::Error| stored.malformed("debug section", 0, Cause::object_file(error));
    let range = section.compressed_file_range().map_err(host_file)?;
    let codec = match range.format {
        CompressionFormat::None => return Ok(Cow::Borrowed(stored.data())),
        CompressionFormat::Zlib => Codec::Zlib,
        CompressionFormat::Zstandard => Codec::Zstd,
        _ => return Err(stored.malformed("debug section", 0, Cause::UnsupportedCodec { codec: "unknown" })),
    };
    let stream =
        elf.view.part("compressed debug section", Extent { offset: range.offset, size: range.compressed_size })?;
    codec::decompress(codec, stream, range.uncompressed_size).map(Cow::Owned)
}

fn relocations<W: Width>(elf: &Elf<'_, W>, section: &ElfSection<'_, '_, W>) -> Relocations {
    let machine = elf.machine();
    let charged = section.relocations().take_while(|_| elf.view.charge("relocation", Resource::Work, 1).is_ok());
    let one = |(offset, relocation): (u64, object::Relocation)| {
        let RelocationFlags::Elf { r_type, .. } = relocation.flags() else { return None };
        let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
        if !ABSOLUTE.contains(&(machine, r_type.0)) {
            return None;
        }
        let symbol = elf.file.symbol_by_index(symbol).ok()?;
        let value = elf.address(&symbol).wrapping_add_signed(relocation.addend());
        let adds = relocation.has_implicit_addend();
        Some((usize::try_from(offset).ok()?, Relocated { value, adds }))
    };
    Relocations(charged.filter_map(one).collect())
}

pub fn endian(elf: &Elf<'_, impl Width>) -> RunTimeEndian {
    match elf.file.endian() {
        Endianness::Little => RunTimeEndian::Little,
        Endianness::Big => RunTimeEndian::Big,
    }
}
