//! Images that are selected together, because each has some of the kernels. Also ocloc's archives: the driver selects
//! one image from each.

use std::collections::HashMap;

use super::{Candidate, CandidateSet, Preference, RejectReason, Runtime, Selection};
use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::Container;
use fatbin_core::target::intel;
use fatbin_core::target::runs_on::LoadMethod;

/// Index of the image that the driver selects in each archive.
type BestOfArchives = HashMap<*const Container, usize>;

impl Candidate<'_> {
    /// Sort key of images that a device runs by one method. In ocloc's archives, the driver prefers code for the model
    /// to code for its family, and an archive's SPIR-V to SPIR-V of other images.
    pub(super) fn precedence(&self) -> bool {
        match self.image.image_kind {
            ImageKind::SpirV => self.archive.is_none(),
            _ => self.image.arch.as_deref().is_some_and(intel::is_family),
        }
    }
}

impl CandidateSet<'_> {
    /// Returns the image that the driver selects in each archive of ocloc.
    pub(super) fn best_of_archives(&self, verdicts: &[Result<LoadMethod, RejectReason>]) -> BestOfArchives {
        let mut best: BestOfArchives = HashMap::new();
        let rank = |index: usize| (verdicts[index].clone().ok(), self.candidates[index].precedence());
        for (index, candidate) in self.candidates.iter().enumerate().filter(|(index, _)| verdicts[*index].is_ok()) {
            let Some(archive) = candidate.archive else { continue };
            let known = best.entry(archive).or_insert(index);
            if rank(index) < rank(*known) {
                *known = index;
            }
        }
        best
    }

    /// Returns whether an image that runs is selected together with the preferred image, because it has other kernels.
    /// Either both are for the same target, or the driver selects them in the same way from different archives.
    pub(super) fn is_selected_with(
        &self,
        runtime: &Runtime,
        (winner, selected): (usize, Option<LoadMethod>),
        (index, method): (usize, LoadMethod),
        best: &BestOfArchives,
    ) -> bool {
        if self.are_parts(winner, index) {
            return true;
        }
        if runtime.preference != Preference::BestForEachKernel {
            return false;
        }
        let [preferred, own] = [winner, index].map(|index| self.candidates[index].archive);
        match own {
            Some(archive) if best.get(&std::ptr::from_ref(archive)) != Some(&index) => false,
            Some(_) if preferred.is_some() => {
                selected.is_some_and(|selected| selected.compiled_from() == method.compiled_from())
            }
            _ => self.same_target(winner, index),
        }
    }

    /// Returns whether two images are parts of one program, which the driver links when it loads them.
    fn are_parts(&self, one: usize, other: usize) -> bool {
        let is_part = |index: usize| self.candidates[index].image.is_part();
        is_part(one) && is_part(other) && self.same_target(one, other)
    }

    /// Records that the driver links the selected images, if they are parts of one program.
    pub(super) fn link_parts(&self, selection: &mut Selection) {
        let Some((winner, method)) = selection.selected.filter(|(index, _)| self.candidates[*index].image.is_part())
        else {
            return;
        };
        let mut parts = vec![winner];
        parts.append(&mut selection.also_selected);
        parts.sort_unstable();
        selection.selected = parts.first().map(|first| (*first, method));
        selection.also_selected = parts.iter().copied().skip(1).collect();
        selection.link = parts.into_iter().map(|index| (index, method)).collect();
    }

    fn same_target(&self, one: usize, other: usize) -> bool {
        let target = |index: usize| {
            let image = self.candidates[index].image;
            (&image.triple, &image.arch, image.image_kind)
        };
        target(one) == target(other)
    }

    /// Returns the number of the image that is selected instead of one that runs.
    pub(super) fn outranking(&self, index: usize, winner: Option<usize>, best: &BestOfArchives) -> usize {
        let own = self.candidates[index].archive.and_then(|archive| best.get(&std::ptr::from_ref(archive)).copied());
        let by = own.filter(|best| *best != index).or(winner);
        by.map_or(0, |by| self.candidates[by].number)
    }
}
