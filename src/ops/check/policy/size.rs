//! Sizes with units: "850 MB", "1.5 GiB".

use std::fmt;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// Units and their factors: decimal, then binary (IEC 80000-13), then the suffixes of sizes on the command line.
const UNITS: [(&str, u64); 10] = [
    ("B", 1),
    ("kB", 1000),
    ("MB", 1000 * 1000),
    ("GB", 1000 * 1000 * 1000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
];

impl Size {
    /// Parses a number with a unit. Returns `None` for anything else, and for sizes that are not a whole number of
    /// bytes.
    pub fn parse(text: &str) -> Option<Size> {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number = &text[..digits];
        let unit = text[digits..].trim_start();
        let factor = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let tens = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
        let part = fraction.parse::<u64>().ok()?.checked_mul(factor)?;
        if part % tens == 0 { whole.checked_add(part / tens).map(Size) } else { None }
    }

    /// Rounds up to three significant decimal digits.
    pub fn rounded_up(self) -> Size {
        let step = 10_u64.pow(self.0.checked_ilog10().unwrap_or(0).saturating_sub(2));
        Size(self.0.div_ceil(step).saturating_mul(step))
    }
}

impl fmt::Display for Size {
    /// Formats the size in the largest decimal unit that it reaches, rounded down to two decimal places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = UNITS[..4].iter().rfind(|(_, factor)| self.0 >= *factor).unwrap_or(&UNITS[0]);
        let whole = self.0 / factor;
        let hundredths = u128::from(self.0 % factor) * 100 / u128::from(*factor);
        if hundredths == 0 {
            return write!(f, "{whole} {unit}");
        }
        let number = format!("{whole}.{hundredths:02}");
        write!(f, "{} {unit}", number.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_whole_numbers_of_bytes_with_a_unit() {
        let sizes = [
            ("0 B", 0),
            ("850 MB", 850_000_000),
            ("1.5GiB", 3 << 29),
            ("2 kb", 2000),
            ("0.25 KiB", 256),
            ("10M", 10 << 20),
        ];
        for (text, size) in sizes {
            assert_eq!(Size::parse(text), Some(Size(size)), "{text}");
        }
        for text in
            ["", "MB", "1", "1 TB", "-1 B", "1.2.3 MB", ". MB", "0.5 B", "99999999999 GB", "1.99999999999999999999 GB"]
        {
            assert_eq!(Size::parse(text), None, "{text}");
        }
    }

    #[test]
    fn formats_sizes_in_the_largest_unit() {
        for (size, text) in
            [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (850_000_000, "850 MB"), (1_239_000_000, "1.23 GB")]
        {
            assert_eq!(Size(size).to_string(), text);
        }
        for (size, rounded) in [(0, 0), (7, 7), (1001, 1010), (123_456, 124_000)] {
            assert_eq!(Size(size).rounded_up(), Size(rounded));
        }
    }
}
