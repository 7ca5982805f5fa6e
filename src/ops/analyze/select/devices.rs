//! Devices by the names that users write, and the devices that a file has code for.

use std::collections::{BTreeSet, HashSet};

use super::{CandidateSet, candidate_sets, selected_by_program};
use fatbin_core::scan::inventory::{CodeRole, File, Image};
use fatbin_core::target::machine::ListedGpu;
use fatbin_core::target::nvptx::NUMBERS;
use fatbin_core::target::{Device, InvalidDevice, Platform, gpu_names, intel, natural_order};

/// Number of a device that is later than all that exist.
const LATER: u32 = 9990;

/// A device by the name that users know, and the settings that the name leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDevice {
    /// The name, such as `gfx90a`.
    pub name: String,
    /// Name of the GPU, such as `MI250X`: the one that a user has named, or the best known one with this device.
    pub gpu: Option<&'static str>,
    /// One device for each setting.
    pub devices: Vec<Device>,
}

impl NamedDevice {
    /// Returns the device of this name, or of the GPU of this name.
    pub fn parse(name: &str) -> Result<NamedDevice, InvalidDevice> {
        let devices = Device::parse(name)?;
        Ok(match gpu_names::named(name) {
            Some((gpu, device)) if Device::of_code(name).is_err() => {
                NamedDevice { name: device.to_owned(), gpu: Some(gpu), devices }
            }
            _ => match devices.as_slice() {
                // `9.0` is named like `sm_90`.
                [device @ Device::Nvidia(_)] => NamedDevice::new(&device.to_string(), devices.clone()),
                // `arl-h` is named like `intel_gpu_arl_h`.
                _ if intel::is_name(name) => NamedDevice::new(&intel::device_name(name), devices),
                _ => NamedDevice::new(name, devices),
            },
        })
    }

    /// Returns the devices of all GPUs that have a name, for the platforms that files have code for.
    pub fn all<'a>(files: impl Iterator<Item = &'a File>) -> Vec<NamedDevice> {
        let images = files.flat_map(File::device_images);
        let platforms: HashSet<Platform> =
            images.filter_map(|image| Platform::of(image.triple.as_deref(), image.arch.as_deref())).collect();
        let is_loaded = |it: &NamedDevice| it.devices.iter().any(|device| platforms.contains(&device.platform()));
        NamedDevice::of_gpus().filter(is_loaded).collect()
    }

    /// Returns the devices of all GPUs that have a name.
    pub fn of_gpus() -> impl Iterator<Item = NamedDevice> {
        gpu_names::devices().filter_map(|name| NamedDevice::parse(name).ok())
    }

    /// Returns the devices that files have code for, and the other GPUs of their platforms that people ask about.
    pub fn of_interest<'a>(files: impl Iterator<Item = &'a File> + Clone) -> Vec<NamedDevice> {
        let mut devices = NamedDevice::of_images(files.clone().flat_map(File::device_images));
        devices.extend(NamedDevice::all(files).into_iter().filter(|it| gpu_names::is_current(&it.name)));
        let platform = |device: &NamedDevice| device.devices.first().map(Device::platform);
        let is_of = |wanted: Platform| move |device: &NamedDevice| platform(device) != Some(wanted);
        devices
            .sort_by_cached_key(|it| (is_of(Platform::Nvidia)(it), is_of(Platform::Amd)(it), natural_order(&it.name)));
        devices.dedup_by(|one, other| one.name == other.name);
        devices
    }

    /// Returns the device of a GPU in the list of a machine.
    pub fn of_listed(gpu: &ListedGpu) -> Result<NamedDevice, InvalidDevice> {
        let device = NamedDevice::parse(&gpu.device)?;
        Ok(NamedDevice { gpu: gpu.gpu.or(device.gpu), ..device })
    }

    fn new(name: &str, devices: Vec<Device>) -> NamedDevice {
        NamedDevice { name: name.to_owned(), gpu: gpu_names::gpu_of(name), devices }
    }

    /// Returns the name of the GPU, if one is known, and the name of the device: `H100 sm_90`.
    pub fn title(&self) -> String {
        self.gpu.map_or_else(|| self.name.clone(), |gpu| format!("{gpu} {}", self.name))
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
            devices.push(NamedDevice::new("later devices", vec![Device::Nvidia(LATER)]));
        }
        devices
    }

    /// True if a runtime selects an image of the file on the device, or the program may select one.
    pub fn has_code_in(&self, file: &File) -> bool {
        let mut sets = candidate_sets(file);
        sets.retain(|set| ![CodeRole::Leftover, CodeRole::LeftBehind].contains(&set.role));
        let is_selected = |device: &Device| {
            let takes = |set: &CandidateSet<'_>| !set.select_on(device).takes_nothing_else();
            sets.iter().any(|set| set.has_kernels() && !set.needed_on(device).is_empty() && takes(set))
        };
        let is_for = |device: &Device| selected_by_program(file).any(|it| it.is_for(device));
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
        match Device::of_code(&name) {
            Ok(devices) => vec![NamedDevice::new(&name, devices)],
            Err(InvalidDevice::Suffix { device, .. }) => NamedDevice::of_arch(&device),
            Err(InvalidDevice::Generic { members, .. }) => {
                members.into_iter().filter_map(|member| NamedDevice::parse(member).ok()).collect()
            }
            Err(_) => Vec::new(),
        }
    }
}
