//! New offsets for the parts of a file after the removal of sections.
//!
//! Parts that overlap, such as a segment and its sections, form a block, which moves as a whole. A block moves towards
//! the start of the file by a multiple of its largest alignment. So the offsets of loaded bytes keep their remainders
//! by the page size, which loaders require, and no block grows or is placed behind its old place.

use std::ops::Range;

use object::LittleEndian as LE;
use object::elf::{ProgramHeader64, SectionHeader64};
use object::read::elf::{ProgramHeader, SectionHeader};

use super::DeviceElf;
use super::sections::{Removal, Removed};
use crate::base::bytes::{Extent, View, size_of_range};
use crate::base::elf_layout::ELF64;
use crate::base::error::{Cause, Malformed};
use crate::base::range::{offset_from, range_at};
use crate::format::has_stored_bytes;

/// New offsets of all parts of a file.
#[derive(Debug)]
pub struct Layout {
    /// In the order of the file.
    blocks: Vec<Block>,
    /// New offset of the section table.
    table: u64,
    /// New size of the file.
    size: u64,
}

/// Bytes that stay together.
#[derive(Debug)]
struct Block {
    old: Range<u64>,
    new: Range<u64>,
    /// The block moves by multiples of this power of two; 0 for a block that cannot move.
    alignment: u64,
    /// True for the old section table. The new one is written in its place.
    is_table: bool,
}

impl Layout {
    /// Places everything that stays.
    pub fn of(elf: &DeviceElf<'_>, removed: &Removed) -> Result<Self, Malformed> {
        let mut blocks = merged(parts(elf, removed)?);
        let old = elf.header.e_shoff.get(LE);
        let kept = removed.removals().filter(|removal| *removal != Removal::Dropped);
        let table_size = kept.map(|_| ELF64.section_header_size).sum();
        let mut end = 0;
        let mut table = None;
        for block in &mut blocks {
            // The block moves by the largest multiple of its alignment that fits, so both offsets have the same
            // remainder.
            let distance = size_of_range(&(end..block.old.start));
            let start = block.old.start.wrapping_sub(distance & block.alignment.wrapping_neg());
            let size = if block.is_table { table_size } else { size_of_range(&block.old) };
            block.new = range_at(start, size);
            end = block.new.end;
            if block.is_table {
                table = Some(start);
            }
        }
        let overlaps = || Cause::Described("overlaps other parts of the file".to_owned());
        let table = table.ok_or_else(|| elf.view.malformed("ELF section header table", old, overlaps()))?;
        Ok(Layout { blocks, table, size: end })
    }

    /// New offset of the section table.
    pub fn table(&self) -> u64 {
        self.table
    }

    /// Returns the new offset of a byte, or of the end of a part.
    pub fn new_offset(&self, old: u64) -> u64 {
        let count = self.blocks.partition_point(|block| block.old.start <= old);
        let Some(block) = count.checked_sub(1).and_then(|last| self.blocks.get(last)) else { return old };
        offset_from(block.new.start, size_of_range(&(block.old.start..old))).min(block.new.end)
    }

    /// Returns the header of a segment that has moved.
    pub fn segment(&self, segment: &ProgramHeader64<LE>) -> ProgramHeader64<LE> {
        let mut new = *segment;
        new.p_offset.set(LE, self.new_offset(segment.p_offset(LE)));
        new
    }

    /// Returns the header of a section that has moved.
    pub fn section(&self, section: &SectionHeader64<LE>) -> SectionHeader64<LE> {
        let mut new = *section;
        new.sh_offset.set(LE, self.new_offset(section.sh_offset(LE)));
        new
    }

    /// Returns the blocks at their new places, with zeros in the place of the section table.
    pub fn copy(&self, file: View<'_>) -> Result<Vec<u8>, Malformed> {
        let mut bytes = Vec::with_capacity(self.size as usize);
        for block in self.blocks.iter().filter(|block| !block.is_table) {
            bytes.resize(block.new.start as usize, 0);
            let old = file.between("ELF segment offset", block.old.clone())?;
            bytes.extend(old.data());
        }
        bytes.resize(self.size as usize, 0);
        Ok(bytes)
    }
}

/// Returns the parts of the file that stay, unsorted.
fn parts(elf: &DeviceElf<'_>, removed: &Removed) -> Result<Vec<Block>, Malformed> {
    let part = |offset: u64, size: u64, alignment: u64| {
        let part = elf.view.part("ELF section offset", Extent { offset, size })?;
        // An alignment of 0 is none; one that is not a power of two is invalid, and the part keeps its place.
        let alignment = if alignment.max(1).is_power_of_two() { alignment.max(1) } else { 0 };
        Ok(Block { old: part.range_in(elf.view), new: 0..0, alignment, is_table: false })
    };
    let mut parts = vec![part(0, ELF64.header_size, 1)?];
    let table = part(elf.header.e_shoff.get(LE), size_of_val(elf.sections) as u64, ELF64.word)?;
    parts.push(Block { is_table: true, ..table });
    if !elf.segments.is_empty() {
        parts.push(part(elf.header.e_phoff.get(LE), size_of_val(elf.segments) as u64, ELF64.word)?);
    }
    for segment in elf.segments {
        let (offset, size) = segment.file_range(LE);
        if size > 0 {
            parts.push(part(offset, size, segment.p_align(LE))?);
        }
    }
    for (section, removal) in elf.sections.iter().zip(removed.removals()) {
        let is_stored = has_stored_bytes(elf.header.e_machine.get(LE), section.sh_type(LE));
        if removal == Removal::Kept && is_stored && section.sh_size(LE) > 0 {
            parts.push(part(section.sh_offset(LE), section.sh_size(LE), section.sh_addralign(LE))?);
        }
    }
    Ok(parts)
}

/// Merges parts that overlap, in the order of the file. The section table is only a block if it overlaps nothing.
fn merged(mut parts: Vec<Block>) -> Vec<Block> {
    parts.sort_by_cached_key(|part| (part.old.start, part.old.end));
    let mut blocks: Vec<Block> = Vec::new();
    for part in parts {
        match blocks.last_mut() {
            Some(last) if part.old.start < last.old.end => {
                last.old.end = last.old.end.max(part.old.end);
                let is_fixed = last.alignment == 0 || part.alignment == 0;
                last.alignment = if is_fixed { 0 } else { last.alignment.max(part.alignment) };
                last.is_table = false;
            }
            _ => blocks.push(part),
        }
    }
    blocks
}
