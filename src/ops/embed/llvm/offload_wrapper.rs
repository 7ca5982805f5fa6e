//! The tool that writes wrapper objects since LLVM 21: llvm-offload-wrapper.
//!
//! Source: the tool of LLVM 22; `llvm/tools/llvm-offload-wrapper` of LLVM 23.

/// Differences between the releases of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffloadWrapperRules {
    /// True if the tool has `--kind=sycl` and `--relocatable`.
    pub is_extended: bool,
}
