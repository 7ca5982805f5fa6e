//! AMD's processors as a table: machine numbers, alternative names, the features that a target ID may set, generic
//! families.
//!
//! Sources: AMDGPU usage guide, sections Processors, Target IDs and Generic Processor ABI; machine numbers and features
//! measured with clang 22.1.8, one kernel compiled for each processor and each `processor:feature+`.

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Processor {
    /// Primary name, which a canonical target ID has.
    pub name: &'static str,
    /// Low byte of a code object's `e_flags`.
    pub machine: u8,
    /// Alternative names, after chips. Compilers accept them; files never contain them.
    pub alternatives: &'static [&'static str],
    /// Features that a target ID may set, in alphabetical order. (gfx1250 and gfx1251 have both, and neither can be
    /// set.)
    pub features: &'static [&'static str],
    /// Generic processor whose code also runs on this one.
    pub generic: Option<&'static str>,
}

const NONE: &[&str] = &[];
const XNACK: &[&str] = &["xnack"];
const BOTH: &[&str] = &["sramecc", "xnack"];

const GFX9: Option<&str> = Some("gfx9-generic");
const GFX9_4: Option<&str> = Some("gfx9-4-generic");
const GFX10_1: Option<&str> = Some("gfx10-1-generic");
const GFX10_3: Option<&str> = Some("gfx10-3-generic");
const GFX11: Option<&str> = Some("gfx11-generic");
const GFX12: Option<&str> = Some("gfx12-generic");

const fn row(
    name: &'static str,
    machine: u8,
    features: &'static [&'static str],
    generic: Option<&'static str>,
    alternatives: &'static [&'static str],
) -> Processor {
    Processor { name, machine, alternatives, features, generic }
}

/// Every processor. `gfx940` and `gfx941` are former names that files in the field still carry.
pub const PROCESSORS: [Processor; 55] = [
    row("gfx600", 0x20, NONE, None, &["tahiti"]),
    row("gfx601", 0x21, NONE, None, &["pitcairn", "verde"]),
    row("gfx602", 0x3a, NONE, None, &["hainan", "oland"]),
    row("gfx700", 0x22, NONE, None, &["kaveri"]),
    row("gfx701", 0x23, NONE, None, &["hawaii"]),
    row("gfx702", 0x24, NONE, None, &[]),
    row("gfx703", 0x25, NONE, None, &["kabini", "mullins"]),
    row("gfx704", 0x26, NONE, None, &["bonaire"]),
    row("gfx705", 0x3b, NONE, None, &[]),
    row("gfx801", 0x28, XNACK, None, &["carrizo"]),
    row("gfx802", 0x29, NONE, None, &["iceland", "tonga"]),
    row("gfx803", 0x2a, NONE, None, &["fiji", "polaris10", "polaris11"]),
    row("gfx805", 0x3c, NONE, None, &["tongapro"]),
    row("gfx810", 0x2b, XNACK, None, &["stoney"]),
    row("gfx900", 0x2c, XNACK, GFX9, &[]),
    row("gfx902", 0x2d, XNACK, GFX9, &[]),
    row("gfx904", 0x2e, XNACK, GFX9, &[]),
    row("gfx906", 0x2f, BOTH, GFX9, &[]),
    row("gfx908", 0x30, BOTH, None, &[]),
    row("gfx909", 0x31, XNACK, GFX9, &[]),
    row("gfx90a", 0x3f, BOTH, None, &[]),
    row("gfx90c", 0x32, XNACK, GFX9, &[]),
    row("gfx940", 0x40, BOTH, GFX9_4, &[]),
    row("gfx941", 0x4b, BOTH, GFX9_4, &[]),
    row("gfx942", 0x4c, BOTH, GFX9_4, &[]),
    row("gfx950", 0x4f, BOTH, GFX9_4, &[]),
    row("gfx1010", 0x33, XNACK, GFX10_1, &[]),
    row("gfx1011", 0x34, XNACK, GFX10_1, &[]),
    row("gfx1012", 0x35, XNACK, GFX10_1, &[]),
    row("gfx1013", 0x42, XNACK, GFX10_1, &[]),
    row("gfx1030", 0x36, NONE, GFX10_3, &[]),
    row("gfx1031", 0x37, NONE, GFX10_3, &[]),
    row("gfx1032", 0x38, NONE, GFX10_3, &[]),
    row("gfx1033", 0x39, NONE, GFX10_3, &[]),
    row("gfx1034", 0x3e, NONE, GFX10_3, &[]),
    row("gfx1035", 0x3d, NONE, GFX10_3, &[]),
    row("gfx1036", 0x45, NONE, GFX10_3, &[]),
    row("gfx1100", 0x41, NONE, GFX11, &[]),
    row("gfx1101", 0x46, NONE, GFX11, &[]),
    row("gfx1102", 0x47, NONE, GFX11, &[]),
    row("gfx1103", 0x44, NONE, GFX11, &[]),
    row("gfx1150", 0x43, NONE, GFX11, &[]),
    row("gfx1151", 0x4a, NONE, GFX11, &[]),
    row("gfx1152", 0x55, NONE, GFX11, &[]),
    row("gfx1153", 0x58, NONE, GFX11, &[]),
    row("gfx1200", 0x48, NONE, GFX12, &[]),
    row("gfx1201", 0x4e, NONE, GFX12, &[]),
    row("gfx1250", 0x49, NONE, None, &[]),
    row("gfx1251", 0x5a, NONE, None, &[]),
    row("gfx9-generic", 0x51, XNACK, None, &[]),
    row("gfx9-4-generic", 0x5f, BOTH, None, &[]),
    row("gfx10-1-generic", 0x52, XNACK, None, &[]),
    row("gfx10-3-generic", 0x53, NONE, None, &[]),
    row("gfx11-generic", 0x54, NONE, None, &[]),
    row("gfx12-generic", 0x59, NONE, None, &[]),
];

/// Names at the place of a processor that are neither in AMD's table nor follow NVIDIA's numbering: the pseudo
/// processor of SPIR-V for AMD, code for any processor, and the two Intel processors that clang 22 accepts.
pub const OTHERS: [&str; 4] = ["amdgcnspirv", "generic", "graniterapids", "bmg_g21"];

impl Processor {
    /// Returns the processor with this primary or alternative name.
    pub fn named(name: &str) -> Option<&'static Processor> {
        PROCESSORS.iter().find(|processor| processor.name == name || processor.alternatives.contains(&name))
    }

    /// Returns the members of a generic processor; empty for any other.
    pub fn members(generic: &str) -> Vec<&'static str> {
        let members = PROCESSORS.iter().filter(|member| member.generic == Some(generic));
        members.map(|member| member.name).collect()
    }

    /// Returns the processor with this machine number in its code objects.
    pub fn of_machine(machine: u8) -> Option<&'static Processor> {
        PROCESSORS.iter().find(|processor| processor.machine == machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        let mut machines: Vec<u8> = PROCESSORS.iter().map(|processor| processor.machine).collect();
        let mut names: Vec<&str> = PROCESSORS.iter().map(|processor| processor.name).collect();
        names.extend(PROCESSORS.iter().flat_map(|processor| processor.alternatives));
        names.extend(OTHERS);
        machines.sort_unstable();
        names.sort_unstable();
        assert!(machines.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn every_generic_processor_has_members_and_a_row() {
        for processor in &PROCESSORS {
            if let Some(generic) = processor.generic {
                assert!(Processor::named(generic).is_some(), "{generic}");
                assert!(!processor.name.ends_with("generic"));
            }
            if processor.name.ends_with("generic") {
                assert!(PROCESSORS.iter().any(|member| member.generic == Some(processor.name)), "{}", processor.name);
            }
        }
    }
}
