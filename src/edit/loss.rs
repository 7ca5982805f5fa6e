//! Devices that lose code: those that run something of a file before images are dropped, and not after.

use super::KeptImages;
use crate::inventory::File;
use crate::select::{CandidateSet, candidate_sets};
use crate::target::{Device, InvalidDevice, natural_order};

/// A device by the name that users know, and the settings that the name leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDevice {
    /// The name, such as `gfx90a`.
    pub name: String,
    /// One device for each setting.
    pub devices: Vec<Device>,
}

/// Code that a device loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Name of the device.
    pub device: String,
    /// Indexes of the images that runtimes selected there, from containers that have nothing else for it.
    pub images: Vec<usize>,
}

impl NamedDevice {
    /// Returns the device of this name.
    pub fn parse(name: &str) -> Result<NamedDevice, InvalidDevice> {
        Device::parse(name).map(|devices| NamedDevice { name: name.to_owned(), devices })
    }

    /// Returns the devices that the images of a file are for, in the order of their names.
    pub fn of_file(file: &File) -> Vec<NamedDevice> {
        let mut devices: Vec<NamedDevice> = Vec::new();
        for arch in file.device_images().filter_map(|image| image.arch.as_deref()) {
            let found = match Device::parse(arch) {
                Ok(found) => vec![NamedDevice { name: arch.to_owned(), devices: found }],
                Err(InvalidDevice::Suffix { device, .. }) => NamedDevice::parse(&device).into_iter().collect(),
                Err(InvalidDevice::Generic { members, .. }) => {
                    members.into_iter().filter_map(|member| NamedDevice::parse(member).ok()).collect()
                }
                Err(_) => Vec::new(),
            };
            devices.extend(found);
        }
        devices.sort_by_cached_key(|device| natural_order(&device.name));
        devices.dedup();
        devices
    }
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
    let after = CandidateSet { candidates, ..*set };
    if after.selected_on(device).is_empty() { before } else { Vec::new() }
}
