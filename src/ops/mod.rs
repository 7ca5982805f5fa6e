//! What the program does with files: one file an operation, each a function of plain options. No command-line syntax.

mod extract;
mod names;
mod pack;
mod selection;
mod wrap;

pub use extract::{Destination, ExtractOptions, Extracted, Scanned, extract};
pub use names::Names;
pub use pack::{ImageToPack, PackOptions, pack, pack_into};
pub use selection::{Criterion, Selection};
pub use wrap::{Chosen, ImageFile, LargeImages, WrapOptions, wrap};
