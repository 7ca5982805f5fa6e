//! A writer of bitstreams, for tests.

use super::{DEFINE_ABBREV, END_BLOCK, ENTER_SUBBLOCK, MAGIC, UNABBREV_RECORD, VBR};

/// Width of the abbreviation IDs in every block.
pub const WIDTH: u32 = 4;

/// Writes bits as LLVM does.
#[derive(Debug, Default)]
pub struct BitWriter(pub Vec<bool>);

impl BitWriter {
    pub fn fixed(&mut self, value: u64, width: u32) -> &mut Self {
        self.0.extend((0..width).map(|bit| value >> bit & 1 == 1));
        self
    }

    pub fn variable(&mut self, mut value: u64, width: u32) -> &mut Self {
        let more = 1 << (width - 1);
        while value >= more {
            self.fixed(value & (more - 1) | more, width);
            value >>= width - 1;
        }
        self.fixed(value, width)
    }

    /// Writes numbers of `width` bits each.
    pub fn all(&mut self, values: &[u64], width: u32) -> &mut Self {
        for &value in values {
            self.fixed(value, width);
        }
        self
    }

    pub fn align(&mut self) -> &mut Self {
        self.0.resize(self.0.len().next_multiple_of(32), false);
        self
    }

    /// Begins a block of this number of words.
    pub fn enter(&mut self, width: u32, id: u64, words: u64) -> &mut Self {
        self.fixed(ENTER_SUBBLOCK, width).variable(id, 8).variable(WIDTH.into(), 4).align().fixed(words, 32)
    }

    /// Writes a block. `width` is the width of the abbreviation IDs around it.
    pub fn block(&mut self, width: u32, id: u64, contents: impl FnOnce(&mut BitWriter)) -> &mut Self {
        let mut inner = BitWriter::default();
        contents(&mut inner);
        inner.fixed(END_BLOCK, WIDTH).align();
        self.enter(width, id, inner.0.len() as u64 / 32);
        self.0.extend(inner.0);
        self
    }

    pub fn record(&mut self, code: u64, operands: &[u64]) -> &mut Self {
        self.fixed(UNABBREV_RECORD, WIDTH).variable(code, VBR).variable(operands.len() as u64, VBR);
        for &operand in operands {
            self.variable(operand, VBR);
        }
        self
    }

    /// Defines an abbreviation: a literal code and an array of elements of this encoding and width.
    pub fn array(&mut self, code: u64, encoding: u64, width: Option<u64>) -> &mut Self {
        self.fixed(DEFINE_ABBREV, WIDTH).variable(3, 5).fixed(1, 1).variable(code, 8);
        self.fixed(0, 1).fixed(3, 3).fixed(0, 1).fixed(encoding, 3);
        if let Some(width) = width {
            self.variable(width, 5);
        }
        self
    }

    pub fn bytes(&mut self) -> Vec<u8> {
        self.align();
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
        MAGIC.into_iter().chain(self.0.chunks(8).map(byte)).collect()
    }
}
