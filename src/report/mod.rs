//! Inventories as text: for people as a table or a page, for programs as JSON. Where an inventory came from is not known here.

mod inspection;
mod json;
mod page;
mod table;
mod text;

pub use inspection::{
    Inspected, InspectedFile, Matrix, inspection_json, inspection_table, matrix_json, matrix_table, without_images,
};
pub use json::{json, json_line};
pub use page::page;
pub use table::table;
