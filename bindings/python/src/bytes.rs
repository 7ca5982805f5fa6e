//! Bytes of files as buffers of Python, without copies.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

use fatbin::Scan;
use fatbin::scan::{InputSlice, Source as _};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::source::Memory;

/// Owner of the bytes of a scanned file. They stay where they are as long as it exists.
#[derive(Clone)]
pub enum Owner {
    /// A file that is mapped or read into memory.
    File(Arc<Scan<InputSlice>>),
    /// Bytes of Python.
    Memory(Arc<Scan<Memory>>),
}

impl Owner {
    /// All bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Owner::File(scan) => scan.source().view().data(),
            Owner::Memory(scan) => scan.source().bytes(),
        }
    }
}

/// A part of a file that is kept open. Views of it keep it alive.
#[pyclass(frozen, module = "fatbin")]
struct Buffer {
    owner: Owner,
    range: Range<usize>,
}

/// Returns a view of a part of a file.
pub fn view(py: Python<'_>, owner: Owner, range: Range<usize>) -> PyResult<Bound<'_, PyMemoryView>> {
    PyMemoryView::from(Bound::new(py, Buffer { owner, range })?.as_any())
}

#[pymethods]
impl Buffer {
    /// Fills in a view of the bytes.
    ///
    /// # Safety
    ///
    /// `view` is null or points to a view that Python lets this object fill in.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("view is null"));
        }
        let buffer = slf.get();
        let Some(bytes) = buffer.owner.bytes().get(buffer.range.clone()) else {
            return Err(PyBufferError::new_err("range is out of bounds"));
        };
        let (start, size) = (bytes.as_ptr().cast_mut().cast::<c_void>(), bytes.len() as ffi::Py_ssize_t);
        // SAFETY: `view` is valid. It refers to this object, which keeps the bytes where they are, and is read-only: a
        // request for a writable view fails.
        let status = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, size, 1, flags) };
        if status == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
