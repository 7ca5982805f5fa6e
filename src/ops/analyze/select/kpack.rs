//! The code object that HIP's runtime loads from kpack archives, as pure functions over an inventory.
//!
//! The runtime passes the loader the target ID of the device, then the target ID of the generic processor that covers
//! it. The loader replaces the placeholder in each search path by each target ID: with all of its features, with each
//! subset of them, and with none. It opens the archives that exist. In their lists, it looks for the target IDs in the
//! same order. Source: ROCm/rocm-systems, `shared/kpack/runtime/src/loader.cpp` of summer 2026, and
//! `clr/hipamd/src/hip_fatbin.cpp`.

use fatbin_core::format::kpack::ARCH_PLACEHOLDER;
use fatbin_core::scan::inventory::{FoundArchive, KpackReference};
use fatbin_core::target::processors::Processor;
use fatbin_core::target::{Device, TargetId};

/// Generation of the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KpackLoader {
    /// ROCm 7.14 and earlier: the first archive that lists a target ID decides, even if it lacks the code object.
    FirstArchive,
    /// Since rocm-systems pull request 9953 (August 2026): each archive is tried.
    AllArchives,
}

/// Code that a loader finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedCode<'a> {
    /// The archive.
    pub archive: &'a FoundArchive,
    /// Target ID of the code in the archive.
    pub arch: &'a str,
}

/// Reason why a loader finds no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KpackFailure<'a> {
    /// No search path leads to an archive for the device.
    #[error("no archive for the device")]
    NoArchive,
    /// No archive lists a target ID of the device.
    #[error("no archive lists a target ID of the device")]
    NoArch,
    /// The archive that decides lacks the code object.
    #[error("missing in {}, which is listed for {arch}", archive.path)]
    Missing {
        /// The archive.
        archive: &'a FoundArchive,
        /// Target ID that the loader found it under.
        arch: &'a str,
    },
}

/// Answer of a loader for one code object.
pub type KpackAnswer<'a> = Result<LoadedCode<'a>, KpackFailure<'a>>;

impl KpackLoader {
    /// Every generation, the newest first.
    pub const ALL: [KpackLoader; 2] = [KpackLoader::AllArchives, KpackLoader::FirstArchive];

    /// Returns the releases of this generation.
    pub fn releases(self) -> &'static str {
        match self {
            KpackLoader::FirstArchive => "ROCm 7.14 and earlier",
            KpackLoader::AllArchives => "ROCm after 7.14",
        }
    }

    /// Returns the code that the loader finds for a code object of a file on a device.
    pub fn load<'a>(self, reference: &'a KpackReference, device: &str, index: u32) -> KpackAnswer<'a> {
        let arches = arches(device);
        let opened = opened(reference, &arches);
        if opened.is_empty() {
            return Err(KpackFailure::NoArchive);
        }
        let mut failure = KpackFailure::NoArch;
        for subset in arches.iter().flat_map(|arch| feature_subsets(arch)) {
            for archive in &opened {
                let Some(arch) = archive.arches.iter().find(|arch| **arch == subset) else { continue };
                if archive.has(index, arch) {
                    return Ok(LoadedCode { archive, arch });
                }
                failure = KpackFailure::Missing { archive, arch };
                if self == KpackLoader::FirstArchive {
                    return Err(failure);
                }
            }
        }
        Err(failure)
    }
}

/// Returns the archives that the loader opens for a device, in its order.
fn opened<'a>(reference: &'a KpackReference, arches: &[String]) -> Vec<&'a FoundArchive> {
    // Archives that the user specified are opened for every device, like the archives of `ROCM_KPACK_PATH`.
    let is_expanded =
        |archive: &FoundArchive| reference.search_paths.iter().any(|path| matches(path, &archive.search_path));
    let mut opened: Vec<&FoundArchive> = reference.archives.iter().filter(|archive| !is_expanded(archive)).collect();
    for path in reference.search_paths.iter().flat_map(|path| expand(path, arches)) {
        for archive in reference.archives.iter().filter(|archive| archive.search_path == path) {
            if !opened.iter().any(|known| known.path == archive.path) {
                opened.push(archive);
            }
        }
    }
    opened
}

/// Returns whether a path is a search path with a text in place of the placeholder.
fn matches(search_path: &str, path: &str) -> bool {
    match search_path.split_once(ARCH_PLACEHOLDER) {
        Some((before, after)) => path.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
        None => search_path == path,
    }
}

/// The target IDs that the runtime passes for a device: the device's, then the generic processor's.
fn arches(device: &str) -> Vec<String> {
    let mut arches = vec![device.to_owned()];
    let Ok(id) = TargetId::parse(device) else { return arches };
    let generic = Processor::named(id.processor()).and_then(Processor::generic).and_then(Processor::named);
    if let Some(generic) = generic {
        let features = id.features().iter().filter(|feature| generic.features().contains(&feature.name));
        let features: String = features.map(|feature| format!(":{feature}")).collect();
        arches.push(format!("{}{features}", &*generic.name));
    }
    arches
}

/// Returns a target ID with each subset of its features, the largest subset first. Among equally large subsets, the
/// ones with the first features are first.
fn feature_subsets(arch: &str) -> Vec<String> {
    let mut parts = arch.split(':');
    let processor = parts.next().unwrap_or_default();
    let features: Vec<&str> = parts.collect();
    // No processor has more than two.
    let count = features.len().min(8);
    let mut subsets: Vec<u32> = (0..1_u32 << count).collect();
    subsets.sort_by_cached_key(|subset| (std::cmp::Reverse(subset.count_ones()), reversed(*subset, count)));
    let id = |subset: u32| {
        let chosen = features.iter().enumerate().filter(|(at, _)| subset >> at & 1 == 1);
        chosen.fold(processor.to_owned(), |id, (_, feature)| id + ":" + feature)
    };
    subsets.into_iter().map(id).collect()
}

/// Sort key that puts subsets with the first features before others.
fn reversed(subset: u32, count: usize) -> std::cmp::Reverse<u32> {
    std::cmp::Reverse((0..count).fold(0, |key, at| key << 1 | (subset >> at & 1)))
}

/// Returns the paths that the loader tries for a search path.
fn expand(search_path: &str, arches: &[String]) -> Vec<String> {
    let Some((before, after)) = search_path.split_once(ARCH_PLACEHOLDER) else { return vec![search_path.to_owned()] };
    let subsets = arches.iter().flat_map(|arch| feature_subsets(arch));
    subsets.map(|arch| format!("{before}{arch}{after}")).collect()
}

/// Answers for all code objects of a file on several devices.
#[derive(Debug)]
pub struct AnsweredReference<'a> {
    /// The reference.
    pub reference: &'a KpackReference,
    /// Answers for each device.
    pub devices: Vec<AnsweredDevice<'a>>,
}

/// Answers of both generations for all code objects on a device.
#[derive(Debug)]
pub struct AnsweredDevice<'a> {
    /// The device.
    pub device: &'a Device,
    /// Code objects by their indices.
    pub code: Vec<AnsweredCode<'a>>,
}

/// Answers for a code object, in the order of [`KpackLoader::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredCode<'a> {
    /// Index of the code object.
    pub index: u32,
    /// Answers.
    pub answers: [KpackAnswer<'a>; KpackLoader::ALL.len()],
}

impl<'a> AnsweredReference<'a> {
    /// Looks up all code objects of a reference on AMD's devices among `devices`.
    pub fn new(reference: &'a KpackReference, devices: &'a [Device]) -> Self {
        let answered = devices.iter().filter_map(|device| {
            let Device::Amd(name) = device else { return None };
            let code = |&index: &u32| AnsweredCode {
                index,
                answers: KpackLoader::ALL.map(|loader| loader.load(reference, name, index)),
            };
            Some(AnsweredDevice { device, code: reference.indices.iter().map(code).collect() })
        });
        AnsweredReference { reference, devices: answered.collect() }
    }

    /// Returns whether every loader finds every code object on each device.
    pub fn always_loads(&self) -> bool {
        let code = self.devices.iter().flat_map(|device| &device.code);
        code.flat_map(|code| &code.answers).all(Result::is_ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type ArchiveContents<'a> = (&'a str, &'a [&'a str], &'a [(u32, &'a str)]);

    fn reference(archives: &[ArchiveContents<'_>]) -> KpackReference {
        let archive = |&(arch, arches, code): &ArchiveContents<'_>| FoundArchive {
            path: format!("lib/../.kpack/x_{arch}.kpack"),
            search_path: format!("../.kpack/x_{arch}.kpack"),
            arches: arches.iter().map(|&arch| arch.to_owned()).collect(),
            code: code.iter().map(|&(index, arch)| (index, arch.to_owned())).collect(),
        };
        KpackReference {
            offset: 0,
            kernel_name: "lib/x.so".to_owned(),
            search_paths: vec!["../.kpack/x_@GFXARCH@.kpack".to_owned()],
            indices: vec![0, 1],
            archives: archives.iter().map(archive).collect(),
        }
    }

    fn load(loader: KpackLoader, reference: &KpackReference, device: &str, index: u32) -> Result<String, String> {
        let name = |archive: &FoundArchive| archive.path.trim_start_matches("lib/../.kpack/x_").to_owned();
        match loader.load(reference, device, index) {
            Ok(LoadedCode { archive, arch }) => Ok(format!("{} {arch}", name(archive))),
            Err(KpackFailure::Missing { archive, arch }) => Err(format!("{} {arch}", name(archive))),
            Err(failure) => Err(failure.to_string()),
        }
    }

    const DEVICE: &str = "gfx90a:sramecc+:xnack-";
    const OLD: KpackLoader = KpackLoader::FirstArchive;
    const NEW: KpackLoader = KpackLoader::AllArchives;

    #[test]
    fn target_ids_lose_their_features_in_the_order_of_the_loader() {
        let expected = ["gfx942:sramecc+:xnack-", "gfx942:sramecc+", "gfx942:xnack-", "gfx942"];
        assert_eq!(feature_subsets("gfx942:sramecc+:xnack-"), expected);
        assert_eq!(feature_subsets("gfx1100"), ["gfx1100"]);
        let three = feature_subsets("p:a:b:c").join(" ");
        assert_eq!(three, "p:a:b:c p:a:b p:a:c p:b:c p:a p:b p:c p");
        assert_eq!(expand("k/@GFXARCH@/@GFXARCH@", &["gfx1100".to_owned()]), ["k/gfx1100/@GFXARCH@"]);
        assert_eq!(expand("k/all.kpack", &["gfx1100".to_owned()]), ["k/all.kpack"]);
    }

    #[test]
    fn the_generic_processor_follows_the_device() {
        assert_eq!(arches("gfx942:sramecc+:xnack-"), ["gfx942:sramecc+:xnack-", "gfx9-4-generic:sramecc+:xnack-"]);
        assert_eq!(arches("gfx1100"), ["gfx1100", "gfx11-generic"]);
        assert_eq!(arches("gfx90a:sramecc+:xnack-").len(), 1);
    }

    /// torch 2.12 for gfx90a: ROCm/pytorch #3581, TheRock #7081, rocm-systems #9953.
    #[test]
    fn a_variant_without_a_code_object_shadows_the_base_for_old_loaders() {
        let base = ("gfx90a", &["gfx90a"][..], &[(0, "gfx90a"), (1, "gfx90a")][..]);
        let variant = ("gfx90a:xnack-", &["gfx90a:xnack-"][..], &[(0, "gfx90a:xnack-")][..]);
        let reference = reference(&[base, variant]);
        for loader in KpackLoader::ALL {
            assert_eq!(load(loader, &reference, DEVICE, 0), Ok("gfx90a:xnack-.kpack gfx90a:xnack-".to_owned()));
        }
        assert_eq!(load(NEW, &reference, DEVICE, 1), Ok("gfx90a.kpack gfx90a".to_owned()));
        assert_eq!(load(OLD, &reference, DEVICE, 1), Err("gfx90a:xnack-.kpack gfx90a:xnack-".to_owned()));
        // Another setting does not match the variant.
        assert_eq!(load(OLD, &reference, "gfx90a:sramecc+:xnack+", 1), Ok("gfx90a.kpack gfx90a".to_owned()));
        let devices = Device::parse("gfx90a:sramecc+").unwrap();
        let answered = AnsweredReference::new(&reference, &devices);
        assert_eq!((answered.devices.len(), answered.always_loads()), (2, false));
    }

    #[test]
    fn a_generic_archive_is_found_after_that_of_the_processor() {
        let generic = ("gfx11-generic", &["gfx11-generic"][..], &[(0, "gfx11-generic"), (1, "gfx11-generic")][..]);
        let own = ("gfx1100", &["gfx1100"][..], &[(0, "gfx1100")][..]);
        let reference = reference(&[own, generic]);
        assert_eq!(load(NEW, &reference, "gfx1100", 0), Ok("gfx1100.kpack gfx1100".to_owned()));
        assert_eq!(load(NEW, &reference, "gfx1100", 1), Ok("gfx11-generic.kpack gfx11-generic".to_owned()));
        assert_eq!(load(OLD, &reference, "gfx1100", 1), Err("gfx1100.kpack gfx1100".to_owned()));
        assert_eq!(load(OLD, &reference, "gfx1101", 1), Ok("gfx11-generic.kpack gfx11-generic".to_owned()));
    }

    #[test]
    fn archives_are_found_by_their_lists_and_not_by_their_code() {
        let reference = reference(&[("gfx90a", &["gfx942"], &[(0, "gfx90a")])]);
        for loader in KpackLoader::ALL {
            assert_eq!(
                load(loader, &reference, DEVICE, 0),
                Err("no archive lists a target ID of the device".to_owned())
            );
            assert_eq!(load(loader, &reference, "gfx1100", 0), Err("no archive for the device".to_owned()));
        }
    }

    #[test]
    fn specified_archives_are_opened_for_every_device() {
        let mut reference = reference(&[("gfx90a", &["gfx90a"], &[(0, "gfx90a")])]);
        reference.archives[0].search_path = "elsewhere/all.kpack".to_owned();
        assert_eq!(load(OLD, &reference, DEVICE, 0), Ok("gfx90a.kpack gfx90a".to_owned()));
        assert_eq!(load(OLD, &reference, "gfx1100", 0), Err("no archive lists a target ID of the device".to_owned()));
    }
}
