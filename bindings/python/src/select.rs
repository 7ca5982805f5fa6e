//! The images that runtimes select.

use fatbin::analyze::{CandidateVerdict, select as select_images};
use fatbin::scan::File;
use fatbin::target::Device;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::invalid;
use crate::inventory::Image;

/// The selection of a runtime among the images of one container, or of several that are registered together.
#[pyclass(frozen, get_all, module = "fatbin")]
pub struct Selection {
    device: String,
    runtime: &'static str,
    image: Option<Py<Image>>,
    is_undecided: bool,
    verdicts: Py<PyTuple>,
}

/// Returns the selections for a device. If its name leaves settings open, each setting has a selection.
pub fn select(py: Python<'_>, file: &File, name: &str, images: &Bound<'_, PyTuple>) -> PyResult<Vec<Selection>> {
    let devices = Device::parse(name).map_err(invalid)?;
    let image = |number: usize| -> PyResult<Py<Image>> { Ok(images.get_item(number)?.cast_into::<Image>()?.unbind()) };
    let mut selections = Vec::new();
    for device in &devices {
        for selection in select_images(file, std::slice::from_ref(device)) {
            let selected = selection.selected().map(|selected| image(selected.index)).transpose()?;
            let mut verdicts = Vec::new();
            for found in &selection.verdicts {
                let verdict = match found.verdict {
                    CandidateVerdict::Selected => "selected",
                    CandidateVerdict::Rejected => "rejected",
                    CandidateVerdict::Undecided => "undecided",
                };
                verdicts.push((image(found.index)?, verdict, found.reason.clone()));
            }
            selections.push(Selection {
                device: device.to_string(),
                runtime: selection.runtime,
                image: selected,
                is_undecided: selection.is_undecided,
                verdicts: PyTuple::new(py, verdicts)?.unbind(),
            });
        }
    }
    Ok(selections)
}

#[pymethods]
impl Selection {
    fn __repr__(&self) -> String {
        let selected = if self.image.is_some() { "an image" } else { "no image" };
        format!("<fatbin.Selection {} on {}: {selected}>", self.runtime, self.device)
    }
}
