//! Inventories as text: for people as a table, for programs as JSON. Where an inventory came from is not known here.

mod extraction;
mod inspection;
mod json;
mod screen;
mod table;
mod text;

pub use extraction::{ExtractedImage, Index};
pub use inspection::{
    Inspected, InspectedFile, Matrix, inspection_json, inspection_table, matrix_json, matrix_table, without_images,
};
pub use json::{json, json_line};
pub use screen::Screen;
pub use table::table;
