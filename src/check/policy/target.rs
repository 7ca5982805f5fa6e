//! What a policy calls an architecture: a target id for machine code, NVIDIA's `compute_90` for PTX, `ptx` for any PTX, and
//! for code without a processor the first word of its triple.
//!
//! PTX is never the same as machine code: it is compiled when it is loaded, and for a library of some size that takes
//! minutes. So it has names of its own, which are those of nvcc's options.

use std::fmt;

use crate::target::{InvalidTargetId, TargetId, nvptx, nvptx::Suffix, processors::PROCESSORS};

/// An architecture that code can be for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyTarget {
    /// Machine code; a canonical target id.
    Native(String),
    Ptx(nvptx::Arch),
    AnyPtx,
    /// Code for whatever has a triple that begins so.
    Triple(&'static str),
}

/// Code that OpenMP runs on the host, and SPIR-V.
const TRIPLES: [&str; 8] =
    ["aarch64", "loongarch64", "powerpc64le", "riscv64", "s390x", "spirv32", "spirv64", "x86_64"];

/// The numbers of NVIDIA's architectures, up to CUDA 13.5: what its compilers take, and what they used to take.
const NUMBERS: [u32; 28] = [
    20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120,
    121,
];

/// From these on there is code with a suffix (PTX ISA, directive `.target`).
const FIRST_SPECIFIC: u32 = 90;
const FIRST_FAMILY: u32 = 100;

impl PolicyTarget {
    /// Reads a name, or says what is wrong with it.
    pub fn parse(name: &str) -> Result<PolicyTarget, String> {
        if name == "ptx" {
            return Ok(PolicyTarget::AnyPtx);
        }
        if let Some(&triple) = TRIPLES.iter().find(|&&triple| triple == name) {
            return Ok(PolicyTarget::Triple(triple));
        }
        let number = name.strip_prefix("compute_").map(|number| format!("sm_{number}"));
        if let Some(arch) = nvptx::Arch::parse(number.as_deref().unwrap_or(name)) {
            let exists = NUMBERS.contains(&arch.number)
                && match arch.suffix {
                    None => true,
                    Some(Suffix::Specific) => arch.number >= FIRST_SPECIFIC,
                    Some(Suffix::Family) => arch.number >= FIRST_FAMILY,
                };
            return match (exists, number) {
                (false, _) => Err(unknown(name)),
                (true, Some(_)) => Ok(PolicyTarget::Ptx(arch)),
                (true, None) => Ok(PolicyTarget::Native(arch.to_string())),
            };
        }
        match TargetId::parse(name) {
            Ok(id) => Ok(PolicyTarget::Native(id.to_string())),
            Err(InvalidTargetId::UnknownProcessor { .. }) => Err(unknown(name)),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn unknown(name: &str) -> String {
    let nvidia =
        ["sm_", "compute_"].into_iter().flat_map(|prefix| NUMBERS.iter().map(move |it| format!("{prefix}{it}")));
    let amd = PROCESSORS.iter().map(|processor| processor.name.to_owned());
    let others = TRIPLES.iter().chain(["ptx"].iter()).map(|&name| name.to_owned());
    format!("there is no architecture {name:?}{}", did_you_mean(name, nvidia.chain(amd).chain(others)))
}

/// Names that are one slip of the keyboard away, as a question.
pub fn did_you_mean(written: &str, names: impl Iterator<Item = String>) -> String {
    let near = |most: usize, names: &[(usize, String)]| -> Vec<String> {
        names.iter().filter(|(distance, _)| *distance <= most).map(|(_, name)| name.clone()).take(3).collect()
    };
    let mut names: Vec<(usize, String)> =
        names.map(|name| (strsim::osa_distance(&name, written), name)).filter(|(distance, _)| *distance <= 2).collect();
    names.sort();
    let found =
        if near(1, &names).is_empty() { near(if written.len() > 5 { 2 } else { 0 }, &names) } else { near(1, &names) };
    if found.is_empty() { String::new() } else { format!("; did you mean {}?", found.join(" or ")) }
}

/// PTX for an architecture, by nvcc's name for it.
pub fn compute(arch: nvptx::Arch) -> String {
    arch.to_string().replacen("sm_", "compute_", 1)
}

impl fmt::Display for PolicyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyTarget::Native(id) => f.write_str(id),
            PolicyTarget::Ptx(arch) => f.write_str(&compute(*arch)),
            PolicyTarget::AnyPtx => f.write_str("ptx"),
            PolicyTarget::Triple(triple) => f.write_str(triple),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_has_the_name_that_compilers_have_for_it() {
        let names = [
            ("sm_90a", "sm_90a"),
            ("sm_100f", "sm_100f"),
            ("compute_90", "compute_90"),
            ("compute_100f", "compute_100f"),
            ("ptx", "ptx"),
            ("x86_64", "x86_64"),
            ("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-"),
            ("gfx9-4-generic", "gfx9-4-generic"),
        ];
        for (name, canonical) in names {
            assert_eq!(PolicyTarget::parse(name).map(|target| target.to_string()), Ok(canonical.to_owned()));
        }
    }

    #[test]
    fn one_that_does_not_exist_is_refused_with_what_was_probably_meant() {
        let wrong = [
            ("sm_09", "there is no architecture \"sm_09\"; did you mean sm_89 or sm_90?"),
            ("gfx9O6", "there is no architecture \"gfx9O6\"; did you mean gfx906?"),
            ("sm_80a", "there is no architecture \"sm_80a\"; did you mean sm_80?"),
            ("sm_90f", "there is no architecture \"sm_90f\"; did you mean sm_90?"),
            (
                "compute_85",
                "there is no architecture \"compute_85\"; did you mean compute_35 or compute_75 or compute_80?",
            ),
            ("8.0", "there is no architecture \"8.0\""),
            ("gfx906:xnack", "feature \"xnack\" ends in neither + nor -"),
        ];
        for (name, message) in wrong {
            assert_eq!(PolicyTarget::parse(name).unwrap_err(), message);
        }
    }
}
