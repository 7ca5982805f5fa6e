//! Suggestions of existing names for an unknown one.

use std::fmt;

use crate::spelling::edit_distance;

/// Existing names that differ from an unknown one by one or two characters. Prints as a question, or nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestions(pub Vec<String>);

impl fmt::Display for Suggestions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; did you mean {}?", self.0.join(" or ")) }
    }
}

impl Suggestions {
    /// Returns up to three names at the least edit distance: one, or two for names of more than five characters.
    pub fn new(written: &str, names: impl Iterator<Item = String>) -> Suggestions {
        let names = names.filter_map(|name| Some((edit_distance(&name, written, 2)?, name)));
        let mut names: Vec<(usize, String)> = names.collect();
        names.sort();
        let within = |most: usize| -> Vec<String> {
            names.iter().filter(|(distance, _)| *distance <= most).map(|(_, name)| name.clone()).take(3).collect()
        };
        let nearest = within(1);
        let is_long = written.len() > 5;
        Suggestions(if nearest.is_empty() { within(if is_long { 2 } else { 0 }) } else { nearest })
    }
}
