//! Sources of instructions.

use fatbin::image as library;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Sources of the instructions of an image.
#[pyclass(frozen, module = "fatbin")]
pub struct SourceIndex(library::SourceIndex);

/// A function that an instruction belongs to.
#[pyclass(frozen, get_all, module = "fatbin")]
pub struct Frame {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

impl SourceIndex {
    /// Wraps an index.
    pub fn new(index: library::SourceIndex) -> Self {
        SourceIndex(index)
    }
}

#[pymethods]
impl SourceIndex {
    #[getter]
    fn functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.functions().collect::<Vec<_>>())
    }

    fn address(&self, function: &str, offset: u64) -> Option<u64> {
        self.0.address(function, offset)
    }

    fn frames<'py>(&self, py: Python<'py>, address: u64) -> PyResult<Bound<'py, PyTuple>> {
        let frames = self.0.frames(address).into_iter().map(|frame| {
            let library::Frame { function, file, line, column, .. } = frame;
            Bound::new(py, Frame { function: function.map(str::to_owned), file: file.map(str::to_owned), line, column })
        });
        PyTuple::new(py, frames.collect::<PyResult<Vec<_>>>()?)
    }

    fn __repr__(&self) -> String {
        format!("<fatbin.SourceIndex: {} functions>", self.0.functions().count())
    }
}

#[pymethods]
impl Frame {
    fn __repr__(&self) -> String {
        let part = |text: &Option<String>| text.clone().unwrap_or_else(|| "??".to_owned());
        format!("<fatbin.Frame {} at {}:{}>", part(&self.function), part(&self.file), self.line.unwrap_or(0))
    }
}
