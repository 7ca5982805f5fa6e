//! What `select` found: per choice which image a runtime takes and why no other, as text and as JSON.

mod json;
mod text;

pub use json::selection_json;
pub use text::{selection_summary, selection_text};
