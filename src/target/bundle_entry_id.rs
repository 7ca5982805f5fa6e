//! Bundle entry ids: `<offload kind>-<arch>-<vendor>-<os>-<environment>[-<target id>]`.
//!
//! The format is from the Clang Offload Bundler document. The parts are separated by the character that they may also
//! contain (`gfx9-4-generic`, `gfx90a:xnack-`), and older tools left the environment out
//! (`hip-amdgcn-amd-amdhsa-gfx906`), so a reader has to know how processors look to cut an id in the right places.

use super::target_id::{InvalidTargetId, TargetId};
use super::triple::{Triple, names_architecture};
use super::{OffloadKind, nvptx, processors};

/// A bundle entry id, cut into its parts and never normalised: what is printed is what stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleEntryId<'data> {
    /// The offload kind; `hip` and `hipv4` are both HIP.
    pub kind: OffloadKind,
    /// Its name as written.
    pub kind_name: &'data str,
    /// The triple as written, without the empty environment that ends it in `amdgcn-amd-amdhsa-`.
    pub triple: &'data str,
    /// The target id: a processor with features; absent for host entries and for code that fits any processor.
    pub target_id: Option<&'data str>,
}

/// Why a text is no id that a bundle should get.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBundleEntryId {
    #[error("{id:?} is no bundle entry id (<offload kind>-<triple>[-<target id>])")]
    Shape { id: String },
    #[error("{id:?} names no offload kind ({})", OffloadKind::names().join(", "))]
    Kind { id: String },
    #[error("{id:?} names no architecture that is known: {triple}")]
    Triple { id: String, triple: String },
    #[error("{id:?}: {cause}")]
    TargetId { id: String, cause: InvalidTargetId },
}

impl<'data> BundleEntryId<'data> {
    /// Cuts an id; `None` where the offload kind is unknown or the triple has fewer than two parts, and for an id that
    /// could not be a part of a file name, as the names of members that are made of it are.
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
        // The target id begins after the third dash where the environment was left out, else after the fourth.
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

    /// Cuts an id that somebody wrote for a bundle that is to be made, and refuses whatever would be lost or could not be
    /// found again: unknown kinds, architectures and processors, and features that a processor does not have.
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

    /// Why a text that cannot be cut cannot be.
    pub fn invalid(id: &str) -> InvalidBundleEntryId {
        let kind = id.split_once('-').map(|(kind, _)| kind).filter(|kind| !kind.is_empty());
        match kind.and_then(OffloadKind::from_name) {
            None if kind.is_some() => InvalidBundleEntryId::Kind { id: id.to_owned() },
            _ => InvalidBundleEntryId::Shape { id: id.to_owned() },
        }
    }

    /// The id in its canonical form: every part of the triple, the processor's primary name, features in alphabetical
    /// order. What of the target id cannot be read stays as it is.
    pub fn canonical(&self) -> String {
        let written = self.target_id.unwrap_or_default();
        match TargetId::parse(written) {
            Ok(target_id) => self.with_target_id(&target_id.to_string()),
            Err(_) => self.with_target_id(written),
        }
    }

    /// The id with its triple in its normal form and another target id, or none.
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
    fn ids_as_the_tools_write_them_are_cut_in_the_right_places() {
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
    fn text_that_is_no_id_is_refused() {
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
    fn an_id_in_any_form_has_one_canonical_form() {
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
    fn an_id_that_would_lose_something_is_refused_with_its_cause() {
        let refused = [
            ("", "\"\" is no bundle entry id (<offload kind>-<triple>[-<target id>])"),
            ("host", "\"host\" is no bundle entry id (<offload kind>-<triple>[-<target id>])"),
            ("host-x86_64", "\"host-x86_64\" is no bundle entry id (<offload kind>-<triple>[-<target id>])"),
            (
                "hip-amdgcn-amd-am dhsa",
                "\"hip-amdgcn-amd-am dhsa\" is no bundle entry id (<offload kind>-<triple>[-<target id>])",
            ),
            (
                "gpu-amdgcn-amd-amdhsa--gfx906",
                "\"gpu-amdgcn-amd-amdhsa--gfx906\" names no offload kind (openmp, cuda, hip, sycl, host, hipv4)",
            ),
            (
                "hip-amdgpu-amd-amdhsa--gfx906",
                "\"hip-amdgpu-amd-amdhsa--gfx906\" names no architecture that is known: amdgpu-amd-amdhsa",
            ),
            (
                "hip-amdgcn-amd-amdhsa--gfx9999",
                "\"hip-amdgcn-amd-amdhsa--gfx9999\": \"gfx9999\" is no processor that is known",
            ),
            (
                "hip-amdgcn-amd-amdhsa-gfx906:xnak+",
                "\"hip-amdgcn-amd-amdhsa-gfx906:xnak+\": gfx906 has no feature \"xnak\" to set; it has sramecc, xnack",
            ),
            (
                "host-x86_64-unknown-linux-gnu-skylake",
                "\"host-x86_64-unknown-linux-gnu-skylake\": \"skylake\" is no processor that is known",
            ),
        ];
        for (id, message) in refused {
            assert_eq!(BundleEntryId::check(id).unwrap_err().to_string(), message, "{id}");
        }
    }
}
