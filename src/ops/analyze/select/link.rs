//! Selection from a device link: the driver takes the linked code if it runs, and else links the relocatable code
//! again.

use super::{Candidate, CandidateSet, DriverCheck, RejectReason, Runtime, Selection};
use fatbin_core::scan::inventory::{CodeRole, LinkInput};
use fatbin_core::target::Device;
use fatbin_core::target::runs_on::LoadMethod;

impl<'a> CandidateSet<'a> {
    /// Returns the linked code. If there is none, returns the relocatable code without the device runtime's.
    pub(super) fn own_code(&self) -> Vec<&Candidate<'a>> {
        let linked: Vec<_> = self.candidates.iter().filter(|candidate| candidate.link_input.is_none()).collect();
        if !linked.is_empty() {
            return linked;
        }
        let input = |candidate: &Candidate<'_>| self.link_inputs.get(candidate.link_input?);
        let is_own = |candidate: &&Candidate<'_>| input(candidate).is_none_or(|input| !input.is_device_runtime());
        self.candidates.iter().filter(is_own).collect()
    }

    /// Selects from the linked code. If none of it runs, selects an image from each relocatable container.
    pub(super) fn select_or_link(
        &self,
        runtime: &Runtime,
        device: &Device,
        check: Option<DriverCheck<'_>>,
    ) -> Selection {
        let mut parts: Vec<Part<'_>> = vec![Part::default(); self.link_inputs.len() + 1];
        for (index, candidate) in self.candidates.iter().enumerate() {
            let place = candidate.link_input.map_or(0, |input| input + 1);
            if let Some(part) = parts.get_mut(place) {
                part.indexes.push(index);
                part.candidates.push(*candidate);
            }
        }
        let select_from = |Part { indexes, candidates }: Part<'_>| {
            let container = self.container;
            let set = CandidateSet {
                container,
                runtime: self.runtime,
                candidates,
                role: CodeRole::Loaded,
                link_inputs: Vec::new(),
                is_unregistered: self.is_unregistered,
                content: self.content,
            };
            set.select_loaded(runtime, device, check).with_indexes(&indexes)
        };
        let mut selections = parts.into_iter().map(select_from);
        let mut selection = selections.next().unwrap_or_default();
        if selection.selected.is_some() || selection.takes_nothing_else() || selection.is_undecided() {
            let unused = self.candidates.iter().enumerate().filter(|(_, candidate)| candidate.link_input.is_some());
            selection.rejected.extend(unused.map(|(index, _)| (index, RejectReason::LinkedCodeRuns)));
        } else {
            selection.link(&self.link_inputs, selections.collect());
        }
        selection.rejected.sort_by_cached_key(|(index, _)| *index);
        selection
    }
}

/// The candidates of one container of a link, with their indexes in the set.
#[derive(Debug, Clone, Default)]
struct Part<'a> {
    indexes: Vec<usize>,
    candidates: Vec<Candidate<'a>>,
}

impl Selection {
    /// Replaces the indexes of a part by indexes of the whole set.
    fn with_indexes(self, indexes: &[usize]) -> Selection {
        let index = |index: usize| indexes.get(index).copied().unwrap_or_default();
        Selection {
            selected: self.selected.map(|(own, method)| (index(own), method)),
            also_selected: self.also_selected.into_iter().map(index).collect(),
            rejected: self.rejected.into_iter().map(|(own, reason)| (index(own), reason)).collect(),
            undecided: self.undecided.into_iter().map(index).collect(),
            link: self.link.into_iter().map(|(own, method)| (index(own), method)).collect(),
        }
    }

    /// Adds the selections from the inputs of a link: all are selected, or none if one of them has nothing.
    fn link(&mut self, inputs: &[LinkInput<'_>], selections: Vec<Selection>) {
        let is_empty = |selection: &Selection| selection.selected.is_none() && !selection.is_undecided();
        let is_runtime_alone = inputs.iter().all(|input| input.is_device_runtime());
        let is_needed = |input: &LinkInput<'_>| is_runtime_alone || !input.is_device_runtime();
        let mut missing = inputs.iter().zip(&selections).filter(|(input, found)| is_needed(input) && is_empty(found));
        let missing = missing.next().map(|(input, _)| *input);
        for selection in selections {
            self.rejected.extend(selection.rejected);
            match (selection.selected, missing) {
                (Some((index, _)), Some(missing)) => {
                    let all = [index].into_iter().chain(selection.also_selected);
                    let reason = || RejectReason::IncompleteLink { missing: name(missing) };
                    self.rejected.extend(all.map(|index| (index, reason())));
                }
                (selected, None) => {
                    self.undecided.extend(selection.undecided);
                    self.link.extend(selected);
                    let method = selected.map_or(LoadMethod::FromPtx, |(_, method)| method);
                    self.link.extend(selection.also_selected.into_iter().map(|index| (index, method)));
                }
                (None, Some(_)) => {}
            }
        }
        let method_of = |method: LoadMethod| match method.compiled_from() {
            Some(_) => method,
            None => LoadMethod::Linked,
        };
        let method = self.link.iter().map(|(_, method)| method_of(*method)).max();
        self.selected = self.link.first().zip(method).map(|((index, _), method)| (*index, method));
        self.also_selected = self.link.iter().skip(1).map(|(index, _)| *index).collect();
    }

    /// Describes how a selected image is loaded, as a clause.
    pub(super) fn method_text(&self, index: usize, method: LoadMethod) -> String {
        match self.link.iter().find(|(linked, _)| *linked == index) {
            None => method.to_string(),
            Some((_, own)) => match own.compiled_from() {
                Some(language) => format!("the driver compiles {language} and links it at load time"),
                None => LoadMethod::Linked.to_string(),
            },
        }
    }
}

/// Formats the offset of a container in the file, and the name of its source.
fn name(input: LinkInput<'_>) -> String {
    let at = input.container.offset.map_or("an unknown place".to_owned(), |offset| format!("{offset:#x}"));
    input.source().map_or(at.clone(), |source| format!("{at} ({source})"))
}
