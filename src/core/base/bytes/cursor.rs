//! A position in a view, for readers that walk forwards. It never leaves the view.

use super::{Extent, FieldPlace, Resource, View};
use crate::base::error::{Cause, Malformed};

/// A view and the offset of the next byte.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'data> {
    view: View<'data>,
    /// At most the size of the view.
    at: u64,
}

impl<'data> Cursor<'data> {
    /// Creates a cursor at the start of a view.
    pub fn new(view: View<'data>) -> Self {
        Cursor { view, at: 0 }
    }

    /// Offset of the next byte in the view.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The bytes that are left.
    pub fn rest(&self) -> View<'data> {
        self.view.from(self.at)
    }

    /// Name and place of the field that begins with the next byte.
    pub fn field(&self, name: &'static str) -> FieldPlace {
        self.view.field(name, self.at)
    }

    /// Creates an error about the field that begins with the next byte.
    pub fn malformed(&self, name: &'static str, cause: Cause) -> Malformed {
        self.view.malformed(name, self.at, cause)
    }

    /// Returns the next bytes: a structure of a known size, whose end may be missing.
    pub fn take(&mut self, name: &'static str, size: u64) -> Result<View<'data>, Malformed> {
        let part = self.advance(size);
        part.ok_or_else(|| self.malformed(name, Cause::Truncated { needed: size, available: self.rest().size() }))
    }

    /// Returns the next bytes. `field` states their number.
    pub fn take_stated(&mut self, field: impl Into<FieldPlace>, size: u64) -> Result<View<'data>, Malformed> {
        let part = self.advance(size);
        part.ok_or_else(|| self.view.out_of_bounds(field.into(), Extent { offset: self.at, size }))
    }

    /// Reads a byte.
    pub fn u8(&mut self, name: &'static str) -> Result<u8, Malformed> {
        self.view.charge(name, Resource::Work, 1)?;
        let byte = self.take(name, 1)?.data().first().copied();
        byte.ok_or_else(|| self.malformed(name, Cause::EndsInside))
    }

    /// Reads UTF-8 text. `field` states its size.
    pub fn string(&mut self, field: FieldPlace, size: u64) -> Result<&'data str, Malformed> {
        let text = self.view.string(field, Extent { offset: self.at, size })?;
        self.advance(size);
        Ok(text)
    }

    /// Skips the padding up to a multiple of `alignment` in the view. At the end of the view, it may be missing.
    pub fn align(&mut self, alignment: u64) {
        let aligned = self.at.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
        self.at = aligned.min(self.view.size());
    }

    fn advance(&mut self, size: u64) -> Option<View<'data>> {
        let part = self.view.get(Extent { offset: self.at, size })?;
        self.at = self.at.checked_add(size)?;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_up_to_the_end() {
        let mut cursor = Cursor::new(View::new(b"0123456789").from(1));
        assert_eq!(cursor.take("a", 2).unwrap().data(), b"12");
        cursor.align(4);
        let size = cursor.field("size");
        assert_eq!((cursor.at(), cursor.take("b", 1).unwrap().range()), (4, 5..6));
        let error = cursor.take("c", 9).unwrap_err().to_string();
        assert_eq!(error, "c at 0x6: truncated: need 9 bytes, 4 available");
        let error = cursor.take_stated(size, u64::MAX).unwrap_err().to_string();
        assert_eq!(error, format!("size at 0x5: offset 5 with size {} is out of bounds (9 bytes available)", u64::MAX));
        // An error moves nothing, and padding ends with the view.
        assert_eq!(cursor.rest().data(), b"6789");
        cursor.align(1 << 63);
        assert_eq!((cursor.at(), cursor.rest().range()), (9, 10..10));
        cursor.align(1 << 63);
        assert_eq!(cursor.at(), 9);
    }
}
