//! Records of a bitstream, in the forms that abbreviations define.
//!
//! Source: LLVM Bitcode File Format document, section Bitstream Format.

use std::collections::BTreeMap;

use super::bits::{Bits, Block};
use super::{DEFINE_ABBREV, END_BLOCK, ENTER_SUBBLOCK, UNABBREV_RECORD, VBR};

/// ID of the block with abbreviations for other blocks, and code of its record that names the block of the next
/// definitions.
const BLOCKINFO: u64 = 0;
const SET_BLOCK: u64 = 1;

/// ID of the first abbreviation that a block or the blockinfo block defines.
const FIRST_ABBREV: u64 = 4;

/// Form of one operand, or of the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Literal(u64),
    Fixed(u32),
    Variable(u32),
    Array,
    Char6,
    Blob,
}

/// Forms of the operands of a record. The first operand is its code.
type Abbreviation = Vec<Form>;

/// A reader of the blocks and records of a stream.
#[derive(Debug)]
pub struct Records<'data> {
    bits: Bits<'data>,
    /// Abbreviations that the blocks of an ID begin with.
    of_blocks: BTreeMap<u64, Vec<Abbreviation>>,
}

/// A block that is being read.
#[derive(Debug)]
pub struct Scope {
    /// Width of abbreviation IDs, in bits.
    width: u32,
    abbreviations: Vec<Abbreviation>,
}

/// Part of a block.
#[derive(Debug)]
pub enum Item {
    /// A block inside, which must be read or skipped.
    Block(Block),
    /// A record.
    Record,
    /// The end of the block.
    End,
}

impl<'data> Records<'data> {
    /// Creates a reader at the first block.
    pub fn new(bits: Bits<'data>) -> Self {
        Records { bits, of_blocks: BTreeMap::new() }
    }

    /// Reads the header of the next block outside of all blocks; `None` at the end of the stream.
    pub fn outer_block(&mut self) -> Option<Block> {
        if self.bits.fixed(super::OUTER_WIDTH)? != ENTER_SUBBLOCK {
            return None;
        }
        self.bits.enter_block()
    }

    /// Skips the contents of a block whose header has been read.
    pub fn skip(&mut self, block: Block) -> Option<()> {
        self.bits.skip_block(block)
    }

    /// Begins to read the contents of a block whose header has been read.
    pub fn enter(&self, block: Block) -> Scope {
        Scope { width: block.width, abbreviations: self.of_blocks.get(&block.id).cloned().unwrap_or_default() }
    }

    /// Reads the next part of a block. `take` gets the values of a record, its code first.
    pub fn next(&mut self, scope: &mut Scope, take: &mut dyn FnMut(u64)) -> Option<Item> {
        loop {
            match self.bits.fixed(scope.width)? {
                END_BLOCK => {
                    self.bits.align();
                    return Some(Item::End);
                }
                ENTER_SUBBLOCK => {
                    let inner = self.bits.enter_block()?;
                    if inner.id != BLOCKINFO {
                        return Some(Item::Block(inner));
                    }
                    self.block_info(inner)?;
                }
                DEFINE_ABBREV => scope.abbreviations.push(self.abbreviation()?),
                UNABBREV_RECORD => {
                    take(self.bits.variable(VBR)?);
                    for _ in 0..self.bits.variable(VBR)? {
                        take(self.bits.variable(VBR)?);
                    }
                    return Some(Item::Record);
                }
                id => {
                    let index = usize::try_from(id.checked_sub(FIRST_ABBREV)?).ok()?;
                    let abbreviation = scope.abbreviations.get(index)?;
                    self.abbreviated(abbreviation, take)?;
                    return Some(Item::Record);
                }
            }
        }
    }

    /// Reads the block with abbreviations for other blocks.
    fn block_info(&mut self, block: Block) -> Option<()> {
        let mut scope = Scope { width: block.width, abbreviations: Vec::new() };
        let mut owner = None;
        loop {
            let mut values = Vec::new();
            let item = self.next(&mut scope, &mut |value| {
                if values.len() < 2 {
                    values.push(value);
                }
            })?;
            // Definitions belong to the block that the last record has named.
            if !scope.abbreviations.is_empty() {
                self.of_blocks.entry(owner?).or_default().append(&mut scope.abbreviations);
            }
            match (item, &values[..]) {
                (Item::End, _) => return Some(()),
                (Item::Record, &[SET_BLOCK, id]) => owner = Some(id),
                (Item::Record, _) => {}
                (Item::Block(_), _) => return None,
            }
        }
    }

    /// Reads the definition of an abbreviation.
    fn abbreviation(&mut self) -> Option<Abbreviation> {
        let count = self.bits.variable(5)?;
        let mut forms = Vec::new();
        for _ in 0..count {
            let is_literal = self.bits.fixed(1)? == 1;
            forms.push(if is_literal { Form::Literal(self.bits.variable(8)?) } else { self.form()? });
        }
        Some(forms)
    }

    fn form(&mut self) -> Option<Form> {
        let encoding = self.bits.fixed(3)?;
        let width = if matches!(encoding, 1 | 2) { u32::try_from(self.bits.variable(5)?).ok()? } else { 0 };
        Some(match (encoding, width) {
            // LLVM reads a number without bits as zero.
            (1 | 2, 0) => Form::Literal(0),
            (1, width) => Form::Fixed(width),
            (2, width) => Form::Variable(width),
            (3, _) => Form::Array,
            (4, _) => Form::Char6,
            (5, _) => Form::Blob,
            _ => return None,
        })
    }

    fn abbreviated(&mut self, forms: &[Form], take: &mut dyn FnMut(u64)) -> Option<()> {
        let mut forms = forms.iter();
        while let Some(&form) = forms.next() {
            match form {
                Form::Array => {
                    let count = self.bits.variable(VBR)?;
                    // The form of the elements is the last operand.
                    let &element = forms.next()?;
                    if matches!(element, Form::Literal(_) | Form::Array | Form::Blob) {
                        return None;
                    }
                    for _ in 0..count {
                        take(self.scalar(element)?);
                    }
                }
                Form::Blob => {
                    let count = self.bits.variable(VBR)?;
                    self.bits.align();
                    for _ in 0..count {
                        take(self.bits.fixed(8)?);
                    }
                    self.bits.align();
                }
                scalar => take(self.scalar(scalar)?),
            }
        }
        Some(())
    }

    fn scalar(&mut self, form: Form) -> Option<u64> {
        const CHARACTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
        match form {
            Form::Literal(value) => Some(value),
            Form::Fixed(width) => self.bits.fixed(width),
            Form::Variable(width) => self.bits.variable(width),
            Form::Char6 => CHARACTERS.get(usize::try_from(self.bits.fixed(6)?).ok()?).map(|&byte| byte.into()),
            Form::Array | Form::Blob => None,
        }
    }
}
