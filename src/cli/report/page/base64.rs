//! Base64, for the page's data and for the hashes of its style and script.

/// Characters of Base64 (RFC 4648, section 4).
pub const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes in Base64, padded with `=`.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, index| bits << 8 | usize::from(chunk.get(index).copied().unwrap_or(0)));
        let digits = [18, 12, 6, 0].map(|shift| char::from(BASE64[bits >> shift & 63]));
        text.extend(digits.into_iter().take(chunk.len() + 1));
        text.extend("==".chars().skip(chunk.len() - 1));
    }
    text
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
