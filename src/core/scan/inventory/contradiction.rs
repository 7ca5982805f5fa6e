//! Containers and images that disagree about the target.

use super::Image;
use crate::base::bytes::View;
use crate::base::codec::{decompress_start, is_compressed};
use crate::format::{DeviceImage, GroupCache, ImageKind, ImageView};
use crate::target::amdgpu::System;
use crate::target::runs_on::Incompatibility;
use crate::target::{Platform, compatibility, intel, nvptx};

/// Number of bytes of compressed PTX that are read. Compilers write a comment of less than 1 KiB before the directives.
const PTX_START: usize = 4 << 10;

/// Properties in the header of an image that its container does not state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnHeader {
    /// Triple, if it contradicts the container.
    pub triple: Option<String>,
    /// Processor, if it contradicts the container.
    pub arch: Option<String>,
    /// True for machine code that must be linked before a runtime loads it.
    pub is_unlinked: bool,
}

impl OwnHeader {
    /// Reads the header of an image. Of a compressed image, only the first directives of PTX are read: `fatbinary`
    /// accepts PTX whose `.target` is not the architecture of its entry. `group` decompresses a group once for all of its
    /// images.
    pub fn of<'data>(image: &ImageView<'data>, group: &mut GroupCache<'data>) -> OwnHeader {
        let triple = image.triple.as_deref();
        let arch = image.arch.as_deref();
        match image.codec.filter(|codec| is_compressed(Some(*codec))) {
            None => OwnHeader::read(triple, arch, image.view),
            Some(codec) if image.image_kind == ImageKind::Ptx && image.part.is_none() => {
                let start = decompress_start(codec, image.view, image.full_size.unwrap_or_default(), PTX_START);
                start.map_or_else(
                    |_| OwnHeader::default(),
                    |start| OwnHeader::read(triple, arch, image.view.derived(&start)),
                )
            }
            Some(_) if image.image_kind == ImageKind::Ptx => group.bytes(image).map_or_else(
                |_| OwnHeader::default(),
                |bytes| {
                    let start = bytes.get(..PTX_START).unwrap_or(&bytes);
                    OwnHeader::read(triple, arch, image.view.derived(start))
                },
            ),
            Some(_) => OwnHeader::default(),
        }
    }

    /// Reads the header of an image whose container states a triple and an arch.
    pub fn read(triple: Option<&str>, arch: Option<&str>, bytes: View<'_>) -> OwnHeader {
        let own = DeviceImage::identify(bytes);
        let contradicts = |own: &str| triple.is_some_and(|stated| are_for_other_systems(stated, own));
        let own_triple = own.triple.filter(|own| contradicts(own)).map(std::borrow::Cow::into_owned);
        let is_ptx = own.image_kind == ImageKind::Ptx;
        let is_fine = |stated: &str, own: &str| agree(stated, own) || is_ptx && is_for_older(stated, own);
        let own_arch = own.arch.filter(|own| arch.is_some_and(|stated| !is_fine(stated, own)));
        OwnHeader { triple: own_triple, arch: own_arch, is_unlinked: own.is_unlinked }
    }
}

impl Image {
    /// Triple that a loader reads: the image's own, if it contradicts the container.
    #[doc(hidden)]
    pub fn loaded_triple(&self) -> Option<&str> {
        self.own_triple.as_deref().or(self.triple.as_deref())
    }

    /// Processor that a loader reads: the image's own, if it contradicts the container.
    #[doc(hidden)]
    pub fn loaded_arch(&self) -> Option<&str> {
        self.own_arch.as_deref().or(self.arch.as_deref())
    }

    /// Reason why no runtime of its platform loads the image on any device.
    #[doc(hidden)]
    pub fn load_obstacle(&self) -> Option<Incompatibility> {
        // Relocatable cubins are input of a device linker, and have the role of such code.
        if self.is_unlinked && !self.is_relocatable_cubin() {
            return Some(Incompatibility::Unlinked);
        }
        let triple = self.loaded_triple()?;
        let is_amd = Platform::of(Some(triple), None) == Some(Platform::Amd);
        let system = if is_amd { System::of_triple(triple)? } else { return None };
        (system != System::Hsa).then_some(Incompatibility::System(system))
    }

    /// Returns whether it is machine code of NVIDIA that must be linked. The driver takes it with `cuLinkAddData` only
    /// (CUDA Driver API, module management).
    #[doc(hidden)]
    pub fn is_relocatable_cubin(&self) -> bool {
        self.is_unlinked && Platform::of(self.triple.as_deref(), self.arch.as_deref()) == Some(Platform::Nvidia)
    }

    /// Contradictions between the container and the image's own header: what each of them states.
    #[doc(hidden)]
    pub fn contradictions(&self) -> impl Iterator<Item = (&str, &str)> {
        let stated = [(&self.triple, &self.own_triple), (&self.arch, &self.own_arch)];
        stated.into_iter().filter_map(|(stated, own)| Some((stated.as_deref().unwrap_or_default(), own.as_deref()?)))
    }
}

/// Returns whether two triples of AMD's GPUs are for different systems. A triple may state none.
fn are_for_other_systems(stated: &str, own: &str) -> bool {
    match (System::of_triple(stated), System::of_triple(own)) {
        (Some(stated), Some(own)) => stated != own,
        _ => false,
    }
}

/// Returns whether code of a fat binary runs on fewer devices than its entry states: `sm_90a` under `sm_90`. nvcc 13.5
/// stores cubins of Tile IR in such entries.
pub fn is_narrower(stated: &str, own: &str) -> bool {
    match (nvptx::Arch::parse(stated), nvptx::Arch::parse(own)) {
        (Some(stated), Some(own)) => {
            stated.number == own.number && own.suffix == Some(nvptx::Suffix::Specific) && own != stated
        }
        _ => false,
    }
}

/// Returns whether PTX is for an older architecture than its entry states. A driver compiles it for every newer one.
fn is_for_older(stated: &str, own: &str) -> bool {
    match (nvptx::Arch::parse(stated), nvptx::Arch::parse(own)) {
        (Some(stated), Some(own)) => own.suffix.is_none() && own.number <= stated.number,
        _ => false,
    }
}

fn agree(stated: &str, own: &str) -> bool {
    match (nvptx::Arch::parse(stated), nvptx::Arch::parse(own)) {
        // Not every cubin states its suffix, and not every container states the suffix of a family.
        (Some(stated), Some(own)) => {
            stated.number == own.number && (own.suffix != Some(nvptx::Suffix::Specific) || own == stated)
        }
        // A container may restrict a choice that the code leaves open.
        _ if intel::is_name(own) || intel::is_name(stated) => intel::can_be(own, stated),
        _ => compatibility::serves(own, stated).is_ok(),
    }
}
