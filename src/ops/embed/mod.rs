//! Host objects and containers from device images, and host objects from any files.

#[cfg(feature = "files")]
pub mod build;
#[cfg(feature = "files")]
pub mod bundle;
#[cfg(feature = "files")]
pub mod files;
pub mod llvm;
#[cfg(feature = "files")]
pub mod pack;
#[cfg(feature = "files")]
pub mod producer;
pub mod wrap;

#[cfg(feature = "files")]
pub use self::{
    build::{BuildError, EmbeddedFiles, RegisteredImages},
    producer::{
        BundleBuilder, BundleEntry, CudaFatbinBuilder, NvFatbin, NvFatbinError, OffloadBinaryBuilder, ProducerError,
        embed_bytes, unbundle,
    },
};
pub use llvm::Release;
pub use wrap::{
    EmbeddedForm, ImageError, LargeImages, OffloadEntry, TargetOverride, WrapError, WrapperBuilder, WrapperFormat,
};
