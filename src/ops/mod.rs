//! Operations on files, each a function of plain options. They know no command-line syntax.

#[cfg(feature = "inspect")]
mod analyze;
mod bundle;
#[cfg(feature = "check")]
mod check;
#[cfg(feature = "cli")]
mod embed;
#[cfg(feature = "inspect")]
pub mod extract;
mod fatbin;
#[cfg(feature = "inspect")]
pub mod filter;
#[cfg(feature = "inspect")]
mod image_bytes;
#[cfg(feature = "inspect")]
mod inspect;
#[cfg(feature = "check")]
mod lock;
mod pack;
#[cfg(feature = "cli")]
pub(crate) mod replace;
#[cfg(feature = "cli")]
mod size;
#[cfg(feature = "inspect")]
mod verify;
#[cfg(feature = "cli")]
mod what_if;
mod wrap;

#[cfg(feature = "cli")]
pub use analyze::cuda_codes;
#[cfg(feature = "inspect")]
pub use analyze::{analyze_outcome, survey};
pub use bundle::{
    BundleError, BundleInput, BundleOptions, BundleSummary, CompressionStats, Explain, FollowingData, RequestedTarget,
    UnbundleOptions, bundle, check_archive, check_composition, decompression_stats, following_data, list,
    member_decompression_stats, unbundle,
};
#[cfg(feature = "check")]
pub use check::{CheckedPaths, Checker, check_paths};
#[cfg(feature = "cli")]
pub(crate) use embed::{EmbedOptions, embed};
#[cfg(feature = "inspect")]
pub use extract::extract;
pub use fatbin::{FatbinInput, FatbinOptions, pack_fatbin};
#[cfg(feature = "inspect")]
pub use filter::{ImageFilter, KernelPattern, Predicate};
#[cfg(feature = "cli")]
pub(crate) use image_bytes::ImageErrors;
#[cfg(feature = "inspect")]
pub use image_bytes::{image_error, inspect_image};
#[cfg(feature = "cli")]
pub use image_bytes::{kernel_names, kernels_of};
#[cfg(feature = "inspect")]
pub use inspect::{Incomplete, inspect};
#[cfg(feature = "check")]
pub use lock::{LockBuilder, RecordedFile, lock_paths};
pub use pack::{PackInput, PackOptions, pack, pack_into};
#[cfg(feature = "cli")]
pub(crate) use size::{FileSizes, SizeOptions, size};
#[cfg(feature = "inspect")]
pub use verify::{VerifyError, verify};
#[cfg(feature = "cli")]
pub(crate) use what_if::{CodecLevels, Effect, WhatIf, what_if};
#[cfg(feature = "cli")]
pub(crate) use wrap::wrap_into;
pub use wrap::{ImageFile, WrapOptions, WrapSummary, wrap};
