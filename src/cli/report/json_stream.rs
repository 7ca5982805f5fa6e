//! A JSON document that is written piece by piece, so that it is never in memory as a whole.

use std::fmt::Write;
use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::base::escape::escape_json;

/// The text of a document so far, and the objects and arrays that are open. The text is formatted as by
/// [`to_pretty_json`](super::json::to_pretty_json).
#[derive(Debug, Default)]
pub struct JsonStream {
    text: String,
    /// For each open object or array, its last character, and whether it has a value.
    open: Vec<(char, bool)>,
}

impl JsonStream {
    /// Begins a document, which is an object.
    pub fn new() -> Self {
        JsonStream { text: "{".to_owned(), open: vec![('}', false)] }
    }

    /// Begins an object in an array.
    pub fn begin_object(&mut self) {
        self.begin_value();
        self.text.push('{');
        self.open.push(('}', false));
    }

    /// Begins an object in an object.
    pub fn begin_field(&mut self, key: &str) {
        self.key(key);
        self.text.push('{');
        self.open.push(('}', false));
    }

    /// Begins an array in an object.
    pub fn begin_array(&mut self, key: &str) {
        self.key(key);
        self.text.push('[');
        self.open.push((']', false));
    }

    /// Adds a field to an object.
    pub fn field(&mut self, key: &str, value: &impl Serialize) {
        self.key(key);
        self.text += &nested_json(value, self.open.len());
    }

    /// Adds a value to an array, as formatted by [`nested_json`] for the number of open objects and arrays.
    pub fn element(&mut self, text: &str) {
        self.begin_value();
        self.text += text;
    }

    /// Adds a value to an array.
    pub fn value(&mut self, value: &impl Serialize) {
        self.begin_value();
        self.text += &nested_json(value, self.open.len());
    }

    /// Ends an object or array; the outermost with a newline.
    pub fn end(&mut self) {
        let Some((last, has_value)) = self.open.pop() else { return };
        if has_value {
            self.new_line();
        }
        self.text.push(last);
        if self.open.is_empty() {
            self.text.push('\n');
        }
    }

    /// Returns the text since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    fn key(&mut self, key: &str) {
        self.begin_value();
        write!(self.text, "\"{key}\": ").expect("writing to a string");
    }

    fn begin_value(&mut self) {
        if let Some((_, has_value)) = self.open.last_mut() {
            self.text += if *has_value { "," } else { "" };
            *has_value = true;
        }
        self.new_line();
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        self.text.extend(self.open.iter().map(|_| INDENTATION));
    }
}

const INDENTATION: &str = "  ";

/// Formats a value in `depth` objects and arrays of a document.
pub fn nested_json(value: &impl Serialize, depth: usize) -> String {
    let mut bytes = Vec::new();
    let mut formatter = PrettyFormatter::with_indent(INDENTATION.as_bytes());
    for _ in 0..depth {
        formatter.begin_array(&mut io::sink()).expect("the sink accepts all bytes");
    }
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    written.expect("strings and numbers serialize");
    // The texts of several images wait for their turn. Up to half of each buffer would be spare capacity.
    bytes.shrink_to_fit();
    let text = String::from_utf8(bytes).expect("JSON is UTF-8");
    match escape_json(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(escaped) => escaped,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::report::json::to_pretty_json;

    #[test]
    fn a_document_in_pieces_is_that_of_the_serializer() {
        let element = json!({ "a": [1, { "b": [] }], "c": "\u{202e}\"" });
        let document =
            json!({ "empty": [], "files": [element, { "images": [1, "x"], "z": {} }], "last": { "v": [[2]] } });
        let mut stream = JsonStream::new();
        let mut text = String::new();
        stream.begin_array("empty");
        stream.end();
        text += &stream.take();
        stream.begin_array("files");
        stream.element(&nested_json(&element, 2));
        stream.begin_object();
        stream.begin_array("images");
        stream.element("1");
        text += &stream.take();
        stream.element("\"x\"");
        stream.end();
        stream.field("z", &json!({}));
        stream.end();
        stream.end();
        stream.begin_field("last");
        stream.begin_array("v");
        stream.value(&[2]);
        stream.end();
        stream.end();
        stream.end();
        assert_eq!(text + &stream.take(), to_pretty_json(&document));
    }
}
