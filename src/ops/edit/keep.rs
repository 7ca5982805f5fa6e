//! The images that a file must keep: the images that runtimes select on some devices, or the images for some
//! processors.
//!
//! Pruning by name alone has broken libraries: a device of sm_86 runs code for sm_80 from each container that has no
//! code for sm_86, and devices that are newer than the file have only PTX. So the selection of the runtime is
//! determined for each container.

use super::ImageFate;
use crate::analyze::select::{Candidate, candidate_sets, images_without_container};
use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::{CodeRole, DeviceLinks, File, Image};
use fatbin_core::target::{Device, OffloadKind, Platform};

/// Treatment of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepPtx {
    /// Keeps the PTX that a runtime selects if it has no machine code for a device: the newest PTX that the device
    /// supports.
    #[default]
    Newest,
    /// Keeps all PTX.
    All,
    /// Keeps no PTX.
    None,
}

/// Images to keep, by their indexes among the device images of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptImages(Vec<bool>);

impl KeptImages {
    /// Returns the images that runtimes select on some of these devices. Images that a program may link for the devices
    /// are included, and images whose selection is not known.
    pub fn for_devices(file: &File, devices: &[Device], ptx: KeepPtx) -> Self {
        let images: Vec<&Image> = file.device_images().collect();
        let is_for_some = |image| devices.iter().any(|device| platform(image) == Some(device.platform()));
        let is_kept = |image| is_undecidable(image) || (is_for_platform(image) && is_for_some(image));
        let mut kept = KeptImages(images.iter().copied().map(is_kept).collect());
        for set in candidate_sets(file).into_iter().filter(|set| set.role != CodeRole::Leftover) {
            for device in devices {
                set.needed_on(device).into_iter().for_each(|number| kept.keep(number));
            }
        }
        let ptx_images = images.iter().enumerate().filter(|(_, image)| image.image_kind == ImageKind::Ptx);
        for (number, _) in ptx_images {
            match ptx {
                KeepPtx::Newest => {}
                KeepPtx::All => kept.keep(number),
                KeepPtx::None => kept.set(number, false),
            }
        }
        kept.keep_all(images_without_container(file));
        kept
    }

    /// Returns all images.
    pub fn all(file: &File) -> Self {
        KeptImages(file.device_images().map(|_| true).collect())
    }

    /// Returns the images that `is_named` accepts, and all images that have no processor to name.
    pub fn only(file: &File, mut is_named: impl FnMut(&Image) -> bool) -> Self {
        let is_kept = |image: &Image| is_undecidable(image) || states_no_processor(image) || is_named(image);
        let mut kept = KeptImages(file.device_images().map(is_kept).collect());
        kept.keep_all(images_without_container(file));
        kept
    }

    /// Returns the images that `is_named` does not accept, and all images that cannot be removed.
    pub fn without(file: &File, mut is_named: impl FnMut(&Image) -> bool) -> Self {
        let is_kept = |image: &Image| is_in_fixed_table(image) || !is_named(image);
        let mut kept = KeptImages(file.device_images().map(is_kept).collect());
        kept.keep_all(images_without_container(file));
        kept
    }

    /// Returns the images that an edit has kept.
    pub fn of_fates(fates: &[ImageFate]) -> Self {
        KeptImages(fates.iter().map(|fate| *fate != ImageFate::Dropped).collect())
    }

    /// Drops the relocatable code that device links have left in a finished file.
    pub fn drop_relocatable(&mut self, file: &File) {
        let links = DeviceLinks::of(file);
        for nested in file.nested_images() {
            if matches!(links.role_of(&nested), CodeRole::Relinked | CodeRole::Leftover) {
                self.set(nested.index, false);
            }
        }
    }

    /// Returns whether the image with this index is kept.
    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number).copied().unwrap_or(true)
    }

    /// Returns the devices where runtimes select kept images only, as before.
    pub fn served(&self, file: &File, devices: Vec<Device>) -> Vec<Device> {
        let sets = candidate_sets(file);
        let is_served = |device: &Device| {
            let mut selected = sets.iter().flat_map(|set| set.selected_on(device));
            selected.all(|number| self.contains(number))
        };
        devices.into_iter().filter(is_served).collect()
    }

    /// Keeps images without a container: nothing states which of them the program can do without.
    fn keep_all<'a>(&mut self, candidates: impl Iterator<Item = Candidate<'a>>) {
        candidates.for_each(|candidate| self.keep(candidate.number));
    }

    fn keep(&mut self, number: usize) {
        self.set(number, true);
    }

    fn set(&mut self, number: usize, is_kept: bool) {
        if let Some(image) = self.0.get_mut(number) {
            *image = is_kept;
        }
    }
}

/// Returns whether an image cannot be removed, or nothing states what it runs on. Code for the host's processor is not
/// for a device, and stays.
fn is_undecidable(image: &Image) -> bool {
    is_in_fixed_table(image) || image.unknown_kind().is_some() || matches!(platform(image), None | Some(Platform::Host))
}

/// Returns whether an image is in SYCL's table. Nothing can be removed from that table.
fn is_in_fixed_table(image: &Image) -> bool {
    image.kind == Some(OffloadKind::Sycl)
}

/// Returns whether a program may compile or link an image for each device of a platform, although no driver selects it.
/// Examples are LTO-IR, and libraries such as NVIDIA's `libdevice.10.bc` and AMD's `ocml.bc`: Triton and Warp cannot
/// compile a kernel without them.
fn is_for_platform(image: &Image) -> bool {
    matches!(image.image_kind, ImageKind::Nvvm | ImageKind::OptixIr) || states_no_processor(image)
}

fn states_no_processor(image: &Image) -> bool {
    image.arch.is_none() && image.own_arch.is_none()
}

fn platform(image: &Image) -> Option<Platform> {
    Platform::of(image.triple.as_deref(), image.arch.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::base::file_path::FilePath;
    use fatbin_core::format::ContainerType;
    use fatbin_core::scan::inventory::Container;
    use fatbin_core::target::triple::{AMDGCN, NVPTX64};

    /// Kind, format, triple and processor of an image, and whether it is kept for sm_90, by the name sm_90, and without
    /// sm_75.
    type Row = (Option<OffloadKind>, ImageKind, Option<&'static str>, Option<&'static str>, [bool; 3]);

    const ROWS: [Row; 10] = [
        (Some(OffloadKind::Cuda), ImageKind::Elf, Some(NVPTX64), Some("sm_75"), [false, false, false]),
        (Some(OffloadKind::Cuda), ImageKind::Nvvm, Some(NVPTX64), Some("sm_75"), [true, false, false]),
        (Some(OffloadKind::Sycl), ImageKind::Bitcode, Some(NVPTX64), Some("sm_75"), [true, true, true]),
        (Some(OffloadKind::Hip), ImageKind::Elf, Some(AMDGCN), Some("gfx90a"), [false, false, true]),
        // libdevice.10.bc and ocml.bc.
        (None, ImageKind::Bitcode, Some("nvptx64-nvidia-gpulibs"), None, [true, true, true]),
        (None, ImageKind::Bitcode, Some(AMDGCN), None, [false, true, true]),
        (None, ImageKind::Bitcode, Some("x86_64-pc-linux-gnu"), None, [true, true, true]),
        (None, ImageKind::Bitcode, None, None, [true, true, true]),
        // A shader for Vulkan, and SPIR-V for OpenCL.
        (None, ImageKind::SpirV, None, None, [true, true, true]),
        (None, ImageKind::SpirV, Some("spirv64-unknown-unknown"), None, [false, true, true]),
    ];

    #[test]
    fn images_that_no_name_or_driver_selects_are_kept() {
        let devices = [Device::parse("sm_90").unwrap().remove(0)];
        let has_name = |name: &'static str| move |image: &Image| image.arch.as_deref() == Some(name);
        for (kind, image_kind, triple, arch, expected) in ROWS {
            let triple = triple.map(str::to_owned);
            let arch = arch.map(str::to_owned);
            let image = Image { kind, image_kind, triple, arch, ..Image::default() };
            let container_type = if kind.is_some() { ContainerType::OffloadBinary } else { ContainerType::Bitcode };
            let (version, section, offset, codec, registration) = Default::default();
            let images = vec![image];
            let container =
                Container { container_type, version, section, offset, codec, registration, images, size: 1, start: 0 };
            let file = File { containers: vec![container], ..File::empty(FilePath::parse("package")) };
            let kept = [
                KeptImages::for_devices(&file, &devices, KeepPtx::Newest),
                KeptImages::only(&file, has_name("sm_90")),
                KeptImages::without(&file, has_name("sm_75")),
            ];
            let image = &file.containers[0].images[0];
            assert_eq!(kept.map(|kept| kept.contains(0)), expected, "{image:?}");
        }
    }
}
