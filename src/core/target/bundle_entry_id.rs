//! Bundle entry IDs: `<offload kind>-<arch>-<vendor>-<os>-<environment>[-<target id>]`.
//!
//! The format is from the Clang Offload Bundler document. The separator of the parts may also occur in a part
//! (`gfx9-4-generic`, `gfx90a:xnack-`), and older tools accepted shorter triples (`hip-amdgcn-amd-amdhsa-gfx906`,
//! `openmp-amdgcn-amdhsa-gfx906`), so a parser needs to recognize processors to split an ID in the right places.

use super::processors::{OTHERS, Processor};
use super::subarch::{self, Subarch};
use super::target_id::{InvalidTargetId, TargetId, cut};
use super::triple::{AMDGCN, Triple, names_architecture};
use super::{OffloadKind, amdgpu, nvptx};
use crate::base::code::{Code, Coded, ErrorClass};
use crate::base::spelling::Suggestions;

/// Triple and name of SPIR-V for all of AMD's GPUs.
const AMD_SPIRV: &str = "spirv64-amd-amdhsa";
const AMD_SPIRV_UNKNOWN: &str = "spirv64-amd-amdhsa-unknown";
const AMDGCN_SPIRV: &str = "amdgcnspirv";

/// The releases of HIP's runtime that find an entry by its ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundByHip {
    /// Every release that loads such code.
    Always,
    /// Releases after ROCm 6.4.
    AfterRocm6_4,
    /// No known release.
    Never,
}

/// A bundle entry ID split into its parts, which are never normalized: they are printed as they are in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleEntryId<'data> {
    /// Offload kind; `hip` and `hipv4` are both HIP.
    pub kind: OffloadKind,
    /// Name of the offload kind as written.
    pub(crate) kind_name: &'data str,
    /// Triple as written, without the empty environment that ends it in `amdgcn-amd-amdhsa-`.
    pub triple: &'data str,
    /// Target ID: a processor with features. Absent for host entries and for code that runs on any processor.
    pub target_id: Option<&'data str>,
}

/// Returns an ID of the kind that an incomplete ID has.
fn example(id: &str) -> &'static str {
    if id.starts_with("host") { "host-x86_64-unknown-linux-gnu-" } else { "hip-amdgcn-amd-amdhsa--gfx90a" }
}

/// Reason why a text is not accepted as the ID of a new bundle entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBundleEntryId {
    /// The text does not have the form of an ID.
    #[error(
        "invalid bundle entry ID {id:?}, expected <offload kind>-<triple>[-<target id>], for example {}", example(.id)
    )]
    Shape {
        /// The text.
        id: String,
    },
    /// The offload kind is unknown.
    #[error("{id:?}: unknown offload kind{suggestions} (known: {})", OffloadKind::names().join(", "))]
    Kind {
        /// The ID.
        id: String,
        /// Similar kinds.
        suggestions: Suggestions,
    },
    /// The architecture is unknown.
    #[error("{id:?}: unknown architecture in triple {triple}")]
    Triple {
        /// The ID.
        id: String,
        /// Triple in the ID.
        triple: String,
    },
    /// The number after `amdgpu` is unknown.
    #[error("{id:?}: unknown subarchitecture in triple {triple}; write amdgcn and the processor")]
    Subarch {
        /// The ID.
        id: String,
        /// Triple in the ID.
        triple: String,
    },
    /// The processor does not belong to the subarchitecture in the triple.
    #[error("{id:?}: {processor} is not a processor of {triple}")]
    Processor {
        /// The ID.
        id: String,
        /// Triple in the ID.
        triple: String,
        /// The processor.
        processor: &'static str,
    },
    /// The triple is for a family whose members have no code in common, and no processor is given.
    #[error("{id:?}: no code runs on all processors of {triple}; add a processor")]
    Family {
        /// The ID.
        id: String,
        /// Triple in the ID.
        triple: String,
    },
    /// The target ID is invalid.
    #[error("{id:?}: {cause}")]
    TargetId {
        /// The ID.
        id: String,
        /// Reason why the target ID is invalid.
        cause: InvalidTargetId,
    },
    /// NVIDIA has no such architecture.
    #[error("{id:?}: no architecture has the name {arch}")]
    Architecture {
        /// The ID.
        id: String,
        /// The architecture.
        arch: nvptx::Arch,
    },
}

impl Coded for InvalidBundleEntryId {
    fn class(&self) -> ErrorClass {
        match self {
            InvalidBundleEntryId::Shape { .. }
            | InvalidBundleEntryId::Kind { .. }
            | InvalidBundleEntryId::Triple { .. }
            | InvalidBundleEntryId::Subarch { .. }
            | InvalidBundleEntryId::Processor { .. }
            | InvalidBundleEntryId::Family { .. }
            | InvalidBundleEntryId::Architecture { .. } => Code::InvalidEntryId.into(),
            InvalidBundleEntryId::TargetId { cause, .. } => cause.class(),
        }
    }
}

impl<'data> BundleEntryId<'data> {
    /// Splits an ID. Returns `None` if the offload kind is unknown or the triple has fewer than two parts, and for an
    /// ID that could not be part of a file name, because names of archive members are derived from IDs.
    pub fn parse(id: &'data str) -> Option<Self> {
        if !id.bytes().all(|byte| byte.is_ascii_graphic() && !b"/\\".contains(&byte)) {
            return None;
        }
        let (kind_name, rest) = id.split_once('-')?;
        let kind = OffloadKind::from_name(kind_name)?;
        let dashes: Vec<usize> = rest.match_indices('-').map(|(at, _)| at).collect();
        if dashes.is_empty() {
            return None;
        }
        // The target ID begins after the fourth dash, or earlier if parts of the triple are omitted.
        let mut earlier = dashes.iter().take(3);
        let cut = earlier.find(|&&dash| looks_like_processor(&rest[dash + 1..])).or(dashes.get(3)).copied();
        let (triple, target_id) = match cut {
            Some(dash) => (&rest[..dash], Some(&rest[dash + 1..])),
            None => (rest, None),
        };
        Some(BundleEntryId {
            kind,
            kind_name,
            triple: triple.trim_end_matches('-'),
            target_id: target_id.filter(|target_id| !target_id.is_empty()),
        })
    }

    /// Splits an ID for a new bundle entry. Rejects anything that would be lost or could not be found again: unknown
    /// kinds, architectures and processors, and features that a processor does not have.
    pub fn check(id: &'data str) -> Result<Self, InvalidBundleEntryId> {
        let owned = || id.to_owned();
        let parsed = Self::parse(id).ok_or_else(|| Self::invalid(id))?;
        if !names_architecture(parsed.triple) {
            return Err(InvalidBundleEntryId::Triple { id: owned(), triple: parsed.triple.to_owned() });
        }
        if let Some(Err(cause)) = parsed.target_id.map(TargetId::parse) {
            return Err(InvalidBundleEntryId::TargetId { id: owned(), cause });
        }
        if let Some(arch) = parsed.target_id.and_then(nvptx::Arch::parse).filter(|arch| !arch.may_exist()) {
            return Err(InvalidBundleEntryId::Architecture { id: owned(), arch });
        }
        parsed.check_subarch(id).map(|()| parsed)
    }

    /// Checks that the subarchitecture in the triple exists, and that it includes the processor.
    fn check_subarch(&self, id: &str) -> Result<(), InvalidBundleEntryId> {
        let id = id.to_owned();
        let triple = self.triple.to_owned();
        let Some(subarch) = Subarch::of(&triple) else {
            let is_bare = !subarch::is_spelled_amdgpu(&triple) || triple.split('-').next() == Some(subarch::AMDGPU);
            return if is_bare { Ok(()) } else { Err(InvalidBundleEntryId::Subarch { id, triple }) };
        };
        let stated = self.stated_target_id().map(amdgpu::processor);
        match stated.and_then(|name| Processor::named(name).or_else(|| Subarch::processor_named(name))) {
            Some(processor) if subarch.accepts(processor) => Ok(()),
            Some(processor) => Err(InvalidBundleEntryId::Processor { id, triple, processor: &processor.name }),
            None => Err(InvalidBundleEntryId::Family { id, triple }),
        }
    }

    /// Returns the reason why [`Self::parse`] rejects a text.
    pub fn invalid(id: &str) -> InvalidBundleEntryId {
        let kind = id.split_once('-').map(|(kind, _)| kind).filter(|kind| !kind.is_empty());
        match kind {
            Some(kind) if OffloadKind::from_name(kind).is_none() => {
                let suggestions = Suggestions::new(kind, OffloadKind::names());
                InvalidBundleEntryId::Kind { id: id.to_owned(), suggestions }
            }
            _ => InvalidBundleEntryId::Shape { id: id.to_owned() },
        }
    }

    /// Returns the canonical form: every part of the triple, the processor's primary name, features in alphabetical
    /// order. A target ID that cannot be parsed is kept as it is.
    pub fn canonical(&self) -> String {
        let written = self.target_id.unwrap_or_default();
        match TargetId::parse(written) {
            Ok(target_id) => self.with_target_id(&target_id.to_string()),
            Err(_) => self.with_target_id(written),
        }
    }

    /// Target ID, or the processor that the triple states instead.
    pub fn stated_target_id(&self) -> Option<&'data str> {
        subarch::stated_arch(self.triple, self.target_id)
    }

    /// Returns which releases of HIP's runtime find the entry if it is for AMD's GPUs. The runtime compares the triple
    /// as text, and looks up SPIR-V by one ID or, later, by two. Source: ROCm/clr at commits 0781225b and
    /// rocm-systems, hipamd/src/hip_fatbin.cpp, `spirv_isa_name` and `spirv_isa_name_empty`; llvm-project pull requests
    /// 139112 (ROCm 6.4.0), 168521, 214841 and 217640.
    pub fn found_by_hip(&self) -> FoundByHip {
        let is_found = if self.is_amd_spirv() {
            let is_named = self.target_id == Some(AMDGCN_SPIRV);
            if is_named && self.triple == AMD_SPIRV_UNKNOWN {
                return FoundByHip::AfterRocm6_4;
            }
            is_named && self.triple == AMD_SPIRV
        } else {
            !subarch::is_amdgpu(self.triple) || self.triple == AMDGCN
        };
        if is_found { FoundByHip::Always } else { FoundByHip::Never }
    }

    /// Remedy for an entry that HIP's runtime does not find.
    pub fn remedy_for_hip(&self) -> String {
        if self.is_amd_spirv() {
            return format!("bundle it again as hip-{AMD_SPIRV}--{AMDGCN_SPIRV}");
        }
        let target_id = self.stated_target_id();
        let triple = subarch::legacy_triple(self.triple);
        format!("bundle it again as {}", BundleEntryId { triple: &triple, target_id, ..*self }.canonical())
    }

    /// Returns whether the ID is for SPIR-V that AMD's runtime compiles, in the spelling of any release.
    pub fn is_amd_spirv(&self) -> bool {
        let has_spirv_triple = self.triple.starts_with("spirv64-amd-") || self.triple == "spirv64-amd";
        has_spirv_triple || self.target_id.is_some_and(|id| cut(id).0 == AMDGCN_SPIRV)
    }

    /// Returns the ID with its triple in normal form and another target ID, which may be empty.
    pub fn with_target_id(&self, target_id: &str) -> String {
        format!("{}-{}-{target_id}", self.kind_name, Triple::normalize(self.triple))
    }
}

fn looks_like_processor(text: &str) -> bool {
    let (processor, _) = super::target_id::cut(text);
    let known = || Processor::named(processor).is_some() || OTHERS[..1].contains(&processor);
    text.starts_with("gfx") || text.starts_with("sm_") && nvptx::Arch::parse(processor).is_some() || known()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_ids_as_the_tools_write_them() {
        use OffloadKind::*;
        let cases = [
            ("hip-amdgcn-amd-amdhsa--gfx906", Hip, "amdgcn-amd-amdhsa", Some("gfx906")),
            (
                "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
                Hip,
                "amdgcn-amd-amdhsa",
                Some("gfx90a:sramecc+:xnack-"),
            ),
            ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", Hip, "amdgcn-amd-amdhsa", Some("gfx9-4-generic")),
            ("hip-amdgcn-amd-amdhsa-gfx906", Hip, "amdgcn-amd-amdhsa", Some("gfx906")),
            ("openmp-amdgcn-amdhsa-gfx906:xnack+", OpenMp, "amdgcn-amdhsa", Some("gfx906:xnack+")),
            ("openmp-amdgcn-amdhsa---gfx906", OpenMp, "amdgcn-amdhsa", Some("gfx906")),
            ("hip-amdgcn-gfx9-4-generic", Hip, "amdgcn", Some("gfx9-4-generic")),
            ("openmp-nvptx64-sm_70", OpenMp, "nvptx64", Some("sm_70")),
            ("openmp-nvptx64-nvidia-cuda-unknown-sm_70", OpenMp, "nvptx64-nvidia-cuda-unknown", Some("sm_70")),
            ("host-x86_64-unknown-linux-gnu-", Host, "x86_64-unknown-linux-gnu", None),
            ("host-x86_64-unknown-linux-gnu", Host, "x86_64-unknown-linux-gnu", None),
            ("host-x86_64-unknown-linux--", Host, "x86_64-unknown-linux", None),
            ("sycl-spir64-unknown", Sycl, "spir64-unknown", None),
        ];
        for (id, kind, triple, target_id) in cases {
            let parsed = BundleEntryId::parse(id).unwrap();
            assert_eq!((parsed.kind, parsed.triple, parsed.target_id), (kind, triple, target_id), "{id}");
        }
    }

    #[test]
    fn hip_finds_entries_for_amd_by_one_triple() {
        let cases = [
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", true),
            ("hip-amdgcn-amd-amdhsa-gfx90a", true),
            ("hip-spirv64-amd-amdhsa--amdgcnspirv", true),
            ("hip-spirv64-amd-amdhsa-amdgcnspirv", true),
            ("hip-spirv64-amd-unknown-unknown-amdgcnspirv", false),
            ("hip-spirv64-amd-amdhsa--", false),
            ("hip-amdgcn-amd-amdhsa--amdgcnspirv", false),
            ("hip-spirv64-unknown-unknown--", true),
            ("host-x86_64-unknown-linux-gnu-", true),
            ("hip-amdgpu9.0a-amd-amdhsa--gfx90a", false),
            ("hip-amdgpu-amd-amdhsa--gfx90a", false),
            ("hip-amdgcn-amd-amdhsa-llvm-gfx90a", false),
        ];
        for (id, is_found) in cases {
            let expected = if is_found { FoundByHip::Always } else { FoundByHip::Never };
            assert_eq!(BundleEntryId::parse(id).unwrap().found_by_hip(), expected, "{id}");
        }
        for kind in ["hip", "hipv4"] {
            let id = format!("{kind}-spirv64-amd-amdhsa-unknown-amdgcnspirv");
            assert_eq!(BundleEntryId::parse(&id).unwrap().found_by_hip(), FoundByHip::AfterRocm6_4);
        }
    }

    #[test]
    fn rejects_text_that_is_not_an_id() {
        for id in [
            "",
            "-",
            "hip",
            "hip-",
            "hip-amdgcn",
            "vulkan-a-b-c-d",
            "hip-a-b\0",
            "hip a-b-c",
            "hip-a-b/../c",
            "hip-a-b\\c",
            "host-\u{e9}-b",
        ] {
            assert_eq!(BundleEntryId::parse(id), None, "{id:?}");
        }
    }

    #[test]
    fn every_form_of_an_id_has_one_canonical_form() {
        let forms = [
            ("hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa-unknown-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("hipv4-amdgcn-amd-amdhsa-fiji", "hipv4-amdgcn-amd-amdhsa--gfx803"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-:sramecc+", "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"),
            ("hip-spirv64-amd-amdhsa-amdgcnspirv", "hip-spirv64-amd-amdhsa--amdgcnspirv"),
            ("hip-amdgpu9.0a-amd-amdhsa-gfx90a", "hip-amdgpu9.0a-amd-amdhsa--gfx90a"),
            (
                "hip-amdgpu9.4-amd-amdhsa-unknown-gfx9-4-generic:xnack+",
                "hip-amdgpu9.4-amd-amdhsa--gfx9-4-generic:xnack+",
            ),
            ("hipv4-amdgpu9.42-amd-amdhsa--", "hipv4-amdgpu9.42-amd-amdhsa--"),
            ("hipv4-amdgpu-amd-amdhsa--gfx90c", "hipv4-amdgpu-amd-amdhsa--gfx90c"),
            ("openmp-amdgcn-amdhsa-gfx906", "openmp-amdgcn-unknown-amdhsa--gfx906"),
            ("openmp-nvptx64-nvidia-cuda-sm_70", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("openmp-nvptx64-nvidia-cuda--sm_70", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("host-x86_64-unknown-linux-gnu", "host-x86_64-unknown-linux-gnu-"),
            ("host-x86_64-linux-gnu", "host-x86_64-unknown-linux-gnu-"),
            ("host-x86_64-unknown-linux", "host-x86_64-unknown-linux-unknown-"),
            ("sycl-spir64-unknown", "sycl-spir64-unknown-unknown-unknown-"),
        ];
        for (id, canonical) in forms {
            assert_eq!(BundleEntryId::check(id).unwrap().canonical(), canonical, "{id}");
            assert_eq!(BundleEntryId::check(canonical).unwrap().canonical(), canonical);
        }
    }

    #[test]
    fn rejects_ids_that_would_lose_information_and_states_the_cause() {
        let refused = [
            (
                "",
                "invalid bundle entry ID \"\", expected <offload kind>-<triple>[-<target id>], for example hip-amdgcn-amd-amdhsa--gfx90a",
            ),
            (
                "host",
                "invalid bundle entry ID \"host\", expected <offload kind>-<triple>[-<target id>], for example host-x86_64-unknown-linux-gnu-",
            ),
            (
                "host-x86_64",
                "invalid bundle entry ID \"host-x86_64\", expected <offload kind>-<triple>[-<target id>], for example host-x86_64-unknown-linux-gnu-",
            ),
            (
                "hip-amdgcn-amd-am dhsa",
                "invalid bundle entry ID \"hip-amdgcn-amd-am dhsa\", expected <offload kind>-<triple>[-<target id>], for example hip-amdgcn-amd-amdhsa--gfx90a",
            ),
            (
                "gpu-amdgcn-amd-amdhsa--gfx906",
                "\"gpu-amdgcn-amd-amdhsa--gfx906\": unknown offload kind (known: openmp, cuda, hip, sycl, host, hipv4)",
            ),
            (
                "hip-amdgpx-amd-amdhsa--gfx906",
                "\"hip-amdgpx-amd-amdhsa--gfx906\": unknown architecture in triple amdgpx-amd-amdhsa",
            ),
            (
                "hip-amdgpu9.5-amd-amdhsa--gfx950",
                "\"hip-amdgpu9.5-amd-amdhsa--gfx950\": unknown subarchitecture in triple amdgpu9.5-amd-amdhsa; \
                 write amdgcn and the processor",
            ),
            (
                "hip-amdgpu9.0a-amd-amdhsa--gfx942:xnack+",
                "\"hip-amdgpu9.0a-amd-amdhsa--gfx942:xnack+\": gfx942 is not a processor of amdgpu9.0a-amd-amdhsa",
            ),
            (
                "hip-amdgpu7-amd-amdhsa--",
                "\"hip-amdgpu7-amd-amdhsa--\": no code runs on all processors of amdgpu7-amd-amdhsa; add a processor",
            ),
            (
                "openmp-nvptx64-nvidia-cuda--sm_89a",
                "\"openmp-nvptx64-nvidia-cuda--sm_89a\": no architecture has the name sm_89a",
            ),
            ("hip-amdgcn-amd-amdhsa--gfx9999", "\"hip-amdgcn-amd-amdhsa--gfx9999\": unknown processor \"gfx9999\""),
            (
                "hip-amdgcn-amd-amdhsa-gfx906:xnak+",
                "\"hip-amdgcn-amd-amdhsa-gfx906:xnak+\": gfx906 does not support feature \"xnak\" (supported: sramecc, xnack)",
            ),
            (
                "host-x86_64-unknown-linux-gnu-skylake",
                "\"host-x86_64-unknown-linux-gnu-skylake\": unknown processor \"skylake\"",
            ),
        ];
        for (id, message) in refused {
            assert_eq!(BundleEntryId::check(id).unwrap_err().to_string(), message, "{id}");
        }
    }
}
