//! Views of untrusted bytes: the one place with arithmetic on offsets that come from a file.
//!
//! Every reader of a format goes through [`View`]. It never panics, never wraps and never allocates, and because it
//! carries its distance from the start of the file, an error states an offset that can be looked up with a hex editor,
//! however deep the view is nested. Reading a field touches the page it is on and nothing else: a view of a mapped
//! gigabyte costs nothing until somebody looks.

use crate::error::{Cause, Malformed};

/// How far a string is followed. Without a limit a hostile file makes a thousand entries point to one endless string
/// and the reader walks it a thousand times; the longest real ones list symbols and have some kilobytes.
pub const LONGEST_STRING: usize = 1 << 20;

/// Some bytes of a file and where in it they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'data> {
    data: &'data [u8],
    start: u64,
}

impl<'data> View<'data> {
    /// A view of a whole file.
    pub fn new(data: &'data [u8]) -> Self {
        View { data, start: 0 }
    }

    /// The bytes themselves, borrowed for as long as the file is.
    pub fn data(&self) -> &'data [u8] {
        self.data
    }

    /// Distance of the first byte from the start of the file, in bytes.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.data.len() as u64
    }

    /// An error about the field that stands at `offset` of this view.
    pub fn malformed(&self, field: &'static str, offset: u64, cause: Cause) -> Malformed {
        Malformed { field, offset: self.start.saturating_add(offset), cause }
    }

    /// The `size` bytes from `offset` on, which the field `field`, standing at `stated_at`, claims to exist.
    pub fn part(&self, field: &'static str, stated_at: u64, offset: u64, size: u64) -> Result<View<'data>, Malformed> {
        self.get(offset, size)
            .ok_or_else(|| self.malformed(field, stated_at, Cause::OutOfBounds { offset, size, limit: self.size() }))
    }

    /// Everything from `offset` on; empty where `offset` is beyond the end.
    pub fn from(&self, offset: u64) -> View<'data> {
        let offset = offset.min(self.size());
        self.get(offset, self.size() - offset).expect("clamped to the view")
    }

    /// Returns the view without the zero bytes at its start: the padding in front of a container.
    pub fn skip_zeros(&self) -> View<'data> {
        let padding = self.data.iter().position(|&byte| byte != 0).unwrap_or(self.data.len());
        self.from(padding as u64)
    }

    /// Whether the view begins with these bytes.
    pub fn starts_with(&self, magic: &[u8]) -> bool {
        self.data.starts_with(magic)
    }

    /// The unsigned 16-bit little-endian integer at `offset`.
    pub fn u16(&self, field: &'static str, offset: u64) -> Result<u16, Malformed> {
        self.array(field, offset).map(u16::from_le_bytes)
    }

    /// The unsigned 32-bit little-endian integer at `offset`.
    pub fn u32(&self, field: &'static str, offset: u64) -> Result<u32, Malformed> {
        self.array(field, offset).map(u32::from_le_bytes)
    }

    /// The unsigned 64-bit little-endian integer at `offset`.
    pub fn u64(&self, field: &'static str, offset: u64) -> Result<u64, Malformed> {
        self.array(field, offset).map(u64::from_le_bytes)
    }

    /// The NUL-terminated UTF-8 string at `offset`, which the field `field`, standing at `stated_at`, points to.
    /// A string of more than [`LONGEST_STRING`] bytes counts as one without an end.
    pub fn c_string(&self, field: &'static str, stated_at: u64, offset: u64) -> Result<&'data str, Malformed> {
        let tail = self.part(field, stated_at, offset, 0).map(|_| self.from(offset).data)?;
        let end = tail.iter().take(LONGEST_STRING).position(|&byte| byte == 0);
        let end = end.ok_or_else(|| self.malformed(field, stated_at, Cause::Unterminated))?;
        std::str::from_utf8(&tail[..end]).map_err(|_| self.malformed(field, stated_at, Cause::Unreadable))
    }

    /// The `size` bytes of UTF-8 text at `offset`, which the field `field`, standing at `stated_at`, points to.
    pub fn string(&self, field: &'static str, stated_at: u64, offset: u64, size: u64) -> Result<&'data str, Malformed> {
        let bytes = self.part(field, stated_at, offset, size)?.data;
        std::str::from_utf8(bytes).map_err(|_| self.malformed(field, stated_at, Cause::Unreadable))
    }

    fn array<const N: usize>(&self, field: &'static str, offset: u64) -> Result<[u8; N], Malformed> {
        let needed = N as u64;
        let available = self.size().saturating_sub(offset);
        self.get(offset, needed)
            .and_then(|view| view.data.try_into().ok())
            .ok_or_else(|| self.malformed(field, offset, Cause::Truncated { needed, available }))
    }

    fn get(&self, offset: u64, size: u64) -> Option<View<'data>> {
        let end = usize::try_from(offset.checked_add(size)?).ok()?;
        let data = self.data.get(usize::try_from(offset).ok()?..end)?;
        Some(View { data, start: self.start.checked_add(offset)? })
    }
}

/// `value` rounded up to a multiple of `alignment`, a power of two; `None` where that leaves 64 bits.
pub fn align_up(value: u64, alignment: u64) -> Option<u64> {
    debug_assert!(alignment.is_power_of_two());
    Some(value.checked_add(alignment - 1)? & !(alignment - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_wraps_around_is_refused_with_its_values() {
        let view = View::new(&[0; 16]);
        let error = view.part("size", 8, u64::MAX, 2).unwrap_err();
        assert_eq!(error.cause, Cause::OutOfBounds { offset: u64::MAX, size: 2, limit: 16 });
        assert_eq!(error.offset, 8);
    }

    #[test]
    fn offsets_in_errors_count_from_the_start_of_the_file() {
        let view = View::new(&[0; 16]).from(10);
        let error = view.u64("entry", 0).unwrap_err();
        assert_eq!(error.to_string(), "entry at 0xa: needs 8 bytes, 6 are there");
    }

    #[test]
    fn zeros_are_skipped_up_to_the_first_other_byte() {
        for (bytes, start) in [(&b""[..], 0), (b"a", 0), (b"\0\0a\0", 2), (b"\0\0", 2)] {
            let rest = View::new(bytes).skip_zeros();
            assert_eq!((rest.start(), rest.data()), (start, &bytes[start as usize..]));
        }
    }

    #[test]
    fn a_string_must_end_inside_its_view() {
        let view = View::new(b"abc\0def");
        assert_eq!(view.c_string("key", 0, 0), Ok("abc"));
        assert_eq!(view.c_string("key", 0, 4).unwrap_err().cause, Cause::Unterminated);
        assert!(matches!(view.c_string("key", 0, 8).unwrap_err().cause, Cause::OutOfBounds { .. }));
    }
}
