//! Names of NVIDIA's code by its form, as in nvcc's option `-code`: `sm_90a` is machine code, `compute_90a` PTX and
//! `lto_90a` LTO-IR.

use super::nvptx::Arch;

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

#[cfg(test)]
mod tests {
    use super::*;

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
