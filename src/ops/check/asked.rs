//! Lists of architectures that a build was asked for, as the variables of builds have them: `TORCH_CUDA_ARCH_LIST`,
//! `CMAKE_CUDA_ARCHITECTURES`, `PYTORCH_ROCM_ARCH`.

use super::target::{InvalidPolicyTarget, PolicyTarget};
use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::target::nvcc_names::{FIRST_WITH_ALL, NvccForm, NvidiaCode, Spelling, supported_by_nvcc};
use fatbin_core::target::nvptx::{Arch, CudaRelease, NEWEST};
use fatbin_core::target::processors::Processor;
use fatbin_core::target::target_id::cut;

/// Names of families in PyTorch's lists. Longer names precede those that they contain. Source: PyTorch,
/// `torch/utils/cpp_extension.py`, November 2026.
const FAMILIES: [(&str, &str); 14] = [
    ("Kepler+Tesla", "3.7"),
    ("Kepler", "3.5+PTX"),
    ("Maxwell+Tegra", "5.3"),
    ("Maxwell", "5.0;5.2+PTX"),
    ("Pascal", "6.0;6.1+PTX"),
    ("Volta+Tegra", "7.2"),
    ("Volta", "7.0+PTX"),
    ("Turing", "7.5+PTX"),
    ("Ampere+Tegra", "8.7"),
    ("Ampere", "8.0;8.6+PTX"),
    ("Ada", "8.9+PTX"),
    ("Hopper", "9.0+PTX"),
    ("Blackwell+Tegra", "11.0"),
    ("Blackwell", "10.0;10.3;12.0;12.1+PTX"),
];

/// Variable that a list comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    /// `TORCH_CUDA_ARCH_LIST`.
    Torch,
    /// `CMAKE_CUDA_ARCHITECTURES`.
    CMake,
    /// `PYTORCH_ROCM_ARCH`, and lists of AMD's processors in other variables.
    Hip,
}

impl Variable {
    fn name(self) -> &'static str {
        match self {
            Variable::Torch => "TORCH_CUDA_ARCH_LIST",
            Variable::CMake => "CMAKE_CUDA_ARCHITECTURES",
            Variable::Hip => "PYTORCH_ROCM_ARCH",
        }
    }
}

/// A list of architectures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Entries in the order of the list.
    pub entries: Vec<AskedEntry>,
    /// Entry whose meaning depends on a release of CUDA that was not specified.
    pub assumed: Option<String>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedEntry {
    /// The entry as it is written; for `all` with the release.
    pub text: String,
    /// Code that the build makes for it.
    pub targets: Vec<PolicyTarget>,
}

/// Reason why a list has no meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAsked {
    /// The list has no entries, as an unset variable has.
    #[error("empty list of architectures: the build was asked for nothing, or the variable is not set")]
    Empty,
    /// Architectures that depend on the GPUs of the machine that built the code.
    #[error("{0} depends on the GPUs of the machine that built the code; list their architectures")]
    Native(String),
    /// CMake's value for no architectures.
    #[error("{0}: CMake passes no architectures to the compiler; list those of its flags")]
    Off(String),
    /// An entry of another variable.
    #[error("{entry} is an entry of {of}, not of {expected}")]
    OtherVariable {
        /// The entry.
        entry: String,
        /// Variable that has such entries.
        of: &'static str,
        /// Variable of the list.
        expected: &'static str,
    },
    /// An NVIDIA architecture in a list for AMD devices.
    #[error("{entry} is code for NVIDIA devices, and {expected} lists AMD processors")]
    OtherVendor {
        /// The entry.
        entry: String,
        /// Variable of the list.
        expected: &'static str,
    },
    /// A release of CUDA with an unknown meaning of `all`.
    #[error("invalid release of CUDA {0:?}; all and all-major are known for {first} to {newest}, for example \"12.9\"",
        first = dotted(FIRST_WITH_ALL), newest = dotted(NEWEST))]
    InvalidRelease(String),
    /// An unknown architecture.
    #[error(transparent)]
    Target(#[from] InvalidPolicyTarget),
}

impl Coded for InvalidAsked {
    fn class(&self) -> ErrorClass {
        match self {
            InvalidAsked::Target(error) => error.class(),
            InvalidAsked::InvalidRelease(_) => Code::InvalidPolicyValue.into(),
            InvalidAsked::Empty
            | InvalidAsked::Native(_)
            | InvalidAsked::Off(_)
            | InvalidAsked::OtherVendor { .. }
            | InvalidAsked::OtherVariable { .. } => Code::InvalidPolicyTarget.into(),
        }
    }
}

fn dotted((major, minor): CudaRelease) -> String {
    format!("{major}.{minor}")
}

/// Parses a release of CUDA whose meaning of `all` is known.
pub fn cuda_release(text: &str) -> Result<CudaRelease, InvalidAsked> {
    let parsed = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let known = parsed.filter(|release| (FIRST_WITH_ALL..=NEWEST).contains(release));
    known.ok_or_else(|| InvalidAsked::InvalidRelease(text.to_owned()))
}

impl Asked {
    /// Parses a list with semicolons, commas or spaces between its entries. Without a variable, entries of all are
    /// accepted. `release` is the release of nvcc that `all` and `all-major` depend on.
    pub fn parse(list: &str, variable: Option<Variable>, release: Option<CudaRelease>) -> Result<Asked, InvalidAsked> {
        let mut asked = Asked::default();
        for entry in list.split([';', ',', ' ', '\t', '\n']).filter(|entry| !entry.is_empty()) {
            let (targets, belongs_to) = targets(entry, release)?;
            if let (Some(expected), Some(of)) = (variable, belongs_to)
                && expected != of
            {
                let entry = entry.to_owned();
                return Err(InvalidAsked::OtherVariable { entry, of: of.name(), expected: expected.name() });
            }
            if variable == Some(Variable::Hip) && NvidiaCode::parse(entry).is_some() {
                return Err(InvalidAsked::OtherVendor { entry: entry.to_owned(), expected: Variable::Hip.name() });
            }
            let text = if is_all(entry) {
                asked.assumed = if release.is_none() { Some(entry.to_owned()) } else { asked.assumed };
                format!("{entry} of CUDA {}", dotted(release.unwrap_or(NEWEST)))
            } else {
                entry.to_owned()
            };
            asked.add(AskedEntry { text, targets });
        }
        if asked.entries.is_empty() { Err(InvalidAsked::Empty) } else { Ok(asked) }
    }

    /// Adds the entries of another list.
    pub fn extend(&mut self, other: Asked) {
        self.assumed = self.assumed.take().or(other.assumed);
        other.entries.into_iter().for_each(|entry| self.add(entry));
    }

    /// Adds an entry without the code that earlier entries have.
    fn add(&mut self, mut entry: AskedEntry) {
        entry.targets.retain(|target| !self.entries.iter().any(|known| known.targets.contains(target)));
        self.entries.push(entry);
    }

    /// Returns the code of all entries, each with its entry.
    pub fn targets(&self) -> impl Iterator<Item = (&AskedEntry, &PolicyTarget)> {
        self.entries.iter().flat_map(|entry| entry.targets.iter().map(move |target| (entry, target)))
    }
}

fn is_all(entry: &str) -> bool {
    ["all", "all-major"].contains(&entry)
}

/// Returns the code that an entry stands for, and the variable that has such entries; `None` if several have.
fn targets(entry: &str, release: Option<CudaRelease>) -> Result<(Vec<PolicyTarget>, Option<Variable>), InvalidAsked> {
    if ["native", "auto"].iter().any(|word| entry.eq_ignore_ascii_case(word)) {
        return Err(InvalidAsked::Native(entry.to_owned()));
    }
    if ["OFF", "FALSE", "NO"].iter().any(|word| entry.eq_ignore_ascii_case(word)) {
        return Err(InvalidAsked::Off(entry.to_owned()));
    }
    if is_all(entry) {
        let (machine, ptx) = supported_by_nvcc(release.unwrap_or(NEWEST), entry == "all-major");
        let machine = machine.into_iter().map(|arch| PolicyTarget::nvidia(NvccForm::Machine, arch));
        let ptx = ptx.map(|arch: Arch| PolicyTarget::nvidia(NvccForm::Ptx, arch));
        return Ok((machine.chain(ptx).collect(), Some(Variable::CMake)));
    }
    if let Some((_, list)) = FAMILIES.iter().find(|(name, _)| name.eq_ignore_ascii_case(entry)) {
        let parts = list.split(';').map(PolicyTarget::parse_all).collect::<Result<Vec<_>, _>>()?;
        return Ok((parts.concat(), Some(Variable::Torch)));
    }
    let variable = match NvidiaCode::parse(entry).map(|code| code.spelling) {
        Some(Spelling::Torch) => Some(Variable::Torch),
        Some(Spelling::CMake) => Some(Variable::CMake),
        Some(Spelling::Nvcc) => None,
        None => Processor::named(cut(entry).0).map(|_| Variable::Hip),
    };
    Ok((PolicyTarget::parse_all(entry)?, variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(list: &str, variable: Option<Variable>, release: Option<CudaRelease>) -> String {
        match Asked::parse(list, variable, release) {
            Ok(asked) => asked.targets().map(|(_, target)| target.to_string()).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn lists_of_every_variable_are_read() {
        let cases = [
            ("8.0;9.0a;12.0+PTX", Some(Variable::Torch), "sm_80 sm_90a sm_120 compute_120"),
            ("8.0 8.6+PTX", Some(Variable::Torch), "sm_80 sm_86 compute_86"),
            ("Ampere;Hopper", Some(Variable::Torch), "sm_80 sm_86 compute_86 sm_90 compute_90"),
            ("Ampere+Tegra", Some(Variable::Torch), "sm_87"),
            ("80-real;90a-virtual;89", Some(Variable::CMake), "sm_80 compute_90a sm_89 compute_89"),
            ("gfx90a:xnack-;gfx942 gfx9-4-generic", Some(Variable::Hip), "gfx90a:xnack- gfx942 gfx9-4-generic"),
            ("8.0;100a-real;gfx1100;compute_90", None, "sm_80 sm_100a gfx1100 compute_90"),
            ("9.0;9.0+PTX;9.0", None, "sm_90 compute_90"),
        ];
        for (list, variable, expected) in cases {
            assert_eq!(codes(list, variable, None), expected, "{list}");
        }
    }

    #[test]
    fn what_all_means_depends_on_the_release() {
        let torch = Some(Variable::Torch);
        let cmake = Some(Variable::CMake);
        assert_eq!(codes("all-major", cmake, Some((13, 0))), "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120");
        assert_eq!(codes("all-major", cmake, Some((11, 8))), "sm_35 sm_50 sm_60 sm_70 sm_80 sm_90 compute_90");
        let asked = Asked::parse("80-real;all", cmake, None).unwrap();
        assert_eq!(asked.assumed.as_deref(), Some("all"));
        assert_eq!(asked.entries.last().unwrap().text, "all of CUDA 13.5");
        assert_eq!(Asked::parse("all", cmake, Some((13, 5))).unwrap().assumed, None);
        assert_eq!(
            codes("all", torch, None),
            "all is an entry of CMAKE_CUDA_ARCHITECTURES, not of TORCH_CUDA_ARCH_LIST"
        );
        assert_eq!(cuda_release("12.9"), Ok((12, 9)));
        for release in ["11.4", "13.6", "12", "twelve", ""] {
            assert!(cuda_release(release).unwrap_err().to_string().contains("known for 11.5 to 13.5"), "{release}");
        }
    }

    #[test]
    fn lists_without_a_meaning_are_refused_with_the_reason() {
        let cases = [
            ("", "empty list of architectures: the build was asked for nothing, or the variable is not set"),
            (" ; ", "empty list of architectures: the build was asked for nothing, or the variable is not set"),
            ("native", "native depends on the GPUs of the machine that built the code; list their architectures"),
            ("OFF", "OFF: CMake passes no architectures to the compiler; list those of its flags"),
            ("80;8.0", "8.0 is an entry of TORCH_CUDA_ARCH_LIST, not of CMAKE_CUDA_ARCHITECTURES"),
            ("gfx90a", "gfx90a is an entry of PYTORCH_ROCM_ARCH, not of CMAKE_CUDA_ARCHITECTURES"),
            ("82", "unknown architecture \"82\"; did you mean 32 or 52 or 62?"),
            ("80a-real", "unknown architecture \"80a-real\"; did you mean 80-real?"),
        ];
        for (list, message) in cases {
            assert_eq!(codes(list, Some(Variable::CMake), None), message, "{list}");
        }
    }
}
