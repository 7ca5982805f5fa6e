//! What text is laid out for: a terminal with a width and colors, or anything else.

use anstyle::AnsiColor;

/// Where text goes. By default nobody looks: lines are as long as they are, and without color.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screen {
    /// How many characters a line has room for; whoever reads a file or a pipe wants all of it.
    pub width: Option<usize>,
    pub color: bool,
}

impl Screen {
    /// A text that asks for attention: two things in a file that contradict each other.
    pub fn flagged(&self, text: &str) -> String {
        let style = AnsiColor::Yellow.on_default();
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}
