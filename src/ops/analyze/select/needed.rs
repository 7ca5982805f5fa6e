//! The images that a file needs for a device: images that a runtime selects, and images that a device linker takes.

use super::{Candidate, CandidateSet, Selection};
use fatbin_core::format::{ImageKind, SelectionScope};
use fatbin_core::scan::inventory::CodeRole;
use fatbin_core::target::Device;

impl CandidateSet<'_> {
    /// Returns the numbers of the images that the device needs: if one is removed, the device gets other code or none.
    ///
    /// From a fat binary or bundle, these are the images that the runtime selects, in any of its releases. Images that
    /// it selects and then fails to load are included: without them it would select others. Images that are registered
    /// together, or that a device linker combines, may each hold other kernels; all that run on the device are needed.
    /// Relocatable code of a finished file that runs on the device is among them. Nothing is needed if neither the
    /// linked code nor a link at load time serves the device.
    pub fn needed_on(&self, device: &Device) -> Vec<usize> {
        let scope = self.container.container_type.descriptor().selection_scope;
        if self.role != CodeRole::Loaded || scope == SelectionScope::File {
            return self.linked_for(device);
        }
        let set = self.as_registered();
        let earlier = set.select_with_earlier_releases(device, None);
        let earlier = earlier.into_iter().map(|(_, selection)| selection);
        let selections = std::iter::once(set.select_on(device)).chain(earlier);
        let needed = selections.flat_map(|selection| selection.needed());
        let mut numbers: Vec<usize> = needed.map(|index| self.candidates[index].number).collect();
        if !numbers.is_empty() && !self.link_inputs.is_empty() {
            let relocatable = self.candidates.iter().copied().filter(|candidate| candidate.link_input.is_some());
            let relocatable = CandidateSet { candidates: relocatable.collect(), ..self.clone() };
            numbers.extend(relocatable.linked_for(device));
        }
        numbers
    }

    /// Returns the numbers of the images that the runtime selects on the device, if the container is registered.
    pub fn selected_on(&self, device: &Device) -> Vec<usize> {
        let selection = self.as_registered().select_on(device);
        let all = selection.selected.iter().map(|(index, _)| *index).chain(selection.also_selected.iter().copied());
        all.map(|index| self.candidates[index].number).collect()
    }

    /// Returns the numbers of the images that the runtime takes on the device, if the container is registered, also if
    /// nothing in them runs.
    pub fn taken_on(&self, device: &Device) -> Vec<usize> {
        let selection = self.as_registered().select_on(device);
        let selected =
            selection.selected.iter().map(|(index, _)| *index).chain(selection.also_selected.iter().copied());
        let taken: Vec<usize> = selected.chain(selection.selected_in_vain()).collect();
        taken.into_iter().map(|index| self.candidates[index].number).collect()
    }

    /// True if it has relocatable code of a finished file.
    pub fn has_relocatable_code(&self) -> bool {
        self.role == CodeRole::Leftover || self.candidates.iter().any(|candidate| candidate.link_input.is_some())
    }

    /// Returns the numbers of the images that run or may run on the device, and of LTO-IR for its platform.
    fn linked_for(&self, device: &Device) -> Vec<usize> {
        let is_needed = |candidate: &&Candidate<'_>| {
            let is_link_time = candidate.image.image_kind == ImageKind::Nvvm;
            let is_for_platform = candidate.is_for(device);
            let may_run = candidate.code(self.runtime).runs_on(device).err().is_none_or(|reason| reason.is_undecided());
            (is_link_time && is_for_platform) || may_run
        };
        self.candidates.iter().filter(is_needed).map(|candidate| candidate.number).collect()
    }
}

impl Selection {
    /// Indexes of the selected images, including images that may be selected or are selected but cannot be loaded.
    fn needed(&self) -> Vec<usize> {
        let selected = self.selected.iter().map(|(index, _)| *index).chain(self.also_selected.iter().copied());
        let undecided = self.undecided.iter().copied();
        selected.chain(self.selected_in_vain()).chain(undecided).collect()
    }

    /// Indexes of the images that are selected although nothing in them runs.
    fn selected_in_vain(&self) -> impl Iterator<Item = usize> {
        self.rejected.iter().filter(|(_, why)| why.is_selected()).map(|(index, _)| *index)
    }
}
