//! Operations on files, each a function of plain options. They know no command-line syntax.

mod analyze;
mod bundle;
mod check;
pub mod extract;
pub mod filter;
mod image_bytes;
mod inspect;
mod lock;
mod pack;
mod verify;
mod wrap;

pub use analyze::{analyze_outcome, survey};
pub use bundle::{
    BundleOptions, Bundled, Explain, Figures, FileToBundle, UnbundleOptions, WantedFile, bundle, check_archive,
    check_composition, decompressed, decompressed_members, list, unbundle,
};
pub use check::{CheckedPaths, Checker, check_paths};
pub use extract::extract;
pub use filter::{ImageFilter, KernelPattern, Predicate};
pub use image_bytes::image_error;
pub use inspect::{Incomplete, inspect};
pub use lock::{LockBuilder, RecordedFile, lock_paths};
pub use pack::{ImageToPack, PackOptions, pack, pack_into};
pub use verify::{VerifyError, verify};
pub use wrap::{ImageFile, WrapOptions, WrapSummary, wrap};
