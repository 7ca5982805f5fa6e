//! Devices that lose code: they run something of a file before images are dropped, and do not after.

use super::KeptImages;
use crate::analyze::select::{CandidateSet, NamedDevice, candidate_sets};
use fatbin_core::scan::inventory::File;
use fatbin_core::target::Device;

/// Code that a device loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Name of the device.
    pub device: String,
    /// Indexes of the images that runtimes selected there, from containers that have nothing else for it.
    pub images: Vec<usize>,
}

/// Returns the devices of `devices` that lose code if only some images are kept.
pub fn losses(file: &File, kept: &KeptImages, devices: &[NamedDevice]) -> Vec<Loss> {
    let sets = candidate_sets(file);
    let mut losses = Vec::new();
    for named in devices {
        let mut images: Vec<usize> = Vec::new();
        for device in &named.devices {
            images.extend(sets.iter().flat_map(|set| lost(set, kept, device)));
        }
        images.sort_unstable();
        images.dedup();
        if !images.is_empty() {
            losses.push(Loss { device: named.name.clone(), images });
        }
    }
    losses
}

/// Returns the numbers of the images that the runtime selects, if none of the kept images takes their place.
fn lost(set: &CandidateSet<'_>, kept: &KeptImages, device: &Device) -> Vec<usize> {
    let before = set.selected_on(device);
    if before.is_empty() || before.iter().all(|&number| kept.contains(number)) {
        return Vec::new();
    }
    let candidates = set.candidates.iter().filter(|candidate| kept.contains(candidate.number)).copied().collect();
    let after = CandidateSet { candidates, ..set.clone() };
    if after.selected_on(device).is_empty() { before } else { Vec::new() }
}
