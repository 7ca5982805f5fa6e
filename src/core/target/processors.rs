//! AMD's processors as a table: machine numbers, alternative names, the features that a target ID may set, families.
//!
//! Sources: AMDGPU usage guide, sections Processors, Target IDs and Generic Processor ABI; machine numbers and features
//! measured with clang 22.1.8, one kernel compiled for each processor and each `processor:feature+`. Families, and the
//! processors that LLVM 22 does not know: LLVM 23, `llvm/TargetParser/Triple.h` and `AMDGPUTargetParser.def`. The
//! trials `compatibility/offload-arch`, `lld`, `inliner` and `bundler` compare the table with LLVM's tools.

use crate::base::short_text::ShortText;

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Processor {
    /// Primary name, which a canonical target ID has.
    pub name: ShortText<15>,
    /// Low byte of a code object's `e_flags`.
    pub machine: u8,
    features: Features,
    /// Place of its family; [`NO_FAMILY`] for a processor without further members and for a generic processor.
    family: u8,
    /// True if LLVM knows it only since LLVM 23.
    pub is_recent: bool,
}

/// Features that a target ID may set. (gfx1250 and gfx1251 have both, and neither can be set.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Features {
    None,
    Xnack,
    Both,
}

use Features::{Both, None as Neither, Xnack};

/// Processors that a single subarchitecture of triples covers.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Number in triples: `amdgpu9.4` has `9.4`.
    pub number: &'static str,
    /// Processor whose code runs on all members.
    pub generic: Option<&'static str>,
}

/// Every family. The first three have no code that runs on all members.
pub static FAMILIES: [Family; 12] = [
    Family { number: "6", generic: None },
    Family { number: "7", generic: None },
    Family { number: "8", generic: None },
    Family { number: "9", generic: Some("gfx9-generic") },
    Family { number: "9.4", generic: Some("gfx9-4-generic") },
    Family { number: "10.1", generic: Some("gfx10-1-generic") },
    Family { number: "10.3", generic: Some("gfx10-3-generic") },
    Family { number: "11", generic: Some("gfx11-generic") },
    Family { number: "11.7", generic: Some("gfx11-7-generic") },
    Family { number: "12", generic: Some("gfx12-generic") },
    Family { number: "12.5", generic: Some("gfx12-5-generic") },
    Family { number: "13", generic: Some("gfx13-generic") },
];

const NO_FAMILY: u8 = u8::MAX;
const GFX6: u8 = 0;
const GFX7: u8 = 1;
const GFX8: u8 = 2;
const GFX9: u8 = 3;
const GFX9_4: u8 = 4;
const GFX10_1: u8 = 5;
const GFX10_3: u8 = 6;
const GFX11: u8 = 7;
const GFX11_7: u8 = 8;
const GFX12: u8 = 9;
const GFX12_5: u8 = 10;
const GFX13: u8 = 11;

const fn row(name: &str, machine: u8, features: Features, family: u8) -> Processor {
    Processor { name: ShortText::new(name), machine, features, family, is_recent: false }
}

/// Returns the row of a processor that LLVM knows since LLVM 23. None of them has features to set.
const fn recent(name: &str, machine: u8, family: u8) -> Processor {
    Processor { is_recent: true, ..row(name, machine, Neither, family) }
}

/// Every processor. [`FORMER`] names are still in files in the field.
pub static PROCESSORS: [Processor; 63] = [
    row("gfx600", 0x20, Neither, GFX6),
    row("gfx601", 0x21, Neither, GFX6),
    row("gfx602", 0x3a, Neither, GFX6),
    row("gfx700", 0x22, Neither, GFX7),
    row("gfx701", 0x23, Neither, GFX7),
    row("gfx702", 0x24, Neither, GFX7),
    row("gfx703", 0x25, Neither, GFX7),
    row("gfx704", 0x26, Neither, GFX7),
    row("gfx705", 0x3b, Neither, GFX7),
    row("gfx801", 0x28, Xnack, GFX8),
    row("gfx802", 0x29, Neither, GFX8),
    row("gfx803", 0x2a, Neither, GFX8),
    row("gfx805", 0x3c, Neither, GFX8),
    row("gfx810", 0x2b, Xnack, NO_FAMILY),
    row("gfx900", 0x2c, Xnack, GFX9),
    row("gfx902", 0x2d, Xnack, GFX9),
    row("gfx904", 0x2e, Xnack, GFX9),
    row("gfx906", 0x2f, Both, GFX9),
    row("gfx908", 0x30, Both, NO_FAMILY),
    row("gfx909", 0x31, Xnack, GFX9),
    row("gfx90a", 0x3f, Both, NO_FAMILY),
    row("gfx90c", 0x32, Xnack, GFX9),
    row("gfx940", 0x40, Both, GFX9_4),
    row("gfx941", 0x4b, Both, GFX9_4),
    row("gfx942", 0x4c, Both, GFX9_4),
    row("gfx950", 0x4f, Both, GFX9_4),
    row("gfx1010", 0x33, Xnack, GFX10_1),
    row("gfx1011", 0x34, Xnack, GFX10_1),
    row("gfx1012", 0x35, Xnack, GFX10_1),
    row("gfx1013", 0x42, Xnack, GFX10_1),
    row("gfx1030", 0x36, Neither, GFX10_3),
    row("gfx1031", 0x37, Neither, GFX10_3),
    row("gfx1032", 0x38, Neither, GFX10_3),
    row("gfx1033", 0x39, Neither, GFX10_3),
    row("gfx1034", 0x3e, Neither, GFX10_3),
    row("gfx1035", 0x3d, Neither, GFX10_3),
    row("gfx1036", 0x45, Neither, GFX10_3),
    row("gfx1100", 0x41, Neither, GFX11),
    row("gfx1101", 0x46, Neither, GFX11),
    row("gfx1102", 0x47, Neither, GFX11),
    row("gfx1103", 0x44, Neither, GFX11),
    row("gfx1150", 0x43, Neither, GFX11),
    row("gfx1151", 0x4a, Neither, GFX11),
    row("gfx1152", 0x55, Neither, GFX11),
    row("gfx1153", 0x58, Neither, GFX11),
    recent("gfx1154", 0x57, GFX11),
    recent("gfx1170", 0x5d, GFX11_7),
    recent("gfx1171", 0x5e, GFX11_7),
    recent("gfx1172", 0x5c, GFX11_7),
    row("gfx1200", 0x48, Neither, GFX12),
    row("gfx1201", 0x4e, Neither, GFX12),
    row("gfx1250", 0x49, Neither, GFX12_5),
    row("gfx1251", 0x5a, Neither, GFX12_5),
    recent("gfx1310", 0x50, GFX13),
    row("gfx9-generic", 0x51, Xnack, NO_FAMILY),
    row("gfx9-4-generic", 0x5f, Both, NO_FAMILY),
    row("gfx10-1-generic", 0x52, Xnack, NO_FAMILY),
    row("gfx10-3-generic", 0x53, Neither, NO_FAMILY),
    row("gfx11-generic", 0x54, Neither, NO_FAMILY),
    recent("gfx11-7-generic", 0x62, NO_FAMILY),
    row("gfx12-generic", 0x59, Neither, NO_FAMILY),
    recent("gfx12-5-generic", 0x5b, NO_FAMILY),
    recent("gfx13-generic", 0x63, NO_FAMILY),
];

/// An alternative name, and the primary one.
type Alternative = (ShortText<9>, ShortText<6>);

const fn alternative(name: &str, processor: &str) -> Alternative {
    (ShortText::new(name), ShortText::new(processor))
}

/// Alternative names, after chips. Compilers accept them; files never contain them.
#[rustfmt::skip]
static ALTERNATIVES: [Alternative; 18] = [
    alternative("tahiti", "gfx600"), alternative("pitcairn", "gfx601"), alternative("verde", "gfx601"),
    alternative("hainan", "gfx602"), alternative("oland", "gfx602"), alternative("kaveri", "gfx700"),
    alternative("hawaii", "gfx701"), alternative("kabini", "gfx703"), alternative("mullins", "gfx703"),
    alternative("bonaire", "gfx704"), alternative("carrizo", "gfx801"), alternative("iceland", "gfx802"),
    alternative("tonga", "gfx802"), alternative("fiji", "gfx803"), alternative("polaris10", "gfx803"),
    alternative("polaris11", "gfx803"), alternative("tongapro", "gfx805"), alternative("stoney", "gfx810"),
];

/// Names used in place of a processor that are neither in AMD's table nor follow NVIDIA's numbering: the pseudo
/// processor of SPIR-V for AMD, code for any processor, and the two Intel processors that clang 22 accepts.
pub const OTHERS: [&str; 4] = ["amdgcnspirv", "generic", "graniterapids", "bmg_g21"];

/// Processors that LLVM has dropped. They have no subarchitecture.
pub const FORMER: [&str; 2] = ["gfx940", "gfx941"];

impl Processor {
    /// Returns the processor with this primary or alternative name.
    pub fn named(name: &str) -> Option<&'static Processor> {
        let primary = |name: &str| PROCESSORS.iter().find(|processor| processor.name == *name);
        primary(name).or_else(|| primary(&ALTERNATIVES.iter().find(|(alternative, _)| *alternative == *name)?.1))
    }

    /// Returns the primary and the alternative names of all processors.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        PROCESSORS.iter().map(|it| &*it.name).chain(ALTERNATIVES.iter().map(|(name, _)| &**name))
    }

    /// Returns the members of a generic processor; empty for any other.
    pub fn members(generic: &str) -> Vec<&'static str> {
        let members = PROCESSORS.iter().filter(|member| member.generic() == Some(generic));
        members.map(|member| &*member.name).collect()
    }

    /// Returns the processor with this machine number in its code objects.
    pub fn of_machine(machine: u8) -> Option<&'static Processor> {
        PROCESSORS.iter().find(|processor| processor.machine == machine)
    }

    /// Features that a target ID may set, in alphabetical order.
    pub fn features(&self) -> &'static [&'static str] {
        match self.features {
            Neither => &[],
            Xnack => &["xnack"],
            Both => &["sramecc", "xnack"],
        }
    }

    /// Family with further members; `None` for a processor without one and for a generic processor.
    pub fn family(&self) -> Option<&'static Family> {
        FAMILIES.get(usize::from(self.family))
    }

    /// Generic processor whose code also runs on this one.
    pub fn generic(&self) -> Option<&'static str> {
        self.family()?.generic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        let mut machines: Vec<u8> = PROCESSORS.iter().map(|processor| processor.machine).collect();
        let mut names: Vec<&str> = Processor::all_names().chain(OTHERS).collect();
        machines.sort_unstable();
        names.sort_unstable();
        assert!(machines.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn every_generic_processor_has_a_family_with_members() {
        for processor in &PROCESSORS {
            if let Some(generic) = processor.generic() {
                assert!(Processor::named(generic).is_some(), "{generic}");
                assert!(!processor.name.ends_with("generic"));
            }
            if processor.name.ends_with("generic") {
                assert!(!Processor::members(&processor.name).is_empty(), "{:?}", processor.name);
                assert_eq!(processor.family(), None, "{:?}", processor.name);
            }
        }
    }

    /// Families of LLVM 23: number, generic processor with its machine number, members with the last two digits of
    /// their numbers. Only members that LLVM 22 does not know have a machine number here.
    const LLVM_23: [(&str, &str, &str); 15] = [
        ("6", "", "600 601 602"),
        ("7", "", "700 701 702 703 704 705"),
        ("8", "", "801 802 803 805"),
        ("", "", "810"),
        ("9", "gfx9-generic=51", "900 902 904 906 909 90c"),
        ("", "", "908"),
        ("", "", "90a"),
        ("9.4", "gfx9-4-generic=5f", "942 950"),
        ("10.1", "gfx10-1-generic=52", "1010 1011 1012 1013"),
        ("10.3", "gfx10-3-generic=53", "1030 1031 1032 1033 1034 1035 1036"),
        ("11", "gfx11-generic=54", "1100 1101 1102 1103 1150 1151 1152 1153 1154=57"),
        ("11.7", "gfx11-7-generic=62", "1170=5d 1171=5e 1172=5c"),
        ("12", "gfx12-generic=59", "1200 1201"),
        ("12.5", "gfx12-5-generic=5b", "1250 1251"),
        ("13", "gfx13-generic=63", "1310=50"),
    ];

    #[test]
    fn the_table_has_exactly_the_processors_of_llvm_23_and_the_former_ones() {
        let number = |text: &str| u8::from_str_radix(text, 16).unwrap();
        let mut expected: Vec<&str> = FORMER.to_vec();
        for (family, generic, members) in LLVM_23 {
            for member in members.split(' ') {
                let (digits, machine) = member.split_once('=').map_or((member, None), |(name, it)| (name, Some(it)));
                let processor = Processor::named(&format!("gfx{digits}")).unwrap_or_else(|| panic!("gfx{digits}"));
                assert_eq!(processor.family().map_or("", |family| family.number), family, "gfx{digits}");
                assert_eq!(processor.is_recent, machine.is_some(), "gfx{digits}");
                assert!(machine.is_none_or(|machine| number(machine) == processor.machine), "gfx{digits}");
                expected.push(&processor.name);
            }
            let generic = generic.split_once('=').map(|(name, machine)| (name, number(machine)));
            let found = FAMILIES.iter().find(|it| it.number == family).and_then(|it| it.generic);
            assert_eq!(found.and_then(Processor::named).map(|it| (&*it.name, it.machine)), generic, "{family}");
            expected.extend(found);
        }
        let mut known: Vec<&str> = PROCESSORS.iter().map(|processor| &*processor.name).collect();
        known.sort_unstable();
        expected.sort_unstable();
        assert_eq!(known, expected);
    }
}
