//! Contents of images as tables and JSON, per image or as the matrix of kernels and architectures.

mod json;
mod matrix;
mod table;

pub use json::{inspection_json, matrix_json};
pub use matrix::matrix_table;
pub use table::{inspection_table, lto_ir_line, without_images};
