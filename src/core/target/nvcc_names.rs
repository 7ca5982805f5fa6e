//! Names of NVIDIA's code as builds write them: nvcc's option `-code` (`sm_90a` is machine code, `compute_90a` PTX and
//! `lto_90a` LTO-IR), PyTorch's `TORCH_CUDA_ARCH_LIST` (`9.0a`, `12.0+PTX`) and CMake's `CMAKE_CUDA_ARCHITECTURES`
//! (`90a-real`, `90-virtual`, `90`).
//!
//! Sources: PyTorch, `torch/utils/cpp_extension.py`; CMake, documentation of the property `CUDA_ARCHITECTURES`.

use super::nvptx::{Arch, CudaRelease, architectures_of};

/// Prefix of the names of machine code.
const MACHINE_PREFIX: &str = "sm_";

/// Form of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NvccForm {
    /// Machine code.
    Machine,
    /// PTX.
    Ptx,
    /// LTO-IR.
    LtoIr,
}

impl NvccForm {
    /// All forms.
    pub const ALL: [NvccForm; 3] = [NvccForm::Machine, NvccForm::Ptx, NvccForm::LtoIr];

    /// Prefix of its names.
    pub fn prefix(self) -> &'static str {
        match self {
            NvccForm::Machine => MACHINE_PREFIX,
            NvccForm::Ptx => "compute_",
            NvccForm::LtoIr => "lto_",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<(NvccForm, Arch)> {
        NvccForm::ALL.into_iter().find_map(|form| {
            let number = name.strip_prefix(form.prefix())?;
            Some((form, Arch::parse(&format!("{MACHINE_PREFIX}{number}"))?))
        })
    }

    /// Returns the name of code for an architecture.
    pub fn name(self, arch: Arch) -> String {
        arch.to_string().replacen(MACHINE_PREFIX, self.prefix(), 1)
    }
}

/// Project whose builds write a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// nvcc.
    Nvcc,
    /// PyTorch.
    Torch,
    /// CMake.
    CMake,
}

/// Code that a name stands for. `12.0+PTX` and CMake's `120` stand for machine code and PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvidiaCode {
    /// Project that writes the name this way.
    pub spelling: Spelling,
    /// Forms of the code.
    pub forms: &'static [NvccForm],
    /// Architecture of the code. It may be unknown.
    pub arch: Arch,
}

const MACHINE: &[NvccForm] = &[NvccForm::Machine];
const PTX: &[NvccForm] = &[NvccForm::Ptx];
const LTO_IR: &[NvccForm] = &[NvccForm::LtoIr];
const MACHINE_AND_PTX: &[NvccForm] = &[NvccForm::Machine, NvccForm::Ptx];

impl NvidiaCode {
    /// Parses a name in any spelling; `None` for anything else.
    pub fn parse(name: &str) -> Option<NvidiaCode> {
        if let Some((form, arch)) = NvccForm::parse(name) {
            let forms = match form {
                NvccForm::Machine => MACHINE,
                NvccForm::Ptx => PTX,
                NvccForm::LtoIr => LTO_IR,
            };
            return Some(NvidiaCode { spelling: Spelling::Nvcc, forms, arch });
        }
        if name.contains('.') {
            let (capability, forms) = match name.strip_suffix("+PTX") {
                Some(capability) => (capability, MACHINE_AND_PTX),
                None => (name, MACHINE),
            };
            return Some(NvidiaCode { spelling: Spelling::Torch, forms, arch: arch_of_capability(capability)? });
        }
        let (number, forms) = match (name.strip_suffix("-real"), name.strip_suffix("-virtual")) {
            (Some(number), _) => (number, MACHINE),
            (_, Some(number)) => (number, PTX),
            _ => (name, MACHINE_AND_PTX),
        };
        let arch = Arch::parse(&format!("{MACHINE_PREFIX}{number}"))?;
        Some(NvidiaCode { spelling: Spelling::CMake, forms, arch })
    }
}

/// Returns the architecture of a compute capability: `12.0a` is `sm_120a`.
fn arch_of_capability(text: &str) -> Option<Arch> {
    let (major, rest) = text.split_once('.')?;
    let minor = rest.chars().next()?;
    if major.is_empty() || !minor.is_ascii_digit() {
        return None;
    }
    let suffix = rest.get(1..).filter(|suffix| ["", "a", "f"].contains(suffix))?;
    Arch::parse(&format!("{MACHINE_PREFIX}{major}{minor}{suffix}"))
}

/// First release whose nvcc has `-arch=all` and `-arch=all-major`. CMake passes them on.
pub const FIRST_WITH_ALL: CudaRelease = (11, 5);

/// Returns the architectures that nvcc of a release compiles for with `-arch=all`: machine code for each, and PTX for
/// the second result. With `-arch=all-major`, machine code for the first of each major version, and for the oldest.
///
/// Source: `nvcc --help` and `nvcc --dryrun` of CUDA 13.0 and 13.5, and the architectures in `ptxas --help` of 11.8, 12.0
/// and 12.9.
pub fn supported_by_nvcc(release: CudaRelease, is_major: bool) -> (Vec<Arch>, Option<Arch>) {
    let supported: Vec<Arch> = architectures_of(release).collect();
    let oldest = supported.first().copied();
    let is_first_of_major = |arch: &Arch| arch.number.is_multiple_of(10);
    let newest_major = supported.iter().copied().rfind(is_first_of_major);
    let listed = supported.into_iter().filter(|arch| !is_major || is_first_of_major(arch) || Some(*arch) == oldest);
    (listed.collect(), newest_major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_names_code() {
        let cases = [
            ("sm_90a", "sm_90a"),
            ("compute_90", "compute_90"),
            ("lto_90a", "lto_90a"),
            ("8.0", "sm_80"),
            ("10.0a", "sm_100a"),
            ("10.3f", "sm_103f"),
            ("12.0+PTX", "sm_120 compute_120"),
            ("9.0a+PTX", "sm_90a compute_90a"),
            ("80", "sm_80 compute_80"),
            ("100a-real", "sm_100a"),
            ("90-virtual", "compute_90"),
        ];
        for (name, codes) in cases {
            let code = NvidiaCode::parse(name).unwrap_or_else(|| panic!("{name}"));
            let names: Vec<String> = code.forms.iter().map(|form| form.name(code.arch)).collect();
            assert_eq!(names.join(" "), codes, "{name}");
        }
        let others = [
            "",
            "8.",
            ".0",
            "8.00",
            "8.0+ptx",
            "8.0+PTX+PTX",
            "8.0b",
            "+PTX",
            "80-imaginary",
            "-real",
            "a",
            "gfx90a",
            "all",
            "sm_90-real",
            "8.\u{e9}",
        ];
        for name in others {
            assert_eq!(NvidiaCode::parse(name), None, "{name}");
        }
    }

    #[test]
    fn all_depends_on_the_release_of_nvcc() {
        let numbers = |release, is_major| {
            let (machine, ptx) = supported_by_nvcc(release, is_major);
            (machine.iter().map(|arch| arch.number).collect::<Vec<_>>(), ptx.map(|arch| arch.number))
        };
        assert_eq!(numbers((11, 8), true), (vec![35, 50, 60, 70, 80, 90], Some(90)));
        assert_eq!(numbers((12, 0), true), (vec![50, 60, 70, 80, 90], Some(90)));
        assert_eq!(numbers((12, 9), true), (vec![50, 60, 70, 80, 90, 100, 120], Some(120)));
        assert_eq!(numbers((13, 0), true), (vec![75, 80, 90, 100, 110, 120], Some(120)));
        assert_eq!(numbers((13, 0), false), (vec![75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121], Some(120)));
    }

    #[test]
    fn names_are_parsed_and_written() {
        for name in ["sm_90a", "compute_80", "compute_100f", "lto_120", "lto_90a"] {
            let (form, arch) = NvccForm::parse(name).unwrap();
            assert_eq!(form.name(arch), name);
        }
        for name in ["lto_", "lto_sm_90", "ltoir", "compute_90b", "gfx90a", "90"] {
            assert_eq!(NvccForm::parse(name), None, "{name}");
        }
    }
}
