//! Ranges and offsets that a file states, before a view is asked whether it has them.
//!
//! What exceeds the largest offset ends there. No view contains such a range, so reading it is an error at its place.

use std::ops::Range;

use super::bytes::size_of_range;

/// Returns the `size` bytes at `start`.
pub fn range_at(start: u64, size: u64) -> Range<u64> {
    start..offset_from(start, size)
}

/// Returns the offset `distance` bytes after `start`.
pub fn offset_from(start: u64, distance: u64) -> u64 {
    start.saturating_add(distance)
}

/// Returns the place of a range in something around it that has `before` bytes in front of it.
pub fn moved(range: &Range<u64>, before: u64) -> Range<u64> {
    range_at(offset_from(before, range.start), size_of_range(range))
}

/// Parts that follow each other.
#[derive(Debug, Clone)]
pub struct Cursor {
    end: u64,
}

impl Cursor {
    /// Starts at an offset.
    pub fn at(start: u64) -> Self {
        Cursor { end: start }
    }

    /// Returns the range of the next part, and moves behind it.
    pub fn take(&mut self, size: u64) -> Range<u64> {
        let range = range_at(self.end, size);
        self.end = range.end;
        range
    }

    /// End of the last part.
    pub fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bytes::View;

    #[test]
    fn parts_follow_each_other() {
        let mut cursor = Cursor::at(10);
        assert_eq!([cursor.take(4), cursor.take(0), cursor.take(6)], [10..14, 14..14, 14..20]);
        assert_eq!(moved(&cursor.take(1), 100), 120..121);
    }

    #[test]
    fn no_view_contains_a_range_beyond_the_largest_offset() {
        let range = range_at(u64::MAX - 1, 2);
        assert_eq!(range, u64::MAX - 1..u64::MAX);
        assert!(View::new(&[0; 4]).between("test", range.clone()).is_err());
    }
}
