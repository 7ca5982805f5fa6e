//! Indexes next to code objects: the kernels or files that a library or a compiler expects to find there.
//!
//! | index | of | promises |
//! |---|---|---|
//! | `*.dat` | Tensile (rocBLAS, hipBLASLt) | a kernel for each solution |
//! | `__grp__*.json` | Triton's cache | the files of a compiled kernel |

use serde_json::Value;

use crate::base::bytes::View;
use crate::format::tensile_library;

/// What an index promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// Kernels in code objects of the directory.
    Kernels(Vec<String>),
    /// Files with device code in the directory.
    Files(Vec<String>),
}

/// Prefix of the names of groups in Triton's cache. Source: triton-lang/triton, `python/triton/runtime/cache.py`.
const GROUP: &str = "__grp__";

/// Extensions of device code in Triton's cache.
const DEVICE_CODE: [&str; 4] = [".cubin", ".hsaco", ".ptx", ".spv"];

/// Largest group in bytes. A group has a dozen files.
const MAX_GROUP: u64 = 1 << 20;

/// Returns the directory and the name of a file, also in an archive.
pub fn split(path: &str) -> (&str, &str) {
    let end = path.rfind(['/', '!', '\\']).map_or(0, |at| at + 1);
    path.split_at(end)
}

impl Promise {
    /// Returns whether a file with this path may be an index.
    pub fn has_path(path: &str) -> bool {
        let (_, name) = split(path);
        name.ends_with(".dat") || name.starts_with(GROUP) && name.ends_with(".json")
    }

    /// Reads the index with this path; `None` if the file is something else, and an error if it is damaged.
    pub fn read(path: &str, view: View<'_>) -> Option<Result<Promise, String>> {
        if !Promise::has_path(path) {
            return None;
        }
        if path.ends_with(".dat") {
            let kernels = tensile_library::kernels(view)?.map_err(|error| error.to_string());
            return Some(kernels.map(|kernels| Promise::Kernels(kernels.into_iter().map(str::to_owned).collect())));
        }
        if view.size() > MAX_GROUP {
            return Some(Err(format!("{} bytes, more than a group of Triton has", view.size())));
        }
        let group: Value = match serde_json::from_slice(view.data()) {
            Ok(group) => group,
            Err(error) => return Some(Err(format!("not JSON: {error}"))),
        };
        let files = group.get("child_paths")?.as_object()?.keys();
        let code = files.filter(|name| DEVICE_CODE.iter().any(|extension| name.ends_with(extension)));
        Some(Ok(Promise::Files(code.cloned().collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_promise_device_code() {
        let group = br#"{"child_paths": {"k.cubin": "/c/k.cubin", "k.ptx": "/c/k.ptx", "k.ttir": "/c/k.ttir", "k.json": "/c/k.json"}}"#;
        let files = Promise::Files(vec!["k.cubin".to_owned(), "k.ptx".to_owned()]);
        assert_eq!(Promise::read("d/__grp__k.json", View::new(group)), Some(Ok(files)));
        assert_eq!(Promise::read("d/k.json", View::new(group)), None);
        assert_eq!(Promise::read("d/__grp__k.json", View::new(b"{}")), None);
        for broken in [&b""[..], b"{", b"\xff"] {
            assert!(matches!(Promise::read("__grp__k.json", View::new(broken)), Some(Err(_))), "{broken:x?}");
        }
        let large = vec![b' '; MAX_GROUP as usize + 1];
        assert!(matches!(Promise::read("__grp__k.json", View::new(&large)), Some(Err(_))));
    }

    #[test]
    fn paths_have_a_directory_and_a_name() {
        for (path, expected) in [("a/b.dat", ("a/", "b.dat")), ("a.whl!b.dat", ("a.whl!", "b.dat")), ("b", ("", "b"))] {
            assert_eq!(split(path), expected);
        }
    }
}
