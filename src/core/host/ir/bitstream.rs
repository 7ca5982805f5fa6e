//! Writer of LLVM's bitstream container: numbers of any width, in records, in nested blocks.
//!
//! Source: LLVM Bitcode File Format document, section Bitstream Format; identical since LLVM 3.

use std::borrow::Cow;

use crate::base::io::Sink;
use crate::format::bitcode::{DEFINE_ABBREV, END_BLOCK, ENTER_SUBBLOCK, OUTER_WIDTH, UNABBREV_RECORD, VBR};

/// Abbreviation ID of [`BitWriter::define_bytes`], the only one that a block defines.
const BYTES_ABBREV: u64 = 4;

/// Form of the bytes in the record of [`BitWriter::define_bytes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteForm {
    /// An array of 8-bit numbers, which begins at any bit.
    Array,
    /// A blob, which begins and ends at a multiple of 32 bits.
    Blob,
}

/// A bitstream in memory; large runs of bytes are borrowed.
#[derive(Debug)]
pub struct BitWriter<'data> {
    /// Complete bytes.
    runs: Vec<Cow<'data, [u8]>>,
    /// Number of bytes in `runs`.
    size: u64,
    /// Bits after the last complete byte, lowest first.
    bits: u64,
    /// Number of these bits, less than 8 between two operations.
    bit_count: u32,
    blocks: Vec<OpenBlock>,
}

/// A block that has not ended.
#[derive(Debug)]
struct OpenBlock {
    /// Width of abbreviation IDs in the block.
    width: u32,
    /// Position of the length: run, and offset in it.
    length_at: (usize, usize),
    /// Number of bytes before the contents.
    start: u64,
}

impl<'data> BitWriter<'data> {
    /// Creates a stream that begins with a magic.
    pub fn new(magic: [u8; 4]) -> Self {
        let runs = vec![Cow::Owned(magic.to_vec())];
        BitWriter { runs, size: 4, bits: 0, bit_count: 0, blocks: Vec::new() }
    }

    /// Begins a block whose abbreviation IDs have `width` bits.
    pub fn enter(&mut self, block: u64, width: u32) {
        self.fixed(ENTER_SUBBLOCK, self.width());
        self.variable(block, 8);
        self.variable(width.into(), 4);
        self.align();
        let offset = self.last_run().len();
        let length_at = (self.runs.len() - 1, offset);
        self.fixed(0, 32);
        self.blocks.push(OpenBlock { width, length_at, start: self.size });
    }

    /// Ends the innermost block.
    pub fn exit(&mut self) {
        self.fixed(END_BLOCK, self.width());
        self.align();
        let block = self.blocks.pop().expect("a block was entered");
        let words = ((self.size - block.start) / 4) as u32;
        let (run, offset) = block.length_at;
        self.runs[run].to_mut()[offset..][..4].copy_from_slice(&words.to_le_bytes());
    }

    /// Writes a record of numbers.
    pub fn record(&mut self, code: u64, operands: impl IntoIterator<Item = u64>) {
        let operands: Vec<u64> = operands.into_iter().collect();
        self.fixed(UNABBREV_RECORD, self.width());
        self.variable(code, VBR);
        self.variable(operands.len() as u64, VBR);
        for operand in operands {
            self.variable(operand, VBR);
        }
    }

    /// Writes a record whose numbers are the bytes of a text.
    pub fn text(&mut self, code: u64, text: &str) {
        self.record(code, text.bytes().map(u64::from));
    }

    /// Defines the abbreviation of [`BitWriter::bytes`] for the innermost block: a literal code, then bytes.
    pub fn define_bytes(&mut self, code: u64, form: ByteForm) {
        /// Encodings of an abbreviation's operand.
        const FIXED: u64 = 1;
        const ARRAY: u64 = 3;
        const BLOB: u64 = 5;
        let encodings: &[(u64, Option<u64>)] = match form {
            ByteForm::Array => &[(ARRAY, None), (FIXED, Some(8))],
            ByteForm::Blob => &[(BLOB, None)],
        };
        self.fixed(DEFINE_ABBREV, self.width());
        self.variable(1 + encodings.len() as u64, 5);
        let is_literal = 1;
        self.fixed(is_literal, 1);
        self.variable(code, 8);
        for &(encoding, width) in encodings {
            self.fixed(0, 1);
            self.fixed(encoding, 3);
            if let Some(width) = width {
                self.variable(width, 5);
            }
        }
    }

    /// Returns whether the bytes of an array record would begin at a byte if it was written now.
    pub fn is_array_aligned(&self, size: u64) -> bool {
        let chunks = (u64::BITS - size.leading_zeros()).div_ceil(VBR - 1).max(1);
        (self.bit_count + self.width() + VBR * chunks).is_multiple_of(8)
    }

    /// Writes a record of bytes, `size` in all, as [`BitWriter::define_bytes`] defined it. Borrowed runs that begin at
    /// a byte are not copied.
    pub fn bytes(&mut self, form: ByteForm, size: u64, runs: impl Iterator<Item = Cow<'data, [u8]>>) {
        self.fixed(BYTES_ABBREV, self.width());
        self.variable(size, VBR);
        if form == ByteForm::Blob {
            self.align();
        }
        for run in runs {
            if self.bit_count == 0 {
                self.size += run.len() as u64;
                self.runs.push(run);
            } else {
                run.iter().for_each(|&byte| self.fixed(byte.into(), 8));
            }
        }
        if form == ByteForm::Blob {
            self.align();
        }
    }

    /// Appends the stream to a sink.
    pub fn finish(self, sink: &mut Sink) {
        debug_assert!(self.blocks.is_empty() && self.bit_count == 0, "blocks end at a word");
        for run in &self.runs {
            sink.push(run);
        }
    }

    /// Width of abbreviation IDs in the innermost block.
    fn width(&self) -> u32 {
        self.blocks.last().map_or(OUTER_WIDTH, |block| block.width)
    }

    /// Appends the low `width` bits of a number.
    fn fixed(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 32 && value >> width == 0, "{value} in {width} bits");
        self.bits |= value << self.bit_count;
        self.bit_count += width;
        while self.bit_count >= 8 {
            let byte = self.bits as u8;
            self.last_run().push(byte);
            self.size += 1;
            self.bits >>= 8;
            self.bit_count -= 8;
        }
    }

    /// Appends a number in chunks of `width` bits. The highest bit of a chunk means that another one follows.
    fn variable(&mut self, mut value: u64, width: u32) {
        let more = 1 << (width - 1);
        while value >= more {
            self.fixed(value & (more - 1) | more, width);
            value >>= width - 1;
        }
        self.fixed(value, width);
    }

    /// Appends zeros up to a multiple of 32 bits.
    fn align(&mut self) {
        self.fixed(0, self.bit_count.wrapping_neg() % 8);
        while !self.size.is_multiple_of(4) {
            self.fixed(0, 8);
        }
    }

    /// Returns the run that bytes are appended to; a borrowed run is followed by a new one.
    fn last_run(&mut self) -> &mut Vec<u8> {
        if !matches!(self.runs.last(), Some(Cow::Owned(_))) {
            self.runs.push(Cow::Owned(Vec::new()));
        }
        match self.runs.last_mut() {
            Some(Cow::Owned(run)) => run,
            _ => unreachable!("the last run is owned"),
        }
    }
}
