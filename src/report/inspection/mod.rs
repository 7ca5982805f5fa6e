//! What is inside images, as text: per image for people and for programs, or as the matrix of kernels and architectures.

mod figures;
mod json;
mod matrix;
mod table;

pub use json::{inspection_json, matrix_json};
pub use matrix::{Arch, Cell, Matrix, matrix_table};
pub use table::{inspection_table, without_images};

use crate::inspect::Inspection;
use crate::inventory::{File, Image};

/// An image that was looked into.
#[derive(Debug, Clone)]
pub struct Inspected<'a> {
    /// Its number among the device images of its file.
    pub number: usize,
    pub image: &'a Image,
    pub inspection: Inspection,
}

/// A file and its images that were looked into.
#[derive(Debug, Clone)]
pub struct InspectedFile<'a> {
    pub file: &'a File,
    pub images: Vec<Inspected<'a>>,
}
