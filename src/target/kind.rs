//! Offload kinds: the programming model whose runtime an image is registered with.

/// Who registers and launches an image.
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
    /// The host's own code, which bundles carry as an entry of its own.
    Host,
}

/// Name and value of each kind. The names are those of the command line and of bundle entry ids; the values are the
/// bits of the offload binary's `offload kind` field (`llvm/Object/OffloadBinary.h`: HIP is 4, although the packager's
/// document says 3). Host code has no bit.
const KINDS: [(OffloadKind, &str, u16); 5] = [
    (OffloadKind::OpenMp, "openmp", 1),
    (OffloadKind::Cuda, "cuda", 2),
    (OffloadKind::Hip, "hip", 4),
    (OffloadKind::Sycl, "sycl", 8),
    (OffloadKind::Host, "host", 0),
];

/// What bundles call HIP since code objects have version 4.
const HIP_V4: &str = "hipv4";

impl OffloadKind {
    /// The name that users write.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The value in an offload binary; 0 for host code.
    pub fn bit(self) -> u16 {
        self.row().2
    }

    /// The kind that an offload binary's field stands for. `None` for 0 and for values that combine bits or are
    /// unknown: guessing one of several would hide the others.
    pub fn from_bit(bit: u16) -> Option<Self> {
        KINDS.into_iter().find(|&(_, _, value)| value == bit && bit != 0).map(|(kind, ..)| kind)
    }

    /// Every name that [`OffloadKind::from_name`] takes.
    pub fn names() -> Vec<&'static str> {
        KINDS.iter().map(|row| row.1).chain([HIP_V4]).collect()
    }

    /// The kind that a user or a bundle entry id names; `hipv4` is HIP with code object version 4 or later.
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
    fn a_value_with_two_bits_or_an_unknown_one_is_no_kind() {
        for bit in [0, 3, 5, 16, u16::MAX] {
            assert_eq!(OffloadKind::from_bit(bit), None, "{bit}");
        }
        assert_eq!(OffloadKind::from_bit(4), Some(OffloadKind::Hip));
    }

    #[test]
    fn names_go_both_ways() {
        for (kind, name, _) in KINDS {
            assert_eq!(OffloadKind::from_name(name), Some(kind));
            assert_eq!(kind.name(), name);
            assert!(OffloadKind::names().contains(&name));
        }
    }
}
