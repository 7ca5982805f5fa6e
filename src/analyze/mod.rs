//! Analyses of device images, without a policy: the image that a device runs, its requirements, and where bytes and
//! gaps are.

#[cfg(feature = "full")]
pub(crate) mod coverage;
#[cfg(feature = "full")]
pub(crate) mod host_runtime;
#[cfg(feature = "full")]
pub(crate) mod inspect;
#[cfg(feature = "full")]
pub(crate) mod locate;
#[cfg(feature = "full")]
pub(crate) mod metadata;
#[cfg(feature = "full")]
pub(crate) mod promise;
pub(crate) mod requires;
mod runtime_selection;
pub(crate) mod select;
#[cfg(feature = "full")]
pub(crate) mod size;
#[cfg(feature = "full")]
pub(crate) mod survey;
#[cfg(feature = "full")]
pub(crate) mod verify;

pub use runtime_selection::{ImageVerdict, RuntimeSelection, select};
pub use select::CandidateVerdict;
