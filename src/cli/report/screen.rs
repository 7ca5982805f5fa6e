//! What text is laid out for: a terminal, or a file.

use super::style::Meaning;

/// Properties of the output that text is laid out for. By default it is not a terminal: lines are not shortened, and
/// have no color.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screen {
    /// Width of a terminal in characters; `None` for files and pipes, whose lines are not shortened.
    pub width: Option<usize>,
    /// Text is colored.
    pub color: bool,
}

impl Screen {
    /// Gives a text the style of its meaning.
    pub fn paint(&self, meaning: Meaning, text: &str) -> String {
        let style = meaning.style();
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Formats a size for the cell of a table: with a unit on terminals, elsewhere as a number of bytes.
    pub fn size(&self, bytes: u64) -> String {
        if self.is_terminal() { human_size(bytes) } else { bytes.to_string() }
    }

    /// Formats a size for a sentence.
    pub fn bytes(&self, bytes: u64) -> String {
        if self.is_terminal() { human_size(bytes) } else { format!("{bytes} bytes") }
    }

    /// Formats the growth of a size, with its sign.
    pub fn growth(&self, bytes: i128) -> String {
        if self.is_terminal() {
            let sign = if bytes < 0 { '-' } else { '+' };
            format!("{sign}{}", human_size(u64::try_from(bytes.unsigned_abs()).unwrap_or(u64::MAX)))
        } else {
            format!("{bytes:+}")
        }
    }

    /// Formats a size before and after a change for a sentence.
    pub fn change(&self, old: u64, new: u64) -> String {
        format!("{} -> {}", self.size(old), self.bytes(new))
    }

    /// Returns whether the output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.width.is_some()
    }
}

/// Formats a number of bytes for people, with one decimal place from 1 KiB on.
pub fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    // Rounded sizes stay below 1024.
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_on_terminals_only() {
        let file = Screen::default();
        let terminal = Screen { width: Some(80), ..Screen::default() };
        let texts = |screen: Screen| [screen.size(1536), screen.growth(-1536), screen.bytes(5), screen.change(5, 1536)];
        assert_eq!(texts(file), ["1536", "-1536", "5 bytes", "5 -> 1536 bytes"]);
        assert_eq!(texts(terminal), ["1.5 KiB", "-1.5 KiB", "5 B", "5 B -> 1.5 KiB"]);
        assert_eq!([file.growth(0), terminal.growth(0)], ["+0", "+0 B"]);
    }

    #[test]
    fn sizes_for_people_have_the_largest_unit() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (49_178_214, "46.9 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(human_size(bytes), text, "{bytes}");
        }
    }
}
