//! Numbers in the headers of a zip file, with their places.

use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};

/// Value of a 32-bit number that an extra field with 64 bits replaces.
pub const ZIP64_MARK: u64 = u32::MAX as u64;

/// A number and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    pub at: u64,
    pub width: u64,
    pub value: u64,
}

impl Number {
    /// Reads the number at the start of a view.
    pub fn read(file: View<'_>, field: &'static str, number: View<'_>, width: u64) -> Result<Self, Malformed> {
        let value = if width == 8 { number.u64(field, 0)? } else { number.u32(field, 0)?.into() };
        Ok(Number { at: number.range_in(file).start, width, value })
    }

    /// Writes another value to bytes that begin at `start` in the file.
    pub fn set(&self, file: View<'_>, bytes: &mut [u8], start: u64, value: u64) -> Result<(), Malformed> {
        if self.width == 4 && value >= ZIP64_MARK {
            let cause = format!("{value} bytes exceed 32 bits; create the zip file with zip64 headers");
            return Err(file.malformed("zip member", self.at, Cause::Described(cause)));
        }
        set(bytes, start, self.at, value.to_le_bytes().get(..self.width as usize).unwrap_or_default());
        Ok(())
    }
}

/// Sets the field at an offset of the file, in bytes that begin at `start` in the file.
pub fn set(bytes: &mut [u8], start: u64, at: u64, value: &[u8]) {
    let rest = at.checked_sub(start).and_then(|place| bytes.get_mut(place as usize..));
    let field = rest.and_then(|rest| rest.get_mut(..value.len()));
    field.expect("a field that was read").copy_from_slice(value);
}
