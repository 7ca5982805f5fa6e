//! The limits on the resources for each input file, which all commands that read device code have.

use clap::Args;

use super::failure::{Context, Result, ensure};
use super::headings::LIMITS;
use super::session::Session;
use fatbin_core::base::bytes::Limits;
use fatbin_core::scan::{Options, Scanner};

/// Options for the limits.
#[derive(Debug, Clone, Copy, Args)]
pub struct LimitArguments {
    /// Limit on decompressed bytes per input file; suffixes K, M, G [default: 64M + 256 times its size]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", value_parser = parse_size)]
    decompressed_limit: Option<u64>,

    /// Raise all limits on work and memory per input file by a factor
    #[arg(help_heading = LIMITS, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit_factor: u32,
}

impl LimitArguments {
    /// Returns the limits.
    pub fn limits(&self) -> Limits {
        Limits::new(self.decompressed_limit, self.limit_factor)
    }

    /// Creates a scanner that applies the limits.
    pub fn scanner(&self, session: &Session, options: Options) -> Scanner {
        session.scanner(options).with_limits(self.limits())
    }
}

/// Parses a number of bytes with an optional unit: `K`, `KB` or `KiB`, likewise for M and G. Units are powers of 1024.
pub fn parse_size(text: &str) -> Result<u64> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let short = ["iB", "B"].into_iter().find_map(|end| text.strip_suffix(end));
    let text = short.filter(|short| short.ends_with(units.map(|unit| unit.0))).unwrap_or(text);
    let with_unit = units.into_iter().find_map(|(letter, shift)| Some((text.strip_suffix(letter)?, shift)));
    let (digits, shift) = with_unit.unwrap_or((text, 0));
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    ensure!(is_number, "expected a number of bytes, or a size such as 64K, 10M or 2G");
    let size = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    size.context("too large; at most 17179869183G")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes_with_and_without_units() {
        let sizes =
            [("0", 0), ("77", 77), ("2K", 2048), ("3M", 3 << 20), ("4MB", 4 << 20), ("5KiB", 5120), ("16G", 16 << 30)];
        for (text, size) in sizes {
            assert_eq!(parse_size(text).unwrap(), size, "{text}");
        }
        for text in ["", "G", "-1", "1.5G", "1GG", "1B", "1BK", "99999999999999G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        for text in ["17179869184G", "99999999999999999999", "99999999999999999999G"] {
            assert_eq!(parse_size(text).unwrap_err().to_string(), "too large; at most 17179869183G", "{text}");
        }
        assert!(parse_size("17179869183G").is_ok());
    }
}
