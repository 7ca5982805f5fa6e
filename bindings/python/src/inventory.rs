//! Files, containers and images, with the attributes of `fatbin scan --json`.

use std::sync::Arc;

use fatbin::Codec;
use fatbin::Malformed;
use fatbin::OffloadKind;
use fatbin::scan as inventory;
use fatbin::scan::FileFormat;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView, PyTuple};
use sha2::{Digest, Sha256};

use crate::bytes::view;
use crate::error::from_error;
use crate::inspect::Inspection;
use crate::select::{self, Selection};
use crate::source::Source;
use crate::source_index::SourceIndex;

/// A file with device images.
#[pyclass(frozen, module = "fatbin")]
pub struct File {
    source: Arc<Source>,
    #[pyo3(get)]
    containers: Py<PyTuple>,
    #[pyo3(get)]
    images: Py<PyTuple>,
    #[pyo3(get)]
    errors: Py<PyTuple>,
}

/// An error in a file.
#[pyclass(frozen, get_all, module = "fatbin")]
pub struct Problem {
    offset: u64,
    field: &'static str,
    cause: String,
    message: String,
}

/// A container.
#[pyclass(frozen, get_all, module = "fatbin")]
pub struct Container {
    r#type: &'static str,
    version: Option<u32>,
    section: Option<String>,
    offset: Option<u64>,
    size: u64,
    codec: Option<&'static str>,
    images: Py<PyTuple>,
}

/// An image.
#[pyclass(frozen, module = "fatbin")]
pub struct Image {
    source: Arc<Source>,
    image: inventory::Image,
    /// Codec of the image or of the compressed container around it.
    codec: Option<Codec>,
    #[pyo3(get)]
    index: Option<usize>,
    #[pyo3(get)]
    containers: Py<PyTuple>,
}

impl File {
    /// Creates the record of a scanned file.
    pub fn new(py: Python<'_>, source: Source) -> PyResult<Py<File>> {
        let source = Arc::new(source);
        let file = source.file();
        let mut records = Records { py, source: &source, images: Vec::new() };
        let containers = records.containers(&file.containers, None)?;
        let images = PyTuple::new(py, records.images)?.unbind();
        let errors = file.errors.iter().map(|error| Bound::new(py, Problem::new(error)));
        let errors = PyTuple::new(py, errors.collect::<PyResult<Vec<_>>>()?)?.unbind();
        Py::new(py, File { containers, images, errors, source: Arc::clone(&source) })
    }
}

impl Problem {
    /// Creates the record of an error.
    pub fn new(error: &Malformed) -> Self {
        let (offset, field) = (error.offset, error.field);
        Problem { offset, field, cause: error.cause.to_string(), message: error.to_string() }
    }
}

/// Records that are being created, and the device images among them.
struct Records<'a, 'py> {
    py: Python<'py>,
    source: &'a Arc<Source>,
    images: Vec<Bound<'py, Image>>,
}

impl<'py> Records<'_, 'py> {
    /// Creates the records of containers. The library limits their depth.
    fn containers(&mut self, containers: &[inventory::Container], codec: Option<Codec>) -> PyResult<Py<PyTuple>> {
        let (py, mut records) = (self.py, Vec::new());
        for container in containers {
            let inner_codec = container.codec.or(codec);
            let images = container.images.iter().map(|image| self.image(image, inner_codec));
            let images = PyTuple::new(py, images.collect::<PyResult<Vec<_>>>()?)?.unbind();
            let record = Container {
                r#type: container.container_type.name(),
                version: container.version,
                section: container.section_name().map(str::to_owned),
                offset: container.offset,
                size: container.size,
                codec: container.codec.map(Codec::name),
                images,
            };
            records.push(Bound::new(py, record)?);
        }
        Ok(PyTuple::new(py, records)?.unbind())
    }

    fn image(&mut self, image: &inventory::Image, codec: Option<Codec>) -> PyResult<Bound<'py, Image>> {
        let codec = image.codec.or(codec);
        let is_leaf = image.containers.is_empty() && image.is_device_image();
        let containers = self.containers(&image.containers, codec)?;
        let index = is_leaf.then_some(self.images.len());
        let (source, mut image) = (Arc::clone(self.source), image.clone());
        // Nested containers have separate records.
        image.containers = Vec::new();
        let record = Bound::new(self.py, Image { source, image, codec, index, containers })?;
        if is_leaf {
            self.images.push(record.clone());
        }
        Ok(record)
    }
}

#[pymethods]
impl File {
    #[getter]
    fn path(&self) -> &str {
        &self.source.file().path
    }

    #[getter]
    fn format(&self) -> Option<&'static str> {
        self.source.file().format.map(FileFormat::name)
    }

    #[getter]
    fn size(&self) -> u64 {
        self.source.file().size
    }

    #[getter]
    fn not_opened(&self) -> Option<&'static str> {
        self.source.file().not_opened()
    }

    #[getter]
    fn unsearched(&self) -> u64 {
        self.source.file().unsearched
    }

    fn select(&self, py: Python<'_>, device: &str) -> PyResult<Vec<Selection>> {
        select::select(py, self.source.file(), device, self.images.bind(py))
    }

    fn __repr__(&self) -> String {
        let file = self.source.file();
        format!("<fatbin.File {:?}: {} images>", file.path, file.device_images().count())
    }
}

#[pymethods]
impl Problem {
    fn __str__(&self) -> &str {
        &self.message
    }

    fn __repr__(&self) -> String {
        format!("<fatbin.Problem {:?}>", self.message)
    }
}

#[pymethods]
impl Container {
    fn __repr__(&self, py: Python<'_>) -> String {
        let images = self.images.bind(py).len();
        match self.offset {
            Some(offset) => format!("<fatbin.Container {} at {offset:#x}: {images} images>", self.r#type),
            None => format!("<fatbin.Container {}: {images} images>", self.r#type),
        }
    }
}

impl Image {
    /// The index of a device image; other images have no bytes to read.
    fn device_index(&self) -> PyResult<usize> {
        self.index
            .ok_or_else(|| crate::error::invalid("not a device image: it is host code, or consists of containers"))
    }

    /// Returns whether its bytes are in the file as they are.
    fn is_plain(&self) -> bool {
        self.image.offset.is_some() && matches!(self.codec, None | Some(Codec::None))
    }
}

#[pymethods]
impl Image {
    #[getter]
    fn kind(&self) -> Option<&'static str> {
        self.image.kind.map(OffloadKind::name)
    }

    #[getter]
    fn image(&self) -> &'static str {
        self.image.image_kind.name()
    }

    #[getter]
    fn triple(&self) -> Option<&str> {
        self.image.triple.as_deref()
    }

    #[getter]
    fn arch(&self) -> Option<&str> {
        self.image.arch.as_deref()
    }

    #[getter]
    fn own_arch(&self) -> Option<&str> {
        self.image.own_arch.as_deref()
    }

    #[getter]
    fn id(&self) -> Option<&str> {
        self.image.id.as_deref()
    }

    #[getter]
    fn symbol(&self) -> Option<&str> {
        self.image.symbol.as_deref()
    }

    #[getter]
    fn offset(&self) -> Option<u64> {
        self.image.offset
    }

    #[getter]
    fn size(&self) -> Option<u64> {
        self.image.size
    }

    #[getter]
    fn size_is_estimated(&self) -> bool {
        self.image.size_is_estimated
    }

    #[getter]
    fn full_size(&self) -> Option<u64> {
        self.image.full_size
    }

    #[getter]
    fn codec(&self) -> Option<&'static str> {
        self.codec.map(Codec::name)
    }

    #[getter]
    fn compressed(&self) -> bool {
        !matches!(self.codec, None | Some(Codec::None))
    }

    #[getter]
    fn address(&self) -> Option<String> {
        self.source.file().image_uri(&self.image)
    }

    #[getter]
    fn producer(&self) -> Option<&str> {
        self.image.producer.as_deref()
    }

    #[getter]
    fn format_version(&self) -> Option<&str> {
        self.image.format_version.as_deref()
    }

    #[getter]
    fn extension(&self) -> &'static str {
        self.image.extension()
    }

    #[getter]
    fn strings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let strings = PyDict::new(py);
        let entries: Vec<(&str, &str)> = self.image.entries().collect();
        for (key, value) in &self.image.strings {
            let is_own = ["triple", "arch"].contains(&key.as_str());
            if !is_own && !entries.contains(&(key.as_str(), value.as_str())) {
                strings.set_item(key, value)?;
            }
        }
        Ok(strings)
    }

    #[getter]
    fn entries(&self) -> Vec<(&str, &str)> {
        self.image.entries().collect()
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        let index = self.device_index()?;
        if self.is_plain()
            && let (Some(offset), Some(size)) = (self.image.offset, self.image.size)
        {
            let owner = self.source.open().map_err(|error| from_error(&error))?;
            return view(py, owner, offset as usize..(offset + size) as usize);
        }
        let bytes = py.detach(|| self.source.read(index, |image| Ok(image.bytes()?.to_vec())));
        PyMemoryView::from(PyBytes::new(py, &bytes.map_err(|error| from_error(&error))?).as_any())
    }

    #[getter]
    fn sha256(&self, py: Python<'_>) -> PyResult<String> {
        let index = self.device_index()?;
        let hash = match self.image.sha256 {
            Some(hash) => Ok(hash),
            None => {
                let hash = |image: &fatbin::ImageRef<'_>| Ok(Sha256::digest(&*image.bytes()?).into());
                py.detach(|| self.source.read(index, hash))
            }
        };
        let hash: [u8; 32] = hash.map_err(|error| from_error(&error))?;
        Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn inspect(&self, py: Python<'_>) -> PyResult<Inspection> {
        let index = self.device_index()?;
        let found = py.detach(|| self.source.read(index, |image| Ok(image.inspect())));
        Inspection::new(py, found.map_err(|error| from_error(&error))?)
    }

    fn source_index(&self, py: Python<'_>) -> PyResult<SourceIndex> {
        let index = self.device_index()?;
        let read = |image: &fatbin::ImageRef<'_>| image.source_index();
        let found = py.detach(|| self.source.read(index, read));
        Ok(SourceIndex::new(found.map_err(|error| from_error(&error))?))
    }

    fn __repr__(&self) -> String {
        let part = |text: Option<&str>| text.unwrap_or("-").to_owned();
        format!("<fatbin.Image {} {} {}>", part(self.kind()), part(self.triple()), self.image.arch_and_form())
    }
}
