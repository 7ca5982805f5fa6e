//! Errors of the library as exceptions.

use std::path::Path;

use fatbin::Error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Creates a `fatbin.Error` from its message and its attributes.
pub fn error(message: String, path: Option<&Path>, offset: Option<u64>, problem: String) -> PyErr {
    Python::attach(|py| match class(py) {
        Ok(class) => {
            let path = path.map(|path| path.to_string_lossy().into_owned());
            PyErr::from_type(class.clone(), (message, path, offset, problem))
        }
        Err(error) => error,
    })
}

/// The class is written in Python: with the stable ABI, classes in Rust cannot be exceptions.
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "fatbin._error", "Error")
}

/// Creates the exception for an error of the library.
pub fn from_error(error_: &Error) -> PyErr {
    let message = error_.to_string();
    if let Error::Malformed { path, malformed } | Error::MalformedImage { path, malformed, .. } = error_ {
        return error(message, Some(path), Some(malformed.offset), malformed.to_string());
    }
    from_message(message, error_.path())
}

/// Creates the exception for an error without a file, or with a message that already begins with the file.
pub fn from_message(message: impl ToString, path: Option<&Path>) -> PyErr {
    let message = message.to_string();
    let problem = path.map_or(message.clone(), |path| without_path(&message, path));
    error(message, path, None, problem)
}

/// Creates the exception for an argument that no file can make valid.
pub fn invalid(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

fn without_path(message: &str, path: &Path) -> String {
    message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(message).to_owned()
}
