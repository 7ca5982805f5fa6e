//! Symbols of bitcode: the table that LLVM writes for linkers, which need not read the module itself.
//!
//! | header, words of 32 bits | offset | symbol, 24 bytes | offset |
//! |---|---|---|---|
//! | version | 0 | name: offset and size in the string table | 0, 4 |
//! | producer, modules, COMDATs: offset and size or number | 4, 12, 20 | name in the module | 8, 12 |
//! | symbols: offset and number | 28 | COMDAT | 16 |
//! | further tables | 36 | flags | 20 |
//!
//! Source: LLVM's `Object/IRSymtab.h`; bitcode of clang 15 to 22.

use super::bits::{Bits, Block};
use super::records::{Item, Records};
use super::{STRTAB_BLOCK, stream};
use crate::base::bytes::{Extent, Resource, Table, View};
use crate::base::error::{Cause, Malformed};

/// A global symbol of device code, in bitcode or ELF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalSymbol {
    /// Name.
    pub name: String,
    /// True if it is used and not defined.
    pub is_undefined: bool,
    /// True if the use may stay unresolved, or the definition may be replaced.
    pub is_weak: bool,
    /// True if it is visible outside of the linked image.
    pub is_visible: bool,
}

/// ID of the block with the table.
const SYMTAB_BLOCK: u64 = 25;

/// Fields of the table.
const SYMBOLS_OFFSET: u64 = 28;
const SYMBOLS_COUNT: u64 = 32;
const SYMBOL_SIZE: u64 = 24;
const SYMBOL_NAME: u64 = 0;
const SYMBOL_NAME_SIZE: u64 = 4;
const SYMBOL_FLAGS: u64 = 20;

/// Flags of a symbol: two bits of visibility, and single bits.
const VISIBILITY: u32 = 3;
const HIDDEN: u32 = 1;
const UNDEFINED: u32 = 1 << 3;
const WEAK: u32 = 1 << 4;
const MAY_OMIT: u32 = 1 << 9;
const GLOBAL: u32 = 1 << 10;
const FORMAT_SPECIFIC: u32 = 1 << 11;

/// Returns the global symbols of bitcode; none for bitcode without a table.
pub fn symbols(view: View<'_>) -> Result<Vec<GlobalSymbol>, Malformed> {
    let stream = stream(view)?;
    let damaged = || stream.malformed("bitcode", 0, Cause::Described("invalid record".to_owned()));
    let mut records = Records::new(Bits::after_magic(stream.data(), u32::MAX).ok_or_else(damaged)?);
    let mut table = Vec::new();
    let mut strings = Vec::new();
    while let Some(block) = records.outer_block() {
        match block.id {
            SYMTAB_BLOCK => table = blob(&mut records, block).ok_or_else(damaged)?,
            STRTAB_BLOCK => strings = blob(&mut records, block).ok_or_else(damaged)?,
            _ => records.skip(block).ok_or_else(damaged)?,
        }
    }
    for bytes in [&table, &strings] {
        stream.charge("bitcode", Resource::Decompressed, bytes.len() as u64)?;
    }
    if table.is_empty() {
        return Ok(Vec::new());
    }
    let table = stream.derived(&table);
    let strings = stream.derived(&strings);
    let field = |at| table.u32("bitcode symbol table", at).map(u64::from);
    let rows = Table { offset: field(SYMBOLS_OFFSET)?, count: field(SYMBOLS_COUNT)?, entry_size: SYMBOL_SIZE };
    let mut found = Vec::new();
    for symbol in table.table(table.field("bitcode symbol table", SYMBOLS_OFFSET), rows)? {
        let field = |at| symbol.u32("bitcode symbol", at);
        let flags = field(SYMBOL_FLAGS)?;
        if flags & GLOBAL == 0 || flags & FORMAT_SPECIFIC != 0 {
            continue;
        }
        let extent = Extent { offset: field(SYMBOL_NAME)?.into(), size: field(SYMBOL_NAME_SIZE)?.into() };
        let name = strings.part("bitcode symbol name", extent)?;
        name.charge("bitcode symbol name", Resource::Memory, name.size())?;
        found.push(GlobalSymbol {
            name: String::from_utf8_lossy(name.data()).into_owned(),
            is_undefined: flags & UNDEFINED != 0,
            is_weak: flags & WEAK != 0,
            is_visible: flags & MAY_OMIT == 0 && flags & VISIBILITY != HIDDEN,
        });
    }
    Ok(found)
}

/// Reads a block of one record, and returns the bytes of the record.
fn blob(records: &mut Records<'_>, block: Block) -> Option<Vec<u8>> {
    let mut scope = records.enter(block);
    let mut bytes = Vec::new();
    loop {
        let mut is_code = true;
        let item = records.next(&mut scope, &mut |value| {
            if !std::mem::take(&mut is_code) {
                bytes.push(value as u8);
            }
        })?;
        match item {
            Item::End => return Some(bytes),
            Item::Block(inner) => records.skip(inner)?,
            Item::Record => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::OUTER_WIDTH;
    use super::super::test_writer::BitWriter;
    use super::*;

    /// Returns bitcode with a table of symbols: offset and size of the name, and flags.
    fn bitcode(names: &str, symbols: &[[u32; 3]]) -> Vec<u8> {
        const HEADER: u32 = 64;
        let mut table = vec![0; HEADER as usize];
        table[SYMBOLS_OFFSET as usize..][..4].copy_from_slice(&HEADER.to_le_bytes());
        table[SYMBOLS_COUNT as usize..][..4].copy_from_slice(&(symbols.len() as u32).to_le_bytes());
        for &[offset, size, flags] in symbols {
            table.extend([offset, size, 0, 0, 0, flags].into_iter().flat_map(u32::to_le_bytes));
        }
        let values = |bytes: &[u8]| bytes.iter().map(|&byte| byte.into()).collect::<Vec<u64>>();
        let mut writer = BitWriter::default();
        writer.block(OUTER_WIDTH, 13, |_| {});
        writer.block(OUTER_WIDTH, SYMTAB_BLOCK, |writer| {
            writer.record(1, &values(&table));
        });
        writer.block(OUTER_WIDTH, STRTAB_BLOCK, |writer| {
            writer.record(1, &values(names.as_bytes()));
        });
        writer.bytes()
    }

    fn read(bytes: &[u8]) -> Result<Vec<GlobalSymbol>, Malformed> {
        symbols(View::new(bytes))
    }

    #[test]
    fn global_symbols_are_read_with_their_properties() {
        let flags =
            [GLOBAL, GLOBAL | HIDDEN, GLOBAL | UNDEFINED | WEAK, GLOBAL | MAY_OMIT, 0, GLOBAL | FORMAT_SPECIFIC];
        let rows: Vec<[u32; 3]> = flags.iter().map(|&flags| [2, 6, flags]).collect();
        let found = read(&bitcode("xxkernelyy", &rows)).unwrap();
        let expected = [(false, false, true), (false, false, false), (true, true, true), (false, false, false)];
        assert_eq!(found.len(), expected.len());
        for (symbol, (is_undefined, is_weak, is_visible)) in found.iter().zip(expected) {
            let name = "kernel".to_owned();
            assert_eq!(*symbol, GlobalSymbol { name, is_undefined, is_weak, is_visible });
        }
        assert_eq!(read(b"BC\xc0\xde"), Ok(Vec::new()));
    }

    #[test]
    fn damaged_tables_are_rejected() {
        for row in [[0, 100, GLOBAL], [u32::MAX, 1, GLOBAL], [11, 1, GLOBAL]] {
            let message = read(&bitcode("0123456789", &[row])).unwrap_err().to_string();
            assert!(message.starts_with("bitcode symbol name at "), "{message}");
        }
        let good = bitcode("kernel", &[[0, 6, GLOBAL]]);
        for at in 0..good.len() {
            let _ = read(&good[..at]);
            for value in [0, 0xff, good[at] ^ 1] {
                let mut bytes = good.clone();
                bytes[at] = value;
                let _ = read(&bytes);
            }
        }
    }
}
