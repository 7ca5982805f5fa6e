//! Text for terminals: columns, with text from files escaped.

use std::borrow::Cow;
use std::iter::repeat_n;

use console::{Alignment, measure_text_width};

use super::screen::Screen;
use super::style::Meaning;
use fatbin_core::base::escape::{escape, escaped};
use fatbin_core::image::short_name;

/// Heading and alignment of a column.
pub struct Column {
    heading: String,
    alignment: Alignment,
    /// Meaning of a cell, by its text.
    meaning: fn(&str) -> Option<Meaning>,
    /// Formats a text that is wider than the column as lines.
    fit: fn(&str, usize) -> Vec<String>,
}

impl Column {
    /// Creates a column for text, which is broken between words.
    pub fn left(heading: &str) -> Column {
        Column { heading: printable(heading), alignment: Alignment::Left, meaning: |_| None, fit: broken }
    }

    /// Creates a column for numbers.
    pub fn right(heading: &str) -> Column {
        Column { alignment: Alignment::Right, ..Column::left(heading) }
    }

    /// Creates a column for text that stays on one line and is shortened in the middle.
    pub fn line(heading: &str) -> Column {
        Column { fit: |text, width| vec![shorten(text, width)], ..Column::left(heading) }
    }

    /// Creates a column for names of kernels, which are shortened from the outside.
    pub fn name(heading: &str) -> Column {
        Column { fit: |name, width| vec![short_name(name, width)], ..Column::left(heading) }
    }

    /// Gives the cells of the column the styles of their meanings.
    pub fn meaning(self, meaning: fn(&str) -> Option<Meaning>) -> Column {
        Column { meaning, ..self }
    }
}

/// Spaces before a row, and between two columns.
const INDENT: usize = 2;
const GAP: usize = 2;

/// Minimum width of a shortened column of text.
const NARROWEST: usize = 10;

/// Minimum width of the shortened path of a package.
const SHORTEST_PACKAGE: usize = 16;

/// Lays out rows under headings, as indented lines. Cells are escaped. If the lines would be wider than the screen,
/// texts are broken between words; numbers never are.
pub fn columns(headings: &[Column], rows: impl Iterator<Item = Vec<String>>, screen: &Screen) -> String {
    let rows: Vec<Vec<String>> = rows.map(escaped_row).collect();
    let mut text = String::new();
    let visit_all = |visit: &mut dyn FnMut(&[String])| rows.iter().for_each(|row| visit(row));
    lay_out(headings, &visit_all, screen, &mut |line| text += line);
    text
}

/// Writes rows like [`columns`], line by line. `rows` is called several times: a table of any size takes the memory of
/// one row.
pub fn write_columns<I: Iterator<Item = Vec<String>>>(
    headings: &[Column],
    rows: impl Fn() -> I,
    screen: &Screen,
    write: &mut dyn FnMut(&str),
) {
    let visit_all = |visit: &mut dyn FnMut(&[String])| rows().for_each(|row| visit(&escaped_row(row)));
    lay_out(headings, &visit_all, screen, write);
}

fn escaped_row(row: Vec<String>) -> Vec<String> {
    row.into_iter().map(escaped).collect()
}

/// Rows of escaped cells: a function that visits each.
type Rows<'a> = &'a dyn Fn(&mut dyn FnMut(&[String]));

fn lay_out(headings: &[Column], rows: Rows<'_>, screen: &Screen, write: &mut dyn FnMut(&str)) {
    let header: Vec<String> = headings.iter().map(|column| column.heading.clone()).collect();
    let measured = |cell: &dyn Fn(&str, usize) -> usize| {
        let mut widths = vec![0; headings.len()];
        let mut add = |row: &[String]| {
            for (index, (width, text)) in widths.iter_mut().zip(row).enumerate() {
                *width = cell(text, index).max(*width);
            }
        };
        add(&header);
        rows(&mut add);
        widths
    };
    let mut layout = Layout { headings, screen, widths: measured(&|text, _| text_width(text)), limits: None };
    if let Some(width) = screen.width {
        // What no function shortens further.
        let narrowest =
            measured(&|text, index| widest(&(headings[index].fit)(text, NARROWEST)).min(measure_text_width(text)));
        layout.limits = Some(fitting(headings, &layout.widths, &narrowest, width));
        layout.widths = measured(&|text, index| widest(&layout.fitted(text, index)));
    }
    layout.write_row(&header, true, write);
    rows(&mut |row| layout.write_row(row, false, write));
}

/// Columns of a table, and what they take of the screen.
struct Layout<'a> {
    headings: &'a [Column],
    screen: &'a Screen,
    widths: Vec<usize>,
    /// Maximum widths, if the screen has one.
    limits: Option<Vec<usize>>,
}

impl Layout<'_> {
    fn write_row(&self, row: &[String], is_header: bool, write: &mut dyn FnMut(&str)) {
        if self.limits.is_none() && !row.is_empty() {
            return self.write_line(row, &|index| &row[index], is_header, write);
        }
        let cells: Vec<Vec<_>> = row.iter().enumerate().map(|(index, cell)| self.fitted(cell, index)).collect();
        for number in 0..cells.iter().map(Vec::len).max().unwrap_or_default() {
            let shown = |index: usize| cells[index].get(number).map_or("", Cow::as_ref);
            self.write_line(row, &shown, is_header, write);
        }
    }

    /// Writes a line of a row: `shown` returns the text of a cell on it.
    fn write_line<'a>(
        &self,
        row: &[String],
        shown: &dyn Fn(usize) -> &'a str,
        is_header: bool,
        write: &mut dyn FnMut(&str),
    ) {
        let mut line = String::new();
        for (index, ((column, &width), text)) in self.headings.iter().zip(&self.widths).zip(row).enumerate() {
            let shown = shown(index);
            let meaning = if is_header { Some(Meaning::Heading) } else { (column.meaning)(text) };
            let meaning = if shown.is_empty() { None } else { meaning };
            let painted = meaning.map(|meaning| self.screen.paint(meaning, shown));
            let gap = if index == 0 { INDENT } else { GAP };
            let padding = width.saturating_sub(text_width(shown));
            let (before, after) = if column.alignment == Alignment::Left { (gap, padding) } else { (gap + padding, 0) };
            line.extend(repeat_n(' ', before));
            line += painted.as_deref().unwrap_or(shown);
            line.extend(repeat_n(' ', after));
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        write(&line);
    }

    /// Returns the lines of a cell.
    fn fitted<'a>(&self, text: &'a str, index: usize) -> Vec<Cow<'a, str>> {
        match self.limits.as_ref().map(|limits| limits[index]) {
            Some(limit) if measure_text_width(text) > limit => {
                (self.headings[index].fit)(text, limit).into_iter().map(Cow::Owned).collect()
            }
            _ => vec![Cow::Borrowed(text)],
        }
    }
}

/// Reduces the largest widths of columns until the columns fit into `width`. The longest texts get less first, and
/// headings never.
fn fitting(headings: &[Column], widths: &[usize], narrowest: &[usize], width: usize) -> Vec<usize> {
    let mut widths = widths.to_vec();
    let available = width.saturating_sub(INDENT + GAP * headings.len().saturating_sub(1));
    let is_text = |index: &usize| headings[*index].alignment == Alignment::Left;
    while widths.iter().sum::<usize>() > available {
        let is_wider = |index: &usize| widths[*index] > narrowest[*index].max(NARROWEST);
        let longest = (0..widths.len()).filter(is_text).filter(is_wider).max_by_key(|&index| widths[index]);
        match longest {
            Some(index) => widths[index] -= 1,
            None => break,
        }
    }
    widths
}

/// Width of escaped text: a character of ASCII takes a column.
fn text_width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { measure_text_width(text) }
}

fn widest(lines: &[impl AsRef<str>]) -> usize {
    lines.iter().map(|line| measure_text_width(line.as_ref())).max().unwrap_or_default()
}

/// Returns the number of items on each line of at most `width` characters. `between` joins the items of a line.
pub fn wrapped(items: &[&str], between: &str, width: usize) -> Vec<usize> {
    let gap = measure_text_width(between);
    let mut lines: Vec<usize> = Vec::new();
    let mut used = 0;
    for item in items {
        let own = measure_text_width(item) + gap;
        match lines.last_mut() {
            Some(count) if used + own <= width => *count += 1,
            _ => {
                lines.push(1);
                used = 0;
            }
        }
        used += own;
    }
    lines
}

/// Formats a sentence below a line about a file. On terminals it is broken between words, and the further lines are
/// indented deeper.
pub fn paragraph(sentence: &str, screen: &Screen) -> String {
    indented(&format!("{:INDENT$}", ""), sentence, 2 * INDENT, screen)
}

/// Formats a text after a prefix. On terminals it is broken between words, and the further lines are indented by
/// `indent`.
pub fn indented(prefix: &str, text: &str, indent: usize, screen: &Screen) -> String {
    let lines = match screen.width {
        Some(width) => broken(text, width.saturating_sub(indent)),
        None => vec![text.to_owned()],
    };
    format!("{prefix}{}\n", lines.join(&format!("\n{:indent$}", "")))
}

/// Breaks a text between words into lines of at most `width` characters. Wider words are shortened.
fn broken(text: &str, width: usize) -> Vec<String> {
    let words: Vec<String> = text.split(' ').map(|word| shorten(word, width)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut rest = words.as_slice();
    let mut lines = Vec::new();
    for count in wrapped(&words, " ", width) {
        let (line, after) = rest.split_at(count.min(rest.len()));
        lines.push(line.join(" "));
        rest = after;
    }
    lines
}

/// Formats a line about a file. On terminals, the path of the package around the file is shortened until the line fits;
/// else the text is on separate lines below the path.
pub fn headline(path: &str, text: &str, screen: &Screen) -> String {
    let path = printable(path);
    let Some(width) = screen.width else { return format!("{path}: {text}\n") };
    let room = width.saturating_sub(measure_text_width(text) + 2);
    let short = in_short_package(&path, room);
    if measure_text_width(&short) <= room {
        return format!("{}: {text}\n", screen.paint(Meaning::Heading, &short));
    }
    heading(&path, screen) + &paragraph(text, screen)
}

/// Formats the path of a file on a line above several lines about it.
pub fn heading(path: &str, screen: &Screen) -> String {
    let path = printable(path);
    let short = screen.width.map(|width| in_short_package(&path, width.saturating_sub(1)));
    format!("{}:\n", screen.paint(Meaning::Heading, &short.unwrap_or(path)))
}

/// Shortens the path of the package around a file. Other paths can be pasted, and stay.
fn in_short_package(path: &str, width: usize) -> String {
    match path.rsplit_once('!') {
        Some((package, member)) if measure_text_width(path) > width => {
            let left = width.saturating_sub(measure_text_width(member) + 1);
            format!("{}!{member}", shorten(package, left.max(SHORTEST_PACKAGE)))
        }
        _ => path.to_owned(),
    }
}

/// A line about a file, and lines below it.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The line, with its line feed.
    pub heading: String,
    /// The other lines.
    pub body: String,
}

/// Joins blocks. On terminals, the headings of successive blocks with equal bodies are above one body.
pub fn blocks(blocks: &[Block], screen: &Screen) -> String {
    let mut joined = JoinedBlocks::new(screen);
    let text: String = blocks.iter().map(|block| joined.add(block)).collect();
    text + &joined.end()
}

/// Blocks that are joined as by [`blocks`] while they are added.
#[derive(Debug)]
pub struct JoinedBlocks {
    joins: bool,
    /// Body of the last block.
    body: String,
}

impl JoinedBlocks {
    pub fn new(screen: &Screen) -> Self {
        JoinedBlocks { joins: screen.is_terminal(), body: String::new() }
    }

    /// Adds a block, and returns the text up to its heading.
    pub fn add(&mut self, block: &Block) -> String {
        if self.joins && self.body == block.body {
            return block.heading.clone();
        }
        std::mem::replace(&mut self.body, block.body.clone()) + &block.heading
    }

    /// Returns the rest of the text.
    pub fn end(self) -> String {
        self.body
    }
}

/// Keeps both ends of a text that is wider than `width`, with an ellipsis between them.
pub fn shorten(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let front = take_width(text.chars(), kept.div_ceil(2));
    let back = take_width(text.chars().rev(), kept / 2);
    let back: String = back.chars().rev().collect();
    format!("{front}…{back}")
}

/// Takes the characters that fit into `width`.
fn take_width(text: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += measure_text_width(c.encode_utf8(&mut [0; 4]));
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
    fn breaks_the_longest_text_between_words_and_shortens_long_words() {
        let expected = [
            "  KERNEL                            SIZE  SOURCE\n",
            "  void                  1234567890123456  short.cu:7\n",
            "  cub::Devic…at>(int*)\n",
            "  键核键核键…键核键核   1234567890123456  short.cu:7\n",
        ];
        assert_eq!(table(Some(52)), expected.concat());
    }

    #[test]
    fn lines_about_files_fit_and_keep_the_name_of_the_member() {
        let line =
            |path: &str, width: usize| headline(path, "2 images", &Screen { width: Some(width), ..Screen::default() });
        let path = "a-package-with-a-long-name.whl!lib/a.so";
        assert_eq!(line(path, 80), format!("{path}: 2 images\n"));
        assert_eq!(line(path, 40), "a-package-…g-name.whl!lib/a.so: 2 images\n");
        assert_eq!(line(path, 34), "a-package-wi…ng-name.whl!lib/a.so:\n  2 images\n");
        assert_eq!(headline(path, "2 images", &Screen::default()), format!("{path}: 2 images\n"));
    }

    #[test]
    fn shortens_only_text_and_only_for_terminals() {
        assert!(table(None).contains("  void cub::DeviceReduceKernel<float>(int*)  1234567890123456  short.cu:7\n"));
        let narrow = table(Some(5));
        assert!(narrow.contains("1234567890123456  short.cu:7"), "{narrow}");
        assert_eq!(table(Some(500)), table(None));
    }
}
