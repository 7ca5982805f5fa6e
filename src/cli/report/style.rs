//! Styles of text on terminals, by meaning. All reports and messages use them.

use clap::builder::styling::{AnsiColor, Style};

/// Meaning of a text that has a style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A violation, a gap, damage, or code that is missing or was removed.
    Bad,
    /// A passed rule, a selected image, or code that was added.
    Good,
    /// An answer that is not known, a warning, or code that is compiled when it is loaded.
    Unsure,
    /// The usual case: native code, and zero.
    Usual,
    /// The heading of a table.
    Heading,
}

impl Meaning {
    /// Returns the style of the text.
    pub fn style(self) -> Style {
        match self {
            Meaning::Bad => AnsiColor::Red.on_default().bold(),
            Meaning::Good => AnsiColor::Green.on_default(),
            Meaning::Unsure => AnsiColor::Yellow.on_default(),
            Meaning::Usual => Style::new().dimmed(),
            Meaning::Heading => Style::new().bold(),
        }
    }
}

/// Returns the meaning of a number of kernels or bytes: zero is the usual case.
pub fn of_count(cell: &str) -> Option<Meaning> {
    matches!(cell, "0" | "0 B" | "+0" | "+0 B" | "0.0" | "+0.0").then_some(Meaning::Usual)
}

/// Returns the meaning of a number that should be zero.
pub fn of_defects(cell: &str) -> Option<Meaning> {
    of_count(cell).or(Some(Meaning::Bad))
}

/// Returns the meaning of a growth.
pub fn of_growth(cell: &str) -> Option<Meaning> {
    let sign = match cell.as_bytes() {
        [b'+', ..] => Some(Meaning::Good),
        [b'-', _, ..] => Some(Meaning::Bad),
        _ => None,
    };
    of_count(cell).or(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_dim_and_signs_have_colors() {
        for zero in ["0", "+0", "0 B"] {
            assert_eq!([of_count(zero), of_defects(zero), of_growth(zero)], [Some(Meaning::Usual); 3], "{zero}");
        }
        assert_eq!([of_count("7"), of_defects("7")], [None, Some(Meaning::Bad)]);
        assert_eq!(["+5", "-5", "-", "new"].map(of_growth), [Some(Meaning::Good), Some(Meaning::Bad), None, None]);
    }
}
