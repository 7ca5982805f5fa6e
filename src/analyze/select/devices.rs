//! Devices by the names that users write, and the devices that a file has code for.

use std::collections::BTreeSet;

use super::{candidate_sets, selected_by_program};
use crate::scan::inventory::{CodeRole, File, Image};
use crate::target::nvptx::NUMBERS;
use crate::target::{Device, InvalidDevice, intel, natural_order};

/// Number of a device that is later than all that exist.
const LATER: u32 = 9990;

/// A device by the name that users know, and the settings that the name leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDevice {
    /// The name, such as `gfx90a`.
    pub name: String,
    /// One device for each setting.
    pub devices: Vec<Device>,
}

impl NamedDevice {
    /// Returns the device of this name.
    pub fn parse(name: &str) -> Result<NamedDevice, InvalidDevice> {
        Device::parse(name).map(|devices| NamedDevice { name: name.to_owned(), devices })
    }

    /// Returns the devices that the images of a file are for, in the order of their names.
    pub fn of_file(file: &File) -> Vec<NamedDevice> {
        NamedDevice::of_images(file.device_images())
    }

    /// Returns the devices that the images of a file are for. If the driver may link relocatable code of the file
    /// again, all NVIDIA devices are included, future ones too.
    pub fn with_links(file: &File) -> Vec<NamedDevice> {
        let mut devices = NamedDevice::of_file(file);
        if candidate_sets(file).iter().any(|set| !set.link_inputs.is_empty()) {
            devices.extend(NUMBERS.iter().filter_map(|number| NamedDevice::parse(&format!("sm_{number}")).ok()));
            devices.sort_by_cached_key(|device| natural_order(&device.name));
            devices.dedup();
            devices.push(NamedDevice { name: "later devices".to_owned(), devices: vec![Device::Nvidia(LATER)] });
        }
        devices
    }

    /// True if a runtime selects an image of the file on the device, or the program may select one.
    pub fn has_code_in(&self, file: &File) -> bool {
        let mut sets = candidate_sets(file);
        sets.retain(|set| set.role != CodeRole::Leftover);
        let is_selected = |device: &Device| sets.iter().any(|set| !set.needed_on(device).is_empty());
        let is_for = |device: &Device| selected_by_program(file).any(|it| it.platform() == Some(device.platform()));
        self.devices.iter().any(|device| is_selected(device) || is_for(device))
    }

    /// Returns the devices that images are for, in the order of their names.
    pub fn of_images<'a>(images: impl Iterator<Item = &'a Image>) -> Vec<NamedDevice> {
        let archs: BTreeSet<&str> = images.filter_map(|image| image.arch.as_deref()).collect();
        let mut devices: Vec<NamedDevice> = archs.into_iter().flat_map(NamedDevice::of_arch).collect();
        devices.sort_by_cached_key(|device| natural_order(&device.name));
        devices.dedup();
        devices
    }

    /// Returns the devices that code for an arch is for: one, or the members of a generic processor.
    pub(crate) fn of_arch(arch: &str) -> Vec<NamedDevice> {
        let name = if intel::is_name(arch) { intel::device_name(arch) } else { arch.to_owned() };
        match Device::parse(&name) {
            Ok(devices) => vec![NamedDevice { name, devices }],
            Err(InvalidDevice::Suffix { device, .. }) => NamedDevice::parse(&device).into_iter().collect(),
            Err(InvalidDevice::Generic { members, .. }) => {
                members.into_iter().filter_map(|member| NamedDevice::parse(member).ok()).collect()
            }
            Err(_) => Vec::new(),
        }
    }
}
