//! Numbers of the offload kinds.

use fatbin_core::target::OffloadKind;

/// Numbers of the offload kinds in offload binaries and, since LLVM 20, in offload entries.
///
/// Source: llvm-project pull request 135809 (LLVM 21); the packagers of LLVM 15, 16, 19 and 22.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindNumbers {
    /// Kinds are counted: HIP is 3, and SYCL has no number.
    Counted,
    /// Each kind is a bit: HIP is 4, SYCL 8.
    Bits,
}

impl KindNumbers {
    /// Returns the number of an offload kind; 0 for a kind without one.
    pub fn number(self, kind: OffloadKind) -> u16 {
        match (self, kind) {
            (KindNumbers::Counted, OffloadKind::Hip) => OffloadKind::HIP_BEFORE_LLVM_21,
            (KindNumbers::Counted, OffloadKind::Sycl) => 0,
            (_, kind) => kind.bit(),
        }
    }
}
