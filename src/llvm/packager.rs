//! The tool that packs offload binaries: clang-offload-packager, since LLVM 22 llvm-offload-binary.
//!
//! Sources: the tools of LLVM 15, 16, 19 and 22; llvm-project pull requests 135809 (numbers of offload kinds, LLVM 21) and
//! 197456 (several images in one binary, LLVM 23). The tools of 17, 18, 20 and 21 were not at hand; their rows repeat the
//! preceding release except for facts from these sources.

use crate::format::offload_binary::Version;
use crate::target::OffloadKind;

/// Differences between the packagers of LLVM's releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackagerRules {
    /// Version of the binaries that the tool writes.
    pub version: Version,
    /// Numbers of the offload kinds.
    pub kinds: KindNumbers,
    /// Keys that `--image` requires.
    pub required_keys: RequiredKeys,
    /// Extraction from binaries.
    pub extraction: Extraction,
    /// True if the name clang-offload-packager causes a warning.
    pub warns_of_old_name: bool,
}

/// Numbers of the offload kinds in offload binaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindNumbers {
    /// Kinds are counted: HIP is 3, and SYCL has no number.
    Counted,
    /// Each kind is a bit: HIP is 4, SYCL 8.
    Bits,
}

/// Keys that every `--image` must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredKeys {
    /// `file` and `triple`.
    FileAndTriple,
    /// `file`.
    File,
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

impl KindNumbers {
    /// Returns the number of an offload kind; 0 for a kind that the release does not pack.
    pub fn number(self, kind: OffloadKind) -> u16 {
        match (self, kind) {
            (KindNumbers::Counted, OffloadKind::Hip) => OffloadKind::HIP_BEFORE_LLVM_21,
            (KindNumbers::Counted, OffloadKind::Sycl) => 0,
            (_, kind) => kind.bit(),
        }
    }
}
