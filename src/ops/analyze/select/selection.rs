//! The images that a runtime selects and rejects, with reasons.

use super::RejectReason;
use fatbin_core::target::runs_on::LoadMethod;

/// The images that a runtime selects and rejects. Indices refer to
/// [`CandidateSet::candidates`](super::CandidateSet::candidates).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The selected image, if any, and how its code is loaded.
    pub selected: Option<(usize, LoadMethod)>,
    /// Further images for the same target, with other kernels.
    pub also_selected: Vec<usize>,
    /// All other images, in order.
    pub rejected: Vec<(usize, RejectReason)>,
    /// Rejected images that the runtime may select instead. Whether it does is unknown.
    pub undecided: Vec<usize>,
    /// The selected images with their methods, if the driver links them when it loads them.
    pub link: Vec<(usize, LoadMethod)>,
}

/// Verdict on a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateVerdict {
    /// The runtime selects it.
    Selected,
    /// The runtime selects another or none.
    Rejected,
    /// The runtime may select it or not.
    Undecided,
}

impl Selection {
    /// Returns whether the selected image, or that none is, is not certain.
    pub fn is_undecided(&self) -> bool {
        !self.undecided.is_empty()
    }

    /// Returns whether the runtime selects an image that nothing runs from: it takes no other instead.
    pub fn takes_nothing_else(&self) -> bool {
        self.rejected.iter().any(|(_, reason)| reason.is_selected())
    }

    /// Returns whether the runtime selects an image without kernels, or with stubs only.
    pub fn takes_no_kernels(&self) -> bool {
        let is_empty = |reason: &RejectReason| {
            matches!(reason, RejectReason::SelectedWithoutKernels { .. } | RejectReason::SelectedStubs { .. })
        };
        self.rejected.iter().any(|(_, reason)| is_empty(reason))
    }

    /// Returns the candidate that the runtime selects although its kernels have no body.
    pub fn taken_stubs(&self) -> Option<usize> {
        let stubs = self.rejected.iter().find(|(_, reason)| matches!(reason, RejectReason::SelectedStubs { .. }));
        stubs.map(|(index, _)| *index)
    }

    /// Returns whether the driver links the selected images when it loads them.
    pub fn is_link(&self) -> bool {
        !self.link.is_empty()
    }

    /// Returns for each candidate, in order, its index, the verdict, and the reason.
    pub fn verdicts(&self) -> Vec<(usize, CandidateVerdict, String)> {
        let selected_verdict =
            if self.is_undecided() { CandidateVerdict::Undecided } else { CandidateVerdict::Selected };
        let selected = self.selected.iter().flat_map(|(index, way)| {
            let all = std::iter::once(index).chain(&self.also_selected);
            all.map(move |index| (*index, selected_verdict, self.method_text(*index, *way)))
        });
        let rejected = self.rejected.iter().map(|(index, reason)| {
            let is_undecided = self.undecided.contains(index);
            let verdict = if is_undecided { CandidateVerdict::Undecided } else { CandidateVerdict::Rejected };
            (*index, verdict, reason.to_string())
        });
        let mut verdicts: Vec<_> = selected.chain(rejected).collect();
        verdicts.sort_by_cached_key(|(index, ..)| *index);
        verdicts
    }
}
