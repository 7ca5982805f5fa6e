//! Contents of images as tables and JSON, per image or as kernels by device.

mod coverage;
mod json;
mod table;

pub use coverage::{coverage_rollup, coverage_table, family_table};
pub use json::{InspectionDocument, coverage_json, image_json};
pub use table::{inspection_rollup, inspection_table, lto_ir_line, metadata_lines, without_images};
