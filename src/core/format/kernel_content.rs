//! Whether an image has kernels.

/// What a runtime that selects an image finds in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelContent {
    /// No kernel.
    Nothing,
    /// Only kernels without a body.
    Stubs,
    /// Kernels; also for an image that was not read completely.
    #[default]
    Kernels,
}
