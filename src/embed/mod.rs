//! Host objects and containers from device images, and host objects from any files.

#[cfg(feature = "files")]
pub(crate) mod build;
#[cfg(feature = "files")]
pub(crate) mod bundle;
#[cfg(feature = "files")]
pub(crate) mod files;
pub(crate) mod llvm;
#[cfg(feature = "files")]
pub(crate) mod pack;
#[cfg(feature = "files")]
pub(crate) mod pack_fatbin;
pub(crate) mod wrap;

#[cfg(feature = "files")]
pub use build::{BuildError, EmbeddedFiles, RegisteredImages};
#[cfg(feature = "files")]
pub use bundle::{BundleError, BundleInput, BundleOptions, BundleSummary, UnbundleOptions, bundle, unbundle};
pub use llvm::{NEWEST, Release};
#[cfg(feature = "files")]
pub use pack::{PackInput, PackOptions, pack};
#[cfg(feature = "files")]
pub use pack_fatbin::{FatbinInput, FatbinOptions, pack_fatbin};
pub use wrap::{
    EmbeddedForm, ImageError, LargeImages, OffloadEntry, SourceImage, TargetOverride, WrapError, WrapperBuilder,
    WrapperFormat,
};
