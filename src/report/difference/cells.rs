//! Cells of the tables, and the line that counts the rows that are left out.

use crate::report::text::{counted, printable};

/// As many files, and kernels of each, are shown if not all are asked for.
pub const MAX_ROWS: usize = 20;

pub fn left_out(count: usize, shown: usize, what: &str) -> String {
    match count.saturating_sub(shown) {
        0 => String::new(),
        more => format!("  and {} more; --all tells them\n", counted(more, what)),
    }
}

pub fn or_dash(text: Option<&str>) -> String {
    text.map_or("-".to_owned(), printable)
}

pub fn cell(value: Option<u64>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}
