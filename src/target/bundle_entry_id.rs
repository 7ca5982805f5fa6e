//! Bundle entry IDs: `<offload kind>-<arch>-<vendor>-<os>-<environment>[-<target id>]`.
//!
//! The format is from the Clang Offload Bundler document. The separator of the parts may also occur in a part
//! (`gfx9-4-generic`, `gfx90a:xnack-`), and older tools omitted the environment (`hip-amdgcn-amd-amdhsa-gfx906`), so a
//! parser needs to recognize processors to split an ID in the right places.

use super::target_id::{InvalidTargetId, TargetId};
use super::triple::{Triple, names_architecture};
use super::{OffloadKind, nvptx, processors};

/// A bundle entry ID split into its parts, which are never normalized: they are printed as they are in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleEntryId<'data> {
    /// Offload kind; `hip` and `hipv4` are both HIP.
    pub kind: OffloadKind,
    /// Name of the offload kind as written.
    pub kind_name: &'data str,
    /// Triple as written, without the empty environment that ends it in `amdgcn-amd-amdhsa-`.
    pub triple: &'data str,
    /// Target ID: a processor with features. Absent for host entries and for code that runs on any processor.
    pub target_id: Option<&'data str>,
}

/// Reason why a text is not accepted as the ID of a new bundle entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBundleEntryId {
    /// The text does not have the form of an ID.
    #[error("invalid bundle entry ID {id:?}, expected <offload kind>-<triple>[-<target id>]")]
    Shape {
        /// The text.
        id: String,
    },
    /// The offload kind is unknown.
    #[error("{id:?}: unknown offload kind (known: {})", OffloadKind::names().join(", "))]
    Kind {
        /// The ID.
        id: String,
    },
    /// The architecture is unknown.
    #[error("{id:?}: unknown architecture in triple {triple}")]
    Triple {
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
}

impl<'data> BundleEntryId<'data> {
    /// Splits an ID. Returns `None` where the offload kind is unknown or the triple has fewer than two parts, and for
    /// an ID that could not be part of a file name, as the names of archive members derived from it are.
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
        // The target ID begins after the third dash where the environment is omitted, else after the fourth.
        let cut = dashes.get(2).filter(|&&dash| looks_like_processor(&rest[dash + 1..])).or(dashes.get(3)).copied();
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
        match parsed.target_id.map(TargetId::parse) {
            Some(Err(cause)) => Err(InvalidBundleEntryId::TargetId { id: owned(), cause }),
            _ => Ok(parsed),
        }
    }

    /// Returns the reason why [`Self::parse`] rejects a text.
    pub fn invalid(id: &str) -> InvalidBundleEntryId {
        let kind = id.split_once('-').map(|(kind, _)| kind).filter(|kind| !kind.is_empty());
        match kind.and_then(OffloadKind::from_name) {
            None if kind.is_some() => InvalidBundleEntryId::Kind { id: id.to_owned() },
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

    /// Returns the ID with its triple in normal form and another target ID, which may be empty.
    pub fn with_target_id(&self, target_id: &str) -> String {
        format!("{}-{}-{target_id}", self.kind_name, Triple::normalize(self.triple))
    }
}

fn looks_like_processor(text: &str) -> bool {
    let (processor, _) = super::target_id::cut(text);
    let known = || processors::Processor::named(processor).is_some() || processors::OTHERS[..1].contains(&processor);
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
            ("", "invalid bundle entry ID \"\", expected <offload kind>-<triple>[-<target id>]"),
            ("host", "invalid bundle entry ID \"host\", expected <offload kind>-<triple>[-<target id>]"),
            ("host-x86_64", "invalid bundle entry ID \"host-x86_64\", expected <offload kind>-<triple>[-<target id>]"),
            (
                "hip-amdgcn-amd-am dhsa",
                "invalid bundle entry ID \"hip-amdgcn-amd-am dhsa\", expected <offload kind>-<triple>[-<target id>]",
            ),
            (
                "gpu-amdgcn-amd-amdhsa--gfx906",
                "\"gpu-amdgcn-amd-amdhsa--gfx906\": unknown offload kind (known: openmp, cuda, hip, sycl, host, hipv4)",
            ),
            (
                "hip-amdgpu-amd-amdhsa--gfx906",
                "\"hip-amdgpu-amd-amdhsa--gfx906\": unknown architecture in triple amdgpu-amd-amdhsa",
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
