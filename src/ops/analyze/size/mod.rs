//! The bytes of files by what they are for: device images by arch, kind, codec, container, translation unit, kernel and
//! category, and all other bytes.
//!
//! Every byte of a file belongs to exactly one part, so that sizes add up to the size of the file. Images that are
//! compressed together share the bytes of the stream in proportion to their decompressed sizes, and so do the kernels
//! of an image. Shares are rounded by the method of the largest remainder (`bytes::apportion`). If containers overlap,
//! a byte belongs to the container that begins first.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod archs;
mod duplicates;
mod kernels;
mod label;
mod level;
pub mod measure;
mod package;
mod part;
mod tree;

pub use archs::ArchTotals;
pub use duplicates::{
    DuplicateImages, Duplicates, IdenticalKernels, ImageCopies, KernelCopies, KernelCopy, RepeatedKernel,
};
pub use kernels::{split, split_by_kernel};
pub use label::{Label, Rest};
pub use level::{FileLabels, ImagePlace, Level, container_label};
pub use package::{PackageSizes, Packages, PackedFile};
pub use part::{Owner, Part, parts};
pub use tree::{Code, Row, Size, Tree};
