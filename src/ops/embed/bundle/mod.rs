//! Bundles of files for several targets: creating, extracting and listing them.

mod create;
mod error;
mod extract;
pub mod file;
mod following;
mod list;
mod members;
mod stats;

pub use create::{BundleInput, BundleOptions, bundle, bundle_to_vec, check_composition, check_contents};
pub use error::BundleError;
pub use extract::{Explain, RequestedTarget, UnbundleOptions, check_archive, unbundle};
pub use following::{FollowingData, following_data};
pub use list::list;
pub use stats::{CompressionStats, decompression_stats, member_decompression_stats};
