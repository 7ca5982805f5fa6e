//! What the program does with files: one file an operation, each a function of plain options. No command-line syntax.

mod extract;
mod wrap;

pub use extract::{ExtractOptions, Names, extract};
pub use wrap::{Chosen, ImageFile, LargeImages, WrapOptions, wrap};
