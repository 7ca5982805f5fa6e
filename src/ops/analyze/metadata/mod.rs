//! Metadata of packages that names GPU architectures: written from the device code of a package, and compared with it.
//!
//! Loaders and installers read this metadata to decide whether a package suits a device. It states what the build
//! system was configured for. None of the tools that write it reads the binaries. [`DeviceCode`] is what the binaries
//! contain. [`PackageMetadata`] is what the metadata claims.
//!
//! | format | file | reader |
//! |---|---|---|
//! | Hugging Face kernels | `metadata.json` | `kernels`, which loads a kernel from the Hub |
//! | wheel variants (PEP 825) | `NAME.dist-info/variant.json` | installers with `variantlib` |
//! | conda | `info/index.json` | conda, mamba, pixi |

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod claim;
pub mod conda;
mod cuda_floor;
mod device_code;
pub mod distribution;
pub mod hugging_face;
mod package;
mod version_spec;
pub mod wheel_variant;

pub use claim::{Claim, ClaimedCode, Meaning};
pub use cuda_floor::cuda_floor;
pub use device_code::{Backend, DeviceCode, UndeterminedImage};
pub use package::{InvalidMetadata, MetadataFormat, PackageMetadata};
pub use version_spec::VersionSpec;
