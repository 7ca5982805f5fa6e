//! Targets of images: offload kinds, triples, processors and bundle entry IDs. Values only; no files.

pub mod amdgpu;
pub mod bundle_entry_id;
pub mod compatibility;
pub mod cuda_tool_note;
pub mod device;
pub mod gfx_override;
pub mod gpu_names;
mod id_style;
pub mod intel;
mod kind;
pub mod link_rules;
pub mod machine;
pub mod metal;
pub mod musa;
pub mod nvcc_names;
pub mod nvptx;
pub mod processors;
pub mod runs_on;
#[cfg(test)]
mod runs_on_tests;
pub mod subarch;
pub mod target_id;
pub mod triple;

pub use bundle_entry_id::BundleEntryId;
pub use device::Platform;
pub use device::{Device, InvalidDevice};
pub use id_style::{IdStyle, UnsupportedStyle};
pub use kind::OffloadKind;
pub use metal::System as AppleSystem;
pub use target_id::{InvalidTargetId, TargetId};
pub use triple::{Triple, names_architecture};

/// Returns the key that sorts names of processors in natural order: numbers by value, so that `sm_100` follows `sm_90`.
pub fn natural_order(name: &str) -> (String, u64, String) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (front, rest) = name.split_at(digits);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (front.to_owned(), rest[..end].parse().unwrap_or(0), rest[end..].to_owned())
}
