//! `HSA_OVERRIDE_GFX_VERSION`: the processor that ROCm takes every GPU of a machine for.
//!
//! On Linux, ROCm replaces the version that the kernel driver states, and loads code for the other processor (ROCm,
//! ROCR-Runtime, `libhsakmt/src/topology.c`; Windows ignores the variable: TheRock #1719). Nothing checks that the GPU
//! has its instructions, and AMD supports no override. Without the variable, a GPU also runs code for its generic
//! processor.

/// What an override does for a processor without code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideAdvice {
    /// People run code for another processor with this value.
    Replace(GfxOverride),
    /// Code for any other processor fails. The reason is a clause.
    Fails(&'static str),
    /// No report is known.
    Unknown,
}

/// A value of the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GfxOverride {
    /// The value: `10.3.0`.
    pub version: &'static str,
    /// Processor whose code is loaded.
    pub processor: &'static str,
}

/// The variable.
pub const VARIABLE: &str = "HSA_OVERRIDE_GFX_VERSION";

const fn replace(version: &'static str, processor: &'static str) -> OverrideAdvice {
    OverrideAdvice::Replace(GfxOverride { version, processor })
}

/// Processors with equal advice.
type Row = (&'static [&'static str], OverrideAdvice);

#[rustfmt::skip]
const ROWS: [Row; 6] = [
    // LLVM's device libraries treat gfx1030 to gfx1036 as one (`oclc_isa_version`, gfx10-3-generic). AMD: Tensile #1907.
    // Reports: legacy-rocm-build #1698, #1797 (gfx1032), #2720 (gfx1031).
    (&["gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"], replace("10.3.0", "gfx1030")),
    // Reports: legacy-rocm-build #2500 (gfx1102), #2976; of use and of hangs: rocm_sdk_builder #257 (gfx1103).
    (&["gfx1101", "gfx1102", "gfx1103"], replace("11.0.0", "gfx1100")),
    // AMD: rocBLAS #1398. Reports: legacy-rocm-build #1743, #1799.
    (&["gfx90c"], replace("9.0.0", "gfx900")),
    // AMDGPU usage guide, Generic Processor ABI: neither is in gfx9-generic, and gfx9-4-generic excludes their matrix
    // instructions.
    (&["gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"],
        OverrideAdvice::Fails("code for other processors has other matrix instructions")),
    // Overrides on gfx1201 crash the driver: rocm-systems #3461.
    (&["gfx1200", "gfx1201"], OverrideAdvice::Fails("code for other generations hangs the GPU")),
    // gfx1030 has more instructions: ROCm/llvm-project #205. A crash with 10.3.0: legacy-rocm-build #887.
    (&["gfx1010", "gfx1011", "gfx1012", "gfx1013"],
        OverrideAdvice::Fails("code for gfx1030 may have instructions that it lacks")),
];

/// Returns what is known about overrides on a processor, without features.
pub fn advice(processor: &str) -> OverrideAdvice {
    let row = ROWS.iter().find(|(processors, _)| processors.contains(&processor));
    row.map_or(OverrideAdvice::Unknown, |(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::processors::Processor;

    #[test]
    fn values_are_the_numbers_of_processors_of_the_same_family() {
        let mut seen = Vec::new();
        for (processors, advice) in ROWS {
            for name in processors {
                let row = Processor::named(name).unwrap_or_else(|| panic!("{name}"));
                assert!(!seen.contains(name), "{name}");
                seen.push(*name);
                let OverrideAdvice::Replace(GfxOverride { version, processor }) = advice else { continue };
                assert_eq!(format!("gfx{}", version.replace('.', "")), processor);
                assert_eq!(row.family(), Processor::named(processor).and_then(Processor::family), "{name}");
            }
        }
        assert_eq!(advice("gfx1100"), OverrideAdvice::Unknown);
    }
}
