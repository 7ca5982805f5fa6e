//! Relocations in Android's packed form, which lld writes with `--pack-dyn-relocs=android`.
//!
//! After the magic `APS2`, everything is a signed LEB128 number: how many relocations there are, the first offset, and
//! then groups. A group states its size and which of its fields are the same for all of its relocations. Source:
//! Android's bionic, `linker/linker_reloc_iterators.h`; LLVM, `ELF.cpp` (`android_relas`).

use object::{Architecture, elf};

use crate::base::bytes::{Cursor, View};
use crate::base::error::{Cause, Malformed};

/// Types of sections with packed relocations.
pub const SECTION_TYPES: [elf::SectionType; 2] = [elf::SHT_ANDROID_REL, elf::SHT_ANDROID_RELA];

const MAGIC: &[u8] = b"APS2";

/// Flags of a group.
const SAME_INFO: i64 = 1;
const SAME_DISTANCE: i64 = 2;
const SAME_ADDEND: i64 = 4;
const HAS_ADDEND: i64 = 8;

/// Largest number of bits in a LEB128 number.
const BITS: u32 = 64;

/// A relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedRelocation {
    /// Address of the pointer.
    pub address: u64,
    /// Symbol and type.
    pub info: u64,
    /// Addend; `None` if it is the stored value.
    pub addend: Option<i64>,
}

/// Form of the pointer that a relocation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackedKind {
    /// The addend is an address of the file.
    Relative,
    /// The addend is the distance from this dynamic symbol.
    Symbol(u32),
}

impl PackedRelocation {
    /// Returns the form; `None` for relocations that are no plain pointers.
    pub fn kind(&self, machine: Architecture, is_64: bool) -> Option<PackedKind> {
        let (symbol, r_type) =
            if is_64 { (self.info >> 32, self.info & 0xffff_ffff) } else { (self.info >> 8, self.info & 0xff) };
        let (relative, absolute) = match machine {
            Architecture::X86_64 => (elf::R_X86_64_RELATIVE, elf::R_X86_64_64),
            Architecture::Aarch64 => (elf::R_AARCH64_RELATIVE, elf::R_AARCH64_ABS64),
            Architecture::I386 => (elf::R_386_RELATIVE, elf::R_386_32),
            Architecture::Arm => (elf::R_ARM_RELATIVE, elf::R_ARM_ABS32),
            Architecture::Riscv64 => (elf::R_RISCV_RELATIVE, elf::R_RISCV_64),
            _ => return None,
        };
        let is = |known: elf::RelocationType| u64::from(known.0) == r_type;
        if is(relative) {
            Some(PackedKind::Relative)
        } else {
            is(absolute).then_some(PackedKind::Symbol(u32::try_from(symbol).ok()?))
        }
    }
}

/// The relocations of a section. A group of any size may have no bytes, so the caller limits their number.
pub struct PackedRelocations<'data> {
    bytes: Cursor<'data>,
    /// Numbers of relocations that are left, in all and in the group.
    left: i64,
    left_in_group: i64,
    flags: i64,
    distance: i64,
    last: PackedRelocation,
    addend: i64,
}

impl<'data> PackedRelocations<'data> {
    /// Starts to read a section; `None` if it is in another form.
    pub fn new(section: View<'data>) -> Option<Self> {
        let mut bytes = Cursor::new(section);
        if bytes.take("packed relocations", MAGIC.len() as u64).ok()?.data() != MAGIC {
            return None;
        }
        let left = number(&mut bytes).ok()?;
        let address = number(&mut bytes).ok()?.cast_unsigned();
        let last = PackedRelocation { address, info: 0, addend: None };
        Some(PackedRelocations { bytes, left, left_in_group: 0, flags: 0, distance: 0, last, addend: 0 })
    }

    fn start_group(&mut self) -> Result<(), Malformed> {
        self.left_in_group = number(&mut self.bytes)?;
        self.flags = number(&mut self.bytes)?;
        if self.has(SAME_DISTANCE) {
            self.distance = number(&mut self.bytes)?;
        }
        if self.has(SAME_INFO) {
            self.last.info = number(&mut self.bytes)?.cast_unsigned();
        }
        if !self.has(HAS_ADDEND) {
            self.addend = 0;
        } else if self.has(SAME_ADDEND) {
            self.addend = self.addend.wrapping_add(number(&mut self.bytes)?);
        }
        Ok(())
    }

    fn read(&mut self) -> Result<PackedRelocation, Malformed> {
        if self.left_in_group <= 0 {
            self.start_group()?;
        }
        let distance = if self.has(SAME_DISTANCE) { self.distance } else { number(&mut self.bytes)? };
        self.last.address = self.last.address.wrapping_add_signed(distance);
        if !self.has(SAME_INFO) {
            self.last.info = number(&mut self.bytes)?.cast_unsigned();
        }
        if self.has(HAS_ADDEND) && !self.has(SAME_ADDEND) {
            self.addend = self.addend.wrapping_add(number(&mut self.bytes)?);
        }
        self.last.addend = self.has(HAS_ADDEND).then_some(self.addend);
        self.left_in_group = self.left_in_group.wrapping_sub(1);
        Ok(self.last)
    }

    fn has(&self, flag: i64) -> bool {
        self.flags & flag != 0
    }
}

impl Iterator for PackedRelocations<'_> {
    type Item = PackedRelocation;

    fn next(&mut self) -> Option<PackedRelocation> {
        self.left = self.left.checked_sub(1).filter(|left| *left >= 0)?;
        self.read().ok()
    }
}

/// Reads a signed LEB128 number.
fn number(bytes: &mut Cursor<'_>) -> Result<i64, Malformed> {
    let mut value = 0_i64;
    let mut shift = 0_u32;
    loop {
        let byte = bytes.u8("packed relocation")?;
        if shift >= BITS {
            return Err(bytes.malformed("packed relocation", Cause::EndsInside));
        }
        value |= i64::from(byte & 0x7f) << shift;
        shift = shift.saturating_add(7);
        if byte & 0x80 == 0 {
            // The highest bit of the last byte is the sign.
            let is_negative = byte & 0x40 != 0 && shift < BITS;
            return Ok(if is_negative { value | -1_i64 << shift } else { value });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(u64, u64, Option<i64>)> {
        let section = [MAGIC, bytes].concat();
        let relocations = PackedRelocations::new(View::new(&section)).into_iter().flatten().take(9);
        relocations.map(|it| (it.address, it.info, it.addend)).collect()
    }

    #[test]
    fn reads_groups_with_and_without_common_fields() {
        // Two relative relocations at a distance of 8, and one of a symbol before them, with a stored addend.
        let bytes = [3, 0x80, 0x20, 2, 11, 8, 8, 0x10, 0x70, 1, 0, 0x70, 0x81, 0x80, 0x80, 0x80, 0x10];
        let expected = [(0x1008, 8, Some(16)), (0x1010, 8, Some(0)), (0x1000, 0x1_0000_0001, None)];
        assert_eq!(read(&bytes), expected);
    }

    #[test]
    fn stops_at_the_end_of_the_bytes() {
        assert_eq!(read(&[5, 0, 1, 8]), []);
        assert_eq!(read(&[0xff; 20]), []);
        assert_eq!(read(&[]), []);
        // A group without bytes of its own.
        assert_eq!(read(&[0x3f, 0, 0x3f, 15, 8, 8, 0]).len(), 9);
        assert!(PackedRelocations::new(View::new(b"APS1\0\0")).is_none());
    }

    #[test]
    fn pointers_are_relative_or_of_a_symbol() {
        let kind = |info, machine| PackedRelocation { address: 0, info, addend: None }.kind(machine, true);
        assert_eq!(kind(8, Architecture::X86_64), Some(PackedKind::Relative));
        assert_eq!(kind(7 << 32 | 257, Architecture::Aarch64), Some(PackedKind::Symbol(7)));
        assert_eq!(kind(7, Architecture::X86_64), None);
        assert_eq!(kind(8, Architecture::Mips), None);
    }
}
