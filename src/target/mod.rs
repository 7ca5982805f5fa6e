//! Targets of images: offload kinds, triples, processors and bundle entry IDs. Values only; no files.

pub(crate) mod amdgpu;
pub(crate) mod bundle_entry_id;
pub(crate) mod compatibility;
pub(crate) mod cuda_tool_note;
pub(crate) mod device;
pub(crate) mod gfx_override;
pub(crate) mod gpu_names;
mod id_style;
pub(crate) mod intel;
mod kind;
pub(crate) mod link_rules;
pub(crate) mod machine;
pub(crate) mod metal;
pub(crate) mod musa;
pub(crate) mod nvcc_names;
pub(crate) mod nvptx;
pub(crate) mod processors;
pub(crate) mod runs_on;
#[cfg(test)]
mod runs_on_tests;
pub(crate) mod subarch;
pub(crate) mod target_id;
pub(crate) mod triple;

pub(crate) use bundle_entry_id::BundleEntryId;
pub(crate) use device::Platform;
pub use device::{Device, InvalidDevice};
pub(crate) use id_style::{IdStyle, UnsupportedStyle};
pub use kind::OffloadKind;
pub use metal::System as AppleSystem;
pub(crate) use target_id::{InvalidTargetId, TargetId};
pub(crate) use triple::{Triple, names_architecture};

/// Returns the key that sorts names of processors in natural order: numbers by value, so that `sm_100` follows `sm_90`.
pub(crate) fn natural_order(name: &str) -> (String, u64, String) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (front, rest) = name.split_at(digits);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (front.to_owned(), rest[..end].parse().unwrap_or(0), rest[end..].to_owned())
}
