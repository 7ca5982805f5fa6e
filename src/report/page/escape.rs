//! Escaping of untrusted text for the page.
//!
//! As markup, text could close the element that contains it. As text, it could display something else than it is, by
//! characters that are invisible or that change the direction of writing.

/// Escapes JSON for a `script` element. Only `</script` and `<!--` have a meaning there; `>` and `&` are escaped for copies
/// of the document in other places, and the two line separators because JavaScript once did not allow them in strings.
pub fn escape_json_for_script(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // These occur in JSON only inside strings, where the escape is valid.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text += &format!("\\u{:04x}", c as u32),
            _ => text.push(c),
        }
    }
    text
}

/// Escapes invisible characters as in Rust's strings.
pub fn escape_invisible(text: &str) -> String {
    text.chars().flat_map(|c| if is_invisible(c) { c.escape_unicode().collect() } else { vec![c] }).collect()
}

/// Returns whether a character is a control character, or one of Unicode's format characters (UAX #9 and the general
/// category Cf) that change the direction, have no width or are not displayed.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
