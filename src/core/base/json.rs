//! JSON documents. Strings are exact: characters that a terminal would obey, or not display, are escaped in JSON's own
//! syntax.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::base::escape::escape_json;

const INDENTATION: &str = "  ";

/// Formats a value with indentation and a final newline.
pub fn to_pretty_json(value: &impl Serialize) -> String {
    to_indented_json(value, INDENTATION)
}

/// Formats a value like [`to_pretty_json`], with this indentation.
pub fn to_indented_json(value: &impl Serialize, indentation: &str) -> String {
    let mut bytes = Vec::new();
    serialize(value, &mut bytes, PrettyFormatter::with_indent(indentation.as_bytes()));
    escaped(bytes) + "\n"
}

/// Returns a document of a schema, with a final newline.
pub fn json_document(schema: &str, write: impl FnOnce(&mut JsonWriter)) -> String {
    let mut json = JsonWriter::new(schema);
    write(&mut json);
    json.end();
    json.take()
}

/// Returns a document of a schema as one line.
pub fn json_line(schema: &str, write: impl FnOnce(&mut JsonWriter)) -> String {
    let mut json = JsonWriter { text: Vec::new(), open: Vec::new(), is_line: true };
    json.begin(b'{', b'}');
    json.field("schema", schema);
    write(&mut json);
    json.end();
    json.take()
}

/// Returns an object in `depth` objects and arrays of a document, for [`JsonWriter::element`].
pub fn nested_json(depth: usize, write: impl FnOnce(&mut JsonWriter)) -> String {
    let mut json = JsonWriter { text: Vec::new(), open: vec![(b']', true); depth], is_line: false };
    json.begin(b'{', b'}');
    write(&mut json);
    json.end();
    // The texts of several images wait for their turn. Up to half of each buffer would be spare capacity.
    json.text.shrink_to_fit();
    // The document escapes it.
    String::from_utf8(json.text).expect("JSON is UTF-8")
}

/// A document that is written piece by piece, so that it never is in memory as a whole.
#[derive(Debug)]
pub struct JsonWriter {
    text: Vec<u8>,
    /// For each open object or array, its last character, and whether it has a value.
    open: Vec<(u8, bool)>,
    /// The text has no spaces and line breaks.
    is_line: bool,
}

impl JsonWriter {
    /// Begins a document of a schema, which is an object.
    pub fn new(schema: &str) -> Self {
        let mut json = JsonWriter::plain(b'{', b'}');
        json.field("schema", schema);
        json
    }

    /// Begins a document with the first and the last character of an object or array.
    pub fn plain(first: u8, last: u8) -> Self {
        let mut json = JsonWriter { text: Vec::new(), open: Vec::new(), is_line: false };
        json.begin(first, last);
        json
    }

    /// Adds a field to an object.
    pub fn field(&mut self, key: &str, value: impl Serialize) {
        self.key(key);
        if self.is_line {
            return serialize(&value, &mut self.text, CompactFormatter);
        }
        let mut formatter = PrettyFormatter::with_indent(INDENTATION.as_bytes());
        for _ in &self.open {
            formatter.begin_array(&mut io::sink()).expect("the sink accepts all bytes");
        }
        serialize(&value, &mut self.text, formatter);
    }

    /// Adds a field whose value is known.
    pub fn optional(&mut self, key: &str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.field(key, value);
        }
    }

    /// Adds an array of values.
    pub fn list<T: Serialize>(&mut self, key: &str, values: impl IntoIterator<Item = T>) {
        self.field(key, values.into_iter().collect::<Vec<T>>());
    }

    /// Adds an object to an object.
    pub fn object(&mut self, key: &str, write: impl FnOnce(&mut Self)) {
        self.key(key);
        self.begin(b'{', b'}');
        write(self);
        self.end();
    }

    /// Adds an array of objects.
    pub fn objects<T>(&mut self, key: &str, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.begin_array(key);
        for item in items {
            self.element_object(|json| write(json, item));
        }
        self.end();
    }

    /// Adds an array of objects that is not empty.
    pub fn objects_if_any<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        write: impl FnMut(&mut Self, T),
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_some() {
            self.objects(key, items, write);
        }
    }

    /// Begins an object in an object.
    pub fn begin_field(&mut self, key: &str) {
        self.key(key);
        self.begin(b'{', b'}');
    }

    /// Begins an array in an object.
    pub fn begin_array(&mut self, key: &str) {
        self.key(key);
        self.begin(b'[', b']');
    }

    /// Begins an object in an array.
    pub fn begin_object(&mut self) {
        self.begin_value();
        self.begin(b'{', b'}');
    }

    /// Adds an object to an array.
    pub fn element_object(&mut self, write: impl FnOnce(&mut Self)) {
        self.begin_object();
        write(self);
        self.end();
    }

    /// Adds a value to an array, as formatted by [`nested_json`] for the number of open objects and arrays.
    pub fn element(&mut self, text: &str) {
        self.begin_value();
        self.text.extend(text.as_bytes());
    }

    /// Adds an array of values that are formatted as for [`element`](Self::element).
    pub fn elements<'a>(&mut self, key: &str, texts: impl IntoIterator<Item = &'a String>) {
        self.begin_array(key);
        for text in texts {
            self.element(text);
        }
        self.end();
    }

    /// Ends an object or array; the outermost with a newline.
    pub fn end(&mut self) {
        let Some((last, has_value)) = self.open.pop() else { return };
        if has_value {
            self.new_line();
        }
        self.text.push(last);
        if self.open.is_empty() {
            self.text.push(b'\n');
        }
    }

    /// Returns the text since the last call.
    pub fn take(&mut self) -> String {
        escaped(std::mem::take(&mut self.text))
    }

    fn begin(&mut self, first: u8, last: u8) {
        self.text.push(first);
        self.open.push((last, false));
    }

    fn key(&mut self, key: &str) {
        self.begin_value();
        self.text.push(b'"');
        self.text.extend(key.as_bytes());
        self.text.extend(if self.is_line { b"\":".as_slice() } else { b"\": " });
    }

    fn begin_value(&mut self) {
        if let Some((_, has_value)) = self.open.last_mut() {
            self.text.extend(has_value.then_some(b','));
            *has_value = true;
        }
        self.new_line();
    }

    fn new_line(&mut self) {
        if !self.is_line {
            self.text.push(b'\n');
            let spaces = INDENTATION.len() * self.open.len();
            self.text.resize(self.text.len() + spaces, b' ');
        }
    }
}

fn serialize(value: &impl Serialize, text: &mut Vec<u8>, formatter: impl Formatter) {
    let written = value.serialize(&mut Serializer::with_formatter(text, formatter));
    written.expect("strings and numbers serialize");
}

fn escaped(bytes: Vec<u8>) -> String {
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

    #[test]
    fn a_document_in_pieces_is_that_of_the_serializer() {
        let document = json!({
            "empty": [], "files": [{ "a": [1, { "b": [] }] }, { "images": [{ "x": "\u{202e}\"" }], "z": {} }],
            "last": { "v": [[2]] }, "schema": "s/1",
        });
        let write = |json: &mut JsonWriter| {
            json.optional("absent", None::<u8>);
            json.objects_if_any("absent", [0; 0], |_, _| {});
            json.objects("empty", [0; 0], |_, _| {});
            json.objects("files", [0, 1], |json, index| {
                if index == 0 {
                    return json.field("a", json!([1, { "b": [] }]));
                }
                json.objects_if_any("images", ["\u{202e}\""], |json, text| json.optional("x", Some(text)));
                json.object("z", |_| {});
            });
            json.object("last", |json| json.list("v", [[2]]));
        };
        // The serializer sorts fields; the schema is the first field of a document.
        let sorted = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let pretty = json_document("s/1", write);
        assert_eq!(sorted(&pretty), document);
        assert_eq!(pretty.replacen("\n  \"schema\": \"s/1\",", "", 1), to_pretty_json(&without_schema(&document)));
        let line = json_line("s/1", write);
        let expected = escape_json(&without_schema(&document).to_string()).into_owned() + "\n";
        assert_eq!(line.replacen("\"schema\":\"s/1\",", "", 1), expected);
    }

    #[test]
    fn a_nested_object_has_the_indentation_of_its_place() {
        let object = nested_json(2, |json| json.list("a", [1]));
        let mut json = JsonWriter::new("s/1");
        json.begin_array("files");
        json.element(&object);
        let begin = json.take();
        json.begin_object();
        json.field("b", "c");
        json.end();
        json.end();
        json.begin_field("d");
        json.end();
        json.end();
        let expected = json_document("s/1", |json| {
            json.field("files", [json!({ "a": [1] }), json!({ "b": "c" })]);
            json.field("d", json!({}));
        });
        assert_eq!(begin + &json.take(), expected);
    }

    fn without_schema(document: &serde_json::Value) -> serde_json::Value {
        let mut document = document.clone();
        document.as_object_mut().unwrap().remove("schema");
        document
    }
}
