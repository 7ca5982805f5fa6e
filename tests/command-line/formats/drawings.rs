//! The drawings, which are generated from the tables: `FATBIN_WRITE_FORMATS=1` writes them to the pages.

use std::fmt::Write;

use super::{Field, HEADING, directory, field};
use crate::documents::files_below;

/// Number of bytes in a row of a drawing, and the characters that each takes.
const ROW: usize = 8;
const BYTE: usize = 8;

/// Draws a structure, eight bytes to the row.
fn drawing(fields: &[Field]) -> String {
    let numbers: String = (0..ROW).map(|byte| format!("{byte:<BYTE$}")).collect();
    let mut text = format!("       {}\n", numbers.trim_end());
    let mut above = Vec::new();
    let mut row: Vec<(usize, usize, &str)> = Vec::new();
    for field in fields {
        let start = field.offset % ROW;
        let end = field.size.map_or(ROW, |size| start + size);
        row.push((start, end.min(ROW), &field.name));
        if end >= ROW {
            draw_row(&mut text, &above, &row, field.offset - start);
            above = borders(&row);
            row.clear();
        }
    }
    if !row.is_empty() {
        let last = fields.last().unwrap().offset;
        draw_row(&mut text, &above, &row, last - last % ROW);
        above = borders(&row);
    }
    text + &rule(&above, &[])
}

/// Returns the places of the vertical lines of a row.
fn borders(row: &[(usize, usize, &str)]) -> Vec<usize> {
    row.iter().flat_map(|(start, end, _)| [*start, *end]).collect()
}

fn draw_row(text: &mut String, above: &[usize], row: &[(usize, usize, &str)], offset: usize) {
    *text += &rule(above, &borders(row));
    let cells: String =
        row.iter().map(|(start, end, name)| format!("| {name:<0$}", (end - start) * BYTE - 2)).collect();
    let _ = writeln!(text, " 0x{offset:02x}  {cells}|");
}

/// Returns the line between two rows.
fn rule(above: &[usize], below: &[usize]) -> String {
    let end = above.iter().chain(below).max().copied().unwrap_or_default() * BYTE;
    let is_border = |at: usize| above.iter().chain(below).any(|border| border * BYTE == at);
    let line: String = (0..=end).map(|at| if is_border(at) { '+' } else { '-' }).collect();
    format!("       {line}\n")
}

#[test]
fn drawings_are_those_of_the_tables() {
    let must_write = std::env::var_os("FATBIN_WRITE_FORMATS").is_some();
    for path in files_below(&directory(), "md") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut parts = text.split(HEADING);
        let mut drawn = parts.next().unwrap().to_owned();
        for part in parts {
            if let Some(before) = drawn.strip_suffix("```\n\n") {
                drawn.truncate(before.rfind("```text\n").unwrap());
            }
            let rows = part.lines().skip(2).take_while(|line| line.starts_with('|'));
            let fields: Vec<Field> = rows.map(field).collect();
            drawn += &format!("```text\n{}```\n\n{HEADING}{part}", drawing(&fields));
        }
        if must_write {
            std::fs::write(&path, &drawn).unwrap();
        }
        assert!(must_write || drawn == text, "{}: FATBIN_WRITE_FORMATS=1 writes\n{drawn}", path.display());
    }
}
