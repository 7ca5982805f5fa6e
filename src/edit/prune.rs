//! Pruning: images that the wanted devices do not need are dropped.

use super::{Edit, EditedImage, FileEdit, ImageEdit, KeepPtx, KeptImages, Result};
use crate::format::ImageKind;
use crate::inventory::{File, Image};
use crate::select::NamedDevice;
use crate::target::{Device, intel};

/// The images that pruning keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prune {
    /// Those that runtimes select on these devices.
    ForDevices(Vec<NamedDevice>, KeepPtx),
    /// Those for these processors, and those that state none.
    Keep(Vec<ArchName>),
    /// All but those for these processors.
    Drop(Vec<ArchName>),
}

/// A processor as containers state it, such as `sm_90a`, or `compute_80` for PTX alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchName(String);

/// Prefixes of the names of machine code and PTX in nvcc.
const SM_PREFIX: &str = "sm_";
const PTX_PREFIX: &str = "compute_";

impl ArchName {
    /// Returns the processor of this name.
    pub fn new(name: &str) -> Self {
        ArchName(name.to_owned())
    }

    /// Returns whether an image is for this processor.
    pub fn matches(&self, image: &Image) -> bool {
        let arch = image.arch.as_deref().unwrap_or_default();
        match self.0.strip_prefix(PTX_PREFIX) {
            Some(number) => image.image_kind == ImageKind::Ptx && arch.strip_prefix(SM_PREFIX) == Some(number),
            None => intel::is_same(arch, &self.0),
        }
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
        }
    }

    /// Returns the devices for which losing code is a mistake: the wanted ones, or with names of processors all.
    pub fn affected(&self, file: &File) -> Vec<NamedDevice> {
        match self {
            Prune::ForDevices(devices, _) => devices.clone(),
            Prune::Keep(_) | Prune::Drop(_) => NamedDevice::of_file(file),
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
}

impl Edit for KeptImages {
    fn image(&self, image: &EditedImage<'_>) -> Result<ImageEdit> {
        let is_kept = image.index.is_none_or(|index| self.contains(index));
        Ok(if is_kept { ImageEdit::Keep } else { ImageEdit::Drop })
    }
}
