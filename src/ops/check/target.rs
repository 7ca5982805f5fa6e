//! Names of architectures in policies: a target ID for machine code, NVIDIA's `compute_90` for PTX and `lto_90` for
//! LTO-IR, `ptx` for any PTX, and the first component of the triple for code without a processor. The name of a GPU
//! denotes machine code for its device. The spellings of PyTorch and CMake denote the same: `10.0a`, `90-virtual`.
//!
//! PTX and LTO-IR have the names of nvcc's options, because they do not replace machine code: PTX is compiled when it
//! is loaded, and LTO-IR when it is linked. For a large library, compiling PTX takes minutes.

use std::fmt;

use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::base::spelling::Suggestions;
use fatbin_core::host::Host;
use fatbin_core::target::metal::System;
use fatbin_core::target::nvcc_names::{NvccForm, NvidiaCode, Spelling};
use fatbin_core::target::{InvalidTargetId, TargetId, gpu_names, intel, metal, nvptx, processors::PROCESSORS};

/// An architecture that code is built for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyTarget {
    /// Machine code, by its canonical target ID.
    Native(String),
    /// PTX of one version.
    Ptx(nvptx::Arch),
    /// PTX of any version.
    AnyPtx,
    /// LTO-IR of one version.
    LtoIr(nvptx::Arch),
    /// Code without a processor, by the first component of its triple, or its system.
    Triple(&'static str),
}

/// An unknown or invalid name of an architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPolicyTarget {
    /// An architecture that does not exist.
    #[error("unknown architecture {name:?}{suggestions}")]
    Unknown {
        /// The name.
        name: String,
        /// Similar names.
        suggestions: Suggestions,
    },
    /// A name of machine code and PTX, where one architecture is expected.
    #[error("{name} is machine code and PTX; name one of them, for example \"sm_90\" or \"compute_90\"")]
    Several {
        /// The name.
        name: String,
    },
    /// A target ID with invalid features.
    #[error(transparent)]
    TargetId(#[from] InvalidTargetId),
}

impl Coded for InvalidPolicyTarget {
    fn class(&self) -> ErrorClass {
        match self {
            InvalidPolicyTarget::Unknown { .. }
            | InvalidPolicyTarget::Several { .. }
            | InvalidPolicyTarget::TargetId(_) => Code::InvalidPolicyTarget.into(),
        }
    }
}

/// Returns the first components of the triples of code that OpenMP runs on the host, and of SPIR-V, and the systems of
/// Metal libraries.
fn triples() -> impl Iterator<Item = &'static str> {
    let systems = System::ALL.iter().map(|system| system.device());
    Host::machines().into_iter().chain(["spirv32", "spirv64"]).chain(systems)
}

impl PolicyTarget {
    /// Returns the system of a Metal library.
    pub fn system(&self) -> Option<System> {
        match self {
            PolicyTarget::Triple(name) => System::named(name),
            _ => None,
        }
    }

    /// Parses a name that stands for one architecture.
    pub fn parse(name: &str) -> Result<PolicyTarget, InvalidPolicyTarget> {
        let mut targets = PolicyTarget::parse_all(name)?;
        match (targets.pop(), targets.is_empty()) {
            (Some(target), true) => Ok(target),
            _ => Err(InvalidPolicyTarget::Several { name: name.to_owned() }),
        }
    }

    /// Parses a name in a list. `12.0+PTX` stands for machine code and PTX.
    pub fn parse_all(name: &str) -> Result<Vec<PolicyTarget>, InvalidPolicyTarget> {
        match NvidiaCode::parse(name) {
            Some(code) if !code.arch.is_known() => Err(unknown_code(name, &code)),
            Some(code) => Ok(code.forms.iter().map(|&form| PolicyTarget::nvidia(form, code.arch)).collect()),
            None => Ok(vec![PolicyTarget::other(name)?]),
        }
    }

    /// Returns the target of NVIDIA's code.
    pub fn nvidia(form: NvccForm, arch: nvptx::Arch) -> PolicyTarget {
        match form {
            NvccForm::Ptx => PolicyTarget::Ptx(arch),
            NvccForm::LtoIr => PolicyTarget::LtoIr(arch),
            NvccForm::Machine => PolicyTarget::Native(arch.to_string()),
        }
    }

    fn other(name: &str) -> Result<PolicyTarget, InvalidPolicyTarget> {
        if name == "ptx" {
            return Ok(PolicyTarget::AnyPtx);
        }
        if let Some(triple) = triples().find(|&triple| triple == name) {
            return Ok(PolicyTarget::Triple(triple));
        }
        if intel::is_name(name) {
            return Ok(PolicyTarget::Native(intel::spelled(name)));
        }
        if metal::is_gpu_name(name) {
            return Ok(PolicyTarget::Native(name.to_owned()));
        }
        match TargetId::parse(name) {
            Ok(id) => Ok(PolicyTarget::Native(id.to_string())),
            Err(InvalidTargetId::UnknownProcessor { .. }) => match gpu_names::named(name) {
                Some((_, device)) => Ok(PolicyTarget::Native(device.to_owned())),
                None => Err(unknown(name)),
            },
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the error about code for an unknown architecture, with names in its spelling.
fn unknown_code(name: &str, code: &NvidiaCode) -> InvalidPolicyTarget {
    let form = name.find('-').and_then(|dash| name.get(dash..)).unwrap_or_default();
    let spelled = |number: &u32| match code.spelling {
        Spelling::Nvcc => None,
        Spelling::Torch => Some(nvptx::Capability(*number).to_string()),
        Spelling::CMake => Some(format!("{number}{form}")),
    };
    let names: Vec<String> = nvptx::NUMBERS.iter().filter_map(spelled).collect();
    if names.is_empty() {
        return unknown(name);
    }
    InvalidPolicyTarget::Unknown { name: name.to_owned(), suggestions: Suggestions::new(name, names) }
}

fn unknown(name: &str) -> InvalidPolicyTarget {
    let nvidia = NvccForm::ALL
        .into_iter()
        .flat_map(|form| nvptx::NUMBERS.iter().map(move |&number| form.name(nvptx::Arch { number, suffix: None })));
    let amd = PROCESSORS.iter().map(|processor| processor.name.to_string());
    let intel = intel::device_names();
    let others = triples().chain(["ptx"]).map(str::to_owned);
    let names = nvidia.chain(amd).chain(intel).chain(others).chain(gpu_names::names());
    let digits = name.replace(['O', 'o'], "0").replace('l', "1");
    let suggestions = if NvidiaCode::parse(&digits).is_some_and(|code| code.arch.is_known()) {
        Suggestions(vec![digits])
    } else {
        Suggestions::new(name, names)
    };
    InvalidPolicyTarget::Unknown { name: name.to_owned(), suggestions }
}

impl fmt::Display for PolicyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyTarget::Native(id) => f.write_str(id),
            PolicyTarget::Ptx(arch) => f.write_str(&NvccForm::Ptx.name(*arch)),
            PolicyTarget::LtoIr(arch) => f.write_str(&NvccForm::LtoIr.name(*arch)),
            PolicyTarget::AnyPtx => f.write_str("ptx"),
            PolicyTarget::Triple(triple) => f.write_str(triple),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_have_the_names_that_compilers_use() {
        let names = [
            ("sm_90a", "sm_90a"),
            ("sm_100f", "sm_100f"),
            ("compute_90", "compute_90"),
            ("compute_100f", "compute_100f"),
            ("lto_90a", "lto_90a"),
            ("ptx", "ptx"),
            ("x86_64", "x86_64"),
            ("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-"),
            ("gfx9-4-generic", "gfx9-4-generic"),
            ("intel_gpu_dg2_g10", "intel_gpu_dg2_g10"),
            ("dg2", "dg2"),
            ("arl-h", "arl_h"),
            ("RTX 4090", "sm_89"),
            ("MI300X", "gfx942"),
            ("10.0a", "sm_100a"),
            ("100a-real", "sm_100a"),
            ("90-virtual", "compute_90"),
        ];
        for (name, canonical) in names {
            assert_eq!(PolicyTarget::parse(name).map(|target| target.to_string()), Ok(canonical.to_owned()));
        }
    }

    #[test]
    fn rejects_unknown_architectures_with_suggestions() {
        let wrong = [
            ("sm_09", "unknown architecture \"sm_09\"; did you mean sm_89 or sm_90?"),
            ("gfx9O6", "unknown architecture \"gfx9O6\"; did you mean gfx906?"),
            ("sm_80a", "unknown architecture \"sm_80a\"; did you mean sm_80?"),
            ("sm_90f", "unknown architecture \"sm_90f\"; did you mean sm_90?"),
            ("compute_85", "unknown architecture \"compute_85\"; did you mean compute_35 or compute_75 or compute_80?"),
            ("lto_90f", "unknown architecture \"lto_90f\"; did you mean lto_90?"),
            ("8.1", "unknown architecture \"8.1\"; did you mean 2.1 or 6.1 or 8.0?"),
            ("12.0+PTX", "12.0+PTX is machine code and PTX; name one of them, for example \"sm_90\" or \"compute_90\""),
            ("90b-real", "unknown architecture \"90b-real\""),
            ("intel_gpu_pvcc", "unknown architecture \"intel_gpu_pvcc\"; did you mean intel_gpu_pvc?"),
            ("gfx906:xnack", "feature \"xnack\" must end in + or -"),
        ];
        for (name, message) in wrong {
            assert_eq!(PolicyTarget::parse(name).unwrap_err().to_string(), message);
        }
    }
}
