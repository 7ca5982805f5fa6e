//! The tool that links device code and registers it in a program: clang-linker-wrapper.
//!
//! Source: the tools of LLVM 15, 16, 19 and 22, with `--dry-run` and `--save-temps`.

/// Differences between the releases of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkerRules {
    /// True if fatbin replaces the tool of this release.
    pub is_replaced: bool,
    /// True if the tool has options for its own link-time optimization, and the words of the host linker may follow
    /// `--`.
    pub has_own_lto: bool,
    /// Interpretation of the words of `--device-linker`.
    pub device_words: DeviceWords,
    /// True if ld.lld of the release has `--lto-CGO`.
    pub has_codegen_level: bool,
    /// True if clang links bitcode for NVIDIA GPUs with other images, by clang-nvlink-wrapper.
    pub links_nvptx_bitcode: bool,
    /// True if the link for a CPU device also gets the archives and shared libraries that the host line names by path.
    /// Otherwise it gets only the libraries of `-l`.
    pub shares_inputs: bool,
    /// True if the printed commands also cover the steps inside the tool, so that they can be run again.
    pub prints_all_steps: bool,
    /// True if members of archives are linked only where their symbols are needed.
    pub resolves_symbols: bool,
    /// True if code for one processor with different feature settings is linked separately, except for archive members.
    pub separates_features: bool,
    /// Word for HIP in the IDs of a bundle.
    pub hip: &'static str,
    /// ID of the host's entry in a stored bundle, the same for every host.
    pub host_id: &'static str,
}

/// Interpretation of the words that `-Xoffload-linker` passes to a device link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeviceWords {
    /// Words of the device linker: LLVM 15, and LLVM 20 on.
    #[default]
    Linker,
    /// Words of the device linker, separated by commas, because clang gets them after `-Wl,`: LLVM 16.
    CommaSeparated,
    /// Words of clang, which calls the device linker: LLVM 17 to 19.
    Compiler,
}
