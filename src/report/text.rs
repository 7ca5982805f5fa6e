//! Text for terminals: columns, in which text from files is escaped.

use anstyle::AnsiColor;
use comfy_table::{CellAlignment, Table, presets};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::escape::escape;

/// Properties of the output that text is laid out for. By default it is not a terminal: lines are not shortened, and have
/// no color.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screen {
    /// Width of a terminal in characters; `None` for files and pipes, whose lines are not shortened.
    pub width: Option<usize>,
    /// Text is colored.
    pub color: bool,
}

impl Screen {
    /// Colors a text as a warning, such as a contradiction in a file.
    pub fn warning(&self, text: &str) -> String {
        let style = AnsiColor::Yellow.on_default();
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Heading and alignment of a column.
pub struct Column {
    heading: String,
    alignment: CellAlignment,
}

impl Column {
    /// Creates a column for text.
    pub fn left(heading: &str) -> Column {
        Column { heading: printable(heading), alignment: CellAlignment::Left }
    }

    /// Creates a column for numbers.
    pub fn right(heading: &str) -> Column {
        Column { heading: printable(heading), alignment: CellAlignment::Right }
    }
}

/// Spaces before a row, and between two columns.
const INDENT: usize = 2;
const GAP: usize = 2;

/// Minimum width of a shortened column of text.
const NARROWEST: usize = 10;

/// Lays out rows under headings, as indented lines. Cells are escaped. If the lines would be wider than the screen, texts are shortened in the
/// middle; numbers never are.
pub fn columns(headings: &[Column], rows: impl Iterator<Item = Vec<String>>, screen: &Screen) -> String {
    let cells = |row: Vec<String>| row.iter().map(|cell| escape(cell).into_owned()).collect();
    let mut rows: Vec<Vec<String>> = rows.map(cells).collect();
    if let Some(width) = screen.width {
        fit(headings, &mut rows, width);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.iter().map(|column| &column.heading));
    table.add_rows(rows);
    for (column, heading) in table.column_iter_mut().zip(headings) {
        column.set_padding((0, GAP as u16));
        column.set_cell_alignment(heading.alignment);
    }
    table.lines().map(|line| format!("{:INDENT$}{}\n", "", line.trim_end())).collect()
}

/// Shortens texts until the rows fit, the longest first.
fn fit(headings: &[Column], rows: &mut [Vec<String>], width: usize) {
    let needed = |index: usize, heading: &Column| {
        let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.width());
        cells.chain([heading.heading.width()]).max().unwrap_or_default()
    };
    let mut widths: Vec<usize> = headings.iter().enumerate().map(|(index, heading)| needed(index, heading)).collect();
    let available = width.saturating_sub(INDENT + GAP * headings.len().saturating_sub(1));
    let is_text = |index: &usize| headings[*index].alignment == CellAlignment::Left;
    while widths.iter().sum::<usize>() > available {
        let longest = (0..widths.len()).filter(is_text).max_by_key(|&index| widths[index]);
        match longest.filter(|&index| widths[index] > NARROWEST.max(headings[index].heading.width())) {
            Some(index) => widths[index] -= 1,
            None => break,
        }
    }
    for row in rows {
        for (cell, &width) in row.iter_mut().zip(&widths) {
            if cell.width() > width {
                *cell = shorten(cell, width);
            }
        }
    }
}

/// Returns both ends of a text with an ellipsis between them.
fn shorten(text: &str, width: usize) -> String {
    let kept = width.saturating_sub(1);
    let front = take_width(text.chars(), kept.div_ceil(2));
    let back = take_width(text.chars().rev(), kept / 2);
    let back: String = back.chars().rev().collect();
    format!("{front}…{back}")
}

/// Returns the characters that fit into `width`.
fn take_width(text: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or_default();
        used <= width
    };
    text.take_while(fits).collect()
}

/// Escapes text from a file for a place other than the cell of a table.
pub fn printable(text: &str) -> String {
    escape(text).into_owned()
}

/// Formats a count with a noun, whose plural ends in `s`.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Formats a hash as hexadecimal digits.
pub fn hexadecimal(bytes: [u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: Option<usize>) -> String {
        let headings = [Column::left("KERNEL"), Column::right("SIZE"), Column::left("SOURCE")];
        let row = |kernel: &str| [kernel, "1234567890123456", "short.cu:7"].map(str::to_owned).to_vec();
        let rows = [row("void cub::DeviceReduceKernel<float>(int*)"), row("键核键核键核键核键核键核键核")];
        columns(&headings, rows.into_iter(), &Screen { width, ..Screen::default() })
    }

    #[test]
    fn shortens_the_longest_text_in_the_middle() {
        let expected = [
            "  KERNEL                            SIZE  SOURCE\n",
            "  void cub::…at>(int*)  1234567890123456  short.cu:7\n",
            "  键核键核键…键核键核   1234567890123456  short.cu:7\n",
        ];
        assert_eq!(table(Some(52)), expected.concat());
    }

    #[test]
    fn shortens_only_text_and_only_for_terminals() {
        assert!(table(None).contains("  void cub::DeviceReduceKernel<float>(int*)  1234567890123456  short.cu:7\n"));
        let narrow = table(Some(5));
        assert!(narrow.contains("1234567890123456  short.cu:7"), "{narrow}");
        assert_eq!(table(Some(500)), table(None));
    }
}
