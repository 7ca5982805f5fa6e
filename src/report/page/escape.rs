//! Text from files made harmless for a page.
//!
//! Two things can go wrong with it. As markup it could end the element that it stands in; and as text it could show
//! something else than it is: characters that turn the direction of writing around, or that nobody sees.

/// JSON as the content of a `script` element, where nothing but `</script` and `<!--` means anything to HTML. The others
/// are written out for whoever copies the document elsewhere, and the two line ends that JavaScript once had beyond JSON's.
pub fn escape_json_for_script(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // Outside strings JSON has none of these, so the escape is always one that it knows.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text += &format!("\\u{:04x}", c as u32),
            _ => text.push(c),
        }
    }
    text
}

/// A text with everything in it that would not be seen as what it is written out, as in Rust's strings.
pub fn escape_invisible(text: &str) -> String {
    text.chars().flat_map(|c| if is_invisible(c) { c.escape_unicode().collect() } else { vec![c] }).collect()
}

/// Control characters, and of Unicode's format characters (UAX #9 and the general category Cf) those that turn the
/// direction around, have no width or are not to be shown.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
