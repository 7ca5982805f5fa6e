//! CUDA's order: the nearest image first.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::{CandidateSet, EqualPtx, Selection};
use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::Image;
use fatbin_core::target::Device;
use fatbin_core::target::nvptx::{self, Suffix};
use fatbin_core::target::runs_on::LoadMethod;

impl CandidateSet<'_> {
    /// Returns the outranked images that an older driver or runtime loads if it does not support the selected image. A
    /// driver chooses among PTX without asking whether it supports its version. So only the nearest image is an
    /// alternative, and PTX is never an alternative to other PTX.
    pub(super) fn alternatives(&self, selection: &Selection, outranked: &[usize], device: &Device) -> Vec<usize> {
        let method = |index: usize| self.check_candidate(self.runtime, &self.candidates[index], device).ok();
        let is_ptx = |index: &usize| method(*index) == Some(LoadMethod::FromPtx);
        let mut alternatives: Vec<usize> = outranked.iter().copied().filter(|index| !is_ptx(index)).collect();
        let is_ptx_selected = selection.selected.is_some_and(|(_, method)| method == LoadMethod::FromPtx);
        if !is_ptx_selected {
            let method = LoadMethod::FromPtx;
            let rank = |&index: &usize| distance(Some(&method), index, self.candidates[index].image, EqualPtx::First);
            alternatives.extend(outranked.iter().copied().filter(is_ptx).min_by_key(rank));
        }
        alternatives
    }

    /// Returns whether it has PTX for one architecture twice.
    pub(super) fn has_equal_ptx(&self) -> bool {
        let mut known = HashSet::new();
        let is_alone = |image: &Image| image.image_kind == ImageKind::Ptx && !image.is_part();
        let mut ptx = self.candidates.iter().filter(|it| is_alone(it.image));
        ptx.any(|it| !known.insert(it.image.arch.as_deref()))
    }
}

/// Sort key of images that run on a device, the nearest first: machine code, the highest number, the narrowest suffix,
/// code without Mercury code, the first. Of equal PTX, drivers select the first or the last.
pub fn distance(
    way: Option<&LoadMethod>,
    index: usize,
    image: &Image,
    equal_ptx: EqualPtx,
) -> (bool, Reverse<u32>, u8, bool, usize) {
    let arch = image.arch.as_deref().and_then(nvptx::Arch::parse);
    let breadth = match arch.and_then(|arch| arch.suffix) {
        Some(Suffix::Specific) => 0,
        Some(Suffix::Family) => 1,
        None => 2,
    };
    let is_ptx = way == Some(&LoadMethod::FromPtx);
    let place = if is_ptx && equal_ptx == EqualPtx::Last { usize::MAX - index } else { index };
    (is_ptx, Reverse(arch.map_or(0, |arch| arch.number)), breadth, image.cuda.is_mercury, place)
}
