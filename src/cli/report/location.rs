//! `addr2line`: functions, files and lines of locations in device code, as text and JSON.
//!
//! ```text
//! { "schema": "fatbin.addr2line/1",
//!   "locations": [ { "location": "_Z4kernPVj+0x80", "image": 0, "arch": "sm_90",
//!     "frames": [ { "function": "_Z3barj", "demangled": "bar(unsigned int)", "file": "/src/a.cu", "line": 4, "column": 77 } ] } ] }
//! ```

use fatbin_core::base::escape::escape;
use fatbin_core::base::json::JsonWriter;
use fatbin_core::image::{Frame, demangle};
use fatbin_core::scan::ImageRef;

const SCHEMA: &str = "fatbin.addr2line/1";

/// Returns the lines about a location: one for each function, the innermost first.
pub fn location_text(location: &str, frames: &[Frame<'_>]) -> String {
    let mut text = format!("{}\n", escape(location));
    for frame in frames {
        let function = frame.function.map_or_else(|| "??".to_owned(), |name| demangle(name).unwrap_or(name.to_owned()));
        text += &format!("  {} at {}\n", escape(&function), escape(&position(frame)));
    }
    if frames.is_empty() {
        text += "  ?? at ??\n";
    }
    text
}

/// Returns FILE:LINE:COLUMN without what is not known. Line 0 stands for code that the compiler generated, as for
/// other tools.
fn position(frame: &Frame<'_>) -> String {
    let Some(file) = frame.file else { return "??".to_owned() };
    let mut text = format!("{file}:{}", frame.line.unwrap_or(0));
    if let Some(column) = frame.column {
        text += &format!(":{column}");
    }
    text
}

/// The JSON document, which is written while locations are searched.
pub struct LocationDocument(JsonWriter);

impl LocationDocument {
    /// Begins the document.
    pub fn new() -> LocationDocument {
        let mut json = JsonWriter::new(SCHEMA);
        json.begin_array("locations");
        LocationDocument(json)
    }

    /// Returns the text of the document to the end of a location.
    pub fn location(&mut self, location: &str, image: &ImageRef<'_>, frames: &[Frame<'_>]) -> String {
        let json = &mut self.0;
        json.element_object(|json| {
            json.field("location", location);
            json.field("image", image.index());
            json.optional("arch", image.arch.as_deref());
            json.objects("frames", frames, |json, frame| {
                json.optional("function", frame.function);
                json.optional("demangled", frame.function.and_then(demangle));
                json.optional("file", frame.file);
                json.optional("line", frame.line);
                json.optional("column", frame.column);
            });
        });
        json.take()
    }

    /// Returns the end of the document.
    pub fn end(&mut self) -> String {
        self.0.end();
        self.0.end();
        self.0.take()
    }
}
