//! The images that a file must keep: those that runtimes select on some devices, or those for some processors.
//!
//! Pruning by name alone has broken libraries: code for sm_80 is what a device of sm_86 runs in each container without code of
//! its own, and PTX is all that there is for devices that are newer than the file. Hence each container is asked for the images
//! that its runtime selects.

use crate::format::ImageKind;
use crate::inventory::{File, Image};
use crate::select::{Candidate, candidate_sets, selected_by_program};
use crate::target::{Device, OffloadKind, Platform};

/// Treatment of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepPtx {
    /// Keeps the PTX that a runtime selects, which is the newest that the device supports: where there is no machine code for
    /// it.
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
    /// Returns the images that runtimes select on some of these devices, and those whose selection is not known.
    pub fn for_devices(file: &File, devices: &[Device], ptx: KeepPtx) -> Self {
        let images: Vec<&Image> = file.device_images().collect();
        let mut kept = KeptImages(images.iter().map(|image| is_undecidable(image)).collect());
        for set in candidate_sets(file) {
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
        kept.keep_all(selected_by_program(file));
        kept
    }

    /// Returns the images that `is_kept` accepts.
    pub fn matching(file: &File, is_kept: impl FnMut(&Image) -> bool) -> Self {
        let mut kept = KeptImages(file.device_images().map(is_kept).collect());
        kept.keep_all(selected_by_program(file));
        kept
    }

    /// Returns whether the image with this index is kept.
    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number).copied().unwrap_or(true)
    }

    /// Returns the devices on which runtimes select kept images only, as before.
    pub fn served(&self, file: &File, devices: Vec<Device>) -> Vec<Device> {
        let sets = candidate_sets(file);
        let is_served = |device: &Device| {
            let mut selected = sets.iter().flat_map(|set| set.selected_on(device));
            selected.all(|number| self.contains(number))
        };
        devices.into_iter().filter(is_served).collect()
    }

    /// Keeps images that only the program refers to: nothing states which of them it can do without.
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

/// Returns whether nothing states what an image runs on. Code for the host's processor is not for a device, and stays; so do
/// SYCL's images, because nothing can be removed from its table of them.
fn is_undecidable(image: &Image) -> bool {
    image.kind == Some(OffloadKind::Sycl)
        || image.unknown_kind().is_some()
        || matches!(Platform::of(image.triple.as_deref(), image.arch.as_deref()), None | Some(Platform::Host))
}
