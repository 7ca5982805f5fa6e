//! Host objects that register images.

use std::path::{Path, PathBuf};

use fatbin::embed::{
    EmbeddedForm, ImageError, OffloadEntry, Release, TargetOverride, WrapError, WrapperBuilder, WrapperFormat,
};
use fatbin::{Access, Host, Input};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{from_error, from_message, invalid};
use crate::extract::kind_named;
use crate::source::{Argument, access};

/// An offload entry.
#[pyclass(frozen, get_all, from_py_object, module = "fatbin")]
#[derive(Clone)]
pub struct Entry {
    name: String,
    host_symbol: String,
    size: u64,
    flags: u32,
    data: u32,
    aux_symbol: Option<String>,
}

#[pymethods]
impl Entry {
    #[new]
    #[pyo3(signature = (name, host_symbol = None, *, size = 0, flags = 0, data = 0, aux_symbol = None))]
    fn new(
        name: String,
        host_symbol: Option<String>,
        size: u64,
        flags: u32,
        data: u32,
        aux_symbol: Option<String>,
    ) -> Self {
        Entry { host_symbol: host_symbol.unwrap_or_else(|| name.clone()), name, size, flags, data, aux_symbol }
    }

    fn __repr__(&self) -> String {
        format!("<fatbin.Entry {:?}>", self.name)
    }
}

impl From<Entry> for OffloadEntry {
    fn from(entry: Entry) -> Self {
        let Entry { name, host_symbol, size, flags, data, aux_symbol } = entry;
        let mut entry = OffloadEntry::new(name, host_symbol);
        entry.size = size;
        entry.flags = flags;
        entry.data = data;
        entry.aux_symbol = aux_symbol;
        entry
    }
}

/// An image to wrap: a path or bytes, alone or with triple and arch.
#[derive(FromPyObject)]
pub enum ImageArgument {
    Targeted(Argument, Option<String>, Option<String>),
    Plain(Argument),
}

impl ImageArgument {
    /// The source, triple and arch.
    pub fn parts(self) -> (Argument, Option<String>, Option<String>) {
        match self {
            ImageArgument::Targeted(source, triple, arch) => (source, triple, arch),
            ImageArgument::Plain(source) => (source, None, None),
        }
    }
}

/// Request for an object.
struct Request {
    images: Vec<ImageArgument>,
    kind: fatbin::OffloadKind,
    host: String,
    release: Option<Release>,
    entries: Vec<Entry>,
    is_raw: bool,
    format: WrapperFormat,
    access: Access,
}

#[pyfunction]
#[pyo3(signature = (images, *, kind, host = None, output = None, abi = None, entries = vec![], raw = false, map = true))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn wrap<'py>(
    py: Python<'py>,
    images: Vec<ImageArgument>,
    kind: &str,
    host: Option<String>,
    output: Option<PathBuf>,
    abi: Option<&str>,
    entries: Vec<Entry>,
    raw: bool,
    map: bool,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let kind = kind_named(kind)?;
    let release = abi.map(|abi| Release::named(abi).ok_or_else(|| unknown_release(abi))).transpose()?;
    let host = match host {
        Some(host) => host,
        None => Host::native().map_err(|error| from_message(error, None))?.triple().to_owned(),
    };
    if images.is_empty() {
        return Err(invalid("no images"));
    }
    let format = output.as_deref().map_or(WrapperFormat::Object, WrapperFormat::of_path);
    let request = Request { images, kind, host, release, entries, is_raw: raw, format, access: access(map) };
    match output {
        None => {
            let bytes = py.detach(|| request.bytes()).map_err(exception)?;
            Ok(Some(PyBytes::new(py, &bytes)))
        }
        Some(output) => {
            py.detach(|| request.save(&output)).map_err(exception)?;
            Ok(None)
        }
    }
}

pub fn unknown_release(name: &str) -> PyErr {
    let available = Release::names().collect::<Vec<_>>().join(", ");
    invalid(format!("unknown ABI {name:?} (available: {available})"))
}

fn exception(error: WrapError) -> PyErr {
    match &error {
        WrapError::File(error) | WrapError::Image(ImageError::File(error)) => from_error(error),
        error => from_message(error, None),
    }
}

impl Request {
    fn bytes(self) -> Result<Vec<u8>, WrapError> {
        let mut bytes = Vec::new();
        self.write(|wrapper, _| wrapper.write_to(&mut bytes))?;
        Ok(bytes)
    }

    fn save(self, path: &Path) -> Result<(), WrapError> {
        self.write(|wrapper, inputs| wrapper.write_file(path, inputs.iter().copied()))
    }

    /// Calls `write` with the wrapper and the files that it refers to.
    fn write(
        self,
        write: impl FnOnce(&WrapperBuilder<'_>, &[&Input]) -> Result<(), WrapError>,
    ) -> Result<(), WrapError> {
        let mut opened = Vec::new();
        for image in self.images {
            let (source, triple, arch) = image.parts();
            opened.push((source.open(self.access)?, TargetOverride::new(triple, arch)));
        }
        let mut wrapper = WrapperBuilder::for_triple(self.kind, &self.host)?;
        for (image, target) in &opened {
            wrapper.image_for(image.path(), image.view(), target.clone());
        }
        wrapper.release = self.release.unwrap_or(wrapper.release);
        wrapper.entries = self.entries.into_iter().map(OffloadEntry::from).collect();
        wrapper.format = self.format;
        if self.is_raw {
            wrapper.form = EmbeddedForm::Raw;
        }
        let inputs: Vec<&Input> = opened.iter().map(|(image, _)| image).collect();
        write(&wrapper, &inputs)
    }
}
