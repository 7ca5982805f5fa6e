//! Short texts in tables.

use std::fmt;
use std::ops::Deref;

/// A text that is stored in place. A table of references has a relocation for each, and a position-independent program
/// writes every page with relocations when it starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShortText<const N: usize> {
    bytes: [u8; N],
    length: u8,
}

impl<const N: usize> ShortText<N> {
    /// Stores a text of at most `N` bytes. In a constant, a longer one does not compile.
    pub const fn new(text: &str) -> Self {
        let mut bytes = [0; N];
        bytes.split_at_mut(text.len()).0.copy_from_slice(text.as_bytes());
        ShortText { bytes, length: text.len() as u8 }
    }

    /// The bytes of the text.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Returns whether `text` begins with it.
    pub fn begins(&self, text: &str) -> bool {
        text.as_bytes().starts_with(self.as_bytes())
    }
}

/// Splits a text into words.
pub const fn words<const N: usize, const COUNT: usize>(text: &str) -> [ShortText<N>; COUNT] {
    let mut words = [ShortText::new(""); COUNT];
    let mut count = 0;
    let mut start = 0;
    let mut at = 0;
    while at <= text.len() {
        if at == text.len() || text.as_bytes()[at] == b' ' {
            words[count] = ShortText::new(text.split_at(at).0.split_at(start).1);
            count += 1;
            start = at + 1;
        }
        at += 1;
    }
    assert!(count == COUNT, "the table has another number of words");
    words
}

impl<const N: usize> Deref for ShortText<N> {
    type Target = str;

    fn deref(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl<const N: usize> PartialEq<str> for ShortText<N> {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<const N: usize> fmt::Debug for ShortText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
