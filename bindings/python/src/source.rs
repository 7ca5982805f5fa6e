//! Scans, and the files behind their results.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use fatbin::scan as inventory;
use fatbin::scan::{FilePath, ImageRef, Options, ScannedFile, Scanner, Source as ScanSource};
use fatbin::{Access, Budget, Input, Limits, Result, Scan, View};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::bytes::Owner;
use crate::error::from_error;
use crate::inventory::File;

/// Bytes of Python as a file.
pub struct Memory(Bytes);

impl Memory {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl ScanSource for Memory {
    fn path(&self) -> FilePath {
        FilePath::parse("<bytes>")
    }

    fn view(&self) -> View<'_> {
        View::new(self.bytes())
    }

    fn blocks(&self, range: Range<u64>, _overlap: usize, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        visit(range.start, &self.bytes()[range.start as usize..range.end as usize]);
        Ok(())
    }
}

/// A scanned file, which is opened again when the bytes of an image are needed: no system keeps thousands of files open.
pub enum Source {
    /// A file, or a member of an archive.
    File(Box<ScannedFile>, OnceLock<Arc<Scan<fatbin::scan::InputSlice>>>),
    /// Bytes of Python.
    Memory(Arc<Scan<Memory>>),
}

impl Source {
    /// The inventory.
    pub fn file(&self) -> &inventory::File {
        match self {
            Source::File(scanned, _) => scanned.file(),
            Source::Memory(scan) => scan.file(),
        }
    }

    /// The scanned file, if it is not bytes of Python.
    pub fn scanned(&self) -> Option<&ScannedFile> {
        match self {
            Source::File(scanned, _) => Some(scanned),
            Source::Memory(_) => None,
        }
    }

    /// Opens the file. It is an error if it has changed since it was scanned.
    pub fn open(&self) -> Result<Owner> {
        match self {
            Source::Memory(scan) => Ok(Owner::Memory(Arc::clone(scan))),
            Source::File(scanned, open) => {
                if let Some(scan) = open.get() {
                    scan.source().input().check_unchanged()?;
                    return Ok(Owner::File(Arc::clone(scan)));
                }
                let scan = Arc::new(scanned.open()?);
                Ok(Owner::File(Arc::clone(open.get_or_init(|| scan))))
            }
        }
    }

    /// Calls `read` with the device image that has this index. Each call has a separate budget.
    pub fn read<R>(&self, index: usize, read: impl FnOnce(&ImageRef<'_>) -> Result<R>) -> Result<R> {
        let owner = self.open()?;
        let budget = Budget::new(Limits::default(), owner.bytes().len() as u64);
        let image = match &owner {
            Owner::File(scan) => scan.images_with_budget(&budget).nth(index),
            Owner::Memory(scan) => scan.images_with_budget(&budget).nth(index),
        };
        let Some(image) = image else { unreachable!("the index of an image of the file") };
        read(&image)
    }
}

/// An argument: a path, or the bytes of a file.
pub enum Argument {
    /// A path.
    Path(PathBuf),
    /// Bytes.
    Bytes(Bytes),
}

/// Bytes of Python: those of a read-only buffer, or a copy.
pub enum Bytes {
    Owned(PyBackedBytes),
    Buffer(PyBuffer<u8>),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Buffer(buffer) if buffer.len_bytes() == 0 => &[],
            Bytes::Buffer(buffer) => {
                // SAFETY: the buffer is contiguous and read-only, and stays where it is until it is released. The
                // documentation states that its owner must not change it.
                unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes()) }
            }
        }
    }
}

impl Argument {
    /// Opens the file; bytes are a file too.
    pub fn open(self, access: Access) -> Result<Input> {
        match self {
            Argument::Path(path) => Input::open(path, access),
            Argument::Bytes(bytes) => Ok(Input::from_bytes("<bytes>", bytes)),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Argument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBytes>() {
            return Ok(Argument::Bytes(Bytes::Owned(object.extract()?)));
        }
        if let Ok(view) = PyMemoryView::from(&object) {
            let is = |name| view.getattr(name).and_then(|value| value.extract::<bool>());
            let bytes = if is("readonly")? && is("c_contiguous")? {
                Bytes::Buffer(PyBuffer::get(&view.call_method1("cast", ("B",))?)?)
            } else {
                Bytes::Owned(view.call_method0("tobytes")?.extract()?)
            };
            return Ok(Argument::Bytes(bytes));
        }
        let path = object.extract();
        Ok(Argument::Path(path.map_err(|_| PyTypeError::new_err("expected a path, or bytes of a file"))?))
    }
}

/// How files are accessed.
pub fn access(map: bool) -> Access {
    if map {
        // SAFETY: the documentation of every function with this parameter states that files must not change while they
        // are used, and offers `map=False` for files that may change.
        unsafe { Access::map() }
    } else {
        Access::read()
    }
}

#[pyfunction]
#[pyo3(signature = (*sources, fast = false, hash = false, map = true))]
pub fn scan(py: Python<'_>, sources: Vec<Argument>, fast: bool, hash: bool, map: bool) -> PyResult<Vec<Py<File>>> {
    let mut options = Options::for_answers();
    options.structure_only = fast;
    options.hash = hash;
    let scanned = py.detach(|| scan_all(sources, options, access(map))).map_err(|error| from_error(&error))?;
    scanned.into_iter().map(|source| File::new(py, source)).collect()
}

fn scan_all(sources: Vec<Argument>, options: Options, access: Access) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    for source in sources {
        match source {
            Argument::Path(path) => {
                let scanned = scan_paths(&[path], options, access)?;
                found.extend(scanned.into_iter().map(|it| Source::File(Box::new(it), OnceLock::new())));
            }
            Argument::Bytes(bytes) => {
                let scan = Scan::with_options(Memory(bytes), options, None)?;
                found.push(Source::Memory(Arc::new(scan)));
            }
        }
    }
    Ok(found)
}

/// Scans files, directories and archives. Files in directories and members of archives without device code are left out.
pub fn scan_paths(paths: &[PathBuf], options: Options, access: Access) -> Result<Vec<ScannedFile>> {
    Scanner::new(options).with_access(access).scan(paths).collect()
}
