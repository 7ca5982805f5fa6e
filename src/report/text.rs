//! Text for people: columns, and what files say made harmless.

use anstyle::AnsiColor;
use comfy_table::{CellAlignment, Table, presets};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// What stands in front of a row, and between two columns.
const INDENT: usize = 2;
const GAP: usize = 2;

/// A column of text is cut down to this and no further: what is shorter tells nothing.
const NARROWEST: usize = 10;

/// Rows under headings, each a line with an indent and a newline. Where the lines would be longer than the screen is wide,
/// texts are cut in the middle; numbers never.
pub fn columns(headings: &[Column], rows: impl Iterator<Item = Vec<String>>, screen: &Screen) -> String {
    let mut rows: Vec<Vec<String>> = rows.collect();
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

/// Cuts texts until the rows fit, the longest first.
fn fit(headings: &[Column], rows: &mut [Vec<String>], width: usize) {
    let needed = |index: usize, heading: &Column| {
        let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.width());
        cells.chain([heading.heading.width()]).max().unwrap_or_default()
    };
    let mut widths: Vec<usize> = headings.iter().enumerate().map(|(index, heading)| needed(index, heading)).collect();
    let room = width.saturating_sub(INDENT + GAP * headings.len().saturating_sub(1));
    let is_text = |index: &usize| headings[*index].alignment == CellAlignment::Left;
    while widths.iter().sum::<usize>() > room {
        let longest = (0..widths.len()).filter(is_text).max_by_key(|&index| widths[index]);
        match longest.filter(|&index| widths[index] > NARROWEST.max(headings[index].heading.width())) {
            Some(index) => widths[index] -= 1,
            None => break,
        }
    }
    for row in rows {
        for (cell, &width) in row.iter_mut().zip(&widths) {
            if cell.width() > width {
                *cell = cut(cell, width);
            }
        }
    }
}

/// The two ends of a text with an ellipsis between them.
fn cut(text: &str, width: usize) -> String {
    let kept = width.saturating_sub(1);
    let front = beginning(text.chars(), kept.div_ceil(2));
    let back = beginning(text.chars().rev(), kept / 2);
    let back: String = back.chars().rev().collect();
    format!("{front}…{back}")
}

/// As many characters as have room.
fn beginning(text: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or_default();
        used <= room
    };
    text.take_while(fits).collect()
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
    fn what_is_longer_than_the_screen_is_cut_in_the_middle_of_its_longest_text() {
        let expected = [
            "  KERNEL                            SIZE  SOURCE\n",
            "  void cub::…at>(int*)  1234567890123456  short.cu:7\n",
            "  键核键核键…键核键核   1234567890123456  short.cu:7\n",
        ];
        assert_eq!(table(Some(52)), expected.concat());
    }

    #[test]
    fn nothing_is_cut_where_nobody_looks_and_numbers_nowhere() {
        assert!(table(None).contains("  void cub::DeviceReduceKernel<float>(int*)  1234567890123456  short.cu:7\n"));
        let narrow = table(Some(5));
        assert!(narrow.contains("1234567890123456  short.cu:7"), "{narrow}");
        assert_eq!(table(Some(500)), table(None));
    }
}
