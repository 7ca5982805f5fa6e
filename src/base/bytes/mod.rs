//! Views of untrusted bytes: the only place with arithmetic on offsets that come from a file.
//!
//! Every reader of a format uses [`View`]. It never panics, never overflows and never allocates. It records its
//! distance from the start of the file, so that errors state offsets that can be looked up in a hex editor, however
//! deeply the view is nested. Reading a field touches only its page: a view of a mapped gigabyte costs nothing until it
//! is read.
//!
//! A view of an input has the [`Budget`] of that input. Reading a field charges a step of work, and a string a step for
//! every eight bytes.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod budget;
mod name_map;
mod object_bytes;
mod shares;

pub use crate::base::error::Resource;
pub use budget::{Budget, Limits, MAX_NESTING};
pub(crate) use name_map::NameMap;
pub(crate) use object_bytes::ObjectBytes;
#[cfg(test)]
pub(crate) use object_bytes::tests as object_tests;
pub(crate) use shares::apportion;
pub(crate) use shares::claim;

use std::ffi::CStr;
use std::fmt;
use std::ops::Range;

use crate::base::error::{Cause, Malformed};

/// A range of bytes of a file, its offset in the file, and the budget for reading the file.
#[derive(Clone, Copy)]
pub struct View<'data> {
    data: &'data [u8],
    start: u64,
    budget: Option<&'data Budget>,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("View").field("start", &self.start).field("data", &self.data).finish()
    }
}

/// Views are equal if they are of the same bytes at the same offset.
impl PartialEq for View<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.data) == (other.start, other.data)
    }
}

impl Eq for View<'_> {}

impl<'data> View<'data> {
    /// Creates a view of a whole file without a budget: for bytes that the program itself has written.
    pub fn new(data: &'data [u8]) -> Self {
        View { data, start: 0, budget: None }
    }

    /// Creates a view of a whole file that charges `budget`.
    pub fn with_budget(data: &'data [u8], budget: &'data Budget) -> Self {
        View { data, start: 0, budget: Some(budget) }
    }

    /// Creates a view of bytes that were decompressed from this view, or copied from it. Their offsets start at 0.
    pub(crate) fn derived<'a>(&self, data: &'a [u8]) -> View<'a>
    where
        'data: 'a,
    {
        View { data, start: 0, budget: self.budget }
    }

    /// Returns this view with a budget, unless it has one.
    pub(crate) fn or_budget<'a>(self, budget: &'a Budget) -> View<'a>
    where
        'data: 'a,
    {
        View { budget: self.budget.or(Some(budget)), ..self }
    }

    /// Returns the same bytes with another budget.
    pub(crate) fn charging<'a>(self, budget: &'a Budget) -> View<'a>
    where
        'data: 'a,
    {
        View { budget: Some(budget), ..self }
    }

    /// Budget for reading the file.
    pub fn budget(&self) -> Option<&'data Budget> {
        self.budget
    }

    /// Charges an amount of a resource, for reading the field `field` at the start of this view.
    pub(crate) fn charge(&self, field: &'static str, resource: Resource, amount: u64) -> Result<(), Malformed> {
        self.charge_at(field, 0, resource, amount)
    }

    fn charge_at(&self, field: &'static str, offset: u64, resource: Resource, amount: u64) -> Result<(), Malformed> {
        match self.budget {
            Some(budget) => budget.charge(resource, amount).map_err(|cause| self.malformed(field, offset, cause)),
            None => Ok(()),
        }
    }

    /// Bytes, with the lifetime of the file.
    pub fn data(&self) -> &'data [u8] {
        self.data
    }

    /// Offset of the first byte from the start of the file, in bytes.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.data.len() as u64
    }

    /// Range of the view in the file.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.size())
    }

    /// Range of the view in a view around it.
    pub fn range_in(&self, outer: View<'_>) -> Range<u64> {
        let start = self.start.saturating_sub(outer.start);
        start..start.saturating_add(self.size())
    }

    /// Creates an error about the field at `offset` of this view.
    pub fn malformed(&self, field: &'static str, offset: u64, cause: Cause) -> Malformed {
        Malformed { field, offset: self.start.saturating_add(offset), cause }
    }

    /// Returns the `size` bytes from `offset` on. The field `field` at `stated_at` states this range.
    pub fn part(&self, field: &'static str, stated_at: u64, offset: u64, size: u64) -> Result<View<'data>, Malformed> {
        self.get(offset, size)
            .ok_or_else(|| self.malformed(field, stated_at, Cause::OutOfBounds { offset, size, limit: self.size() }))
    }

    /// Returns everything from `offset` on; empty where `offset` is beyond the end.
    pub fn from(&self, offset: u64) -> View<'data> {
        let offset = offset.min(self.size());
        self.get(offset, self.size().saturating_sub(offset)).expect("clamped to the view")
    }

    /// Returns the view without the zero bytes at its start: the padding in front of a container.
    pub(crate) fn skip_zeros(&self) -> View<'data> {
        let padding = self.data.iter().position(|&byte| byte != 0).unwrap_or(self.data.len());
        self.from(padding as u64)
    }

    /// Returns whether the view begins with these bytes.
    pub fn starts_with(&self, magic: &[u8]) -> bool {
        self.data.starts_with(magic)
    }

    /// Reads the unsigned 16-bit little-endian integer at `offset`.
    pub fn u16(&self, field: &'static str, offset: u64) -> Result<u16, Malformed> {
        self.array(field, offset).map(u16::from_le_bytes)
    }

    /// Reads the unsigned 32-bit little-endian integer at `offset`.
    pub fn u32(&self, field: &'static str, offset: u64) -> Result<u32, Malformed> {
        self.array(field, offset).map(u32::from_le_bytes)
    }

    /// Reads the unsigned 64-bit little-endian integer at `offset`.
    pub fn u64(&self, field: &'static str, offset: u64) -> Result<u64, Malformed> {
        self.array(field, offset).map(u64::from_le_bytes)
    }

    /// Reads the NUL-terminated UTF-8 string at `offset`. The field `field` at `stated_at` points to it.
    pub fn c_string(&self, field: &'static str, stated_at: u64, offset: u64) -> Result<&'data str, Malformed> {
        let tail = self.part(field, stated_at, offset, 0).map(|_| self.from(offset).data)?;
        let end = CStr::from_bytes_until_nul(tail).ok().map(CStr::count_bytes);
        self.charge_at(field, stated_at, Resource::Work, text_work(end.unwrap_or(tail.len())))?;
        let text = end.and_then(|end| tail.get(..end));
        let text = text.ok_or_else(|| self.malformed(field, stated_at, Cause::Unterminated))?;
        std::str::from_utf8(text).map_err(|_| self.malformed(field, stated_at, Cause::Unreadable))
    }

    /// Reads the `size` bytes of UTF-8 text at `offset`. The field `field` at `stated_at` points to them.
    pub fn string(&self, field: &'static str, stated_at: u64, offset: u64, size: u64) -> Result<&'data str, Malformed> {
        let bytes = self.part(field, stated_at, offset, size)?.data;
        self.charge_at(field, stated_at, Resource::Work, text_work(bytes.len()))?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed(field, stated_at, Cause::Unreadable))
    }

    fn array<const N: usize>(&self, field: &'static str, offset: u64) -> Result<[u8; N], Malformed> {
        self.charge_at(field, offset, Resource::Work, 1)?;
        let needed = N as u64;
        let available = self.size().saturating_sub(offset);
        self.get(offset, needed)
            .and_then(|view| view.data.try_into().ok())
            .ok_or_else(|| self.malformed(field, offset, Cause::Truncated { needed, available }))
    }

    fn get(&self, offset: u64, size: u64) -> Option<View<'data>> {
        let end = usize::try_from(offset.checked_add(size)?).ok()?;
        let data = self.data.get(usize::try_from(offset).ok()?..end)?;
        Some(View { data, start: self.start.checked_add(offset)?, budget: self.budget })
    }
}

/// Returns the size of a range; 0 if it ends before it starts.
pub fn size_of_range(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// Bytes of memory for keeping a record of this size with texts of these lengths.
pub fn record_memory(size: usize, texts: impl IntoIterator<Item = usize>) -> u64 {
    texts.into_iter().map(text_memory).fold(size as u64, u64::saturating_add)
}

/// Returns the offsets of the `count` entries of `size` bytes in a table at `table`. Readers check them against a view.
pub(crate) fn entry_offsets(table: u64, count: u64, size: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |index| table.saturating_add(index.saturating_mul(size)))
}

/// Bytes of memory for keeping a text of this length: the text itself, and its copies in a report, escaped and laid
/// out.
pub fn text_memory(length: usize) -> u64 {
    (length as u64).saturating_mul(4)
}

/// Steps of work for reading a text of this length.
pub fn text_work(length: usize) -> u64 {
    (length as u64 / 8).saturating_add(1)
}

/// Formats bytes, such as a hash, as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_part_that_overflows() {
        let view = View::new(&[0; 16]);
        let error = view.part("size", 8, u64::MAX, 2).unwrap_err();
        assert_eq!(error.cause, Cause::OutOfBounds { offset: u64::MAX, size: 2, limit: 16 });
        assert_eq!(error.offset, 8);
    }

    #[test]
    fn offsets_in_errors_count_from_the_start_of_the_file() {
        let view = View::new(&[0; 16]).from(10);
        let error = view.u64("entry", 0).unwrap_err();
        assert_eq!(error.to_string(), "entry at 0xa: truncated: need 8 bytes, 6 available");
    }

    #[test]
    fn zeros_are_skipped_up_to_the_first_other_byte() {
        for (bytes, start) in [(&b""[..], 0), (b"a", 0), (b"\0\0a\0", 2), (b"\0\0", 2)] {
            let rest = View::new(bytes).skip_zeros();
            assert_eq!((rest.start(), rest.data()), (start, &bytes[start as usize..]));
        }
    }

    #[test]
    fn strings_must_end_within_their_view() {
        let view = View::new(b"abc\0def");
        assert_eq!(view.c_string("key", 0, 0), Ok("abc"));
        assert_eq!(view.c_string("key", 0, 4).unwrap_err().cause, Cause::Unterminated);
        assert!(matches!(view.c_string("key", 0, 8).unwrap_err().cause, Cause::OutOfBounds { .. }));
    }
}
