//! Pruning: images that the wanted devices do not need are dropped.

use super::{Edit, EditedImage, FileEdit, ImageEdit, KeepPtx, KeptImages, Result};
use crate::analyze::select::NamedDevice;
use fatbin_core::scan::inventory::{File, Image};
use fatbin_core::target::Device;

/// The images that pruning keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prune {
    /// The images that runtimes select on these devices.
    ForDevices(Vec<NamedDevice>, KeepPtx),
    /// The images for these processors, and the images that state no processor.
    Keep(Vec<ArchName>),
    /// All images except the images for these processors.
    Drop(Vec<ArchName>),
    /// All images except the relocatable code that device links have left in finished files. A further rule may limit
    /// the other images.
    WithoutRelocatable(Option<Box<Prune>>),
}

/// A processor as containers state it, such as `sm_90a`; `compute_80` is PTX alone, and `lto_80` LTO-IR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchName(String);

impl ArchName {
    /// Returns the processor of this name.
    pub fn new(name: &str) -> Self {
        ArchName(name.to_owned())
    }

    /// Returns whether an image is for this processor.
    pub fn matches(&self, image: &Image) -> bool {
        image.has_arch_name(&self.0)
    }
}

impl Prune {
    /// Returns the images that are kept.
    pub fn kept(&self, file: &File) -> KeptImages {
        match self {
            Prune::ForDevices(devices, ptx) => {
                let devices: Vec<Device> = devices.iter().flat_map(|it| it.devices.clone()).collect();
                KeptImages::for_devices(file, &devices, *ptx)
            }
            Prune::Keep(archs) => KeptImages::only(file, |image| archs.iter().any(|arch| arch.matches(image))),
            Prune::Drop(archs) => KeptImages::without(file, |image| archs.iter().any(|arch| arch.matches(image))),
            Prune::WithoutRelocatable(others) => {
                let mut kept = others.as_ref().map_or_else(|| KeptImages::all(file), |others| others.kept(file));
                kept.drop_relocatable(file);
                kept
            }
        }
    }

    /// Returns the devices that should not lose code: the wanted devices, or all devices if processors are named.
    pub fn affected(&self, file: &File) -> Vec<NamedDevice> {
        match self {
            Prune::ForDevices(devices, _) => devices.clone(),
            Prune::Keep(_) | Prune::Drop(_) => NamedDevice::of_file(file),
            Prune::WithoutRelocatable(Some(others)) => others.affected(file),
            Prune::WithoutRelocatable(None) => NamedDevice::with_links(file),
        }
    }
}

impl FileEdit for Prune {
    fn edit<'a>(&'a self, file: &'a File) -> Result<Box<dyn Edit + 'a>> {
        Ok(Box::new(self.kept(file)))
    }

    /// The wanted devices, or else all devices of the file that lose nothing.
    fn devices(&self, file: &File) -> Vec<Device> {
        let kept = self.kept(file);
        let devices = self.affected(file).into_iter().flat_map(|it| it.devices).collect();
        kept.served(file, devices)
    }

    fn judged_devices(&self, file: &File) -> usize {
        self.affected(file).iter().map(|device| device.devices.len()).sum()
    }
}

impl Edit for KeptImages {
    fn image(&self, image: &EditedImage<'_>) -> Result<ImageEdit> {
        let is_kept = image.index.is_none_or(|index| self.contains(index));
        Ok(if is_kept { ImageEdit::Keep } else { ImageEdit::Drop })
    }
}
