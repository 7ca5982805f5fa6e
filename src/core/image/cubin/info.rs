//! `.nv.info` and `.nv.info.NAME`: lists of attributes, of the whole file and of one function.
//!
//! An attribute has a format and a number, followed by a two-byte value or by the size of the value after it. Numbers
//! and names were determined by comparing the bytes of 3,500 sections with the output of `cuobjdump -elf` 13.5.

use crate::base::bytes::{Extent, View};
use crate::base::error::{Cause, Malformed};

/// `{ symbol, count }`: registers of a function.
pub const EIATTR_REGCOUNT: u8 = 0x2f;
/// `{ symbol, bytes }`: a function's own frame.
pub const EIATTR_FRAME_SIZE: u8 = 0x11;
/// `{ symbol, bytes }`: stack size of a kernel and all functions that it calls; in linked files only.
pub const EIATTR_MIN_STACK_SIZE: u8 = 0x12;
/// `{ x, y, z }`, from `.maxntid`.
pub const EIATTR_MAX_THREADS: u8 = 0x05;
/// `{ x, y, z }`, from `.reqntid`.
pub const EIATTR_REQNTID: u8 = 0x10;
/// Two bytes: limit on registers from `.maxnreg` or the launch bounds.
pub const EIATTR_MAXREG_COUNT: u8 = 0x1b;
/// Two bytes: size of all parameters in constant bank 0.
pub const EIATTR_CBANK_PARAM_SIZE: u8 = 0x19;
/// `{ index, ordinal and offset, layout }`: one parameter; the upper 14 bits of the layout are its size.
pub const EIATTR_KPARAM_INFO: u8 = 0x17;
/// Like [`EIATTR_KPARAM_INFO`], for kernels with more than 4 KB of parameters; the lower 16 bits are the size.
pub const EIATTR_KPARAM_INFO_V2: u8 = 0x45;

/// Formats of attributes. With EIFMT_NVAL, EIFMT_BVAL and EIFMT_HVAL the two bytes are the value. With EIFMT_SVAL they
/// are the size of the value after them.
const EIFMT_NVAL: u8 = 1;
const EIFMT_BVAL: u8 = 2;
const EIFMT_HVAL: u8 = 3;
const EIFMT_SVAL: u8 = 4;

const HEADER_SIZE: u64 = 4;

/// An attribute.
#[derive(Debug)]
pub struct Attribute<'data> {
    pub number: u8,
    /// The two bytes after the number.
    pub half: u16,
    /// The value that follows.
    pub value: View<'data>,
}

impl Attribute<'_> {
    /// First `COUNT` words of the value. More may follow.
    pub fn words<const COUNT: usize>(&self) -> Result<[u32; COUNT], Malformed> {
        let mut words = [0; COUNT];
        for (word, at) in words.iter_mut().zip((0..).step_by(4)) {
            *word = self.value.u32("NVIDIA attribute value", at)?;
        }
        Ok(words)
    }
}

/// Iterates over the attributes of a section. An error ends the iteration.
pub fn attributes(section: View<'_>) -> impl Iterator<Item = Result<Attribute<'_>, Malformed>> {
    let mut rest = section;
    std::iter::from_fn(move || {
        if rest.size() == 0 {
            return None;
        }
        let attribute = first(rest);
        rest = match &attribute {
            Ok(attribute) => rest.from(HEADER_SIZE).from(attribute.value.size()),
            Err(_) => rest.from(rest.size()),
        };
        Some(attribute)
    })
}

fn first(rest: View<'_>) -> Result<Attribute<'_>, Malformed> {
    let [format, number] = rest.u16("NVIDIA attribute", 0)?.to_le_bytes();
    let half = rest.u16("NVIDIA attribute", 2)?;
    let size = match format {
        EIFMT_NVAL | EIFMT_BVAL | EIFMT_HVAL => 0,
        EIFMT_SVAL => half.into(),
        _ => {
            let cause = Cause::Unexpected { value: format.into(), expected: "1 to 4" };
            return Err(rest.malformed("NVIDIA attribute format", 0, cause));
        }
    };
    Ok(Attribute {
        number,
        half,
        value: rest.part(rest.field("NVIDIA attribute size", 2), Extent { offset: HEADER_SIZE, size })?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: [u8; 20] = [4, 0x2f, 8, 0, 6, 0, 0, 0, 8, 0, 0, 0, 3, 0x1b, 0xff, 0, 1, 0x2a, 0, 0];

    #[test]
    fn reads_attributes_of_both_sizes() {
        let list: Vec<Attribute> = attributes(View::new(&LIST)).collect::<Result<_, _>>().unwrap();
        let seen: Vec<_> = list.iter().map(|it| (it.number, it.half, it.value.size())).collect();
        assert_eq!(seen, [(EIATTR_REGCOUNT, 8, 8), (EIATTR_MAXREG_COUNT, 0xff, 0), (0x2a, 0, 0)]);
        assert_eq!(list[0].words(), Ok([6, 8]));
        assert_eq!(
            list[0].words::<3>().unwrap_err().to_string(),
            "NVIDIA attribute value at 0xc: truncated: need 4 bytes, 0 available"
        );
    }

    #[test]
    fn stops_at_the_first_error() {
        let mut list = LIST;
        list[12] = 9;
        let read: Vec<_> = attributes(View::new(&list)).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(
            read[1].as_ref().unwrap_err().to_string(),
            "NVIDIA attribute format at 0xc: invalid value 0x9, expected 1 to 4"
        );
        let cut = attributes(View::new(&LIST[..10])).last().unwrap().unwrap_err();
        assert_eq!(
            cut.to_string(),
            "NVIDIA attribute size at 0x2: offset 4 with size 8 is out of bounds (10 bytes available)"
        );
        for end in 0..LIST.len() {
            attributes(View::new(&LIST[..end])).for_each(drop);
        }
    }
}
