//! Bundle entry ids: `<offload kind>-<arch>-<vendor>-<os>-<environment>[-<target id>]`.
//!
//! The format is from the Clang Offload Bundler document. The parts are separated by the character that they may also
//! contain (`gfx9-4-generic`, `gfx90a:xnack-`), and older tools left the environment out
//! (`hip-amdgcn-amd-amdhsa-gfx906`), so a reader has to know how processors look to cut an id in the right places.

use super::OffloadKind;

/// A bundle entry id, cut into its parts and never normalised: what is printed is what stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleEntryId<'data> {
    /// The offload kind; `hip` and `hipv4` are both HIP.
    pub kind: OffloadKind,
    /// The triple as written, without the empty environment that ends it in `amdgcn-amd-amdhsa-`.
    pub triple: &'data str,
    /// The target id: a processor with features; absent for host entries and for code that fits any processor.
    pub target_id: Option<&'data str>,
}

impl<'data> BundleEntryId<'data> {
    /// Cuts an id; `None` where the offload kind is unknown or the triple has fewer than two parts.
    pub fn parse(id: &'data str) -> Option<Self> {
        if !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let (kind, rest) = id.split_once('-')?;
        let kind = OffloadKind::from_name(kind)?;
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
            triple: triple.trim_end_matches('-'),
            target_id: target_id.filter(|target_id| !target_id.is_empty()),
        })
    }
}

fn looks_like_processor(text: &str) -> bool {
    text.starts_with("gfx") || text.starts_with("sm_")
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
            assert_eq!(BundleEntryId::parse(id), Some(BundleEntryId { kind, triple, target_id }), "{id}");
        }
    }

    #[test]
    fn text_that_is_no_id_is_refused() {
        for id in ["", "-", "hip", "hip-", "hip-amdgcn", "vulkan-a-b-c-d", "hip-a-b\0", "hip a-b-c", "host-\u{e9}-b"] {
            assert_eq!(BundleEntryId::parse(id), None, "{id:?}");
        }
    }
}
