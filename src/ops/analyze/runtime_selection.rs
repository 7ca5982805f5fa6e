//! The images that runtimes load on devices, for programs that use the library.

use super::select::{AnsweredFile, AnsweredSet, CandidateVerdict, DeviceAnswer};
use fatbin_core::scan::{Container, File, Image};
use fatbin_core::target::Device;

/// The choice of a runtime among images that are registered together.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct RuntimeSelection<'a> {
    /// Name of the runtime.
    pub runtime: &'static str,
    /// The devices, which all have this selection.
    pub devices: Vec<&'a Device>,
    /// The container of the images, or the first of several.
    pub container: &'a Container,
    /// True if it is not certain which image the runtime loads, or that it loads none.
    pub is_undecided: bool,
    /// A verdict on each image, in order.
    pub verdicts: Vec<ImageVerdict<'a>>,
    selected: Option<usize>,
}

/// Verdict on an image.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct ImageVerdict<'a> {
    /// Index among the device images of the file.
    pub index: usize,
    /// The image.
    pub image: &'a Image,
    /// Whether the runtime loads it.
    pub verdict: CandidateVerdict,
    /// Method by which it is loaded, or the reason why it is not.
    pub reason: String,
}

/// Predicts which images of a file the runtimes load on `devices`: one selection for each set of images that a runtime
/// selects from, if any of them is for such devices at all. Devices with different selections from one set are in
/// different items.
pub fn select<'a>(file: &'a File, devices: &'a [Device]) -> Vec<RuntimeSelection<'a>> {
    let answered = AnsweredFile::new(file, devices);
    let of_set = |set: &AnsweredSet<'a>| -> Vec<_> {
        set.answers.iter().map(|answer| RuntimeSelection::new(set, answer)).collect()
    };
    answered.listed().flat_map(of_set).collect()
}

impl<'a> RuntimeSelection<'a> {
    fn new(answered: &AnsweredSet<'a>, answer: &DeviceAnswer<'a>) -> Self {
        let set = &answered.set;
        let verdict = |(candidate, verdict, reason): (usize, CandidateVerdict, String)| ImageVerdict {
            index: set.candidates[candidate].number,
            image: set.candidates[candidate].image,
            verdict,
            reason,
        };
        RuntimeSelection {
            runtime: set.runtime.name,
            devices: answer.devices.clone(),
            container: set.container,
            is_undecided: answer.is_undecided(),
            verdicts: answer.selection.verdicts().into_iter().map(verdict).collect(),
            selected: answer.selection.selected.map(|(candidate, _)| set.candidates[candidate].number),
        }
    }

    /// The image that the runtime loads. It may load further images for the same target, with other kernels.
    pub fn selected(&self) -> Option<&ImageVerdict<'a>> {
        self.verdicts.iter().find(|verdict| Some(verdict.index) == self.selected)
    }
}
