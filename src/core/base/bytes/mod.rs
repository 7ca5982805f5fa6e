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
mod cursor;
mod extent;
mod name_map;
mod object_bytes;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::arithmetic_side_effects, reason = "sizes that tests choose")]
pub mod object_tests;
mod shares;

pub use crate::base::error::Resource;
pub use budget::{Budget, Limits, MAX_NESTING};
pub use cursor::Cursor;
pub use extent::{Extent, FieldPlace};
pub use extent::{Table, entries_size};
pub use name_map::{NameMap, NameState};
pub use object_bytes::ObjectBytes;
pub use shares::apportion;
pub use shares::{claim, claimed};

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
    #[doc(hidden)]
    pub fn with_budget(data: &'data [u8], budget: &'data Budget) -> Self {
        View { data, start: 0, budget: Some(budget.current()) }
    }

    /// Creates a view of bytes that were decompressed from this view, or copied from it. Their offsets start at 0.
    #[doc(hidden)]
    pub fn derived<'a>(&self, data: &'a [u8]) -> View<'a>
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
    #[doc(hidden)]
    pub fn budget(&self) -> Option<&'data Budget> {
        self.budget
    }

    /// Charges an amount of a resource, for reading the field `field` at the start of this view.
    #[inline]
    #[doc(hidden)]
    pub fn charge(&self, field: &'static str, resource: Resource, amount: u64) -> Result<(), Malformed> {
        self.charge_at(field, 0, resource, amount)
    }

    #[inline]
    fn charge_at(&self, field: &'static str, offset: u64, resource: Resource, amount: u64) -> Result<(), Malformed> {
        match self.budget {
            Some(budget) => budget.charge(resource, amount).map_err(|cause| self.malformed(field, offset, cause)),
            None => Ok(()),
        }
    }

    /// Calls `work`, which several threads may charge. `None` if their order may count: see
    /// [`Budget::charge_in_any_order`].
    #[doc(hidden)]
    pub fn charge_in_any_order<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        match self.budget {
            Some(budget) => budget.charge_in_any_order(work),
            None => Some(work()),
        }
    }

    /// Bytes, with the lifetime of the file.
    pub fn data(&self) -> &'data [u8] {
        self.data
    }

    /// Offset of the first byte from the start of the file, in bytes.
    #[doc(hidden)]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.data.len() as u64
    }

    /// Range of the view in the file.
    #[doc(hidden)]
    pub fn range(&self) -> Range<u64> {
        self.start..self.place(self.size())
    }

    /// Range of the view in a view around it.
    #[doc(hidden)]
    pub fn range_in(&self, outer: View<'_>) -> Range<u64> {
        debug_assert!(self.start >= outer.start, "{} precedes {}", self.start, outer.start);
        let in_file = self.range();
        in_file.start.saturating_sub(outer.start)..in_file.end.saturating_sub(outer.start)
    }

    /// Offset in the file of a byte of this view. One that no file can have is the largest: a number from a file may
    /// be anything.
    fn place(&self, offset: u64) -> u64 {
        self.start.saturating_add(offset)
    }

    /// Creates an error about the field at `offset` of this view.
    #[doc(hidden)]
    pub fn malformed(&self, field: &'static str, offset: u64, cause: Cause) -> Malformed {
        Malformed { field, offset: self.place(offset), cause }
    }

    /// Name and place of a field of this view, for errors about what it states.
    #[doc(hidden)]
    pub fn field(&self, name: &'static str, offset: u64) -> FieldPlace {
        FieldPlace::new(name, self.place(offset))
    }

    /// Returns a part of the view, which `field` states.
    #[doc(hidden)]
    pub fn part(&self, field: impl Into<FieldPlace>, extent: Extent) -> Result<View<'data>, Malformed> {
        self.get(extent).ok_or_else(|| self.out_of_bounds(field.into(), extent))
    }

    /// Returns a record of the view, which no other field states: errors are at its offset.
    #[doc(hidden)]
    pub fn record(&self, name: &'static str, extent: Extent) -> Result<View<'data>, Malformed> {
        self.part(self.field(name, extent.offset), extent)
    }

    /// Returns the first bytes of the view. `field` states their number.
    #[doc(hidden)]
    pub fn prefix(&self, field: impl Into<FieldPlace>, size: u64) -> Result<View<'data>, Malformed> {
        self.part(field, Extent { offset: 0, size })
    }

    /// Returns the bytes between two offsets. If the second precedes the first, it overlaps what ends there.
    #[doc(hidden)]
    pub fn between(&self, field: impl Into<FieldPlace>, range: Range<u64>) -> Result<View<'data>, Malformed> {
        let Range { start, end } = range;
        match end.checked_sub(start) {
            Some(size) => self.part(field, Extent { offset: start, size }),
            None => Err(field.into().malformed(self.start, Cause::Overlap { offset: end, end: start })),
        }
    }

    /// Returns everything from `offset` on. It is empty if `offset` is beyond the end, and errors about it still state
    /// where it would be.
    #[doc(hidden)]
    pub fn from(&self, offset: u64) -> View<'data> {
        let data = usize::try_from(offset).ok().and_then(|offset| self.data.get(offset..)).unwrap_or_default();
        View { data, start: self.place(offset), budget: self.budget }
    }

    /// Returns the entries of a table, which `field` states.
    pub(crate) fn table(
        &self,
        field: FieldPlace,
        table: Table,
    ) -> Result<impl Iterator<Item = View<'data>> + use<'data>, Malformed> {
        let whole = self.part(field, table.extent())?;
        let entry_size = table.entry_size as usize;
        let entries = (whole.start..).step_by(entry_size).zip(whole.data.chunks_exact(entry_size));
        Ok(entries.map(move |(start, data)| View { data, start, budget: whole.budget }))
    }

    /// Returns the view without the zero bytes at its start: the padding in front of a container.
    #[doc(hidden)]
    pub fn skip_zeros(&self) -> View<'data> {
        let padding = self.data.iter().position(|&byte| byte != 0).unwrap_or(self.data.len());
        self.from(padding as u64)
    }

    /// Returns whether the view begins with these bytes.
    #[doc(hidden)]
    pub fn starts_with(&self, magic: &[u8]) -> bool {
        self.data.starts_with(magic)
    }

    /// Reads the unsigned 16-bit little-endian integer at `offset`.
    #[inline]
    #[doc(hidden)]
    pub fn u16(&self, field: &'static str, offset: u64) -> Result<u16, Malformed> {
        self.array(field, offset).map(u16::from_le_bytes)
    }

    /// Reads the unsigned 32-bit little-endian integer at `offset`.
    #[inline]
    #[doc(hidden)]
    pub fn u32(&self, field: &'static str, offset: u64) -> Result<u32, Malformed> {
        self.array(field, offset).map(u32::from_le_bytes)
    }

    /// Reads the unsigned 64-bit little-endian integer at `offset`.
    #[inline]
    #[doc(hidden)]
    pub fn u64(&self, field: &'static str, offset: u64) -> Result<u64, Malformed> {
        self.array(field, offset).map(u64::from_le_bytes)
    }

    /// Reads the NUL-terminated UTF-8 string at `offset`, which `field` states.
    #[doc(hidden)]
    pub fn c_string(&self, field: impl Into<FieldPlace>, offset: u64) -> Result<&'data str, Malformed> {
        let field = field.into();
        let Some((_, tail)) = self.data.split_at_checked(usize::try_from(offset).unwrap_or(usize::MAX)) else {
            return Err(self.out_of_bounds(field, Extent { offset, size: 0 }));
        };
        let end = CStr::from_bytes_until_nul(tail).ok().map(CStr::count_bytes);
        self.charge_text(field, end.unwrap_or(tail.len()))?;
        let text = end.and_then(|end| tail.get(..end));
        let text = text.ok_or_else(|| field.malformed(self.start, Cause::Unterminated))?;
        std::str::from_utf8(text).map_err(|_| field.malformed(self.start, Cause::Unreadable))
    }

    /// Reads UTF-8 text, which `field` states.
    #[doc(hidden)]
    pub fn string(&self, field: impl Into<FieldPlace>, extent: Extent) -> Result<&'data str, Malformed> {
        let field = field.into();
        let bytes = self.part(field, extent)?.data;
        self.charge_text(field, bytes.len())?;
        std::str::from_utf8(bytes).map_err(|_| field.malformed(self.start, Cause::Unreadable))
    }

    fn charge_text(&self, field: FieldPlace, length: usize) -> Result<(), Malformed> {
        match self.budget {
            Some(budget) => {
                let charged = budget.charge(Resource::Work, text_work(length));
                charged.map_err(|cause| field.malformed(self.start, cause))
            }
            None => Ok(()),
        }
    }

    #[cold]
    fn out_of_bounds(&self, field: FieldPlace, Extent { offset, size }: Extent) -> Malformed {
        field.malformed(self.start, Cause::OutOfBounds { offset, size, limit: self.size() })
    }

    #[inline]
    fn array<const N: usize>(&self, field: &'static str, offset: u64) -> Result<[u8; N], Malformed> {
        self.charge_at(field, offset, Resource::Work, 1)?;
        let needed = N as u64;
        self.get(Extent { offset, size: needed }).and_then(|view| view.data.try_into().ok()).ok_or_else(|| {
            self.malformed(field, offset, Cause::Truncated { needed, available: self.from(offset).size() })
        })
    }

    fn get(&self, Extent { offset, size }: Extent) -> Option<View<'data>> {
        let end = usize::try_from(offset.checked_add(size)?).ok()?;
        let data = self.data.get(usize::try_from(offset).ok()?..end)?;
        Some(View { data, start: self.start.checked_add(offset)?, budget: self.budget })
    }
}

/// Returns the size of a range; 0 if it ends before it starts.
pub fn size_of_range(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// Returns the sum of sizes. Sizes that files state may exceed 64 bits together: the sum is then the largest.
pub fn total(sizes: impl IntoIterator<Item = u64>) -> u64 {
    sizes.into_iter().fold(0, u64::saturating_add)
}

/// Returns the offset of a rest of a text, or of bytes, in the whole that it ends.
pub(crate) fn offset_of_rest<T: AsRef<[u8]> + ?Sized>(whole: &T, rest: &T) -> usize {
    whole.as_ref().len().abs_diff(rest.as_ref().len())
}

// Amounts for a budget saturate: the largest number exceeds every limit.

/// Bytes of memory for keeping a record of this size with texts of these lengths.
pub fn record_memory(size: usize, texts: impl IntoIterator<Item = usize>) -> u64 {
    total(texts.into_iter().map(text_memory).chain([size as u64]))
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
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_part_that_overflows() {
        let view = View::new(&[0; 16]);
        let error = view.part(view.field("size", 8), Extent { offset: u64::MAX, size: 2 }).unwrap_err();
        assert_eq!(error.cause, Cause::OutOfBounds { offset: u64::MAX, size: 2, limit: 16 });
        assert_eq!(error.offset, 8);
    }

    #[test]
    fn rejects_bytes_between_offsets_in_the_wrong_order() {
        let view = View::new(&[0; 16]).from(4);
        assert_eq!(view.between("gap", 2..6).unwrap().range(), 6..10);
        let error = view.between("gap", Range { start: 6, end: 2 }).unwrap_err();
        assert_eq!(error.to_string(), "gap at 0x4: offset 2 overlaps the preceding data, which ends at 6");
    }

    #[test]
    fn errors_name_the_field_of_another_view() {
        let file = View::new(&[0; 16]);
        let header = file.from(4);
        let error = file.from(8).prefix(header.field("size", 2), 9).unwrap_err();
        assert_eq!(error.to_string(), "size at 0x6: offset 0 with size 9 is out of bounds (8 bytes available)");
    }

    #[test]
    fn offsets_in_errors_count_from_the_start_of_the_file() {
        let view = View::new(&[0; 16]).from(10);
        let error = view.u64("entry", 0).unwrap_err();
        assert_eq!(error.to_string(), "entry at 0xa: truncated: need 8 bytes, 6 available");
    }

    #[test]
    fn errors_beyond_the_end_state_where_the_bytes_would_be() {
        let view = View::new(&[0; 16]).from(4);
        for (offset, expected) in [(12, 0x10), (20, 0x18), (u64::MAX, u64::MAX)] {
            let error = view.from(offset).u16("field", 0).unwrap_err();
            assert_eq!(error.to_string(), format!("field at {expected:#x}: truncated: need 2 bytes, 0 available"));
        }
    }

    #[test]
    fn tables_have_a_view_for_each_entry() {
        let view = View::new(b"01234567").from(1);
        let field = view.field("table", 0);
        let read = |count| {
            let entries = view.table(field, Table { offset: 1, count, entry_size: 3 });
            entries.map(|entries| entries.map(|entry| entry.range()).collect::<Vec<_>>())
        };
        assert_eq!((read(0), read(2)), (Ok(Vec::new()), Ok(vec![2..5, 5..8])));
        for count in [3, u64::MAX] {
            let cause = Cause::OutOfBounds { offset: 1, size: entries_size(count, 3), limit: 7 };
            assert_eq!(read(count).unwrap_err(), view.malformed("table", 0, cause));
        }
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
        assert_eq!(view.c_string("key", 0), Ok("abc"));
        assert_eq!(view.c_string("key", 4).unwrap_err().cause, Cause::Unterminated);
        assert!(matches!(view.c_string("key", 8).unwrap_err().cause, Cause::OutOfBounds { .. }));
    }
}
