//! Analyses of device images, without a policy: the image that a device runs, its requirements, and where bytes and
//! gaps are.

#[cfg(feature = "full")]
pub(crate) mod coverage;
#[cfg(feature = "full")]
pub(crate) mod inspect;
#[cfg(feature = "full")]
pub(crate) mod metadata;
pub(crate) mod requires;
pub(crate) mod select;
#[cfg(feature = "full")]
pub(crate) mod size;
#[cfg(feature = "full")]
pub(crate) mod survey;
#[cfg(feature = "full")]
pub(crate) mod verify;

pub use select::{
    AnsweredFile, AnsweredSet, CandidateSet, CandidateVerdict, DeviceAnswer, RejectReason, Selection, candidate_sets,
};
#[cfg(feature = "full")]
pub use verify::{VerifyError, verify};
