//! Images written to files.

use std::path::PathBuf;

use fatbin::FileSet;
use fatbin::OffloadKind;
use fatbin::scan::Options;
use fatbin::scan::extract as run;
use fatbin::scan::{Destination, ExtractError, ExtractObserver, ExtractOptions, ExtractedFile, NameTemplate};
use fatbin::scan::{ImageFilter, KernelPattern, Predicate};
use pyo3::prelude::*;

use crate::error::{from_error, from_message, invalid};
use crate::source::{access, scan_paths};

/// Collects the paths of the outputs.
struct Outputs {
    directory: PathBuf,
    paths: Vec<PathBuf>,
}

impl ExtractObserver for Outputs {
    fn start(&mut self, _size: u64) {}

    fn image(&mut self, extracted: &ExtractedFile<'_>) {
        self.paths.push(self.directory.join(extracted.name));
    }

    fn library(&mut self, _name: &str) {}
}

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
    let mut predicates: Vec<Predicate> = arch.into_iter().map(Predicate::Arch).collect();
    for kind in &kind {
        predicates.push(Predicate::Kind(kind_named(kind)?));
    }
    predicates.extend(triple.into_iter().map(Predicate::Triple));
    for kernel in &kernel {
        predicates.push(Predicate::Kernel(KernelPattern::parse(kernel).map_err(invalid)?));
    }
    let options = ExtractOptions {
        filter: ImageFilter(predicates),
        destination: Destination::Directory(output.clone()),
        names: name.map(NameTemplate::parse).transpose().map_err(invalid)?,
        index: None,
        stored,
    };
    let mut outputs = Outputs { directory: output, paths: Vec::new() };
    py.detach(|| {
        let scanned = scan_paths(&paths, Options::default(), access(map)).map_err(ExtractError::from)?;
        let set = FileSet::of_paths(paths.iter().map(PathBuf::as_path));
        let result = run(&scanned, &options, &set, &mut outputs)?;
        let unknown = result.unknown.into_iter().map(ExtractError::from);
        result.refused.into_iter().chain(result.skipped).chain(unknown).next().map_or(Ok(()), Err)
    })
    .map_err(|error| match &error {
        ExtractError::File(error) => from_error(error),
        error => from_message(error, None),
    })?;
    Ok(outputs.paths)
}

/// Returns the offload kind with a name.
pub fn kind_named(name: &str) -> PyResult<OffloadKind> {
    let available = || OffloadKind::names().join(", ");
    OffloadKind::from_name(name).ok_or_else(|| invalid(format!("unknown kind {name:?} (available: {})", available())))
}
