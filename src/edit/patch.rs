//! Spans of a file and their new bytes.

use std::ops::Range;

use crate::content::Content;

/// New bytes for a span of a file.
#[derive(Debug, Clone)]
pub struct Patch<'data> {
    /// The span, in bytes from the start of the file.
    pub span: Range<u64>,
    /// Its new bytes, at most as many as the span has where `rest` is zeros.
    pub content: Content<'data>,
    /// Treatment of the bytes that are left of the span.
    pub rest: Rest,
}

/// Treatment of the rest of a span whose new bytes are fewer than the old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Zeros: all bytes after the span keep their offsets.
    Zeros,
    /// Nothing: the bytes after the span move, and the file changes its size.
    Removed,
}
