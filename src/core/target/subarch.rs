//! Subarchitectures: the processor or the family of processors in the triples of AMD's GPUs since LLVM 23.
//!
//! `amdgpu9.0a-amd-amdhsa` is code for gfx90a, and `amdgpu9.4-amd-amdhsa` code for the family of gfx942 and gfx950.
//! LLVM up to 22 writes `amdgcn-amd-amdhsa` for both, and the processor next to it. The two spellings are one target.
//!
//! A number is the major version, a dot, and the minor version and stepping as one digit each. The number of a family
//! is shorter. A bare `amdgpu` and an unknown number mean any processor, like `amdgcn`. Source: LLVM 23,
//! `llvm/TargetParser/Triple.h` and `AMDGPUTargetParser.cpp` (llvm-project pull request 206480).

use std::borrow::Cow;
use std::fmt;

use super::amdgpu;
use super::processors::{FAMILIES, FORMER, Family, Processor};

/// Architecture of AMD's GPUs in triples since LLVM 23. A number may follow.
pub const AMDGPU: &str = "amdgpu";

/// Architecture of AMD's GPUs in triples, without a number.
pub const AMDGCN: &str = "amdgcn";

/// Name of the processor of code for any processor.
pub const GENERIC: &str = "generic";

/// Number of digits for the minor version and the stepping.
const MINOR_DIGITS: usize = 2;

/// A processor or a family in a triple.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subarch {
    /// One processor: `9.0a`.
    Processor(&'static Processor),
    /// All members of a family: `9.4`.
    Family(&'static Family),
}

/// Returns whether a triple is for AMD's GPUs, in either spelling.
pub fn is_amdgpu(triple: &str) -> bool {
    let architecture = architecture(triple);
    architecture == AMDGCN || architecture.starts_with(AMDGPU)
}

/// Returns whether a triple has the spelling that LLVM up to 22 does not know.
pub fn is_spelled_amdgpu(triple: &str) -> bool {
    architecture(triple).starts_with(AMDGPU)
}

/// Returns a triple with the architecture `amdgcn` if it is for AMD's GPUs.
pub fn legacy_triple(triple: &str) -> Cow<'_, str> {
    if is_spelled_amdgpu(triple) {
        Cow::Owned(format!("{AMDGCN}{}", &triple[architecture(triple).len()..]))
    } else {
        Cow::Borrowed(triple)
    }
}

/// Returns a triple for AMD's GPUs with the subarchitecture of a processor; `None` for one that has none.
pub fn triple_of_processor(triple: &str, arch: &str) -> Option<String> {
    let subarch = Subarch::of_processor(Processor::named(amdgpu::processor(arch))?)?;
    Some(format!("{AMDGPU}{subarch}{}", &triple[architecture(triple).len()..]))
}

/// Returns the processor with features that code with this triple and arch is for. If the arch is absent or generic,
/// the subarchitecture in the triple states the processor.
pub fn stated_arch<'a>(triple: &str, arch: Option<&'a str>) -> Option<&'a str> {
    let stated = arch.filter(|arch| !arch.is_empty());
    match Subarch::of(triple).and_then(Subarch::processor) {
        Some(processor) if stated.is_none_or(|arch| arch == GENERIC) => Some(&*processor.name),
        _ => stated,
    }
}

/// Returns the arch of an image: the arch that its container states, else the arch in its own header, which also has
/// the features, else the processor in its triple.
pub fn image_arch<'a>(triple: &str, stated: Option<&'a str>, own: Option<&'a str>) -> Option<&'a str> {
    let subarch = Subarch::of(triple);
    let is_stated = |arch: &&str| !arch.is_empty() && (subarch.is_none() || *arch != GENERIC);
    let accepts =
        |subarch: Subarch, arch| Processor::named(amdgpu::processor(arch)).is_some_and(|it| subarch.accepts(it));
    let own = own.filter(|own| subarch.is_none_or(|subarch| accepts(subarch, own)));
    stated.filter(is_stated).or(own).or_else(|| stated_arch(triple, None))
}

fn architecture(triple: &str) -> &str {
    triple.split('-').next().unwrap_or_default()
}

impl Subarch {
    /// Returns the subarchitecture in a triple.
    pub fn of(triple: &str) -> Option<Subarch> {
        Self::parse(architecture(triple).strip_prefix(AMDGPU)?)
    }

    /// Returns the processor with the name that compilers accept since LLVM 24: the architecture in its triple,
    /// `amdgpu9.0a`.
    pub fn processor_named(architecture: &str) -> Option<&'static Processor> {
        Self::parse(architecture.strip_prefix(AMDGPU)?)?.processor()
    }

    /// Returns the subarchitecture with a number.
    pub fn parse(number: &str) -> Option<Subarch> {
        if let Some(family) = FAMILIES.iter().find(|family| family.number == number) {
            return Some(Subarch::Family(family));
        }
        let (major, minor) = number.split_once('.').filter(|(_, minor)| minor.len() == MINOR_DIGITS)?;
        let processor = Processor::named(&format!("gfx{major}{minor}"))?;
        (Self::of_processor(processor)?.to_string() == number).then_some(Subarch::Processor(processor))
    }

    /// Returns the subarchitecture of a processor. For a generic processor, it is the family.
    pub fn of_processor(processor: &'static Processor) -> Option<Subarch> {
        let own = FAMILIES.iter().find(|family| family.generic == Some(&*processor.name)).map(Subarch::Family);
        own.or((!FORMER.contains(&&*processor.name)).then_some(Subarch::Processor(processor)))
    }

    /// Processor of code with this subarchitecture that states no other; `None` for a family without a generic
    /// processor.
    pub fn processor(self) -> Option<&'static Processor> {
        match self {
            Subarch::Processor(processor) => Some(processor),
            Subarch::Family(family) => family.generic.and_then(Processor::named),
        }
    }

    /// Returns whether code for one subarchitecture may be code for the other: they are equal, or one is the family of
    /// the other.
    pub fn is_compatible_with(self, other: Subarch) -> bool {
        match (self, other) {
            (Subarch::Processor(processor), Subarch::Family(family))
            | (Subarch::Family(family), Subarch::Processor(processor)) => processor.family() == Some(family),
            _ => self == other,
        }
    }

    /// Returns whether a triple with this subarchitecture may be combined with a processor.
    pub fn accepts(self, processor: &'static Processor) -> bool {
        match Self::of_processor(processor) {
            Some(own) => own.is_compatible_with(self),
            // A former processor has no number, but a family.
            None => processor.family().map(Subarch::Family) == Some(self),
        }
    }
}

/// Formats the number.
impl fmt::Display for Subarch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subarch::Family(family) => f.write_str(family.number),
            Subarch::Processor(processor) => {
                let digits = processor.name.trim_start_matches("gfx");
                let (major, minor) = digits.split_at(digits.len() - MINOR_DIGITS);
                write!(f, "{major}.{minor}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::processors::PROCESSORS;

    fn of(triple: &str) -> Option<&'static str> {
        Subarch::of(triple).and_then(Subarch::processor).map(|processor| &*processor.name)
    }

    #[test]
    fn a_number_is_that_of_a_processor_or_of_a_family() {
        let cases = [
            ("amdgpu9.0a-amd-amdhsa", Some("gfx90a")),
            ("amdgpu9.50-amd-amdhsa", Some("gfx950")),
            ("amdgpu10.30-amd-amdhsa", Some("gfx1030")),
            ("amdgpu6.00-amd-amdpal", Some("gfx600")),
            ("amdgpu13.10-amd-amdhsa", Some("gfx1310")),
            ("amdgpu9-amd-amdhsa", Some("gfx9-generic")),
            ("amdgpu9.4-amd-amdhsa", Some("gfx9-4-generic")),
            ("amdgpu12.5", Some("gfx12-5-generic")),
            ("amdgpu7-amd-amdhsa", None),
            ("amdgpu-amd-amdhsa", None),
            ("amdgpu9.5-amd-amdhsa", None),
            ("amdgpu10-amd-amdhsa", None),
            ("amdgpu11.5-amd-amdhsa", None),
            ("amdgpu9.40-amd-amdhsa", None),
            ("amdgpu9.0A-amd-amdhsa", None),
            ("amdgpu90.a-amd-amdhsa", None),
            ("amdgpu9.é-amd-amdhsa", None),
            ("amdgcn9.0a-amd-amdhsa", None),
            ("amdgcn-amd-amdhsa", None),
        ];
        for (triple, processor) in cases {
            assert_eq!(of(triple), processor, "{triple}");
        }
    }

    #[test]
    fn every_processor_but_the_former_ones_has_a_number() {
        for processor in &PROCESSORS {
            let subarch = Subarch::of_processor(processor);
            assert_eq!(subarch.is_none(), FORMER.contains(&&*processor.name), "{:?}", processor.name);
            let Some(subarch) = subarch else { continue };
            assert_eq!(Subarch::parse(&subarch.to_string()), Some(subarch), "{:?}", processor.name);
            assert_eq!(Subarch::processor_named(&format!("{AMDGPU}{subarch}")), Some(processor));
        }
    }

    #[test]
    fn a_family_is_compatible_with_its_members_and_members_only_with_themselves() {
        let cases = [
            ("9.42", "9.42", true),
            ("9.4", "9.42", true),
            ("9", "9.06", true),
            ("7", "7.01", true),
            ("9.42", "9.50", false),
            ("9", "9.0a", false),
            ("9", "9.08", false),
            ("9", "9.4", false),
            ("12", "12.50", false),
            ("8", "8.10", false),
        ];
        for (one, other, expected) in cases {
            let [a, b] = [one, other].map(|number| Subarch::parse(number).unwrap());
            assert_eq!((a.is_compatible_with(b), b.is_compatible_with(a)), (expected, expected), "{one} and {other}");
        }
    }

    #[test]
    fn a_processor_is_combined_with_its_own_number_or_its_family() {
        let cases = [
            ("9.42", "gfx942", true),
            ("9.4", "gfx942", true),
            ("9.4", "gfx940", true),
            ("9.4", "gfx9-4-generic", true),
            ("9.42", "gfx9-4-generic", true),
            ("9.0a", "gfx942", false),
            ("9", "gfx90a", false),
        ];
        for (number, processor, expected) in cases {
            let subarch = Subarch::parse(number).unwrap();
            assert_eq!(subarch.accepts(Processor::named(processor).unwrap()), expected, "{number} {processor}");
        }
    }

    #[test]
    fn a_triple_has_two_spellings() {
        assert_eq!(legacy_triple("amdgpu9.0a-amd-amdhsa"), "amdgcn-amd-amdhsa");
        assert_eq!(legacy_triple("amdgpu"), "amdgcn");
        assert_eq!(legacy_triple("x86_64-unknown-linux-gnu"), "x86_64-unknown-linux-gnu");
        let spelled = |arch| triple_of_processor("amdgcn-amd-amdhsa", arch);
        assert_eq!(spelled("gfx90a:xnack+").as_deref(), Some("amdgpu9.0a-amd-amdhsa"));
        assert_eq!(spelled("gfx9-4-generic").as_deref(), Some("amdgpu9.4-amd-amdhsa"));
        assert_eq!([spelled("gfx940"), spelled("sm_90"), spelled("")], [None, None, None]);
    }

    #[test]
    fn a_triple_states_the_processor_that_the_arch_does_not() {
        let cases = [
            ("amdgpu9.0a-amd-amdhsa", None, Some("gfx90a")),
            ("amdgpu9.0a-amd-amdhsa", Some(""), Some("gfx90a")),
            ("amdgpu9.4-amd-amdhsa", Some("generic"), Some("gfx9-4-generic")),
            ("amdgpu9.4-amd-amdhsa", Some("gfx942:xnack+"), Some("gfx942:xnack+")),
            ("amdgpu6-amd-amdpal", Some("generic"), Some("generic")),
            ("amdgcn-amd-amdhsa", Some("generic"), Some("generic")),
            ("amdgcn-amd-amdhsa", Some(""), None),
        ];
        for (triple, arch, expected) in cases {
            assert_eq!(stated_arch(triple, arch), expected, "{triple} {arch:?}");
        }
    }

    #[test]
    fn the_header_of_an_image_completes_its_triple() {
        let cases = [
            ("amdgpu9.0a-amd-amdhsa", None, Some("gfx90a:xnack+"), Some("gfx90a:xnack+")),
            ("amdgpu9.4-amd-amdhsa", Some("generic"), Some("gfx942"), Some("gfx942")),
            ("amdgpu9.0a-amd-amdhsa", Some(""), Some("gfx942"), Some("gfx90a")),
            ("amdgpu9.0a-amd-amdhsa", Some("gfx90a"), Some("gfx90a:xnack+"), Some("gfx90a")),
            ("amdgpu9.0a-amd-amdhsa", None, None, Some("gfx90a")),
            ("amdgcn-amd-amdhsa", Some("generic"), Some("gfx942"), Some("generic")),
            ("nvptx64-nvidia-cuda", None, Some("sm_90"), Some("sm_90")),
        ];
        for (triple, stated, own, expected) in cases {
            assert_eq!(image_arch(triple, stated, own), expected, "{triple} {stated:?} {own:?}");
        }
    }
}
