//! Device code that cannot be linked, and why.

use std::fmt;

/// An input whose device code cannot be linked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedInput {
    /// Path, or `ARCHIVE!MEMBER`.
    pub path: String,
    /// The reason.
    pub reason: Refusal,
}

/// Reason why device code cannot be linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Only the compiler of DPC++ links these images.
    Sycl {
        /// Triple of the images.
        triple: String,
    },
    /// The wrapper of the requested release registers none of the object's offload entries.
    OtherEntries {
        /// Release of the entries.
        needed: &'static str,
        /// Requested release.
        abi: &'static str,
    },
    /// A member of an archive is a bundle with a module of the host. No host linker reads it.
    BundleInArchive,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Sycl { triple } => write!(
                formatter,
                "SYCL device code for {triple} is linked by DPC++ only; link with its compiler (clang++ -fsycl or icpx -fsycl)"
            ),
            Refusal::OtherEntries { needed, abi } => write!(
                formatter,
                "its offload entries are of {needed}, and a wrapper of {abi} registers none of them"
            ),
            Refusal::BundleInArchive => formatter.write_str(
                "this bundle contains host code, which linkers do not read; unbundle it, and archive the host code and the device code",
            ),
        }
    }
}
