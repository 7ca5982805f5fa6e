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

    /// True if a bracket is open.
    pub fn is_open(self) -> bool {
        self.0 > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_bracket_without_an_opening_one_is_ignored() {
        let mut brackets = Brackets::default();
        brackets.close();
        brackets.open();
        brackets.open();
        brackets.close();
        assert!(brackets.is_open());
        brackets.close();
        assert!(!brackets.is_open());
    }
}
