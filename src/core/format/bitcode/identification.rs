//! The producer of bitcode: the block in front of a module names the compiler, `LLVM19.1.7`.
//!
//! Source: LLVM Bitcode File Format document, section IDENTIFICATION_BLOCK; output of clang 14 to 22.

use super::bits::Bits;
use super::records::{Item, Records};
use super::{IDENTIFICATION_BLOCK, stream};
use crate::base::bytes::View;

/// Code of the record with the name of the producer.
const STRING: u64 = 1;

/// Maximum number of characters that are read.
const MAX_NAME: usize = 128;

/// Returns the major version of the LLVM that wrote bitcode; `None` if its first block does not state one.
pub fn llvm_version(view: View<'_>) -> Option<u32> {
    let mut records = Records::new(Bits::after_magic(stream(view).ok()?.data(), u32::MAX)?);
    let block = records.outer_block().filter(|block| block.id == IDENTIFICATION_BLOCK)?;
    let mut scope = records.enter(block);
    loop {
        let mut values = Vec::new();
        let item = records.next(&mut scope, &mut |value| {
            if values.len() <= MAX_NAME {
                values.push(value);
            }
        })?;
        match (item, values.split_first()) {
            (Item::End, _) => return None,
            (Item::Block(block), _) => records.skip(block)?,
            (Item::Record, Some((&STRING, name))) => {
                let name: Vec<u8> = name.iter().filter_map(|&byte| u8::try_from(byte).ok()).collect();
                let digits = name.strip_prefix(b"LLVM")?.iter().take_while(|byte| byte.is_ascii_digit());
                return String::from_utf8(digits.copied().collect()).ok()?.parse().ok();
            }
            (Item::Record, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::OUTER_WIDTH;
    use super::super::test_writer::BitWriter;
    use super::*;

    fn read(block: u64, name: &str) -> Option<u32> {
        let name: Vec<u64> = name.bytes().map(u64::from).collect();
        let mut writer = BitWriter::default();
        writer.block(OUTER_WIDTH, block, |writer| {
            writer.record(STRING, &name);
        });
        let bytes = writer.bytes();
        for at in 0..bytes.len() {
            llvm_version(View::new(&bytes[..at]));
        }
        llvm_version(View::new(&bytes))
    }

    #[test]
    fn the_version_is_that_of_the_producer() {
        assert_eq!(read(IDENTIFICATION_BLOCK, "LLVM19.1.7"), Some(19));
        assert_eq!(read(IDENTIFICATION_BLOCK, "LLVM22.0.0git"), Some(22));
        for other in ["", "LLVM", "APPLE_1_1600.0.26.3_0", "19.1.7"] {
            assert_eq!(read(IDENTIFICATION_BLOCK, other), None, "{other}");
        }
        assert_eq!(read(8, "LLVM19.1.7"), None);
    }
}
