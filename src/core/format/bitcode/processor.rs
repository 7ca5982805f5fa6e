//! The processor that clang compiled bitcode for: the attribute `target-cpu` of its functions.
//!
//! Groups of attributes are blocks of the module that precede the triple. LLVM writes their records without
//! abbreviations. A text is a code and its characters, each text with a NUL. Source: LLVM Bitcode File Format document,
//! section PARAMATTR_GROUP_BLOCK; `ModuleBitcodeWriter`; output of clang 14 to 22.

use super::bits::{Bits, Block};
use super::{END_BLOCK, ENTER_SUBBLOCK, UNABBREV_RECORD, VBR, first_module};
use crate::base::bytes::View;

/// ID of a block with groups of attributes, and code of the record of a group.
const ATTRIBUTE_GROUPS_BLOCK: u64 = 10;
const GROUP: u64 = 3;

/// Number of operands before a group's attributes (its number and its parameter), and the parameter of functions.
const GROUP_HEADER: usize = 2;
const FUNCTION: u64 = u32::MAX as u64;

/// Code of an attribute of two texts.
const TEXT_AND_VALUE: u64 = 4;

/// Attributes of the processor and of its features, and features of target IDs in their canonical order.
const TARGET_CPU: &[u8] = b"target-cpu";
const TARGET_FEATURES: &[u8] = b"target-features";
const FEATURES: [&str; 2] = ["sramecc", "xnack"];

/// Maximum number of fields that are read: several hundred groups. A hostile file has no end.
const MAX_FIELDS: u32 = 1 << 20;

/// Returns the processor of the functions, with the feature settings that they depend on: `gfx90a:xnack+`, `sm_90a`.
/// `None` if no function states a processor, if functions state several, and for a damaged stream.
pub fn processor(view: View<'_>) -> Option<String> {
    let (mut bits, width) = first_module(view, MAX_FIELDS)?;
    let mut processors = Vec::new();
    loop {
        match bits.fixed(width)? {
            ENTER_SUBBLOCK => {
                let block = bits.enter_block()?;
                if block.id == ATTRIBUTE_GROUPS_BLOCK {
                    read_groups(&mut bits, block, &mut processors)?;
                    break;
                }
                bits.skip_block(block)?;
            }
            UNABBREV_RECORD => drop(record(&mut bits)?),
            END_BLOCK.. => return None,
        }
    }
    processors.dedup();
    if processors.len() == 1 { processors.pop() } else { None }
}

/// Reads the groups of a block, and adds the processor of each that states one.
fn read_groups(bits: &mut Bits<'_>, block: Block, processors: &mut Vec<String>) -> Option<()> {
    loop {
        match bits.fixed(block.width)? {
            END_BLOCK => return Some(()),
            UNABBREV_RECORD => {
                let record = record(bits)?;
                if let [GROUP, operands @ ..] = &record[..] {
                    processors.extend(processor_of(operands));
                }
            }
            ENTER_SUBBLOCK.. => return None,
        }
    }
}

/// Reads the code and the operands of a record without an abbreviation.
fn record(bits: &mut Bits<'_>) -> Option<Vec<u64>> {
    let mut values = vec![bits.variable(VBR)?];
    for _ in 0..bits.variable(VBR)? {
        values.push(bits.variable(VBR)?);
    }
    Some(values)
}

fn processor_of(operands: &[u64]) -> Option<String> {
    if operands.get(GROUP_HEADER.checked_sub(1)?) != Some(&FUNCTION) {
        return None;
    }
    let mut processor = value(operands, TARGET_CPU)?;
    let features = value(operands, TARGET_FEATURES).unwrap_or_default();
    for feature in FEATURES {
        for sign in ['+', '-'] {
            if features.split(',').any(|stated| stated.strip_prefix(sign) == Some(feature)) {
                processor.push_str(&format!(":{feature}{sign}"));
            }
        }
    }
    Some(processor)
}

/// Finds the attribute of two texts with this name.
fn value(operands: &[u64], name: &[u8]) -> Option<String> {
    let start: Vec<u64> = [TEXT_AND_VALUE].into_iter().chain(name.iter().map(|&byte| byte.into())).chain([0]).collect();
    let at = operands.windows(start.len()).position(|window| window == start)?;
    let rest = operands.get(at.checked_add(start.len())?..)?;
    let end = rest.iter().position(|&character| character == 0)?;
    let characters = rest.get(..end)?.iter().map(|&character| u8::try_from(character).ok());
    let characters = characters.map(|byte| byte.filter(u8::is_ascii_graphic).map(char::from));
    characters.collect::<Option<String>>().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::test_writer::BitWriter;
    use super::super::{MODULE_BLOCK, OUTER_WIDTH};
    use super::*;

    /// Operands of a group for `parameter`, with attributes of two texts after a flag and a number.
    fn group(parameter: u64, attributes: &[(&str, &str)]) -> Vec<u64> {
        let mut operands = vec![1, parameter, 0, 18, 1, 29, 8];
        for (name, value) in attributes {
            operands.push(TEXT_AND_VALUE);
            for text in [name, value] {
                operands.extend(text.bytes().map(u64::from).chain([0]));
            }
        }
        operands
    }

    fn module(groups: &[Vec<u64>]) -> Vec<u8> {
        let mut writer = BitWriter::default();
        writer.block(OUTER_WIDTH, 13, |_| {});
        writer.block(OUTER_WIDTH, MODULE_BLOCK, |writer| {
            writer.record(1, &[2]).block(4, 17, |_| {});
            writer.block(4, ATTRIBUTE_GROUPS_BLOCK, |writer| {
                for operands in groups {
                    writer.record(GROUP, operands);
                }
            });
        });
        writer.bytes()
    }

    fn read(groups: &[Vec<u64>]) -> Option<String> {
        processor(View::new(&module(groups)))
    }

    #[test]
    fn functions_state_the_processor_and_the_settings_of_its_features() {
        let cpu = |name: &'static str| ("target-cpu", name);
        let cases = [
            (vec![cpu("sm_90a"), ("target-features", "+ptx80,+sm_90a")], Some("sm_90a")),
            (vec![("target-features", "+dpp,-xnack,+sramecc"), cpu("gfx90a")], Some("gfx90a:sramecc+:xnack-")),
            (vec![cpu("gfx90a"), ("target-features", "+xnack")], Some("gfx90a:xnack+")),
            (vec![cpu("gfx90a"), ("target-features", "+xnacks,x+xnack")], Some("gfx90a")),
            (vec![("target-features", "+xnack")], None),
            (vec![cpu("")], None),
            (vec![cpu("gfx 90a")], None),
        ];
        for (attributes, expected) in cases {
            assert_eq!(read(&[group(0, &[]), group(FUNCTION, &attributes)]).as_deref(), expected, "{attributes:?}");
            assert_eq!(read(&[group(0, &attributes)]), None, "of a parameter");
        }
    }

    #[test]
    fn functions_for_several_processors_state_none() {
        let of = |name: &str| group(FUNCTION, &[("target-cpu", name)]);
        assert_eq!(read(&[of("sm_80"), of("sm_80"), group(FUNCTION, &[])]).as_deref(), Some("sm_80"));
        assert_eq!(read(&[of("sm_80"), of("sm_90")]), None);
        assert_eq!(read(&[of("sm_80"), of("sm_90"), of("sm_80")]), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn damaged_streams_state_one_or_none() {
        let good = module(&[group(FUNCTION, &[("target-cpu", "sm_80")])]);
        for at in 0..good.len() {
            processor(View::new(&good[..at]));
            for value in [0, 0xff, good[at] ^ 1] {
                let mut bytes = good.clone();
                bytes[at] = value;
                processor(View::new(&bytes));
            }
        }
    }
}
