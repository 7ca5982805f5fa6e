//! Selection of libgomp, GCC's runtime: all images for the platform of the device, or the program ends.
//!
//! Sources: GCC's `libgomp/plugin/plugin-nvptx.c`, `link_ptx`, which passes every PTX text to `cuLinkAddData`, and
//! `plugin-gcn.c`, which compares the processors and nothing else. Measured with libgomp 12 above recording drivers: 20
//! texts in the order of the table; on another processor the program ends with status 1, without a run on the host.

use super::{CandidateSet, RejectReason, Runtime, Selection};
use fatbin_core::target::runs_on::{Incompatibility, LoadMethod};
use fatbin_core::target::{Device, amdgpu};

impl CandidateSet<'_> {
    /// Selects all images for the platform of the device, if each of them runs.
    pub(super) fn select_all(&self, runtime: &Runtime, device: &Device) -> Selection {
        let platform = Some(device.platform());
        let verdicts: Vec<_> =
            (0..self.candidates.len()).map(|index| self.all_verdict(runtime, index, device)).collect();
        let is_missing = |index: &usize| self.candidates[*index].platform() == platform && verdicts[*index].is_err();
        let missing = (0..verdicts.len()).find(is_missing);
        let mut selection = Selection::default();
        for (index, verdict) in verdicts.into_iter().enumerate() {
            match (verdict, missing) {
                (Ok(method), None) if method.compiled_from().is_some() => selection.link.push((index, method)),
                (Ok(method), None) if selection.selected.is_none() => selection.selected = Some((index, method)),
                (Ok(_), None) => selection.also_selected.push(index),
                (Ok(_), Some(missing)) => {
                    let at = self.candidates[missing].image.offset;
                    let missing = at.map_or("an unknown place".to_owned(), |at| format!("{at:#x}"));
                    selection.rejected.push((index, RejectReason::IncompleteLink { missing }));
                }
                (Err(reason), _) => selection.rejected.push((index, reason)),
            }
        }
        if let Some(&first) = selection.link.first() {
            selection.selected = Some(first);
            selection.also_selected = selection.link.iter().skip(1).map(|(index, _)| *index).collect();
        }
        selection
    }

    fn all_verdict(&self, runtime: &Runtime, index: usize, device: &Device) -> Result<LoadMethod, RejectReason> {
        let candidate = &self.candidates[index];
        let verdict = self.check_candidate(runtime, candidate, device);
        let Device::Amd(id) = device else { return verdict };
        let found = candidate.image.loaded_arch().unwrap_or_default();
        match verdict {
            Ok(_) | Err(RejectReason::Incompatibility(Incompatibility::TargetId(_))) => {
                if amdgpu::processor(found) == amdgpu::processor(id) {
                    return Ok(LoadMethod::Exact);
                }
                let obstacle = Incompatibility::Other { found: found.to_owned(), device: device.to_string() };
                Err(RejectReason::Incompatibility(obstacle))
            }
            verdict => verdict,
        }
    }
}
