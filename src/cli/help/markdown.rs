//! The Markdown of the pages as blocks: headings, paragraphs, lists, tables and code.

/// A part of a page. Texts have inline markup.
#[derive(Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// Heading of level 1 to 6.
    Heading(usize, &'a str),
    /// Text of one paragraph, on one line.
    Paragraph(String),
    /// Item of a list: its indentation, its marker, and its text.
    Item(usize, &'a str, String),
    /// Lines of code.
    Code(Vec<&'a str>),
    /// Rows of a table, the first with the headings, and whether each column is aligned to the right.
    Table(Vec<Vec<String>>, Vec<bool>),
}

/// Parses a page.
pub fn parse(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    let mut is_open = false;
    while let Some(line) = lines.next() {
        let content = line.trim_start();
        let was_open = std::mem::replace(&mut is_open, false);
        if let Some(fence) = content.strip_prefix("```") {
            let indent = line.len() - content.len();
            let code = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```"));
            let code = code.map(|line| line.get(indent..).unwrap_or_default()).collect();
            if fence != "mermaid" {
                blocks.push(Block::Code(code));
            }
        } else if content.starts_with('|') {
            let mut rows = vec![line];
            while let Some(row) = lines.next_if(|line| line.trim_start().starts_with('|')) {
                rows.push(row);
            }
            blocks.push(table(&rows));
        } else if let Some((level, title)) = heading(line) {
            blocks.push(Block::Heading(level, title));
        } else if let Some((marker, text)) = item(content) {
            blocks.push(Block::Item(line.len() - content.len(), marker, text.to_owned()));
            is_open = true;
        } else if !content.is_empty() && !content.starts_with("<!--") {
            match blocks.last_mut() {
                Some(Block::Paragraph(text) | Block::Item(_, _, text)) if was_open => {
                    text.push(' ');
                    text.push_str(content);
                }
                _ => blocks.push(Block::Paragraph(content.to_owned())),
            }
            is_open = true;
        }
    }
    blocks
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let title = title.strip_prefix(' ')?;
    (1..=6).contains(&level).then_some((level, title))
}

/// Splits an item into its marker, `-` or a number, and its text.
fn item(content: &str) -> Option<(&str, &str)> {
    let (marker, text) = content.split_once(' ')?;
    let is_number = marker.strip_suffix('.').is_some_and(|number| number.parse::<u32>().is_ok());
    (is_number || matches!(marker, "-" | "*")).then_some((marker, text))
}

fn table<'a>(lines: &[&str]) -> Block<'a> {
    let is_rule = |row: &[String]| row.iter().all(|cell| !cell.is_empty() && cell.bytes().all(|c| b":-".contains(&c)));
    let mut rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line)).collect();
    let mut right = Vec::new();
    if rows.get(1).is_some_and(|row| is_rule(row)) {
        right = rows.remove(1).iter().map(|cell| cell.ends_with(':') && !cell.starts_with(':')).collect();
    }
    Block::Table(rows, right)
}

/// `\|` is a bar in a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner).replace("\\|", "\0");
    inner.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

/// Inline markup of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span<'a> {
    /// Text without markup.
    Plain(&'a str),
    /// Code.
    Code(&'a str),
    /// Bold text.
    Strong(&'a str),
    /// Address on the web, whose text precedes it.
    Address(&'a str),
}

/// Parses the inline markup of a text. Links are reduced to their texts, images to their descriptions.
pub fn spans(text: &str) -> Vec<Span<'_>> {
    let mut spans = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[', '!']) {
        let (before, marked) = rest.split_at(at);
        match marked_span(marked, &mut spans, before) {
            Some(after) => rest = after,
            None => {
                // A character that marks nothing.
                let end = at + 1;
                push_plain(&mut spans, &rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    push_plain(&mut spans, rest);
    spans
}

/// Adds the text before a marked span, and the span itself, and returns the text after it.
fn marked_span<'a>(marked: &'a str, spans: &mut Vec<Span<'a>>, before: &'a str) -> Option<&'a str> {
    if let Some(code) = marked.strip_prefix('`') {
        let (code, after) = code.split_once('`')?;
        push_plain(spans, before);
        spans.push(Span::Code(code));
        return Some(after);
    }
    if let Some(strong) = marked.strip_prefix("**") {
        let (strong, after) = strong.split_once("**")?;
        push_plain(spans, before);
        spans.push(Span::Strong(strong));
        return Some(after);
    }
    let link = marked.strip_prefix("![").or_else(|| marked.strip_prefix('['))?;
    let (label, after) = link.split_once("](")?;
    let (target, after) = after.split_once(')')?;
    if label.contains('[') {
        return None;
    }
    push_plain(spans, before);
    spans.extend(self::spans(label));
    if target.starts_with("https://") && label != target {
        spans.push(Span::Address(target));
    }
    Some(after)
}

fn push_plain<'a>(spans: &mut Vec<Span<'a>>, text: &'a str) {
    if !text.is_empty() {
        spans.push(Span::Plain(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_page() {
        let page = "# Title\n<!-- marker -->\n\nOne\ntwo.\n\n- a\n  b\n- c\n\n1. d\n\n```console\n$ e\n\nf\n```\n\n| x | y |\n|---|---:|\n| \
                    `a\\|b` | 1 |\n";
        let cell = str::to_owned;
        let expected = [
            Block::Heading(1, "Title"),
            Block::Paragraph("One two.".to_owned()),
            Block::Item(0, "-", "a b".to_owned()),
            Block::Item(0, "-", "c".to_owned()),
            Block::Item(0, "1.", "d".to_owned()),
            Block::Code(vec!["$ e", "", "f"]),
            Block::Table(vec![vec![cell("x"), cell("y")], vec![cell("`a|b`"), cell("1")]], vec![false, true]),
        ];
        assert_eq!(parse(page), expected);
    }

    #[test]
    fn markup_without_an_end_is_text() {
        for text in ["a ` b", "2 * 3", "[x", "[x]", "**", "!", "a[0]("] {
            let spans = spans(text);
            let plain = spans.iter().map(|span| match span {
                Span::Plain(text) => *text,
                span => panic!("{text}: {span:?}"),
            });
            assert_eq!(plain.collect::<String>(), text);
        }
    }

    #[test]
    fn links_are_reduced_to_their_texts() {
        let expected = [
            Span::Plain("see "),
            Span::Code("wrap"),
            Span::Plain(" and "),
            Span::Plain("no color"),
            Span::Address("https://no-color.org"),
            Span::Plain(", "),
            Span::Strong("now"),
        ];
        assert_eq!(spans("see [`wrap`](wrap.md#a) and [no color](https://no-color.org), **now**"), expected);
    }
}
