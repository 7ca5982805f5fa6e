//! LLVM bitcode: its triple and processor, and the device images that clang embeds in the bitcode of a host.
//!
//! Bitcode is a stream of bits, with or without a wrapper. The stream consists of blocks, which state their size. The
//! module's block has records, and one of them is the triple. LLVM writes the triple before all records that depend on
//! abbreviations (`ModuleBitcodeWriter`), so other blocks are skipped. A stream with an abbreviation before the triple
//! is read as one without a triple. Source: LLVM Bitcode File Format; output of clang 14 to 22.

mod bits;
pub mod embedded;
mod identification;
mod processor;
mod records;
pub mod symbols;
#[cfg(test)]
pub(super) mod test_writer;

use std::ops::RangeInclusive;

use crate::base::bytes::{Extent, Resource, View};
use crate::base::error::{Cause, Malformed};
use bits::{Bits, Block};

pub use identification::llvm_version;
pub use processor::processor;

/// First bytes of a stream.
pub const MAGIC: [u8; 4] = *b"BC\xc0\xde";

/// First bytes of a stream in a wrapper.
pub const WRAPPER_MAGIC: [u8; 4] = [0xde, 0xc0, 0x17, 0x0b];

/// Fields of the wrapper: offset and size of the stream, and the end of these fields.
const WRAPPER_OFFSET: u64 = 8;
const WRAPPER_SIZE: u64 = 12;
const WRAPPER_FIELDS_END: u64 = 16;

/// Abbreviation IDs that every block has.
pub const END_BLOCK: u64 = 0;
pub const ENTER_SUBBLOCK: u64 = 1;
pub const DEFINE_ABBREV: u64 = 2;
pub const UNABBREV_RECORD: u64 = 3;

/// Width of abbreviation IDs outside of blocks, in bits.
pub const OUTER_WIDTH: u32 = 2;

/// Width of a chunk of the variable-width numbers in records, in bits.
pub const VBR: u32 = 6;

/// ID of the module's block.
pub const MODULE_BLOCK: u64 = 8;

/// Code of the record in the module's block.
const TRIPLE: u64 = 2;

/// Maximum length of a triple, in bytes.
const MAX_TRIPLE_SIZE: u64 = 256;

/// Maximum number of fields that are read. The triple is within the first hundred; a hostile file has no end.
const MAX_FIELDS: u32 = 1 << 16;

/// ID of the block of strings after modules of version 2 and later, and code of the record with the version.
const STRTAB_BLOCK: u64 = 23;
const VERSION: u64 = 1;
const STRTAB_VERSION: u64 = 2;

/// ID of the block that precedes a module's, and of the block of symbols that may precede the strings.
const IDENTIFICATION_BLOCK: u64 = 13;
const SYMTAB_BLOCK: u64 = 25;

/// IDs of the outer blocks, and the widths of abbreviation IDs in them: LLVM writes 3 and 5.
const OUTER_BLOCKS: [u64; 4] = [IDENTIFICATION_BLOCK, MODULE_BLOCK, STRTAB_BLOCK, SYMTAB_BLOCK];
const OUTER_WIDTHS: RangeInclusive<u64> = 2..=7;

/// Returns whether a file is bitcode.
pub fn is_bitcode(view: View<'_>) -> bool {
    view.starts_with(&MAGIC) || view.starts_with(&WRAPPER_MAGIC)
}

/// Strips the wrapper, if there is one.
fn stream(view: View<'_>) -> Result<View<'_>, Malformed> {
    if !view.starts_with(&WRAPPER_MAGIC) {
        return Ok(view);
    }
    if view.size() < WRAPPER_FIELDS_END {
        let cause = Cause::Truncated { needed: WRAPPER_FIELDS_END, available: view.size() };
        return Err(view.malformed("bitcode wrapper", 0, cause));
    }
    let [offset, size] = [WRAPPER_OFFSET, WRAPPER_SIZE].map(|at| view.u32("bitcode wrapper", at));
    view.part(view.field("bitcode wrapper", WRAPPER_OFFSET), Extent { offset: offset?.into(), size: size?.into() })
}

/// Checks that the outer blocks are complete, that one is a module, and that the names of its symbols follow it. Bytes
/// that are not a block of a file end the stream.
pub fn check(view: View<'_>) -> Result<(), Malformed> {
    let stream = stream(view)?;
    if Bits::after_magic(stream.data(), u32::MAX).is_none() {
        return Ok(());
    }
    match blocks(stream)?.defect {
        Some(defect) => Err(defect),
        None => Ok(()),
    }
}

/// Returns the bitcode at the view's first byte. It must be complete; any other bytes may follow it.
pub fn extent(view: View<'_>) -> Result<View<'_>, Malformed> {
    let stream = stream(view)?;
    let blocks = blocks(stream)?;
    let is_wrapped = view.starts_with(&WRAPPER_MAGIC);
    let size = if is_wrapped { stream.range_in(view).end } else { blocks.end };
    view.prefix("bitcode", size)
}

/// Outer blocks of a stream with a complete module.
struct Blocks {
    /// End of the last module with its strings, in bytes.
    end: u64,
    /// Defect of the first incomplete block after it. In a file, it is a defect of the file. Elsewhere, other data may
    /// begin with the same bytes.
    defect: Option<Malformed>,
}

/// Reads the outer blocks of a stream, up to the first bytes that are not a block. A stream without a complete module
/// is an error.
fn blocks(stream: View<'_>) -> Result<Blocks, Malformed> {
    let missing = |what: &str| stream.malformed("bitcode", 0, Cause::Described(what.to_owned()));
    let mut bits = Bits::after_magic(stream.data(), u32::MAX).ok_or_else(|| missing("no magic"))?;
    let mut has_module = false;
    let mut needs_strings = false;
    let mut is_identified = false;
    let mut complete = None;
    let mut defect = None;
    while is_outer_block(stream, bits.at / 8) {
        stream.charge("bitcode block", Resource::Work, 1)?;
        let (block, after) = match complete_block(stream, &mut bits) {
            Ok(complete) => complete,
            Err(error) => {
                defect = Some(error);
                break;
            }
        };
        // Only a module follows an identification. Otherwise the stream is cut, and its last block reaches into other
        // data.
        if is_identified && block.id != MODULE_BLOCK {
            break;
        }
        is_identified = block.id == IDENTIFICATION_BLOCK;
        if block.id == MODULE_BLOCK {
            has_module = true;
            needs_strings |= module_version(&mut bits, block.width).is_some_and(|version| version >= STRTAB_VERSION);
        }
        needs_strings &= block.id != STRTAB_BLOCK;
        bits.at = after;
        if has_module && !needs_strings && !is_identified {
            complete = Some(after / 8);
        }
    }
    match complete {
        Some(end) => Ok(Blocks { end, defect }),
        None => Err(defect.unwrap_or_else(|| missing(if has_module { "no string table" } else { "no module" }))),
    }
}

/// Whether the bytes at an offset begin an outer block, complete or not: an ID of one digit, a width of one digit, and
/// zeros up to the size. Bytes after a stream, for example another array in a program, rarely do.
fn is_outer_block(stream: View<'_>, at: u64) -> bool {
    let rest = stream.from(at).data();
    let header = rest.get(..4).unwrap_or(rest);
    let is_header_of = |id: u64| {
        let mut is_known = false;
        for width in OUTER_WIDTHS {
            let expected = (ENTER_SUBBLOCK | id << OUTER_WIDTH | width << (OUTER_WIDTH + 8)).to_le_bytes();
            is_known |= expected.starts_with(header);
        }
        is_known
    };
    !header.is_empty() && OUTER_BLOCKS.into_iter().any(is_header_of)
}

/// Reads the header of the next block, and checks that the block is complete. The second value is its end in bits.
fn complete_block(stream: View<'_>, bits: &mut Bits<'_>) -> Result<(Block, u64), Malformed> {
    let start = bits.at / 8;
    let block = if bits.fixed(OUTER_WIDTH).is_some() { bits.enter_block() } else { None };
    let block = block.ok_or_else(|| stream.malformed("bitcode block", start, Cause::EndsInside))?;
    // The number of words has 32 bits.
    let needed = block.words << 2;
    let available = stream.from(bits.at / 8).size();
    match bits.end_of(block) {
        Some(end) if needed <= available => Ok((block, end)),
        _ => Err(stream.malformed("bitcode block", start, Cause::Truncated { needed, available })),
    }
}

/// Returns the triple of the first module; `None` if it has none, and for a damaged stream.
pub fn triple(view: View<'_>) -> Option<String> {
    let (mut bits, width) = first_module(view, MAX_FIELDS)?;
    module_triple(&mut bits, width)
}

/// The second value is the width of abbreviation IDs in the module's block.
fn first_module(view: View<'_>, max_fields: u32) -> Option<(Bits<'_>, u32)> {
    let mut bits = Bits::after_magic(stream(view).ok()?.data(), max_fields)?;
    loop {
        if bits.fixed(OUTER_WIDTH)? != ENTER_SUBBLOCK {
            return None;
        }
        let block = bits.enter_block()?;
        if block.id == MODULE_BLOCK {
            return Some((bits, block.width));
        }
        bits.skip_block(block)?;
    }
}

/// Reads the version of the module, whose record is the first in its block.
fn module_version(bits: &mut Bits<'_>, width: u32) -> Option<u64> {
    let is_version = bits.fixed(width)? == UNABBREV_RECORD && bits.variable(VBR)? == VERSION;
    if is_version && bits.variable(VBR)? > 0 { bits.variable(VBR) } else { None }
}

/// Reads records of the module's block up to the triple.
fn module_triple(bits: &mut Bits<'_>, width: u32) -> Option<String> {
    loop {
        match bits.fixed(width)? {
            ENTER_SUBBLOCK => {
                let block = bits.enter_block()?;
                bits.skip_block(block)?;
            }
            UNABBREV_RECORD => {
                let code = bits.variable(VBR)?;
                let count = bits.variable(VBR)?;
                if code == TRIPLE {
                    return text(bits, count);
                }
                for _ in 0..count {
                    bits.variable(VBR)?;
                }
            }
            // An abbreviation, or its definition.
            END_BLOCK.. => return None,
        }
    }
}

/// Reads the operands of a record as characters.
fn text(bits: &mut Bits<'_>, count: u64) -> Option<String> {
    if count == 0 || count > MAX_TRIPLE_SIZE {
        return None;
    }
    let characters = (0..count).map(|_| bits.variable(VBR).and_then(|value| u8::try_from(value).ok()));
    let characters = characters.map(|byte| byte.filter(u8::is_ascii_graphic).map(char::from));
    characters.collect()
}

#[cfg(test)]
mod tests {
    use super::test_writer::{BitWriter, WIDTH};
    use super::*;

    /// A module with this triple, after an identification block, a version and blocks.
    fn module(triple: &str) -> Vec<u8> {
        let mut writer = BitWriter::default();
        writer.enter(OUTER_WIDTH, 13, 2);
        writer.fixed(u64::MAX, 64);
        writer.enter(OUTER_WIDTH, MODULE_BLOCK, 1000);
        writer.record(1, &[2]);
        for _ in 0..3 {
            writer.enter(WIDTH, 17, 1);
            writer.fixed(u64::MAX, 32);
        }
        writer.record(TRIPLE, &triple.bytes().map(u64::from).collect::<Vec<_>>());
        writer.record(3, &[1 << 40, 7]);
        writer.bytes()
    }

    fn read(bytes: &[u8]) -> Option<String> {
        triple(View::new(bytes))
    }

    fn wrapped(bytes: &[u8]) -> Vec<u8> {
        let fields = [0, 20, bytes.len() as u32, 7].map(u32::to_le_bytes).concat();
        [&WRAPPER_MAGIC[..], &fields, bytes, b"behind it"].concat()
    }

    #[test]
    fn reads_the_triple_with_and_without_a_wrapper() {
        for name in ["amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda", "x"] {
            assert_eq!(read(&module(name)).as_deref(), Some(name));
            assert_eq!(read(&wrapped(&module(name))).as_deref(), Some(name));
        }
    }

    #[test]
    fn a_cut_wrapper_is_reported_at_an_offset_inside_of_it() {
        let wrapped = wrapped(&complete(2));
        for end in 4..16 {
            let message = check(View::new(&wrapped[..end])).map_err(|error| error.to_string());
            assert_eq!(message, Err(format!("bitcode wrapper at 0x0: truncated: need 16 bytes, {end} available")));
        }
    }

    #[test]
    fn a_module_without_a_printable_triple_has_none() {
        for name in ["", "amd\0gcn", "amd gcn", "amd\u{e9}", &"x".repeat(257)] {
            assert_eq!(read(&module(name)), None, "{name}");
        }
    }

    #[test]
    fn truncated_and_damaged_streams_have_none_or_one() {
        let good = module("amdgcn-amd-amdhsa");
        let end = (0..good.len()).find(|&end| read(&good[..end]).is_some()).unwrap();
        assert!(end > 60 && end < good.len());
        let wrapped = wrapped(&good);
        for at in 0..good.len() {
            assert_eq!(read(&good[..at]).is_some(), at >= end);
            read(&wrapped[..at]);
            for value in [0, 0xff, good[at] ^ 1] {
                let mut bytes = good.clone();
                bytes[at] = value;
                read(&bytes);
            }
        }
    }

    /// A stream of an identification, a module of this version with two more words, and a string table.
    fn complete(version: u64) -> Vec<u8> {
        let mut writer = BitWriter::default();
        writer.enter(OUTER_WIDTH, 13, 2);
        writer.fixed(u64::MAX, 64);
        writer.enter(OUTER_WIDTH, MODULE_BLOCK, 3);
        writer.record(VERSION, &[version]);
        writer.align();
        writer.fixed(u64::MAX, 64);
        writer.enter(OUTER_WIDTH, STRTAB_BLOCK, 1);
        writer.fixed(u64::MAX, 32);
        writer.bytes()
    }

    #[test]
    fn every_cut_of_a_stream_is_reported() {
        for version in [1, 2] {
            let bytes = complete(version);
            assert_eq!(check(View::new(&bytes)), Ok(()));
            assert_eq!(check(View::new(&[&bytes[..], &[0; 5]].concat())), Ok(()), "padding");
            // Old modules contain their names. Nothing refers to the bytes after them.
            let strings_at = bytes.len() - 12;
            for end in 4..bytes.len() {
                let is_complete = version == 1 && end == strings_at;
                assert_eq!(check(View::new(&bytes[..end])).is_ok(), is_complete, "{version} {end}");
            }
            let wrapped = wrapped(&bytes);
            assert_eq!(check(View::new(&wrapped)), Ok(()));
            assert!(check(View::new(&wrapped[..20 + bytes.len() - 1])).is_err());
        }
        let message = |end| check(View::new(&complete(2)[..end])).unwrap_err().to_string();
        assert_eq!(message(complete(2).len() - 1), "bitcode block at 0x28: truncated: need 4 bytes, 3 available");
        assert_eq!(message(complete(2).len() - 12), "bitcode at 0x0: no string table");
        assert_eq!(message(20), "bitcode at 0x0: no module");
    }

    #[test]
    fn an_abbreviation_before_the_triple_ends_the_search() {
        let mut writer = BitWriter::default();
        writer.enter(OUTER_WIDTH, MODULE_BLOCK, 1000);
        writer.fixed(4, WIDTH);
        writer.record(TRIPLE, &[120]);
        assert_eq!(read(&writer.bytes()), None);
    }

    #[test]
    fn an_endless_module_is_read_for_a_while_only() {
        let mut writer = BitWriter::default();
        writer.enter(OUTER_WIDTH, MODULE_BLOCK, 1000);
        for _ in 0..MAX_FIELDS / 3 {
            writer.record(1, &[]);
        }
        writer.record(TRIPLE, &[120]);
        assert_eq!(read(&writer.bytes()), None);
    }
}
