//! Containers, objects and changed files in memory.

use fatbin::embed::{
    self, BundleBuilder, CudaFatbinBuilder, ImageError, NvFatbinError, OffloadBinaryBuilder, ProducerError, Release,
    TargetOverride,
};
use fatbin::{Codec, ContainerForm, Editor, Host, Input};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};

use crate::error::{error, from_error, from_message, invalid};
use crate::extract::kind_named;
use crate::source::{Argument, access};
use crate::wrap::ImageArgument;

/// Runs without the interpreter's lock, and returns the bytes.
fn produce<'py>(
    py: Python<'py>,
    work: impl FnOnce() -> Result<Vec<u8>, ProducerError> + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(work).map_err(|error| exception(&error))?;
    Ok(PyBytes::new(py, &bytes))
}

fn exception(error: &ProducerError) -> PyErr {
    match error {
        ProducerError::File(error) | ProducerError::Image(ImageError::File(error)) => from_error(error),
        ProducerError::NoImages { path } | ProducerError::NoRoom { path, .. } => from_message(error, Some(path)),
        error => from_message(error, None),
    }
}

fn input(argument: Argument, map: bool) -> Result<Input, ProducerError> {
    Ok(argument.open(access(map))?)
}

fn codec(name: Option<&str>) -> PyResult<Option<Codec>> {
    let Some(name) = name else { return Ok(None) };
    let known = [Codec::Zstd, Codec::Zlib, Codec::Lz4].into_iter().find(|codec| codec.name() == name);
    let known = known.ok_or_else(|| invalid(format!("unknown codec {name:?} (available: zstd, zlib, lz4)")))?;
    Ok(Some(known))
}

#[pyfunction]
#[pyo3(signature = (images, *, kind, abi = None, compress = None, level = None, map = true))]
pub fn pack<'py>(
    py: Python<'py>,
    images: Vec<ImageArgument>,
    kind: &str,
    abi: Option<&str>,
    compress: Option<&str>,
    level: Option<i32>,
    map: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let kind = kind_named(kind)?;
    let mut builder = OffloadBinaryBuilder::new();
    builder.compression = codec(compress)?;
    builder.level = level;
    if let Some(abi) = abi {
        builder.release = Release::named(abi).ok_or_else(|| crate::wrap::unknown_release(abi))?;
    }
    produce(py, || {
        for image in images {
            let (source, triple, arch) = image.parts();
            builder.image_for(kind, input(source, map)?, TargetOverride::new(triple, arch));
        }
        builder.build()
    })
}

/// An image for a CUDA fat binary: a source, alone or with arch, identifier and options.
#[derive(FromPyObject)]
pub enum CudaImage {
    Described(Argument, Option<String>, String, String),
    Plain(Argument),
}

#[pyfunction]
#[pyo3(signature = (images, *, compress = None, level = None, concat = false, map = true))]
pub fn pack_cuda<'py>(
    py: Python<'py>,
    images: Vec<CudaImage>,
    compress: Option<&str>,
    level: Option<i32>,
    concat: bool,
    map: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut builder = CudaFatbinBuilder::new();
    builder.compression = codec(compress)?;
    builder.level = level;
    builder.concat = concat;
    produce(py, || {
        for image in images {
            match image {
                CudaImage::Described(source, arch, identifier, options) => {
                    builder.image_for(input(source, map)?, arch.as_deref(), &identifier, &options)
                }
                CudaImage::Plain(source) => builder.image(input(source, map)?),
            };
        }
        builder.build()
    })
}

#[pyfunction]
#[pyo3(signature = (entries, *, r#type = "bc", compress = None, level = None, version = 3, alignment = 1, map = true))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn bundle<'py>(
    py: Python<'py>,
    entries: &Bound<'py, PyMapping>,
    r#type: &str,
    compress: Option<&str>,
    level: Option<i32>,
    version: u16,
    alignment: u64,
    map: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut builder = BundleBuilder::new(r#type);
    builder.compression = codec(compress)?;
    builder.level = level;
    builder.version = version;
    builder.alignment = alignment;
    let entries: Vec<(String, Argument)> = entries.items()?.extract()?;
    produce(py, || {
        for (id, source) in entries {
            builder.entry(id, input(source, map)?);
        }
        builder.build()
    })
}

#[pyfunction]
#[pyo3(signature = (source, *, map = true))]
pub fn unbundle<'py>(py: Python<'py>, source: Argument, map: bool) -> PyResult<Bound<'py, PyDict>> {
    let entries = py.detach(|| embed::unbundle(&input(source, map)?)).map_err(|error| exception(&error))?;
    let files = PyDict::new(py);
    for entry in entries {
        files.set_item(entry.id, PyBytes::new(py, &entry.bytes))?;
    }
    Ok(files)
}

#[pyfunction]
#[pyo3(name = "embed", signature = (files, *, host = None, map = true))]
pub fn embed_files<'py>(
    py: Python<'py>,
    files: &Bound<'py, PyMapping>,
    host: Option<&str>,
    map: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let host = match host {
        Some(host) => host.parse(),
        None => Host::native(),
    };
    let host: Host = host.map_err(|error| from_message(error, None))?;
    let files: Vec<(String, Argument)> = files.items()?.extract()?;
    produce(py, || {
        let mut inputs = Vec::new();
        for (name, source) in files {
            inputs.push((name, input(source, map)?));
        }
        embed::embed_bytes(host, &inputs)
    })
}

fn editor(shrink: bool, break_signatures: bool) -> Editor {
    let mut editor = Editor::new();
    editor.shrink = shrink;
    editor.break_signatures = break_signatures;
    editor
}

#[pyfunction]
#[pyo3(signature = (source, devices, *, shrink = false, break_signatures = false, map = true))]
pub fn prune<'py>(
    py: Python<'py>,
    source: Argument,
    devices: Vec<String>,
    shrink: bool,
    break_signatures: bool,
    map: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    produce(py, || editor(shrink, break_signatures).prune(input(source, map)?, &devices))
}

#[pyfunction]
#[pyo3(signature = (source, archs, *, shrink = false, break_signatures = false, map = true))]
pub fn drop_archs<'py>(
    py: Python<'py>,
    source: Argument,
    archs: Vec<String>,
    shrink: bool,
    break_signatures: bool,
    map: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let archs: Vec<&str> = archs.iter().map(String::as_str).collect();
    produce(py, || editor(shrink, break_signatures).drop_archs(input(source, map)?, &archs))
}

#[pyfunction]
#[pyo3(signature = (source, *forms, level = None, best = false, break_signatures = false, map = true))]
pub fn transcode<'py>(
    py: Python<'py>,
    source: Argument,
    forms: Vec<String>,
    level: Option<i32>,
    best: bool,
    break_signatures: bool,
    map: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut known = Vec::new();
    for form in &forms {
        known.push(ContainerForm::from_name(form).ok_or_else(|| invalid(format!("unknown form {form:?}")))?);
    }
    let mut editor = editor(false, break_signatures);
    editor.level = level;
    editor.best = best;
    produce(py, || editor.transcode(input(source, map)?, &known))
}

#[pyfunction]
#[pyo3(signature = (source, images, *, break_signatures = false, map = true))]
pub fn replace<'py>(
    py: Python<'py>,
    source: Argument,
    images: &Bound<'py, PyMapping>,
    break_signatures: bool,
    map: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let images: Vec<(usize, Argument)> = images.items()?.extract()?;
    produce(py, || {
        let mut new = Vec::new();
        for (index, image) in images {
            new.push((index, input(image, map)?));
        }
        editor(false, break_signatures).replace(input(source, map)?, &new)
    })
}

/// A CUDA fat binary by the rules of NVIDIA's nvFatbin.
#[pyclass(module = "fatbin")]
pub struct NvFatbin(embed::NvFatbin<'static>);

/// Returns the exception for an error of nvFatbin.
fn status(failure: &NvFatbinError) -> PyErr {
    error(failure.to_string(), None, None, failure.to_string())
}

fn bytes(source: Argument) -> PyResult<Vec<u8>> {
    let source = input(source, false).map_err(|error| exception(&error))?;
    Ok(source.view().data().to_vec())
}

#[pymethods]
impl NvFatbin {
    #[new]
    #[pyo3(signature = (*options))]
    fn new(options: Vec<String>) -> PyResult<Self> {
        embed::NvFatbin::new(options).map(NvFatbin).map_err(|error| status(&error))
    }

    #[pyo3(signature = (code, arch, identifier = "", options = ""))]
    fn add_ptx(&mut self, py: Python<'_>, code: Argument, arch: &str, identifier: &str, options: &str) -> PyResult<()> {
        let code = bytes(code)?;
        py.detach(|| self.0.add_ptx(code, arch, identifier, options)).map_err(|error| status(&error))
    }

    #[pyo3(signature = (code, arch, identifier = ""))]
    fn add_cubin(&mut self, py: Python<'_>, code: Argument, arch: &str, identifier: &str) -> PyResult<()> {
        let code = bytes(code)?;
        py.detach(|| self.0.add_cubin(code, arch, identifier)).map_err(|error| status(&error))
    }

    #[pyo3(signature = (code, arch, identifier = "", options = ""))]
    fn add_lto_ir(
        &mut self,
        py: Python<'_>,
        code: Argument,
        arch: &str,
        identifier: &str,
        options: &str,
    ) -> PyResult<()> {
        let code = bytes(code)?;
        py.detach(|| self.0.add_lto_ir(code, arch, identifier, options)).map_err(|error| status(&error))
    }

    #[pyo3(signature = (code, identifier = "", options = ""))]
    fn add_tile_ir(&mut self, py: Python<'_>, code: Argument, identifier: &str, options: &str) -> PyResult<()> {
        let code = bytes(code)?;
        py.detach(|| self.0.add_tile_ir(code, identifier, options)).map_err(|error| status(&error))
    }

    fn add_reloc(&mut self, py: Python<'_>, code: Argument) -> PyResult<()> {
        let code = bytes(code)?;
        py.detach(|| self.0.add_reloc(code)).map_err(|error| status(&error))
    }

    fn build<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        py.detach(|| self.0.size()).map_err(|error| status(&error))?;
        Ok(PyBytes::new(py, self.0.get().map_err(|error| status(&error))?))
    }
}
