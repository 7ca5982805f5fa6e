//! Cells of the tables, and the line that counts the rows that are left out.

use crate::report::Screen;
use crate::report::text::{counted, printable};
use fatbin_core::image::short_name;

/// Maximum number of files, and of kernels per file, that are shown without `--all`.
pub const MAX_ROWS: usize = 20;

/// Returns a line with the number of rows that are left out, if any.
pub fn left_out(count: usize, shown: usize, what: &str) -> String {
    match count.saturating_sub(shown) {
        0 => String::new(),
        more => format!("  and {} more; use --all to list them\n", counted(more, what)),
    }
}

/// Maximum length of a kernel name. Of longer names, namespaces and arguments are left out.
const MAX_NAME_LENGTH: usize = 64;

/// Shortens a printable name of a kernel.
pub fn shortened(name: &str) -> String {
    short_name(name, MAX_NAME_LENGTH)
}

/// Returns printable text, or a dash if it is unknown.
pub fn or_dash(text: Option<&str>) -> String {
    text.map_or("-".to_owned(), printable)
}

/// Returns a size, or a dash if it is unknown.
pub fn size_cell(value: Option<u64>, screen: &Screen) -> String {
    value.map_or("-".to_owned(), |value| screen.size(value))
}

/// Returns a number, or a dash if it is unknown.
pub fn cell(value: Option<u64>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}
