//! Images written to files.

use std::path::PathBuf;

use fatbin::OffloadKind;
use fatbin::scan::{self, Destination, ExtractError, ExtractOptions, ImageFilter, NameTemplate, Options};
use pyo3::prelude::*;

use crate::error::{from_error, from_message, invalid};
use crate::source::{access, scan_paths};

#[pyfunction]
#[pyo3(signature = (*paths, output, arch = vec![], kind = vec![], triple = vec![], kernel = vec![], name = None, stored = false, map = true))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn extract(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    output: PathBuf,
    arch: Vec<String>,
    kind: Vec<String>,
    triple: Vec<String>,
    kernel: Vec<String>,
    name: Option<&str>,
    stored: bool,
    map: bool,
) -> PyResult<Vec<PathBuf>> {
    let mut filter = arch.into_iter().fold(ImageFilter::default(), ImageFilter::arch);
    for kind in &kind {
        filter = filter.kind(kind_named(kind)?);
    }
    filter = triple.into_iter().fold(filter, ImageFilter::triple);
    for kernel in &kernel {
        filter = filter.kernel(kernel).map_err(invalid)?;
    }
    let mut options = ExtractOptions::new(Destination::Directory(output));
    options.filter = filter;
    options.names = name.map(NameTemplate::parse).transpose().map_err(invalid)?;
    options.stored = stored;
    py.detach(|| {
        let scanned = scan_paths(&paths, Options::default(), access(map)).map_err(ExtractError::from)?;
        let extraction = scan::extract(&scanned, &options)?;
        extraction.errors.into_iter().next().map_or(Ok(extraction.paths), Err)
    })
    .map_err(|error| match &error {
        ExtractError::File(error) => from_error(error),
        error => from_message(error, None),
    })
}

/// Returns the offload kind with a name.
pub fn kind_named(name: &str) -> PyResult<OffloadKind> {
    let available = || OffloadKind::names().join(", ");
    OffloadKind::from_name(name).ok_or_else(|| invalid(format!("unknown kind {name:?} (available: {})", available())))
}
