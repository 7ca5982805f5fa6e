//! The tool that packs offload binaries: clang-offload-packager, since LLVM 22 llvm-offload-binary.
//!
//! Sources: the tools of LLVM 15, 16, 19 and 22; llvm-project pull requests 169425 and 197456 (several images in one
//! binary, LLVM 23), 222774 (compression, LLVM 24); for extraction by LLVM 23 its tests,
//! `llvm/test/tools/llvm-offload-binary`. The tools of 17, 18, 20 and 21 were not at hand; their rows repeat the
//! preceding release except for facts from these sources.

use fatbin_core::format::offload_binary::Version;

/// Differences between the packagers of LLVM's releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackagerRules {
    /// Version of the binaries that the tool writes.
    pub version: Version,
    /// Newest version of the binaries that the tool reads.
    pub reads: Version,
    /// True if the tool extracts all images if none is requested, opens binaries in binaries, prints the names of files
    /// that it generates, and ignores shared libraries.
    pub extracts_all: bool,
    /// True if `member` selects a member of an archive.
    pub has_members: bool,
    /// True if the tool has `--compress`.
    pub has_compression: bool,
    /// Keys that `--image` requires.
    pub required_keys: RequiredKeys,
    /// Files that one `--image` packs.
    pub packed_files: PackedFiles,
    /// Order of an image's strings.
    pub string_order: StringOrder,
    /// Extraction from binaries.
    pub extraction: Extraction,
    /// True if generated names are numbered by the image's place in the file, and not among the extracted images.
    pub numbers_all: bool,
    /// True if the tool is llvm-offload-binary, and its old name causes a warning.
    pub is_renamed: bool,
}

/// Keys that every `--image` must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredKeys {
    /// `file` and `triple`.
    FileAndTriple,
    /// `file`.
    File,
}

/// Files that one `--image` packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackedFiles {
    /// One: several values of `file` are one name with commas.
    One,
    /// One per value of `file`.
    PerValue,
}

/// Order of an image's strings. A release's tool stores the keys of `--image` in hash maps and writes the strings in
/// the order of those maps. Source: the output of the tools of LLVM 15, 16, 19 and 22 for thousands of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringOrder {
    /// A `StringMap` of the strings, filled from a `StringMap` of all keys.
    StringMaps,
    /// A `StringMap` of the strings, filled from a `DenseMap` of all keys.
    DenseAndStringMap,
    /// A `DenseMap` of all keys.
    DenseMap,
}

/// Extraction of images by the packager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extraction {
    /// The tool only packs, and requires an output.
    Unsupported,
    /// Images are extracted to files; several values of `file` are one name.
    Files,
    /// Images are extracted to files or to an archive.
    FilesAndArchives,
}
