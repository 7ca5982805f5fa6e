//! The Python module of fatbin. `python/fatbin/_fatbin.pyi` documents its interface for users.
//!
//! Classes are immutable records that are complete when a scan returns. The bytes of images are read on demand: a [`source`]
//! keeps what is needed for that. Work that takes long runs without the interpreter's lock.

mod bytes;
mod check;
mod error;
mod extract;
mod inspect;
mod inventory;
mod produce;
mod select;
mod source;
mod source_index;
mod wrap;

#[pyo3::pymodule]
mod _fatbin {
    #[pymodule_export]
    use crate::check::{Finding, Policy, Verdict, check};
    #[pymodule_export]
    use crate::extract::extract;
    #[pymodule_export]
    use crate::inspect::{Inspection, Kernel};
    #[pymodule_export]
    use crate::inventory::{Container, File, Image, Problem};
    #[pymodule_export]
    use crate::produce::{
        NvFatbin, bundle, drop_archs, embed_files, pack, pack_cuda, prune, replace, transcode, unbundle,
    };
    #[pymodule_export]
    use crate::select::Selection;
    #[pymodule_export]
    use crate::source::scan;
    #[pymodule_export]
    use crate::source_index::{Frame, SourceIndex};
    #[pymodule_export]
    use crate::wrap::{Entry, wrap};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
