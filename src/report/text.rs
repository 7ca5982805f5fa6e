//! Text for people: columns, and what files say made harmless.

use comfy_table::{CellAlignment, Table, presets};

/// A column's heading, and on which side its cells stand.
pub struct Column {
    heading: String,
    alignment: CellAlignment,
}

impl Column {
    /// For text.
    pub fn left(heading: &str) -> Column {
        Column { heading: heading.to_owned(), alignment: CellAlignment::Left }
    }

    /// For numbers.
    pub fn right(heading: &str) -> Column {
        Column { heading: heading.to_owned(), alignment: CellAlignment::Right }
    }
}

/// Rows under headings, each a line with an indent and a newline.
pub fn columns(headings: &[Column], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.iter().map(|column| &column.heading));
    table.add_rows(rows);
    for (column, heading) in table.column_iter_mut().zip(headings) {
        column.set_padding((0, 2));
        column.set_cell_alignment(heading.alignment);
    }
    table.lines().map(|line| format!("  {}\n", line.trim_end())).collect()
}

/// Text from a file, with everything that a terminal would obey written out.
pub fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// So many of something, whose name takes an s.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A hash as it is written.
pub fn hexadecimal(bytes: [u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
