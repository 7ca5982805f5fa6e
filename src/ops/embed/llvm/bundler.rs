//! The tool that bundles files for several targets: clang-offload-bundler.
//!
//! Sources: the tools of LLVM 14, 15, 16, 19 and 22; llvm-project commit 3cf190974a37 (`-check-input-archive`, LLVM 18)
//! and pull requests 67162 (compression, LLVM 18), 83605 (levels, LLVM 19), 122307 (version 3, LLVM 20), 122629
//! (four-part triples, LLVM 21) and 152600 (version 3 by default, LLVM 22). The tools of 17, 18, 20 and 21 were not at
//! hand; their rows repeat the preceding release except for facts from these sources.

use fatbin_core::format::ccob;

/// Differences between the bundlers of LLVM's releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundlerRules {
    /// Form of the IDs that the tool accepts and stores.
    pub ids: IdForm,
    /// Options for the files.
    pub file_options: FileOptions,
    /// True if the tool has the type `hipi`.
    pub has_hipi: bool,
    /// True if the tool has `-hip-openmp-compatible`.
    pub has_hip_openmp: bool,
    /// True if targets whose features exclude each other are an error.
    pub rejects_conflicts: bool,
    /// True if the tool has `-check-input-archive`.
    pub has_archive_check: bool,
    /// Compression of bundles; `None` where the tool has none.
    pub compression: Option<CompressionRules>,
}

/// Form of the IDs of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdForm {
    /// A triple of any length and a processor, stored as written.
    AsWritten,
    /// A triple of any length and a processor, stored with a triple of four parts.
    Completed,
    /// A triple of exactly four parts and a processor, stored in normal form; an unknown processor is dropped.
    FourParts,
}

/// Options for inputs and outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOptions {
    /// `-inputs` and `-outputs`, each with a list.
    Lists,
    /// `-input` and `-output`, once for each file. The lists cause a warning.
    Repeated,
}

/// Compression of bundles by a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressionRules {
    /// Version of the compressed form.
    pub version: ccob::Version,
    /// Level of zstd.
    pub level: i32,
    /// True if the tool has `-compression-level` and reads `OFFLOAD_BUNDLER_COMPRESSION_LEVEL`.
    pub has_levels: bool,
    /// True if the tool reads `COMPRESSED_BUNDLE_FORMAT_VERSION`, which may be 2 or 3.
    pub has_versions: bool,
    /// Size of the smallest file that `-verbose` reports on, in bytes.
    pub smallest_file: u64,
}
