//! Pages of inputs: what was read stays in memory only while it is needed.

use std::ops::Range;

use super::{Bytes, Input};
use crate::base::io::offset_in;

impl Input {
    /// Releases the pages that were read through the mapping; they are mapped again when they are used. They stay in
    /// the system's cache. While they are mapped, they count as memory of this process, and the kernel maps sixteen
    /// pages for each that is read.
    #[doc(hidden)]
    pub fn release(&self) {
        self.release_part(0..self.size());
    }

    /// Releases the pages of a part, such as a member of an archive: the system visits all pages between its ends.
    pub(crate) fn release_part(&self, range: Range<u64>) {
        if let Bytes::Mapped(map) = &self.bytes {
            map.release(range.start as usize..map.len().min(range.end as usize));
        }
    }

    /// Counts bytes of archive members that were read. Members are small and many: together they release the pages of
    /// the archive.
    #[doc(hidden)]
    pub fn count_read(&self, bytes: u64) {
        if let Bytes::Mapped(map) = &self.bytes {
            map.count_read(bytes);
        }
    }

    /// Returns the offset of `part` in this input if it is a slice of its bytes.
    #[doc(hidden)]
    pub fn offset_of(&self, part: &[u8]) -> Option<u64> {
        offset_in(&self.bytes, part)
    }
}
