//! What the program does with files: one file an operation, each a function of plain options. No command-line syntax.

mod archive_members;
mod bundle;
mod bundle_file;
mod choose;
mod decompressed;
mod extract;
mod inspect;
mod list;
mod name_template;
mod names;
mod pack;
mod scanned;
mod selection;
mod shares;
mod survey;
mod unbundle;
mod unbundle_archive;
mod verify;
mod wrap;

pub use bundle::{BundleOptions, Bundled, Figures, FileToBundle, bundle, check_composition};
pub use decompressed::{decompressed, decompressed_members};
pub use extract::{Destination, ExtractOptions, Extracted, Told, Written, extract};
pub use inspect::{Unseen, inspect, problem};
pub use list::list;
pub use name_template::NameTemplate;
pub use pack::{ImageToPack, PackOptions, pack, pack_into};
pub use scanned::Scanned;
pub use selection::{Candidate, Criterion, KernelName, Selection};
pub use survey::survey;
pub use unbundle::{Explain, UnbundleOptions, WantedFile, unbundle};
pub use unbundle_archive::check_archive;
pub use verify::verify;
pub use wrap::{Chosen, ImageFile, LargeImages, WrapOptions, wrap};
