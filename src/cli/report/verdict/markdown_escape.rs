//! Escaping of text for Markdown.

use crate::report::text::printable;

/// Escapes Markdown. Every ASCII punctuation character may be escaped (CommonMark, section Backslash escapes); characters
/// that begin HTML or end a cell become entities.
pub fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '|' => escaped += "&#124;",
            '\\' | '(' | ')' | '`' | '*' | '_' | '[' | ']' | '~' | '!' | '#' | '$' => escaped.extend(['\\', c]),
            // GitHub turns user names and addresses into links.
            '@' => escaped += "&#64;",
            ':' => escaped += "&#58;",
            _ => escaped.push(c),
        }
    }
    escaped
}
