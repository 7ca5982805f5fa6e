//! NVIDIA's architectures as a table, and the rule that decides whether code runs on a device.
//!
//! Every command calls [`Arch::check`]. The trials `compatibility/ptxas` and `compatibility/nvlink` test every pair of
//! code and device with NVIDIA's newest tools, and fail if the tools disagree with this table.

use std::fmt;

use super::{Arch, Suffix};

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// Compute capability times ten.
    pub number: u32,
    /// True for embedded parts. Embedded and desktop parts do not run each other's machine code.
    pub is_embedded: bool,
    /// Suffixes that its code may have.
    pub suffixes: &'static [Suffix],
    /// Number of the first member of its family. Code with the suffix `f` runs on later members.
    pub family: Option<u32>,
    /// Its number in earlier releases of CUDA. Code for that number runs on it.
    pub former: Option<u32>,
}

const NO_SUFFIX: &[Suffix] = &[];
const SPECIFIC: &[Suffix] = &[Suffix::Specific];
const BOTH: &[Suffix] = &[Suffix::Specific, Suffix::Family];

const fn row(number: u32, suffixes: &'static [Suffix]) -> Architecture {
    Architecture { number, is_embedded: false, suffixes, family: None, former: None }
}

const fn member(number: u32, family: u32) -> Architecture {
    Architecture { family: Some(family), ..row(number, BOTH) }
}

const fn embedded(architecture: Architecture) -> Architecture {
    Architecture { is_embedded: true, ..architecture }
}

/// The architectures, up to CUDA 13.5: those that NVIDIA's compilers accept or used to accept. CUDA 13 renamed `sm_101`
/// to `sm_110`.
///
/// Sources: ptxas and nvlink 13.5 for suffixes, families and the former name; CUDA programming guide, Binary
/// Compatibility, for embedded parts.
pub const ARCHITECTURES: [Architecture; 28] = [
    row(20, NO_SUFFIX),
    row(21, NO_SUFFIX),
    row(30, NO_SUFFIX),
    row(32, NO_SUFFIX),
    row(35, NO_SUFFIX),
    row(37, NO_SUFFIX),
    row(50, NO_SUFFIX),
    row(52, NO_SUFFIX),
    embedded(row(53, NO_SUFFIX)),
    row(60, NO_SUFFIX),
    row(61, NO_SUFFIX),
    embedded(row(62, NO_SUFFIX)),
    row(70, NO_SUFFIX),
    embedded(row(72, NO_SUFFIX)),
    row(75, NO_SUFFIX),
    row(80, NO_SUFFIX),
    row(86, NO_SUFFIX),
    embedded(row(87, NO_SUFFIX)),
    row(88, NO_SUFFIX),
    row(89, NO_SUFFIX),
    row(90, SPECIFIC),
    member(100, 100),
    embedded(member(101, 101)),
    member(103, 100),
    member(107, 100),
    Architecture { former: Some(101), ..embedded(member(110, 110)) },
    member(120, 120),
    member(121, 120),
];

/// Numbers of all architectures, in order.
pub const NUMBERS: [u32; 28] = {
    let mut numbers = [0; ARCHITECTURES.len()];
    let mut index = 0;
    while index < numbers.len() {
        numbers[index] = ARCHITECTURES[index].number;
        index += 1;
    }
    numbers
};

impl Architecture {
    /// Returns the row of a number.
    pub fn of(number: u32) -> Option<&'static Architecture> {
        ARCHITECTURES.iter().find(|architecture| architecture.number == number)
    }
}

/// Number of an architecture as NVIDIA writes it for devices: 90 is 9.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capability(pub u32);

impl Capability {
    fn major(self) -> u32 {
        self.0 / 10
    }

    fn is_embedded(self) -> bool {
        Architecture::of(self.0).is_some_and(|it| it.is_embedded)
    }

    /// True if the architecture `other` had this number in earlier releases of CUDA.
    fn is_former(self, other: Capability) -> bool {
        Architecture::of(other.0).is_some_and(|it| it.former == Some(self.0))
    }

    fn shares_family_with(self, other: Capability) -> bool {
        let family = |capability: Capability| Architecture::of(capability.0).and_then(|it| it.family);
        family(self).is_some() && family(self) == family(other)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.0 % 10)
    }
}

/// Reason why code for one architecture does not run on a device of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CapabilityMismatch {
    /// No compiler accepts the suffix for the number. The driver formats number and suffix as a name, and compares names:
    /// measured with driver 597.06, an entry for 8.9 with suffix `a` runs nowhere
    /// (github.com/bechirBOUALI/cuda-fatbin-precedence, SELECTION-RULE.md).
    #[error("no architecture has the name {0}")]
    Unknown(Arch),
    /// The code is for a later architecture.
    #[error("it is for {own} and later, the device is {device}")]
    Later {
        /// Architecture of the code.
        own: Capability,
        /// Architecture of the device.
        device: Capability,
    },
    /// Machine code for another major version.
    #[error("it is for {own}, the device is {device}: another major version")]
    Major {
        /// Architecture of the code.
        own: Capability,
        /// Architecture of the device.
        device: Capability,
    },
    /// Machine code for desktop parts on an embedded part, or vice versa.
    #[error("it is for {own}, the device is {device}: desktop and embedded parts are not binary compatible")]
    Embedded {
        /// Architecture of the code.
        own: Capability,
        /// Architecture of the device.
        device: Capability,
    },
    /// Architecture-specific code for another architecture.
    #[error("it is for {own} with suffix a, which runs on {own} only; the device is {device}")]
    Specific {
        /// Architecture of the code.
        own: Capability,
        /// Architecture of the device.
        device: Capability,
    },
    /// Family-specific code for another family or a later member.
    #[error("it is for {own} with suffix f, which runs on later members of its family only; the device is {device}")]
    Family {
        /// Architecture of the code.
        own: Capability,
        /// Architecture of the device.
        device: Capability,
    },
}

impl Arch {
    /// Returns whether the table has this architecture with this suffix.
    pub fn is_known(self) -> bool {
        let suffixes = Architecture::of(self.number).map(|it| it.suffixes);
        suffixes.is_some_and(|suffixes| self.suffix.is_none_or(|suffix| suffixes.contains(&suffix)))
    }

    /// Returns whether code may be written for it: the table has it, or its number is later than all of the table.
    pub fn may_exist(self) -> bool {
        self.is_known() || NUMBERS.last().is_none_or(|latest| self.number > *latest)
    }

    /// Returns whether code for this architecture, PTX or machine code, runs on a device of another.
    pub fn runs_on(self, device: Arch, is_ptx: bool) -> bool {
        self.check(device, is_ptx).is_ok()
    }

    /// Like [`Self::runs_on`], with the reason.
    ///
    /// Machine code runs on later minor versions of the same major version. Code for desktop parts never runs on
    /// embedded parts, nor vice versa. PTX is compiled when it is loaded, for anything later. The suffixes restrict
    /// that. Sources: CUDA C programming guide (application compatibility), Blackwell compatibility guide.
    pub fn check(self, device: Arch, is_ptx: bool) -> Result<(), CapabilityMismatch> {
        // A newer number may have any suffix.
        if Architecture::of(self.number).is_some() && !self.is_known() {
            return Err(CapabilityMismatch::Unknown(self));
        }
        let own = Capability(self.number);
        let device = Capability(device.number);
        if own == device || own.is_former(device) {
            return Ok(());
        }
        match self.suffix {
            Some(Suffix::Specific) => Err(CapabilityMismatch::Specific { own, device }),
            Some(Suffix::Family) if own < device && own.shares_family_with(device) => Ok(()),
            Some(Suffix::Family) => Err(CapabilityMismatch::Family { own, device }),
            None if is_ptx && own > device => Err(CapabilityMismatch::Later { own, device }),
            None if is_ptx => Ok(()),
            None => check_machine_code(own, device),
        }
    }
}

fn check_machine_code(own: Capability, device: Capability) -> Result<(), CapabilityMismatch> {
    if own.major() != device.major() {
        Err(CapabilityMismatch::Major { own, device })
    } else if own > device {
        Err(CapabilityMismatch::Later { own, device })
    } else if own.is_embedded() != device.is_embedded() {
        Err(CapabilityMismatch::Embedded { own, device })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_families_begin_with_a_member() {
        assert!(NUMBERS.is_sorted());
        for architecture in ARCHITECTURES {
            let Architecture { number, suffixes, family, .. } = architecture;
            assert_eq!(family.is_some(), suffixes.contains(&Suffix::Family), "sm_{number}");
            let first = family.and_then(Architecture::of);
            assert!(first.is_none_or(|first| first.family == family && first.number <= number), "sm_{number}");
            let former = architecture.former.and_then(Architecture::of);
            assert!(former.is_none_or(|former| former.suffixes == suffixes && former.number < number), "sm_{number}");
        }
    }

    #[test]
    fn suffixes_exist_since_hopper_and_blackwell() {
        for name in ["sm_20", "sm_89", "sm_90", "sm_90a", "sm_107", "sm_107a", "sm_107f", "sm_110f"] {
            assert!(Arch::parse(name).unwrap().is_known(), "{name}");
        }
        for name in ["sm_10", "sm_82", "sm_89a", "sm_90f", "sm_102", "sm_999"] {
            assert!(!Arch::parse(name).unwrap().is_known(), "{name}");
        }
        for (name, may_exist) in [("sm_90a", true), ("sm_130f", true), ("sm_82", false), ("sm_89a", false)] {
            assert_eq!(Arch::parse(name).unwrap().may_exist(), may_exist, "{name}");
        }
    }

    #[test]
    fn code_for_an_architecture_that_does_not_exist_runs_nowhere() {
        // ptxas 12.9 and 13.5 refuse these suffixes.
        for name in ["sm_75a", "sm_80a", "sm_86a", "sm_87a", "sm_88a", "sm_89a", "sm_89f", "sm_90f"] {
            let own = Arch::parse(name).unwrap();
            for is_ptx in [true, false] {
                let message = own.check(Arch { suffix: None, ..own }, is_ptx).unwrap_err().to_string();
                assert_eq!(message, format!("no architecture has the name {name}"));
            }
        }
        for newer in ["sm_130a", "sm_130f"] {
            assert!(Arch::parse(newer).unwrap().runs_on(Arch { number: 130, suffix: None }, true), "{newer}");
        }
    }
}
