//! A linked file as its loader sees it: bytes with addresses, and the pointers that the loader writes.

use std::collections::HashMap;
use std::ops::Range;

use object::elf::Rela64;
use object::endian::{Endian, Endianness};

use super::super::Result;
use super::super::patch::Patch;
use fatbin_core::base::bytes::{Extent, Resource, View, record_memory, size_of_range};
use fatbin_core::base::content::Content;
use fatbin_core::base::elf_layout::ELF64;
use fatbin_core::base::range::{offset_from, range_at};

/// Number of pointers in a row.
const ROW_POINTERS: u64 = 4;

/// Number of bytes of data that are searched for pointers in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// Size of a relocation, in bytes.
const RELOCATION_SIZE: u64 = ELF64.rela_size;

/// A linked file.
pub struct LoadedFile<'data> {
    pub view: View<'data>,
    pub endian: Endianness,
    /// Size of a pointer, in bytes.
    pub pointer: u64,
    /// Offsets and addresses of loaded bytes.
    pub segments: Vec<(Range<u64>, u64)>,
    /// Parts of loaded data without containers and relocations. Empty if the loader writes all pointers.
    pub data: Vec<Range<u64>>,
    pub fixups: Fixups,
}

/// The pointers that the loader writes.
pub enum Fixups {
    /// Relocations of a 64-bit ELF file, which may be millions.
    Relocations(Range<u64>),
    /// Pointers by their offsets.
    Listed(Vec<(u64, Pointer)>),
}

/// A pointer in the file.
#[derive(Debug, Clone, Copy)]
pub struct Pointer {
    /// The address that it has in the loaded file, before it is moved.
    pub value: u64,
    pub form: Form,
}

/// How a pointer gets its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It is stored, or no relocation for it is known.
    Stored,
    /// It is stored, and the loader moves it as this type of relocation says.
    Moved { relocation: u64 },
    /// A relocation of this type has it as its addend, at this offset.
    Addend { relocation: u64, at: u64 },
    /// It is stored with the distance to the next pointer of a chain.
    Chained,
}

/// Bits of a chained pointer with the distance to the next one (Apple, mach-o/fixup-chains.h,
/// `dyld_chained_ptr_64_rebase`).
const NEXT: u64 = 0xfff << 51;

impl<'data> LoadedFile<'data> {
    /// Size of a row in bytes.
    pub fn row_size(&self) -> u64 {
        self.pointer.saturating_mul(ROW_POINTERS)
    }

    /// Returns the pointers to addresses that `is_wanted` accepts, by their offsets in the file.
    pub fn pointers_to(&self, is_wanted: impl Fn(u64) -> bool) -> Result<HashMap<u64, Pointer>> {
        let mut found = HashMap::new();
        for range in &self.data {
            self.view.charge("pointer", Resource::Work, size_of_range(range) / BYTES_PER_STEP)?;
            let start = range.start.next_multiple_of(self.pointer);
            let part = self.view.part("segment", Extent { offset: start, size: size_of_range(&(start..range.end)) })?;
            let words = part.data().chunks_exact(self.pointer as usize);
            for (place, word) in (start..range.end).step_by(self.pointer as usize).zip(words) {
                let value = self.read(word);
                if is_wanted(value) {
                    found.insert(place, Pointer { value, form: Form::Stored });
                }
            }
        }
        found.extend(self.fixups()?.filter(|(_, pointer)| is_wanted(pointer.value)));
        Ok(found)
    }

    /// Returns how the loader writes the pointers in a range.
    pub fn forms_in(&self, range: Range<u64>) -> Result<HashMap<u64, Form>> {
        let own = self.fixups()?.filter(|(place, _)| range.contains(place));
        Ok(own.map(|(place, pointer)| (place, pointer.form)).collect())
    }

    fn fixups(&self) -> Result<Box<dyn Iterator<Item = (u64, Pointer)> + '_>> {
        let range = match &self.fixups {
            Fixups::Listed(listed) => return Ok(Box::new(listed.iter().copied())),
            Fixups::Relocations(range) => range,
        };
        let table = Extent { offset: range.start, size: size_of_range(range) };
        let table = self.view.part("relocations", table)?;
        let relocations: &[Rela64<Endianness>] = object::slice_from_all_bytes(table.data()).unwrap_or_default();
        self.view.charge("relocation", Resource::Work, relocations.len() as u64)?;
        let places = range.clone().step_by(RELOCATION_SIZE as usize);
        Ok(Box::new(places.zip(relocations).filter_map(|(place, relocation)| {
            let value = relocation.r_addend.get(self.endian).cast_unsigned();
            let at = offset_from(place, ELF64.r_addend);
            let form = Form::Addend { relocation: relocation.r_info.get(self.endian), at };
            Some((self.offset(relocation.r_offset.get(self.endian))?, Pointer { value, form }))
        })))
    }

    /// Returns the stored pointer at an address that a relocation of this type moves.
    pub fn moved(&self, address: u64, relocation: u64) -> Result<Option<(u64, Pointer)>> {
        self.offset(address).map_or(Ok(None), |place| self.moved_at(place, relocation))
    }

    /// Returns the stored pointer at an offset that a relocation of this type moves; `None` beyond the file.
    pub fn moved_at(&self, place: u64, relocation: u64) -> Result<Option<(u64, Pointer)>> {
        self.charge_fixup()?;
        let word = self.view.record("pointer", Extent { offset: place, size: self.pointer });
        let pointer = |word: View<'_>| Pointer { value: self.read(word.data()), form: Form::Moved { relocation } };
        Ok(word.ok().map(|word| (place, pointer(word))))
    }

    /// Adds the pointers that the loader writes. If there are none, the file has a fixed address, and every stored number
    /// may be a pointer.
    pub fn with_fixups(mut self, listed: Vec<(u64, Pointer)>) -> Self {
        if !listed.is_empty() {
            self.data.clear();
        }
        LoadedFile { fixups: Fixups::Listed(listed), ..self }
    }

    /// Charges a pointer that the loader writes.
    pub fn charge_fixup(&self) -> Result<()> {
        self.view.charge("relocation", Resource::Work, 1)?;
        let memory = record_memory(size_of::<(u64, Pointer)>(), []);
        Ok(self.view.charge("relocation", Resource::Memory, memory)?)
    }

    /// Returns the patches that copy a pointer to a place; `None` if the loader treats the places differently.
    pub fn copied(&self, from: (u64, Form), to: (u64, Form)) -> Result<Option<Vec<Patch<'data>>>> {
        let stored = self.copied_bytes(from.0, to.0)?;
        Ok(match (from.1, to.1) {
            (Form::Stored, Form::Stored) => Some(vec![stored]),
            (Form::Moved { relocation: one }, Form::Moved { relocation: other }) if one == other => Some(vec![stored]),
            (Form::Addend { relocation: one, at: from }, Form::Addend { relocation: other, at: to })
                if one == other =>
            {
                Some(vec![stored, self.copied_bytes(from, to)?])
            }
            (Form::Chained, Form::Chained) => Some(vec![self.relinked(from.0, to.0)?]),
            _ => None,
        })
    }

    fn copied_bytes(&self, from: u64, to: u64) -> Result<Patch<'data>> {
        let bytes = self.view.record("pointer", Extent { offset: from, size: self.pointer })?.data();
        Ok(Patch::resizing(range_at(to, self.pointer), Content::from(bytes)))
    }

    /// Returns the patch of a chained pointer, which stays in its chain.
    fn relinked(&self, from: u64, to: u64) -> Result<Patch<'data>> {
        let stored = |place| self.view.record("pointer", Extent { offset: place, size: self.pointer });
        let word = self.read(stored(from)?.data()) & !NEXT | self.read(stored(to)?.data()) & NEXT;
        Ok(Patch::resizing(range_at(to, self.pointer), Content::from(self.endian.write_u64(word).to_vec())))
    }

    fn read(&self, word: &[u8]) -> u64 {
        let append = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        if self.endian.is_little_endian() { word.iter().rev().fold(0, append) } else { word.iter().fold(0, append) }
    }

    /// Returns the bytes of a 32-bit number.
    pub fn word(&self, number: u32) -> [u8; 4] {
        self.endian.write_u32(number)
    }

    /// Returns the 32-bit number at an offset.
    pub fn number(&self, at: u64) -> Option<u64> {
        Some(self.read(self.view.record("number of images", Extent { offset: at, size: 4 }).ok()?.data()))
    }

    /// Returns the address of a byte.
    pub fn address(&self, offset: u64) -> Option<u64> {
        let (range, address) = self.segments.iter().find(|(range, _)| range.contains(&offset))?;
        address.checked_add(offset.checked_sub(range.start)?)
    }

    /// Returns the offset of the byte with an address.
    pub fn offset(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|(range, start)| {
            let offset = range.start.checked_add(address.checked_sub(*start)?)?;
            range.contains(&offset).then_some(offset)
        })
    }
}

/// Returns the parts of ranges that are outside of the others, which are sorted and disjoint.
pub fn outside(ranges: impl Iterator<Item = Range<u64>>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    for range in ranges {
        let mut start = range.start;
        let first = others.partition_point(|other| other.end <= range.start);
        for other in others.iter().skip(first).take_while(|other| other.start < range.end) {
            parts.push(start..other.start);
            start = start.max(other.end);
        }
        parts.push(start..range.end);
    }
    parts.retain(|part| part.start < part.end);
    parts
}
