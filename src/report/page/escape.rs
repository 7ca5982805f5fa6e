//! Escaping of the page's data, which as markup could close the element that contains it, and encoding of its hashes.

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

/// Characters of Base64 (RFC 4648, section 4).
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes in Base64, padded with `=`.
pub fn base64(bytes: &[u8]) -> String {
    let group = |chunk: &[u8]| {
        let bits = (0..3).fold(0, |bits, index| bits << 8 | usize::from(chunk.get(index).copied().unwrap_or(0)));
        let digits = [18, 12, 6, 0].map(|shift| char::from(BASE64[bits >> shift & 63]));
        let padding = "==".chars().skip(chunk.len() - 1);
        digits.into_iter().take(chunk.len() + 1).chain(padding).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of RFC 4648, section 10, and one with all digits.
    #[test]
    fn encodes_the_vectors_of_the_rfc() {
        let vectors =
            [("", ""), ("f", "Zg=="), ("ab", "YWI="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        for (text, encoded) in vectors {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        let digits: Vec<u8> = (0..64_u32)
            .step_by(4)
            .flat_map(|first| {
                let bits = first << 18 | (first + 1) << 12 | (first + 2) << 6 | (first + 3);
                bits.to_be_bytes()[1..].to_vec()
            })
            .collect();
        assert_eq!(base64(&digits).as_bytes(), BASE64);
    }
}
