//! The tool that links device code and registers it in a program: clang-linker-wrapper.
//!
//! Source: the tools of LLVM 15, 16, 19 and 22, with `--dry-run` and `--save-temps`.

/// Differences between the releases of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkerRules {
    /// True if fatbin replaces the tool of this release.
    pub is_replaced: bool,
    /// True if the tool has options for its own link-time optimization, and the words of the host linker may follow `--`.
    pub has_own_lto: bool,
    /// True if the printed commands include those for steps that the tool does by itself, so that they can be run again.
    pub prints_all_steps: bool,
    /// True if members of archives are linked only where their symbols are needed.
    pub resolves_symbols: bool,
    /// True if code for one processor with different settings of features is linked separately, except that of archives.
    pub separates_features: bool,
    /// Word for HIP in the IDs of a bundle.
    pub hip: &'static str,
    /// ID of the host's entry in a bundle as it is stored, whatever the host is.
    pub host_id: &'static str,
}
