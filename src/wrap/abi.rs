//! ABI generations: what a wrapper object and the host objects that it is linked with have to agree on.
//!
//! Clang writes the offload entries into the host objects, the wrapper hands them to the runtime; section names, entry
//! layout and the way to unregister changed from release to release. A row a generation; code that builds a plan asks
//! the row and never the release.

/// One generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation {
    /// The LLVM releases that agree with it, as users write them.
    pub name: &'static str,
    /// The section of the offload entries; a C identifier, so that linkers define `__start_` and `__stop_` for it.
    pub entry_section: &'static str,
    /// Name of the object of size zero that keeps the entry section in the link when no host object has entries.
    pub placeholder: &'static str,
    /// Name of the object's source.
    pub source_name: &'static str,
    /// Priority of the constructor. Up to 100 is reserved, and host objects register their requirements before.
    pub constructor_priority: u16,
}

/// LLVM 21 and 22: one entry section for all kinds, 56-byte entries, unregistering through `atexit`.
/// Source: objects made by llvm-offload-wrapper and clang-linker-wrapper 22.1.8.
pub const LLVM_21: Generation = Generation {
    name: "llvm21",
    entry_section: "llvm_offload_entries",
    placeholder: "__dummy.llvm_offload_entries",
    source_name: "offload.wrapper.module",
    constructor_priority: 101,
};
