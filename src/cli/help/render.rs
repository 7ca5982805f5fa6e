//! Pages as text for a terminal.

use console::{Alignment, Style, measure_text_width, pad_str};

use super::markdown::{Block, Span, parse, spans};
use crate::report::Screen;

/// Width of output that is not a terminal, and maximum width on terminals: longer lines are hard to read.
const DEFAULT_WIDTH: usize = 80;
const MAX_WIDTH: usize = 100;

/// Indentation of code, and gap between two columns of a table.
const CODE_INDENT: &str = "    ";
const GAP: usize = 2;

/// Minimum width of a column whose cells are wrapped.
const NARROWEST: usize = 12;

/// Returns the width of help and pages on a screen.
pub fn width(columns: Option<usize>) -> usize {
    columns.unwrap_or(DEFAULT_WIDTH).min(MAX_WIDTH)
}

/// Formats a page for a screen.
pub fn render(page: &str, screen: &Screen) -> String {
    let layout = Layout { width: width(screen.width), color: screen.color };
    let mut text = String::new();
    let mut follows_item = false;
    for block in parse(page) {
        let is_item = matches!(block, Block::Item(..));
        let is_next_item = is_item && follows_item;
        if !text.is_empty() && !is_next_item {
            text.push('\n');
        }
        text += &layout.block(&block);
        follows_item = is_item;
    }
    text
}

struct Layout {
    width: usize,
    color: bool,
}

impl Layout {
    fn block(&self, block: &Block<'_>) -> String {
        match block {
            Block::Heading(1, title) => format!("{}\n", self.styled(Style::new().bold().underlined(), &plain(title))),
            Block::Heading(_, title) => format!("{}\n", self.styled(Style::new().bold(), &plain(title))),
            Block::Paragraph(text) => lines(&wrap(&self.inline(text), self.width), ""),
            Block::Item(indent, marker, text) => {
                let first = format!("{:indent$}  {marker} ", "");
                let rest = " ".repeat(first.len());
                let text = wrap(&self.inline(text), self.width.saturating_sub(first.len()));
                lines(&text, &rest).replacen(&rest, &first, 1)
            }
            Block::Code(code) => lines(code, CODE_INDENT),
            Block::Table(rows, right) => self.table(rows, right),
        }
    }

    fn styled(&self, style: Style, text: &str) -> String {
        style.force_styling(self.color).apply_to(text).to_string()
    }

    /// Formats the markup in a text.
    fn inline(&self, text: &str) -> String {
        let parts = spans(text).into_iter().map(|span| match span {
            Span::Plain(text) => unescaped(text),
            Span::Code(code) => self.styled(Style::new().cyan(), code),
            Span::Strong(text) => self.styled(Style::new().bold(), text),
            Span::Address(address) => format!(" ({address})"),
        });
        parts.collect()
    }

    /// Formats a table. Cells are wrapped if the lines would be too long.
    fn table(&self, rows: &[Vec<String>], right: &[bool]) -> String {
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| self.inline(cell)).collect()).collect();
        let widths = self.column_widths(&rows);
        let mut text = String::new();
        for (number, row) in rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = row.iter().zip(&widths).map(|(cell, &width)| wrap(cell, width)).collect();
            for index in 0..cells.iter().map(Vec::len).max().unwrap_or_default() {
                let cell = |(column, cell): (usize, &Vec<String>)| {
                    let is_right = right.get(column).copied().unwrap_or_default();
                    let alignment = if is_right { Alignment::Right } else { Alignment::Left };
                    let part = cell.get(index).map_or("", String::as_str);
                    let padded = pad_str(part, widths[column], alignment, None).into_owned();
                    if number == 0 { self.styled(Style::new().bold(), &padded) } else { padded }
                };
                let line: Vec<String> = cells.iter().enumerate().map(cell).collect();
                text += &format!("  {}\n", line.join(&" ".repeat(GAP)).trim_end());
            }
        }
        text
    }

    /// Columns that are too wide are narrowed, the widest first.
    fn column_widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let count = rows.iter().map(Vec::len).max().unwrap_or_default();
        let width =
            |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| measure_text_width(cell)).max();
        let mut widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or_default()).collect();
        let available = self.width.saturating_sub(GAP * count);
        while widths.iter().sum::<usize>() > available {
            match widths.iter_mut().max().filter(|width| **width > NARROWEST) {
                Some(widest) => *widest -= 1,
                None => break,
            }
        }
        widths
    }
}

/// Removes the markup.
fn plain(text: &str) -> String {
    Layout { width: 0, color: false }.inline(text)
}

/// Removes the backslashes before punctuation, and the entities of HTML.
fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    ["\\<", "\\*", "\\_", "\\[", "\\|"].iter().fold(text, |text, escaped| text.replace(escaped, &escaped[1..]))
}

/// Breaks a text into lines of at most `width` characters. A longer word is on a separate line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("one line");
        if line.is_empty() {
            line.push_str(word);
        } else if measure_text_width(line) + 1 + measure_text_width(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Joins lines, each after an indentation.
fn lines(lines: &[impl AsRef<str>], indent: &str) -> String {
    lines.iter().map(|line| format!("{indent}{}", line.as_ref()).trim_end().to_owned() + "\n").collect()
}
