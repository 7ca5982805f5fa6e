//! Depth of brackets in a text that is read from its start.

/// Number of brackets that are open. A closing bracket without an opening one is ignored.
#[derive(Debug, Clone, Copy, Default)]
pub struct Brackets(usize);

impl Brackets {
    /// Counts an opening bracket. A text in memory has fewer than a `usize` counts.
    pub fn open(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    /// Counts a closing bracket.
    pub fn close(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }

    /// Whether a bracket is open.
    pub fn is_open(self) -> bool {
        self.0 > 0
    }
}
