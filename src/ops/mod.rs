//! What the program does with files: one file an operation, each a function of plain options. No command-line syntax.

mod bundle;
mod choose;
mod extract;
mod inspect;
mod name_template;
mod names;
mod pack;
mod scanned;
mod selection;
mod shares;
mod survey;
mod verify;
mod wrap;

pub use bundle::{
    BundleOptions, Bundled, Explain, Figures, FileToBundle, UnbundleOptions, WantedFile, bundle, check_archive,
    check_composition, decompressed, decompressed_members, list, unbundle,
};
pub use extract::{Destination, ExtractOptions, Extracted, Told, Written, extract};
pub use inspect::{Unseen, inspect, problem};
pub use name_template::NameTemplate;
pub use pack::{ImageToPack, PackOptions, pack, pack_into};
pub use scanned::Scanned;
pub use selection::{Candidate, Criterion, KernelName, Selection};
pub use survey::survey;
pub use verify::verify;
pub use wrap::{ImageFile, WrapOptions, WrapSummary, wrap};
