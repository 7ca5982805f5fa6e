//! Reader of LLVM's bitstream container: numbers of any width, and headers of blocks.

use super::MAGIC;

/// Size of the magic in bits.
const MAGIC_BITS: u64 = MAGIC.len() as u64 * 8;

/// A block whose header has been read.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// ID of the block.
    pub id: u64,
    /// Width of abbreviation IDs in it, in bits.
    pub width: u32,
    /// Size of the rest in words of 32 bits.
    pub words: u64,
}

/// A reader of bits, from the lowest of each byte on.
#[derive(Debug)]
pub struct Bits<'data> {
    data: &'data [u8],
    /// Position in bits.
    pub at: u64,
    fields_left: u32,
}

impl<'data> Bits<'data> {
    /// Creates a reader of a stream; `None` if it does not begin with the magic.
    pub fn after_magic(data: &'data [u8], fields_left: u32) -> Option<Self> {
        data.starts_with(&MAGIC).then_some(Bits { data, at: MAGIC_BITS, fields_left })
    }

    /// Reads the header of a block, after the abbreviation ID that begins it.
    pub fn enter_block(&mut self) -> Option<Block> {
        let id = self.variable(8)?;
        let width = u32::try_from(self.variable(4)?).ok()?;
        self.align();
        Some(Block { id, width, words: self.fixed(32)? })
    }

    /// Skips to the next word of 32 bits.
    pub fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    /// Position of the end of a block whose header has just been read.
    pub fn end_of(&self, block: Block) -> Option<u64> {
        self.at.checked_add(block.words.checked_mul(32)?)
    }

    /// Skips the rest of a block whose header has just been read.
    pub fn skip_block(&mut self, block: Block) -> Option<()> {
        self.at = self.end_of(block)?;
        Some(())
    }

    /// Reads an integer in groups of `width` bits. The highest bit of a group states that another group follows.
    pub fn variable(&mut self, width: u32) -> Option<u64> {
        let group_width = width.checked_sub(1)?;
        let more = 1_u64.checked_shl(group_width)?;
        let mut value = 0;
        let mut shift = 0_u32;
        loop {
            let group = self.fixed(width)?;
            value |= (group & !more).checked_shl(shift)?;
            if group & more == 0 {
                return Some(value);
            }
            shift = shift.checked_add(group_width)?;
        }
    }

    /// Reads an integer of `width` bits, at most 32.
    pub fn fixed(&mut self, width: u32) -> Option<u64> {
        self.fields_left = self.fields_left.checked_sub(1)?;
        if !(1..=32).contains(&width) {
            return None;
        }
        let start = self.at;
        let end = start.checked_add(width.into())?;
        let bytes = self.data.get(usize::try_from(start / 8).ok()?..usize::try_from(end.div_ceil(8)).ok()?)?;
        let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        self.at = end;
        Some(value >> (start % 8) & !(u64::MAX << width))
    }
}
