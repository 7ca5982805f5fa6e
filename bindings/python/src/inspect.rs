//! Kernels of images.

use fatbin::image as library;
use fatbin::image::Figure;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::inventory::Problem;

/// Contents of an image.
#[pyclass(frozen, get_all, module = "fatbin")]
pub struct Inspection {
    kernels: Py<PyTuple>,
    not_inspected: Option<&'static str>,
    problems: Py<PyTuple>,
}

/// A kernel.
#[pyclass(frozen, module = "fatbin")]
pub struct Kernel(library::Kernel);

impl Inspection {
    /// Creates the record of an inspection.
    pub fn new(py: Python<'_>, inspection: library::Inspection) -> PyResult<Self> {
        let kernels = inspection.kernels.into_iter().map(|kernel| Bound::new(py, Kernel(kernel)));
        let problems = inspection.problems.iter().map(|problem| Bound::new(py, Problem::new(problem)));
        Ok(Inspection {
            kernels: PyTuple::new(py, kernels.collect::<PyResult<Vec<_>>>()?)?.unbind(),
            not_inspected: inspection.not_inspected,
            problems: PyTuple::new(py, problems.collect::<PyResult<Vec<_>>>()?)?.unbind(),
        })
    }
}

#[pymethods]
impl Inspection {
    fn __repr__(&self, py: Python<'_>) -> String {
        match self.not_inspected {
            Some(reason) => format!("<fatbin.Inspection: not inspected: {reason}>"),
            None => format!("<fatbin.Inspection: {} kernels>", self.kernels.bind(py).len()),
        }
    }
}

#[pymethods]
impl Kernel {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn demangled(&self) -> &str {
        self.0.demangled.as_deref().unwrap_or(&self.0.name)
    }

    /// The figures that the image states, by their keys in `fatbin inspect --json`.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = PyDict::new(py);
        for figure in Figure::ALL.iter().copied() {
            if let Some(value) = figure.value(&self.0) {
                figures.set_item(figure.key(), value)?;
            }
        }
        Ok(figures)
    }

    #[getter]
    fn source(&self) -> Option<(&str, u64)> {
        self.0.source.as_ref().map(|source| (source.file.as_str(), source.line))
    }

    fn __repr__(&self) -> String {
        format!("<fatbin.Kernel {:?}>", self.demangled())
    }
}
