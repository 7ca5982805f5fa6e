//! Escaping of the page's data, which as markup could close the element that contains it.

/// Escapes JSON for a `script` element. Only `</script` and `<!--` have a meaning there; `>` and `&` are escaped for copies
/// of the document in other places.
pub fn escape_json_for_script(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // These occur in JSON only inside strings, where the escape is valid.
            '<' | '>' | '&' => text += &format!("\\u{:04x}", c as u32),
            _ => text.push(c),
        }
    }
    text
}
