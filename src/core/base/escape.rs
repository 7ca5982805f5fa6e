//! Escaping of text from files, so that it cannot act as anything but text.
//!
//! A terminal obeys control characters. Characters that change the direction of writing or have no width make a text
//! look like a different one. Every text that leaves the program passes through one of these functions where it is
//! written.

use std::borrow::Cow;
use std::fmt::Write;

/// Maximum length of a line that reports an error, in characters.
pub const MAX_LINE: usize = 1000;

/// Returns whether a character is escaped: control characters, line and paragraph separators, characters of the Unicode
/// Bidirectional Algorithm (UAX #9), and all others without a glyph.
pub fn is_escaped(c: char) -> bool {
    match c {
        ' '..='~' => false,
        _ => c.is_control() || INVISIBLE.iter().any(|range| range.contains(&c)),
    }
}

/// Characters without a glyph. Source: `Default_Ignorable_Code_Point` in DerivedCoreProperties.txt of Unicode 16, and
/// the separators and annotations of the general categories Zl, Zp and Cf that it does not include.
const INVISIBLE: [std::ops::RangeInclusive<char>; 18] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Escapes text within a line, as in Rust strings: `\n`, `\u{1b}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    replace(text, is_escaped, |output, c| output.extend(c.escape_default()))
}

/// Escapes text like [`escape`], without a copy of one that has nothing to escape.
pub fn escaped(text: String) -> String {
    let replaced = match escape(&text) {
        Cow::Owned(replaced) => Some(replaced),
        Cow::Borrowed(_) => None,
    };
    replaced.unwrap_or(text)
}

/// Escapes text of several lines. Line feeds and tabs are kept.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| matches!(c, '\n' | '\t');
    replace(text, |c| is_escaped(c) && !is_layout(c), |output, c| output.extend(c.escape_default()))
}

/// Escapes a document of JSON in its own syntax, so that parsers read the exact text. Line feeds between values are
/// kept; all other characters that are escaped occur only inside strings.
pub fn escape_json(document: &str) -> Cow<'_, str> {
    let push = |output: &mut String, c: char| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(output, "\\u{unit:04x}").expect("writing to a string");
        }
    };
    replace(document, |c| is_escaped(c) && c != '\n', push)
}

/// Shortens text to `limit` characters. The middle is replaced by the number of omitted characters.
pub fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= limit {
        return Cow::Borrowed(text);
    }
    // The note is longest if all characters are omitted.
    let note = |omitted: usize| format!(" […{omitted} characters omitted…] ");
    let kept = limit - limit.min(note(count).chars().count());
    let front = kept.div_ceil(2);
    let back = kept / 2;
    let start: String = text.chars().take(front).collect();
    let end: String = text.chars().skip(count - back).collect();
    Cow::Owned(start + &note(count - front - back) + &end)
}

/// True if a text has only displayed characters of ASCII and line feeds. Eight bytes are compared at once, without vector
/// instructions: compilers leave them out of a program that is optimized for size.
fn is_plain(text: &str) -> bool {
    /// This byte, eight times.
    const fn all(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let other = words.iter().fold(0, |other, word| {
        let bytes = u64::from_ne_bytes(*word);
        // The highest bit of each byte: above `~`; below a space; other than a line feed. Carries come from bytes that
        // are not of ASCII.
        let is_above = bytes | bytes.wrapping_add(all(1));
        let is_below = !bytes.wrapping_add(all(0x80 - b' '));
        let is_no_line_feed = (bytes ^ all(b'\n')).wrapping_add(all(0x7f));
        other | is_above | (is_below & is_no_line_feed)
    });
    other & all(0x80) == 0 && rest.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
}

/// Replaces some characters of a text. Most texts have none of them.
fn replace(text: &str, is_replaced: impl Fn(char) -> bool, push: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let has_none = is_plain(text) && !(is_replaced('\n') && text.contains('\n'));
    if has_none || !text.chars().any(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut output = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_replaced(c) {
            push(&mut output, c);
        } else {
            output.push(c);
        }
    }
    Cow::Owned(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_every_control_and_format_character() {
        let categories = [
            ('\0', '\u{1f}'),
            ('\u{7f}', '\u{9f}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{2064}'),
            ('\u{2066}', '\u{2069}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{e0000}', '\u{e007f}'),
            ('\u{e0100}', '\u{e01ef}'),
        ];
        for c in categories.into_iter().flat_map(|(first, last)| first..=last) {
            let text = format!("a{c}b");
            for escaped in [escape(&text), escape_json(&text.replace('\n', "\\n"))] {
                assert!(escaped.is_ascii() && !escaped.contains(|c: char| c.is_control()), "{escaped:?}");
            }
        }
        for text in ["", " plain ~", "gfx90a:xnack+", "é Ω 键核 😀", "C:\\x\\u{1b}"] {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn escaped_text_is_not_escaped_again() {
        let once = escape("\u{1b}[31m\r\n\u{202e}\\").into_owned();
        assert_eq!(once, "\\u{1b}[31m\\r\\n\\u{202e}\\");
        assert_eq!(escape(&once), once);
        assert_eq!(escape_lines("a\tb\n\u{9b}2J\u{2028}\n"), "a\tb\n\\u{9b}2J\\u{2028}\n");
    }

    #[test]
    fn parsers_of_json_read_the_exact_text() {
        let text: String =
            (0..0x3000).chain(0xe000..0x1_0000).chain(0xe_0000..0xe_1000).flat_map(char::from_u32).collect();
        let document = serde_json::to_string_pretty(&[&text, "\u{1b}\u{7f}\u{9b}\u{e0041}"]).unwrap();
        let escaped = escape_json(&document);
        assert!(!escaped.contains(|c: char| is_escaped(c) && c != '\n'));
        assert_eq!(serde_json::from_str::<[String; 2]>(&escaped).unwrap()[0], text);
    }

    #[test]
    fn shortens_the_middle_and_states_the_number_of_characters() {
        assert_eq!(shorten("é".repeat(1000).as_str(), 1000), "é".repeat(1000));
        for (length, limit) in [(1001, 1000), (1_000_000, 1000), (1001, 40)] {
            let text = format!("start{}end", "é".repeat(length - 8));
            let short = shorten(&text, limit);
            assert!(short.chars().count() <= limit && short.chars().count() + 8 > limit, "{short}");
            assert!(short.starts_with("st") && short.ends_with('d'), "{short}");
            let kept = short.chars().filter(|&c| c == 'é').count() + short.matches("start").count() * 5 + 3;
            let omitted: usize = short.split('…').nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert!(limit < 100 || kept + omitted == length, "{short}");
        }
    }
}
