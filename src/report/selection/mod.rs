//! Results of `select` as text and as JSON: for each candidate set the selected image and the reasons against the others.

mod gaps;
mod json;
mod kpack;
mod text;

pub use gaps::{KernelGap, selection_gaps};
pub use json::selection_json;
pub use text::{selection_summary, selection_text};
