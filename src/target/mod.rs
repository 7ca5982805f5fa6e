//! What an image is for: offload kinds, triples, processors and the ids that bundles use. Pure values, no files.

pub mod amdgpu;
mod bundle_entry_id;
pub mod compatibility;
pub mod device;
mod kind;
pub mod nvptx;
mod order;
pub mod processors;
pub mod runs_on;
#[cfg(test)]
mod runs_on_tests;
pub mod target_id;
pub mod triple;

pub use bundle_entry_id::{BundleEntryId, InvalidBundleEntryId};
pub use device::{Device, InvalidDevice, Platform};
pub use kind::OffloadKind;
pub use order::order;
pub use target_id::{InvalidTargetId, TargetId};
pub use triple::{Triple, names_architecture};
