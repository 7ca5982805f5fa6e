//! Changed members in archives: patches of the archive around patches of its members, so that all other bytes are
//! copied by the kernel and stay as they are.

pub mod ar;
pub mod zip;
