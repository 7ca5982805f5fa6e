//! Bundles of files for several targets: making them, taking them apart, and listing what is in them.

mod create;
mod decompressed;
mod extract;
mod file;
mod list;
mod members;

pub use create::{BundleOptions, Bundled, FileToBundle, bundle, check_composition};
pub use decompressed::{Figures, decompressed, decompressed_members};
pub use extract::{Explain, UnbundleOptions, WantedFile, check_archive, unbundle};
pub use list::list;
