//! Claims of metadata, each with the code that it requires and the devices that it accepts.

use super::device_code::{AmdCode, Backend, DeviceCode};
use super::version_spec::VersionSpec;
use fatbin_core::target::nvptx::{self, Suffix};

/// A claim: its text and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Key and value: `backend.archs: 9.0+PTX`.
    pub text: String,
    /// The meaning, by the rules of the format's reader.
    pub meaning: Meaning,
}

/// Meaning of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// The code is for this backend and no other.
    Backend(String),
    /// There is code for an NVIDIA architecture.
    Nvidia {
        /// The architecture.
        arch: nvptx::Arch,
        /// Form of the code.
        code: ClaimedCode,
    },
    /// There is code for an AMD processor.
    Amd {
        /// Name of the processor, without features.
        processor: String,
    },
    /// The code runs on all NVIDIA devices whose compute capability is in a range.
    Capabilities(VersionSpec),
    /// The reader accepts no device by this claim, for this reason.
    Void(&'static str),
}

/// Form of the code that a claim is about. It decides which devices the reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimedCode {
    /// Any code. Devices of the same major version and the same or a later minor version; with the suffix `a`, only the
    /// device of this version.
    Any,
    /// Like [`ClaimedCode::Any`], and PTX. Without a suffix, all later devices.
    WithPtx,
    /// Machine code, on the devices that run it.
    Machine,
    /// PTX, on the devices that it is compiled for.
    Ptx,
}

/// First compute capability that claims are checked for, times ten: the oldest that CUDA 12 supports.
const FIRST_CLAIMED: u32 = 50;

/// Returns NVIDIA's discrete GPUs, by compute capability times ten. Embedded parts are left out: no metadata
/// distinguishes them from the discrete ones.
fn discrete_gpus() -> impl Iterator<Item = u32> {
    let discrete = nvptx::ARCHITECTURES.iter().filter(|it| !it.is_embedded && it.number >= FIRST_CLAIMED);
    discrete.map(|architecture| architecture.number)
}

impl Meaning {
    /// Returns the backend of the devices that the claim is about; `None` for a claim about the package.
    pub fn backend(&self) -> Option<Backend> {
        match self {
            Meaning::Nvidia { .. } | Meaning::Capabilities(_) => Some(Backend::Cuda),
            Meaning::Amd { .. } => Some(Backend::Rocm),
            Meaning::Backend(_) | Meaning::Void(_) => None,
        }
    }

    /// Returns whether the claim is about PTX, among other code or alone.
    pub fn is_ptx(&self) -> bool {
        matches!(self, Meaning::Nvidia { code: ClaimedCode::WithPtx | ClaimedCode::Ptx, .. })
    }

    /// Returns whether the reader accepts the package on an NVIDIA device by this claim.
    pub fn accepts_nvidia(&self, number: u32) -> bool {
        let device = nvptx::Arch { number, suffix: None };
        match self {
            Meaning::Nvidia { arch, code: ClaimedCode::Machine } => arch.runs_on(device, false),
            Meaning::Nvidia { arch, code: ClaimedCode::Ptx } => arch.runs_on(device, true),
            Meaning::Nvidia { arch, code } => match arch.suffix {
                Some(Suffix::Specific) => arch.number == number,
                None if *code == ClaimedCode::WithPtx => arch.number <= number,
                // The reader of Hugging Face's metadata has no list of families.
                Some(Suffix::Family) | None => arch.number / 10 == number / 10 && arch.number <= number,
            },
            Meaning::Capabilities(spec) => spec.accepts(number),
            Meaning::Backend(_) | Meaning::Amd { .. } | Meaning::Void(_) => false,
        }
    }

    /// Returns whether the reader accepts the package by this claim on one of the processors of AMD's code.
    pub fn accepts_amd(&self, code: &AmdCode) -> bool {
        match self {
            Meaning::Amd { processor } => code.processors().contains(&processor.as_str()),
            _ => false,
        }
    }

    /// Returns the reason why the code of a package contradicts the claim; `None` if it does not.
    pub fn contradiction(&self, code: &DeviceCode) -> Option<String> {
        match self {
            Meaning::Backend(name) => {
                let backends = code.backends();
                let others: Vec<&str> = backends.iter().map(|it| it.name()).filter(|it| it != name).collect();
                let has_own = backends.len() > others.len();
                (!has_own && !others.is_empty()).then(|| format!("the device code is for {}", others.join(" and ")))
            }
            Meaning::Nvidia { arch, code: form } => nvidia_contradiction(*arch, *form, code),
            Meaning::Amd { processor } => {
                (!code.has_code_for(processor)).then(|| format!("no code runs on {processor}"))
            }
            Meaning::Capabilities(spec) => {
                let accepted = discrete_gpus().filter(|number| spec.accepts(*number));
                let failing = accepted.filter(|number| !code.has_cubin_for(*number) && !code.has_ptx_for(*number));
                let failing: Vec<String> = failing.map(|number| format!("sm_{number}")).collect();
                (!failing.is_empty()).then(|| format!("no code runs on {}", failing.join(", ")))
            }
            Meaning::Void(reason) => Some((*reason).to_owned()),
        }
    }
}

fn nvidia_contradiction(arch: nvptx::Arch, form: ClaimedCode, code: &DeviceCode) -> Option<String> {
    let number = arch.number;
    let has_cubin = code.has_cubin_for(number);
    let has_ptx = code.has_ptx_for(number);
    match form {
        ClaimedCode::Any | ClaimedCode::WithPtx if !has_cubin && !has_ptx => {
            Some(format!("no code runs on sm_{number}"))
        }
        ClaimedCode::Machine if !has_cubin => Some(format!("no machine code runs on sm_{number}")),
        ClaimedCode::WithPtx | ClaimedCode::Ptx if !has_ptx => Some(format!("no PTX for sm_{number}")),
        // PTX with a suffix is not compiled for later devices.
        ClaimedCode::WithPtx | ClaimedCode::Ptx if arch.suffix.is_none() => {
            let later = code.is_linked_later || code.ptx.iter().any(|ptx| ptx.suffix.is_none() && ptx.number <= number);
            (!later).then(|| format!("no PTX for devices later than sm_{number}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::device_code::tests::code;
    use super::*;

    fn nvidia(name: &str, code: ClaimedCode) -> Meaning {
        Meaning::Nvidia { arch: nvptx::Arch::parse(name).unwrap(), code }
    }

    #[test]
    fn claims_of_architectures_hold_or_are_contradicted() {
        use ClaimedCode::{Any, Machine, Ptx, WithPtx};
        let cases = [
            ("sm_90", Any, "sm_90", None),
            ("sm_90", Any, "sm_90a", None),
            ("sm_86", Any, "sm_80", None),
            ("sm_80", Any, "sm_86", Some("no code runs on sm_80")),
            ("sm_90", Any, "compute_80", None),
            ("sm_90", WithPtx, "sm_90", Some("no PTX for sm_90")),
            ("sm_90", WithPtx, "compute_80", None),
            ("sm_90", WithPtx, "sm_90 compute_90a", Some("no PTX for devices later than sm_90")),
            ("sm_90a", WithPtx, "sm_90a compute_90a", None),
            ("sm_90", Machine, "compute_90", Some("no machine code runs on sm_90")),
            ("sm_90", Machine, "sm_80 sm_90", None),
            ("sm_90", Ptx, "sm_90", Some("no PTX for sm_90")),
            ("sm_90", Ptx, "compute_80", None),
            ("sm_80", Ptx, "compute_90", Some("no PTX for sm_80")),
        ];
        for (name, form, found, expected) in cases {
            let contradiction = nvidia(name, form).contradiction(&code(found));
            assert_eq!(contradiction.as_deref(), expected, "{name} {form:?}, {found}");
        }
    }

    #[test]
    fn amd_processors_are_claimed_by_name() {
        let claim = |processor: &str| Meaning::Amd { processor: processor.to_owned() };
        assert_eq!(claim("gfx90a").contradiction(&code("gfx90a:xnack+")), None);
        assert_eq!(claim("gfx942").contradiction(&code("gfx9-4-generic")), None);
        assert_eq!(claim("gfx90a").contradiction(&code("amdgcnspirv")), None);
        let found = claim("gfx942").contradiction(&code("gfx90a"));
        assert_eq!(found.as_deref(), Some("no code runs on gfx942"));
        let amd = |id: &str| AmdCode { id: id.to_owned(), is_looked_up: false };
        assert!(claim("gfx942").accepts_amd(&amd("gfx9-4-generic")) && !claim("gfx942").accepts_amd(&amd("gfx90a")));
    }

    #[test]
    fn a_backend_is_contradicted_by_code_for_others_only() {
        let claim = |name: &str| Meaning::Backend(name.to_owned());
        assert_eq!(claim("cuda").contradiction(&code("sm_90")), None);
        assert_eq!(claim("cuda").contradiction(&code("sm_90 gfx90a")), None);
        assert_eq!(claim("cpu").contradiction(&DeviceCode::default()), None);
        let found = claim("cuda").contradiction(&code("gfx90a spirv"));
        assert_eq!(found.as_deref(), Some("the device code is for rocm and xpu"));
        assert_eq!(claim("cpu").contradiction(&code("sm_90")).as_deref(), Some("the device code is for cuda"));
    }

    /// The rules of `kernels` 0.17.2, `archs.py`.
    #[test]
    fn devices_are_accepted_as_by_the_reader_of_kernels() {
        use ClaimedCode::{Any, WithPtx};
        let cases = [
            ("sm_80", Any, 86, true),
            ("sm_80", Any, 90, false),
            ("sm_86", Any, 80, false),
            ("sm_80", Any, 87, true),
            ("sm_90", WithPtx, 120, true),
            ("sm_90a", WithPtx, 120, false),
            ("sm_90a", Any, 90, true),
            ("sm_100", Any, 107, true),
            ("sm_100f", Any, 107, true),
            ("sm_100f", Any, 120, false),
        ];
        for (name, form, device, expected) in cases {
            assert_eq!(nvidia(name, form).accepts_nvidia(device), expected, "{name} {form:?} {device}");
        }
    }

    #[test]
    fn ranges_of_capabilities_must_run_everywhere() {
        let claim = |text: &str| Meaning::Capabilities(VersionSpec::parse(text).unwrap());
        assert_eq!(claim(">=8.0,<9").contradiction(&code("sm_80")), None);
        assert_eq!(claim(">=8.0").contradiction(&code("sm_80 compute_80")), None);
        let found = claim(">=9.0").contradiction(&code("sm_90"));
        assert_eq!(found.as_deref(), Some("no code runs on sm_100, sm_103, sm_107, sm_120, sm_121"));
    }
}
