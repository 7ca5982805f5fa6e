//! Analyses of device images, without a policy: the image that a device runs, its requirements, and where bytes and
//! gaps are.

#[cfg(feature = "full")]
pub mod coverage;
#[cfg(feature = "full")]
pub mod host_runtime;
#[cfg(feature = "full")]
pub mod inspect;
#[cfg(feature = "full")]
pub mod locate;
#[cfg(feature = "full")]
pub mod metadata;
#[cfg(feature = "full")]
pub mod promise;
pub mod requires;
pub mod runtime_selection;
pub mod select;
#[cfg(feature = "full")]
pub mod size;
#[cfg(feature = "full")]
pub mod survey;
#[cfg(feature = "full")]
pub mod vendored;
#[cfg(feature = "full")]
pub mod verify;

pub use runtime_selection::{ImageVerdict, RuntimeSelection, select};
pub use select::CandidateVerdict;
