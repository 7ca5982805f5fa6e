//! What an image is for: offload kinds, triples, processors and the ids that bundles use. Pure values, no files.

pub mod amdgpu;
mod bundle_entry_id;
pub mod compatibility;
mod kind;
pub mod nvptx;
mod order;
pub mod processors;
pub mod target_id;
pub mod triple;

pub use bundle_entry_id::{BundleEntryId, InvalidBundleEntryId};
pub use kind::OffloadKind;
pub use order::order;
pub use target_id::{InvalidTargetId, TargetId};
pub use triple::{Triple, names_architecture};
