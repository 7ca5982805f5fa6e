//! Selection: the images that a device would load.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use fatbin_rs::analyze::{CandidateVerdict, RuntimeSelection, select};
use fatbin_rs::target::Device;

use crate::FATBIN_NO_INDEX;
use crate::error::{Failure, Result, free, guard};
use crate::file::{File, Member};
use crate::pointers::{self, handle};
use crate::strings::Strings;

/// The selection of a runtime from one set of images. Strings are valid until the selection is freed. Later releases may add
/// fields at the end.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Answer {
    /// The device. A name that leaves features open means several; devices with the same selection are separated by
    /// commas.
    pub device: *const c_char,
    /// Name of the runtime.
    pub runtime: *const c_char,
    /// Method by which the image is loaded; without an image, the reasons for rejecting each.
    pub reason: *const c_char,
    /// Index of the container, or of the first of several whose images are one set.
    pub container: usize,
    /// Index of the image, or FATBIN_NO_INDEX if the runtime selects none.
    pub image: usize,
    /// False if the selection is not known, because too little is known about an image.
    pub certain: bool,
}

/// The selections from all sets of images of a file that have code for devices of one platform.
#[derive(Debug, Default)]
pub struct Selection {
    answers: Vec<Answer>,
    strings: Strings,
}

impl Selection {
    fn new(file: &File, device: &str) -> Result<Self> {
        let devices = Device::parse(device).map_err(|error| Failure::argument(format_args!("device: {error}")))?;
        let mut selection = Selection::default();
        for member in file.members() {
            for answer in select(member.scan.file(), &devices) {
                selection.add(member, &answer);
            }
        }
        Ok(selection)
    }

    fn add(&mut self, member: &Member, answer: &RuntimeSelection<'_>) {
        let devices: Vec<String> = answer.devices.iter().map(ToString::to_string).collect();
        let number = |index: usize| index + member.first_image;
        let selected = answer.selected();
        let reason = match selected {
            Some(selected) => selected.reason.clone(),
            None => {
                let others = answer.verdicts.iter().filter(|it| it.verdict != CandidateVerdict::Selected);
                let reasons = others.map(|it| format!("image {}: {}", number(it.index), it.reason));
                reasons.collect::<Vec<_>>().join("; ")
            }
        };
        self.answers.push(Answer {
            device: self.strings.add(&devices.join(",")),
            runtime: self.strings.add(answer.runtime),
            reason: self.strings.add(&reason),
            container: member.containers.of(answer.container),
            image: selected.map_or(FATBIN_NO_INDEX, |selected| number(selected.index)),
            certain: !answer.is_undecided,
        });
    }
}

/// Predicts which images a device loads, such as "gfx90a:sramecc+:xnack-", "sm_90", "x86_64" or "spir64": an answer for each
/// container, or set of containers, from which a runtime selects one image, if it has code for such devices at all. Free the
/// result with fatbin_selection_free; the file may be freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_file_select(
    file: Option<&File>,
    device: *const c_char,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Selection>> {
    guard(error, None, || {
        // SAFETY: a string, as the header requires.
        let device = unsafe { pointers::text(device, "device") }?;
        Ok(Some(Box::new(Selection::new(handle(file, "file")?, device)?)))
    })
}

/// Returns the number of answers.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_selection_count(selection: Option<&Selection>) -> usize {
    selection.map_or(0, |selection| selection.answers.len())
}

/// Writes an answer. Pass `sizeof *answer` as the size. Returns false if the index is out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_selection_answer(
    selection: Option<&Selection>,
    index: usize,
    answer: *mut Answer,
    answer_size: usize,
) -> bool {
    let record = selection.and_then(|selection| selection.answers.get(index));
    // SAFETY: the record of the caller has this size.
    record.is_some_and(|it| unsafe { pointers::write_record(it, answer, answer_size, "answer") }.is_ok())
}

/// Frees a selection. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_selection_free(selection: Option<Box<Selection>>) {
    free(selection);
}
