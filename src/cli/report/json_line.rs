//! A JSON document on one line that is written piece by piece, so that it is never in memory as a whole.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use fatbin_core::base::escape::escape_json;

/// Writes a document, with strings that are escaped like in [`base::json`](fatbin_core::base::json).
pub fn write_json_line(document: &impl Serialize, to: impl Write) {
    let mut to = BufWriter::new(to);
    let written = serde_json::to_writer(Escaping(&mut to), document).map_err(io::Error::from).and_then(|()| to.flush());
    written.expect("strings and numbers serialize, and writing to memory does not fail");
}

/// A writer that escapes like [`escape_json`]. The serializer writes whole characters.
struct Escaping<W>(W);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0.write_all(escape_json(text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_in_pieces_is_that_of_the_serializer() {
        let document = serde_json::json!({ "é\u{202e}": ["\"\u{1b}", 1.5, null, "键\u{1f600}"], "a": {} });
        let mut written = Vec::new();
        write_json_line(&document, &mut written);
        assert_eq!(String::from_utf8(written).unwrap(), escape_json(&document.to_string()));
    }
}
