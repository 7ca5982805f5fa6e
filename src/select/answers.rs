//! The answers of runtimes for several devices, grouped where they agree.

use super::{CandidateSet, Runtime, Selection, candidate_sets};
use crate::inventory::File;
use crate::target::Device;

/// A file and the answers to all choices in it.
#[derive(Debug)]
pub struct AnsweredFile<'a> {
    pub file: &'a File,
    pub sets: Vec<AnsweredSet<'a>>,
}

/// A choice and its answers: one, or where a device's name leaves something open that matters, one for each of its
/// meanings.
#[derive(Debug)]
pub struct AnsweredSet<'a> {
    pub set: CandidateSet<'a>,
    /// Whether there is code for such devices at all.
    pub is_relevant: bool,
    pub answers: Vec<DeviceAnswer<'a>>,
}

/// What a runtime does on some devices.
#[derive(Debug)]
pub struct DeviceAnswer<'a> {
    pub devices: Vec<&'a Device>,
    pub selection: Selection,
    /// What its earlier releases do, where they take another image.
    pub earlier: Option<(&'static Runtime, Selection)>,
}

impl<'a> AnsweredFile<'a> {
    pub fn new(file: &'a File, devices: &'a [Device]) -> Self {
        AnsweredFile { file, sets: candidate_sets(file).into_iter().map(|it| AnsweredSet::new(it, devices)).collect() }
    }

    /// Those with code for the devices.
    pub fn relevant(&self) -> impl Iterator<Item = &AnsweredSet<'a>> {
        self.sets.iter().filter(|set| set.is_relevant)
    }
}

impl<'a> AnsweredSet<'a> {
    fn new(set: CandidateSet<'a>, devices: &'a [Device]) -> Self {
        let mut answers: Vec<DeviceAnswer> = Vec::new();
        for device in devices {
            let (selection, earlier) = (set.select_on(device), set.select_on_earlier_release(device));
            match answers.iter_mut().find(|known| known.selection == selection && known.earlier == earlier) {
                Some(known) => known.devices.push(device),
                None => answers.push(DeviceAnswer { devices: vec![device], selection, earlier }),
            }
        }
        let is_relevant = devices.iter().any(|device| set.has_code_for(device));
        AnsweredSet { set, is_relevant, answers }
    }

    /// Whether an image is taken whatever the device is.
    pub fn always_selects(&self) -> bool {
        self.answers.iter().all(|answer| answer.selection.selected.is_some())
    }
}
