//! Policies and their verdicts.

use std::path::PathBuf;
use std::sync::Arc;

use fatbin::check::{self as library, Outcome, check_paths};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{error, from_error};

/// A policy.
#[pyclass(frozen, module = "fatbin")]
pub struct Policy(Arc<library::Policy>);

/// Result of a check.
#[pyclass(frozen, get_all, module = "fatbin")]
pub struct Verdict {
    outcome: &'static str,
    ok: bool,
    findings: Py<PyTuple>,
}

/// A violation, or a requirement that cannot be decided.
#[pyclass(frozen, get_all, module = "fatbin")]
pub struct Finding {
    rule: &'static str,
    outcome: &'static str,
    path: String,
    index: Option<usize>,
    offset: Option<u64>,
    arch: Option<String>,
    kernel: Option<String>,
    message: String,
    detail: Option<String>,
}

impl Policy {
    fn of(path: &str, text: &str) -> PyResult<Self> {
        let policy = library::Policy::parse(path, text);
        let policy = policy.map_err(|it| error(it.to_string(), Some(path.as_ref()), None, it.message()))?;
        Ok(Policy(Arc::new(policy)))
    }
}

#[pymethods]
impl Policy {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Policy::of("policy", text)
    }

    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let text = std::fs::read_to_string(&path).map_err(fatbin::Error::io(&path, "read"));
        Policy::of(&path.to_string_lossy(), &text.map_err(|error| from_error(&error))?)
    }
}

#[pyfunction]
#[pyo3(signature = (policy, *paths))]
pub fn check(py: Python<'_>, policy: &Bound<'_, PyAny>, paths: Vec<PathBuf>) -> PyResult<Verdict> {
    let policy = match policy.cast::<Policy>() {
        Ok(policy) => Arc::clone(&policy.get().0),
        Err(_) => Policy::read(policy.extract()?)?.0,
    };
    let verdict = py.detach(|| check_paths(&policy, paths));
    let findings = verdict.findings.iter().map(|finding| Bound::new(py, Finding::new(finding)));
    Ok(Verdict {
        outcome: verdict.outcome().name(),
        ok: matches!(verdict.outcome(), Outcome::Passed | Outcome::Warned),
        findings: PyTuple::new(py, findings.collect::<PyResult<Vec<_>>>()?)?.unbind(),
    })
}

impl Finding {
    fn new(finding: &library::Finding) -> Self {
        let library::Finding { rule, outcome, path, image, kernel, message, detail, .. } = finding.clone();
        let (rule, outcome) = (rule.name(), outcome.name());
        let (index, offset) = (image.as_ref().map(|it| it.number), image.as_ref().and_then(|it| it.offset));
        let arch = image.and_then(|it| it.arch);
        Finding { rule, outcome, path, index, offset, arch, kernel, message, detail }
    }
}

#[pymethods]
impl Verdict {
    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<fatbin.Verdict {}: {} findings>", self.outcome, self.findings.bind(py).len())
    }
}

#[pymethods]
impl Finding {
    fn __str__(&self) -> String {
        let detail = self.detail.as_deref().map(|detail| format!("; {detail}")).unwrap_or_default();
        format!("{}: {}{detail}", self.path, self.message)
    }

    fn __repr__(&self) -> String {
        format!("<fatbin.Finding {} {}: {:?}>", self.outcome, self.rule, self.__str__())
    }
}
