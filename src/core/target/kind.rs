//! Offload kinds: the programming model whose runtime registers an image.

/// Programming model whose runtime registers and launches an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OffloadKind {
    /// OpenMP target offloading; the runtime is libomptarget.
    OpenMp,
    /// CUDA.
    Cuda,
    /// HIP.
    Hip,
    /// SYCL.
    Sycl,
    /// MUSA of Moore Threads, which only reading supports.
    Musa,
    /// Host code, which bundles store in a separate entry.
    Host,
}

/// Name and value of each kind. The command line and bundle entry IDs use the names; the values are the bits of the
/// offload binary's `offload kind` field (`llvm/Object/OffloadBinary.h` since LLVM 21). Host code and MUSA have no bit.
const KINDS: [(OffloadKind, &str, u16); 6] = [
    (OffloadKind::OpenMp, "openmp", 1),
    (OffloadKind::Cuda, "cuda", 2),
    (OffloadKind::Hip, "hip", 4),
    (OffloadKind::Sycl, "sycl", 8),
    // clang-offload-bundler of MUSA 5.2: `musa-mtgpu-mt-musa--mp_31`.
    (OffloadKind::Musa, "musa", 0),
    (OffloadKind::Host, "host", 0),
];

/// Name of HIP in bundles since version 4 of code objects.
const HIP_V4: &str = "hipv4";

impl OffloadKind {
    /// Value of HIP before LLVM 21, when the kinds were counted instead of being bits (llvm-project pull request
    /// 135809). A container for both OpenMP and CUDA would have the same value now, but every image has a single kind.
    #[doc(hidden)]
    pub const HIP_BEFORE_LLVM_21: u16 = 3;

    /// Name that users write.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Value in an offload binary; 0 for host code.
    #[doc(hidden)]
    pub fn bit(self) -> u16 {
        self.row().2
    }

    /// Returns the kind for the value of an offload binary's field, as any release of LLVM writes it. `None` for 0 and
    /// for values that combine bits or are unknown: guessing one of several would hide the others.
    #[doc(hidden)]
    pub fn from_bit(bit: u16) -> Option<Self> {
        if bit == Self::HIP_BEFORE_LLVM_21 {
            return Some(OffloadKind::Hip);
        }
        KINDS.into_iter().find(|&(_, _, value)| value == bit && bit != 0).map(|(kind, ..)| kind)
    }

    /// Returns the names of the kinds that can be written.
    pub fn names() -> Vec<&'static str> {
        let written = KINDS.iter().filter(|row| row.0 != OffloadKind::Musa);
        written.map(|row| row.1).chain([HIP_V4]).collect()
    }

    /// Returns the kind with this name, as users and bundle entry IDs write it; `hipv4` is HIP with code object version
    /// 4 or later.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == HIP_V4 { "hip" } else { name };
        KINDS.into_iter().find(|&(_, known, _)| known == name).map(|(kind, ..)| kind)
    }

    fn row(self) -> (OffloadKind, &'static str, u16) {
        KINDS.into_iter().find(|&(kind, ..)| kind == self).expect("every kind has a row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_two_bits_and_unknown_values_have_no_kind() {
        for bit in [0, 5, 6, 7, 16, u16::MAX] {
            assert_eq!(OffloadKind::from_bit(bit), None, "{bit}");
        }
        for bit in [3, 4] {
            assert_eq!(OffloadKind::from_bit(bit), Some(OffloadKind::Hip), "{bit}");
        }
    }

    #[test]
    fn names_round_trip() {
        for (kind, name, _) in KINDS {
            assert_eq!(OffloadKind::from_name(name), Some(kind));
            assert_eq!(kind.name(), name);
            assert_eq!(OffloadKind::names().contains(&name), kind != OffloadKind::Musa);
        }
    }
}
