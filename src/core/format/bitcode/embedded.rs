//! Device images in the bitcode that compilers write for a host with `-flto`.
//!
//! They are byte arrays, the initializers of variables in a section: offload binaries (`-fembed-offload-object`),
//! bundles, fat binaries. An array begins at any bit and has 6, 7 or 8 bits per byte, so nothing in the file looks like
//! a container. Source: LLVM Bitcode File Format document, sections Module Block and Constants Block; output of clang
//! 14 to 22.

use std::collections::{BTreeMap, BTreeSet};

use super::bits::{Bits, Block};
use super::records::{Item, Records};
use super::{MODULE_BLOCK, stream};
use crate::base::bytes::{Resource, View};
use crate::base::error::{Cause, Malformed};

/// Section of the variables that hold offload binaries.
pub const OFFLOADING: &str = ".llvm.offloading";

/// ID of a block with constants.
const CONSTANTS_BLOCK: u64 = 11;

/// Codes of records in the module's block.
const VERSION: u64 = 1;
const SECTION_NAME: u64 = 5;
const GLOBAL_VARIABLE: u64 = 7;
/// Functions, aliases and indirect functions, which have value numbers like variables.
const OTHER_GLOBALS: [u64; 4] = [8, 9, 14, 15];

/// Codes of records in a block of constants.
const SET_TYPE: u64 = 1;
const STRING: u64 = 8;
const C_STRING: u64 = 9;

/// Operands of a variable after its name: number of the initializer plus one, and number of the section.
const INITIALIZER: usize = 2;
const SECTION_NUMBER: usize = 5;

/// First version where the operands of a variable begin with the place of its name.
const WITH_NAMES: u64 = 2;

/// Maximum number of values that are kept of a record in the module's block. No record that is read here has more.
const MAX_OPERANDS: usize = 256;

/// A section of the object that a compiler makes of bitcode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedSection {
    /// Name. For Mach-O, segment and section separated by a comma.
    pub name: String,
    /// Initializers of its variables, back to back.
    pub contents: Vec<u8>,
}

/// Returns the offload binaries in bitcode, back to back; empty if there are none.
pub fn offload_binaries(view: View<'_>) -> Result<Vec<u8>, Malformed> {
    let sections = sections(view, &|name| name == OFFLOADING)?;
    Ok(sections.into_iter().next().map(|section| section.contents).unwrap_or_default())
}

/// Returns the sections with a wanted name, in the order of their first variables. Variables without contents are
/// skipped.
pub fn sections(view: View<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<EmbeddedSection>, Malformed> {
    let stream = stream(view)?;
    let damaged = || stream.malformed("bitcode", 0, Cause::Described("invalid record".to_owned()));
    let mut records = Records::new(Bits::after_magic(stream.data(), u32::MAX).ok_or_else(damaged)?);
    let mut found = Vec::<EmbeddedSection>::new();
    let mut numbers = BTreeMap::<String, usize>::new();
    while let Some(block) = records.outer_block() {
        if block.id != MODULE_BLOCK {
            records.skip(block).ok_or_else(damaged)?;
            continue;
        }
        let Module { sections, variables, arrays, .. } =
            Module::read(&mut records, block, is_wanted).ok_or_else(damaged)?;
        for Variable { section, initializer } in variables {
            let (Some(name), Some(array)) = (sections.get(section), arrays.get(&initializer)) else { continue };
            // Variables with equal contents share an array.
            stream.charge("bitcode", Resource::Decompressed, array.len() as u64)?;
            match numbers.get(name).and_then(|&number| found.get_mut(number)) {
                Some(section) => section.contents.extend(array),
                None => {
                    numbers.insert(name.clone(), found.len());
                    found.push(EmbeddedSection { name: name.clone(), contents: array.clone() });
                }
            }
        }
    }
    Ok(found)
}

/// Returns the names of the sections that the variables and functions of bitcode are for, in the order of the file.
pub fn section_names(view: View<'_>) -> Result<Vec<String>, Malformed> {
    let stream = stream(view)?;
    let damaged = || stream.malformed("bitcode", 0, Cause::Described("invalid record".to_owned()));
    let mut records = Records::new(Bits::after_magic(stream.data(), u32::MAX).ok_or_else(damaged)?);
    let mut names = Vec::new();
    while let Some(block) = records.outer_block() {
        if block.id == MODULE_BLOCK {
            names.extend(Module::read(&mut records, block, &|_| false).ok_or_else(damaged)?.sections);
        } else {
            records.skip(block).ok_or_else(damaged)?;
        }
    }
    Ok(names)
}

/// A variable in a wanted section.
#[derive(Debug)]
struct Variable {
    /// Index of its section.
    section: usize,
    /// Number of its initializer.
    initializer: u64,
}

/// State of reading a module.
#[derive(Debug, Default)]
struct Module {
    /// Number of operands of a variable that precede the others.
    name_operands: usize,
    /// Names of sections, by their numbers minus one.
    sections: Vec<String>,
    /// Number of the next value: globals, then constants.
    next_value: u64,
    /// Variables in wanted sections, in the order of the file.
    variables: Vec<Variable>,
    /// Numbers of their initializers.
    initializers: BTreeSet<u64>,
    /// Arrays by their numbers.
    arrays: BTreeMap<u64, Vec<u8>>,
}

impl Module {
    fn read(records: &mut Records<'_>, block: Block, is_wanted: &dyn Fn(&str) -> bool) -> Option<Module> {
        let mut module = Module::default();
        let mut scope = records.enter(block);
        loop {
            let mut record = Vec::new();
            let item = records.next(&mut scope, &mut |value| {
                if record.len() < MAX_OPERANDS {
                    record.push(value);
                }
            })?;
            match (item, record.split_first()) {
                (Item::End, _) => return Some(module),
                (Item::Block(block), _) if block.id == CONSTANTS_BLOCK => module.read_constants(records, block)?,
                (Item::Block(block), _) => records.skip(block)?,
                (Item::Record, Some((&code, operands))) => module.add(code, operands, is_wanted)?,
                (Item::Record, None) => {}
            }
        }
    }

    /// Adds a record of the module's block.
    fn add(&mut self, code: u64, operands: &[u64], is_wanted: &dyn Fn(&str) -> bool) -> Option<()> {
        match code {
            VERSION => self.name_operands = if operands.first() >= Some(&WITH_NAMES) { 2 } else { 0 },
            SECTION_NAME => {
                let bytes: Vec<u8> = operands.iter().filter_map(|&byte| u8::try_from(byte).ok()).collect();
                self.sections.push(String::from_utf8_lossy(&bytes).into_owned());
            }
            GLOBAL_VARIABLE => {
                let variable = self.variable(operands, is_wanted);
                self.initializers.extend(variable.as_ref().map(|variable| variable.initializer));
                self.variables.extend(variable);
                self.next_value = self.next_value.checked_add(1)?;
            }
            code if OTHER_GLOBALS.contains(&code) => self.next_value = self.next_value.checked_add(1)?,
            _ => {}
        }
        Some(())
    }

    /// `None` if the variable has no initializer or no wanted section.
    fn variable(&self, operands: &[u64], is_wanted: &dyn Fn(&str) -> bool) -> Option<Variable> {
        let operands = operands.get(self.name_operands..)?;
        let operand = |index| operands.get(index).copied();
        let section = usize::try_from(operand(SECTION_NUMBER)?.checked_sub(1)?).ok()?;
        let initializer = operand(INITIALIZER)?.checked_sub(1)?;
        is_wanted(self.sections.get(section)?).then_some(Variable { section, initializer })
    }

    /// Reads the constants of the module. Each has a number.
    fn read_constants(&mut self, records: &mut Records<'_>, block: Block) -> Option<()> {
        let mut scope = records.enter(block);
        loop {
            let is_wanted = self.initializers.contains(&self.next_value);
            let mut code = None;
            let mut array = Vec::new();
            let item = records.next(&mut scope, &mut |value| match code {
                None => code = Some(value),
                // Elements of a byte array have 8 bits.
                Some(STRING | C_STRING) if is_wanted => array.push(value as u8),
                Some(_) => {}
            })?;
            match (item, code) {
                (Item::End, _) => return Some(()),
                (Item::Block(block), _) => records.skip(block)?,
                (Item::Record, Some(SET_TYPE)) => {}
                (Item::Record, _) => {
                    if code == Some(C_STRING) {
                        array.push(0);
                    }
                    if is_wanted && !array.is_empty() {
                        self.arrays.insert(self.next_value, array);
                    }
                    self.next_value = self.next_value.checked_add(1)?;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_writer::BitWriter;
    use super::super::{OUTER_WIDTH, VBR};
    use super::*;

    /// Returns a module with a function, an array in the section, one in no section, and its constants.
    fn module(version: u64, constants: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
        let names: &[u64] = if version >= WITH_NAMES { &[7, 3] } else { &[] };
        let section: Vec<u64> = OFFLOADING.bytes().map(u64::from).collect();
        let mut writer = BitWriter::default();
        writer.block(OUTER_WIDTH, 13, |_| {});
        writer.block(OUTER_WIDTH, MODULE_BLOCK, |writer| {
            writer.record(VERSION, &[version]).record(SECTION_NAME, &[46, 120]).record(SECTION_NAME, &section);
            writer.record(8, &[0; 12]);
            // The second and the fourth constant; values 3 and 5.
            writer.record(GLOBAL_VARIABLE, &[names, &[0, 1, 5, 0, 0, 2]].concat());
            writer.record(GLOBAL_VARIABLE, &[names, &[0, 1, 7, 0, 0, 1]].concat());
            writer.block(4, CONSTANTS_BLOCK, constants);
        });
        writer.bytes()
    }

    fn read(bytes: &[u8]) -> Option<Vec<u8>> {
        offload_binaries(View::new(bytes)).ok()
    }

    const NUMBERS: [u64; 3] = [0x10, 0xff, 0x41];

    #[test]
    fn an_array_is_read_in_every_form() {
        let bytes: Vec<u8> = NUMBERS.map(|number| number as u8).to_vec();
        for version in [1, 2] {
            let plain = module(version, |writer| {
                writer.record(SET_TYPE, &[1]).record(2, &[]).record(STRING, &NUMBERS).record(2, &[]);
                writer.record(STRING, &[1, 2, 3]);
            });
            assert_eq!(read(&plain).unwrap(), bytes);
        }
        let with_nul = module(2, |writer| {
            writer.record(2, &[]).record(C_STRING, &NUMBERS);
        });
        assert_eq!(read(&with_nul).unwrap(), [&bytes[..], b"\0"].concat());
        let abbreviated = module(2, |writer| {
            writer.array(STRING, 1, Some(8)).record(2, &[]).fixed(4, 4).variable(3, VBR);
            writer.all(&NUMBERS, 8);
        });
        assert_eq!(read(&abbreviated).unwrap(), bytes);
        let characters = module(2, |writer| {
            writer.array(C_STRING, 4, None).record(2, &[]).fixed(4, 4).variable(4, VBR);
            writer.all(&[0, 26, 52, 63], 6);
        });
        assert_eq!(read(&characters).unwrap(), b"aA0_\0");
        assert_eq!(read(&module(2, |_| {})).unwrap(), b"");
    }

    #[test]
    fn variables_are_in_sections_in_their_order() {
        let mut writer = BitWriter::default();
        writer.block(OUTER_WIDTH, MODULE_BLOCK, |writer| {
            writer.record(VERSION, &[2]);
            for name in [".hip_fatbin", "other", OFFLOADING] {
                writer.record(SECTION_NAME, &name.bytes().map(u64::from).collect::<Vec<_>>());
            }
            // Constants have the values 6 to 8.
            for (section, initializer) in [(3, 9), (2, 7), (1, 8), (3, 7), (3, 8), (3, 0)] {
                writer.record(GLOBAL_VARIABLE, &[7, 3, 0, 1, initializer, 0, 0, section]);
            }
            writer.block(4, CONSTANTS_BLOCK, |writer| {
                writer.record(STRING, &[1]).record(STRING, &[2, 2]).record(STRING, &[3]);
            });
        });
        let bytes = writer.bytes();
        let found = sections(View::new(&bytes), &|name| name != "other").unwrap();
        let found: Vec<_> = found.iter().map(|section| (section.name.as_str(), &section.contents[..])).collect();
        assert_eq!(found, [(OFFLOADING, &[3, 1, 2, 2][..]), (".hip_fatbin", &[2, 2])]);
        assert_eq!(read(&bytes).unwrap(), [3, 1, 2, 2]);
    }

    #[test]
    fn abbreviations_of_the_blockinfo_block_are_known() {
        let mut writer = BitWriter::default();
        writer.block(OUTER_WIDTH, MODULE_BLOCK, |writer| {
            writer.block(4, 0, |writer| {
                writer.record(1, &[17]).array(1, 1, Some(3)).record(1, &[CONSTANTS_BLOCK]).array(STRING, 1, Some(7));
            });
            writer.record(VERSION, &[2]);
            writer.record(SECTION_NAME, &OFFLOADING.bytes().map(u64::from).collect::<Vec<_>>());
            writer.record(GLOBAL_VARIABLE, &[7, 3, 0, 1, 2, 0, 0, 1]);
            writer.block(4, CONSTANTS_BLOCK, |writer| {
                writer.fixed(4, 4).variable(2, VBR).fixed(0x10, 7).fixed(0x7f, 7);
            });
        });
        assert_eq!(read(&writer.bytes()).unwrap(), [0x10, 0x7f]);
    }

    #[test]
    fn damaged_streams_are_rejected_or_read_within_bounds() {
        let good = module(2, |writer| {
            writer.array(STRING, 1, Some(8)).record(2, &[]).fixed(4, 4).variable(3, VBR);
            writer.all(&NUMBERS, 8);
        });
        for at in 0..good.len() {
            read(&good[..at]);
            for value in [0, 0xff, good[at] ^ 1, good[at] ^ 0x40] {
                let mut bytes = good.clone();
                bytes[at] = value;
                assert!(read(&bytes).unwrap_or_default().len() <= good.len() * 8);
            }
        }
        // LLVM has numbers of at most 32 bits.
        for (encoding, width) in [(1, 33), (2, 33), (2, 200), (1, u64::MAX)] {
            let wide = module(2, |writer| {
                writer.array(STRING, encoding, Some(width)).fixed(4, 4).variable(1, VBR).fixed(0, 64);
            });
            assert_eq!(read(&wide), None, "{encoding} {width}");
        }
        // Elements without bits would be endless.
        let empty = module(2, |writer| {
            writer.array(STRING, 1, Some(0)).record(2, &[]).fixed(4, 4).variable(u64::MAX >> 8, VBR);
        });
        assert_eq!(read(&empty), None);
        let message = offload_binaries(View::new(&empty)).unwrap_err().to_string();
        assert_eq!(message, "bitcode at 0x0: invalid record");
    }
}
