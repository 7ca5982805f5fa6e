//! Whose code runs where, as pure functions: whether an image made for one processor serves a request for another.
//!
//! AMD: the processors are equal, or the image's is a generic one that covers the other, and every feature that the image
//! fixes has the same value in the request. A feature that the image leaves open works either way.
//! NVIDIA: machine code runs on later minor versions of its own major version and never across the border between desktop
//! and embedded parts; PTX is compiled when it is loaded, on anything later. The suffixes narrow that down.
//! Sources: AMDGPU usage guide (target ids, generic processors), Clang Offload Bundler document (compatibility rules), CUDA
//! C programming guide and Blackwell compatibility guide (application compatibility, family-specific features).

use super::{amdgpu, nvptx};

/// Whether an image for `image`, which is PTX or not, serves a request for `requested`. Names that are neither AMD's nor
/// NVIDIA's serve each other if they are equal.
pub fn serves(image: &str, is_ptx: bool, requested: &str) -> bool {
    match (nvptx::Arch::parse(image), nvptx::Arch::parse(requested)) {
        (Some(image), Some(device)) => runs_on(image, is_ptx, device),
        _ => serves_target_id(image, requested),
    }
}

/// Whether two archs are one, whatever the order of their features is.
pub fn same_arch(a: &str, b: &str) -> bool {
    let parts = |arch: &str| {
        let mut features: Vec<String> = arch.split(':').skip(1).map(str::to_owned).collect();
        features.sort_unstable();
        (amdgpu::processor(arch).to_owned(), features)
    };
    parts(a) == parts(b)
}

fn serves_target_id(image: &str, requested: &str) -> bool {
    let (processor, wanted) = (amdgpu::processor(image), amdgpu::processor(requested));
    let covered = processor == wanted || amdgpu::members_of_generic(processor).contains(&wanted);
    let fixed_in = |id: &str, feature: &str| id.split(':').skip(1).any(|other| other == feature);
    covered && image.split(':').skip(1).all(|feature| fixed_in(requested, feature))
}

/// Embedded parts, whose code and that of desktop parts do not mix.
const EMBEDDED: [u32; 6] = [53, 62, 72, 87, 101, 110];

/// Families of Blackwell: a suffix `f` is good for the members from its own on.
const FAMILIES: [&[u32]; 3] = [&[100, 103], &[101, 110], &[120, 121]];

fn runs_on(image: nvptx::Arch, is_ptx: bool, device: nvptx::Arch) -> bool {
    // A request may carry a suffix as well: then it is the code's name, not the device's.
    match image.suffix {
        Some(nvptx::Suffix::Specific) => image.number == device.number,
        Some(nvptx::Suffix::Family) => {
            let family = FAMILIES.iter().find(|family| family.contains(&image.number));
            let in_family = family.is_some_and(|family| family.contains(&device.number));
            image.number == device.number || in_family && image.number < device.number
        }
        None if is_ptx => image.number <= device.number,
        None => {
            let embedded = |number: u32| EMBEDDED.contains(&number);
            image.number / 10 == device.number / 10
                && image.number <= device.number
                && embedded(image.number) == embedded(device.number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_id_serves_a_request_that_agrees_with_all_that_it_fixes() {
        let cases = [
            ("gfx90a", "gfx90a", true),
            ("gfx90a", "gfx90a:xnack+", true),
            ("gfx90a", "gfx90a:sramecc+:xnack-", true),
            ("gfx90a:xnack+", "gfx90a:xnack+", true),
            ("gfx90a:xnack+:sramecc-", "gfx90a:sramecc-:xnack+", true),
            ("gfx90a:xnack+", "gfx90a:xnack-", false),
            ("gfx90a:xnack+", "gfx90a", false),
            ("gfx90a:xnack+:sramecc+", "gfx90a:xnack+", false),
            ("gfx90", "gfx90a", false),
            ("gfx110", "gfx1100", false),
            ("gfx906", "gfx90a", false),
            ("gfx9-4-generic", "gfx942", true),
            ("gfx9-4-generic:xnack+", "gfx942:xnack-", false),
            ("gfx9-4-generic", "gfx90a", false),
            ("gfx11-generic", "gfx1151", true),
            ("gfx942", "gfx9-4-generic", false),
        ];
        for (image, requested, serves) in cases {
            assert_eq!(self::serves(image, false, requested), serves, "{image} for {requested}");
        }
    }

    #[test]
    fn machine_code_runs_on_later_minor_versions_and_ptx_on_anything_later() {
        let cases = [
            ("sm_80", false, "sm_80", true),
            ("sm_80", false, "sm_86", true),
            ("sm_86", false, "sm_80", false),
            ("sm_80", false, "sm_90", false),
            ("sm_80", false, "sm_87", false),
            ("sm_80", true, "sm_90", true),
            ("sm_90", true, "sm_80", false),
            ("sm_90a", false, "sm_90", true),
            ("sm_90a", true, "sm_100", false),
            ("sm_100f", false, "sm_103", true),
            ("sm_103f", false, "sm_100", false),
            ("sm_100f", false, "sm_120", false),
            ("sm_100", false, "sm_103", true),
            ("sm_120", false, "sm_121", true),
        ];
        for (image, is_ptx, device, serves) in cases {
            assert_eq!(self::serves(image, is_ptx, device), serves, "{image} (PTX: {is_ptx}) on {device}");
        }
    }

    #[test]
    fn the_order_of_features_does_not_matter() {
        assert!(same_arch("gfx90a:xnack+:sramecc-", "gfx90a:sramecc-:xnack+"));
        assert!(!same_arch("gfx90a:xnack+", "gfx90a"));
        assert!(!same_arch("gfx90a:xnack+", "gfx90a:xnack-"));
    }
}
