//! Indexes next to code objects: the kernels or files that a library or a compiler expects to find there.
//!
//! | index | of | promises |
//! |---|---|---|
//! | `*.dat` | Tensile (rocBLAS, hipBLASLt) | a kernel for each solution |
//! | `__grp__*.json` | Triton's cache | the files of a compiled kernel |
//! | `NAME.json` | Triton's cache | code for a processor in the files `NAME.*` |
//! | `checksums.txt` | FlashInfer's cubins | the SHA-256 of each file |
//!
//! Source: triton-lang/triton, `python/triton/runtime/cache.py` and `python/triton/compiler/compiler.py`;
//! flashinfer-ai/flashinfer, `flashinfer/artifacts.py`.

use serde_json::Value;

use fatbin_core::base::bytes::{Resource, View, record_memory};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::tensile_library;

/// What an index promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// Kernels in code objects of the directory.
    Kernels(Vec<String>),
    /// Files with device code, and their descriptions, in the directory.
    Files(Vec<String>),
    /// Code of a kernel in the files of this name, with any extension of device code.
    Kernel {
        /// Name without the extension.
        name: String,
        /// Processor, if it is one of NVIDIA or AMD.
        arch: Option<String>,
    },
    /// Contents of files with device code.
    Hashes(Vec<FileHash>),
}

/// The hash of a file in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHash {
    /// Path from the directory of the index.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

/// Prefix of the names of groups in Triton's cache.
const GROUP: &str = "__grp__";

/// Extension of descriptions of kernels and of groups in Triton's cache.
const DESCRIPTION: &str = ".json";

/// Extensions of device code in Triton's cache.
const DEVICE_CODE: [&str; 4] = [".cubin", ".hsaco", ".ptx", ".spv"];

/// Extension of the host libraries in FlashInfer's folders.
const LIBRARY: &str = ".so";

/// Name of the file with FlashInfer's hashes.
const CHECKSUMS: &str = "checksums.txt";

/// Largest description in bytes. A group has a dozen files.
const MAX_DESCRIPTION: u64 = 1 << 20;

impl Promise {
    /// Returns whether a file with this path may be an index.
    pub fn has_path(path: &FilePath) -> bool {
        let name = path.name();
        name.ends_with(".dat") || name.ends_with(DESCRIPTION) || name == CHECKSUMS
    }

    /// Returns whether a file with this path is device code of Triton or FlashInfer.
    pub fn is_code_path(path: &str) -> bool {
        DEVICE_CODE.iter().any(|extension| path.ends_with(extension))
    }

    /// Returns whether an index may state the hash of a file with this path.
    pub fn has_hash(path: &str) -> bool {
        Promise::is_code_path(path) || path.ends_with(LIBRARY)
    }

    /// Returns the files in a list of a directory; `None` for another index.
    pub fn files(&self) -> Option<Vec<&str>> {
        match self {
            Promise::Files(names) => Some(names.iter().map(String::as_str).collect()),
            Promise::Hashes(hashes) => Some(hashes.iter().map(|hash| hash.name.as_str()).collect()),
            Promise::Kernels(_) | Promise::Kernel { .. } => None,
        }
    }

    /// Reads the index with this path; `None` if the file is something else, and an error if it is damaged.
    pub fn read(path: &FilePath, view: View<'_>) -> Option<Result<Promise, String>> {
        let name = path.name();
        if name.ends_with(".dat") {
            let kernels = tensile_library::kernels(view)?.map_err(|error| error.to_string());
            return Some(kernels.map(|kernels| Promise::Kernels(kernels.into_iter().map(str::to_owned).collect())));
        }
        if name == CHECKSUMS {
            return hashes(view);
        }
        let stem = name.strip_suffix(DESCRIPTION)?;
        if stem.starts_with(GROUP) { group(view).transpose() } else { kernel(stem, view).map(Ok) }
    }
}

/// Reads a group of files.
fn group(view: View<'_>) -> Result<Option<Promise>, String> {
    if view.size() > MAX_DESCRIPTION {
        return Err(format!("{} bytes, more than a group of Triton has", view.size()));
    }
    let group: Value = serde_json::from_slice(view.data()).map_err(|error| format!("not JSON: {error}"))?;
    let files = group.get("child_paths").and_then(Value::as_object);
    let is_checked = |name: &&String| Promise::is_code_path(name) || name.ends_with(DESCRIPTION);
    Ok(files.map(|files| Promise::Files(files.keys().filter(is_checked).cloned().collect())))
}

/// Reads the description of a kernel; `None` for other JSON.
fn kernel(name: &str, view: View<'_>) -> Option<Promise> {
    if view.size() > MAX_DESCRIPTION || !view.starts_with(b"{") {
        return None;
    }
    let kernel: Value = serde_json::from_slice(view.data()).ok()?;
    kernel.get("hash")?.as_str()?;
    kernel.get("name")?.as_str()?;
    let target = kernel.get("target")?;
    let arch = match (target.get("backend")?.as_str()?, target.get("arch")?) {
        ("cuda", arch) => arch.as_u64().map(|arch| format!("sm_{arch}")),
        ("hip", arch) => arch.as_str().map(str::to_owned),
        _ => None,
    };
    Some(Promise::Kernel { name: name.to_owned(), arch })
}

/// Reads lines of hashes and names; `None` if the first line is something else.
fn hashes(view: View<'_>) -> Option<Result<Promise, String>> {
    let mut hashes = Vec::new();
    for (number, line) in (1_u64..).zip(view.data().split(|&byte| byte == b'\n')) {
        let line = line.trim_ascii();
        if number > 1 && line.is_empty() {
            continue;
        }
        let Some(hash) = str::from_utf8(line).ok().and_then(file_hash) else {
            let error = format!("line {number} is not a SHA-256 and a name");
            return if number == 1 { None } else { Some(Err(error)) };
        };
        let memory = record_memory(size_of::<FileHash>(), [hash.name.len()]);
        if let Err(error) = view.charge("hash of a file", Resource::Memory, memory) {
            return Some(Err(error.to_string()));
        }
        if Promise::has_hash(&hash.name) {
            hashes.push(hash);
        }
    }
    Some(Ok(Promise::Hashes(hashes)))
}

fn file_hash(line: &str) -> Option<FileHash> {
    let (digits, name) = line.split_once(char::is_whitespace)?;
    let name = name.trim_start();
    let mut sha256 = [0; 32];
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != sha256.len() || !rest.is_empty() || name.is_empty() {
        return None;
    }
    for (byte, digits) in sha256.iter_mut().zip(pairs) {
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(FileHash { name: name.to_owned(), sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_promise_device_code() {
        let group = br#"{"child_paths": {"k.cubin": "/c/k.cubin", "k.ptx": "/c/k.ptx", "k.ttir": "/c/k.ttir", "k.json": "/c/k.json"}}"#;
        let files = Promise::Files(["k.cubin", "k.json", "k.ptx"].map(str::to_owned).to_vec());
        assert_eq!(Promise::read(&FilePath::parse("d/__grp__k.json"), View::new(group)), Some(Ok(files)));
        assert_eq!(Promise::read(&FilePath::parse("d/k.json"), View::new(group)), None);
        assert_eq!(Promise::read(&FilePath::parse("d/__grp__k.json"), View::new(b"{}")), None);
        for broken in [&b""[..], b"{", b"\xff"] {
            assert!(
                matches!(Promise::read(&FilePath::parse("__grp__k.json"), View::new(broken)), Some(Err(_))),
                "{broken:x?}"
            );
        }
        let large = vec![b' '; MAX_DESCRIPTION as usize + 1];
        assert!(matches!(Promise::read(&FilePath::parse("__grp__k.json"), View::new(&large)), Some(Err(_))));
    }

    #[test]
    fn descriptions_of_kernels_state_a_processor() {
        let read = |target: &str| {
            let json = format!(r#"{{"hash": "ab", "target": {target}, "name": "add", "num_warps": 4}}"#);
            Promise::read(&FilePath::parse("c/add.json"), View::new(json.as_bytes())).map(Result::unwrap)
        };
        let expected =
            |arch: Option<&str>| Some(Promise::Kernel { name: "add".to_owned(), arch: arch.map(str::to_owned) });
        assert_eq!(read(r#"{"backend": "cuda", "arch": 90, "warp_size": 32}"#), expected(Some("sm_90")));
        assert_eq!(read(r#"{"backend": "hip", "arch": "gfx942", "warp_size": 64}"#), expected(Some("gfx942")));
        assert_eq!(read(r#"{"backend": "xpu", "arch": {"name": "x"}}"#), expected(None));
        assert_eq!(read(r#"{"backend": "cuda", "arch": "90"}"#), expected(None));
        for other in [r#"["cuda", 80]"#, "1", r#"{"arch": 90}"#] {
            assert_eq!(read(other), None, "{other}");
        }
        for other in [&b""[..], b"{", b"[]", b"{\"target\": {\"backend\": \"cuda\", \"arch\": 90}}"] {
            assert_eq!(Promise::read(&FilePath::parse("k.json"), View::new(other)), None, "{other:x?}");
        }
    }

    #[test]
    fn checksums_are_lines_of_a_hash_and_a_name() {
        let hash = "0123456789abcdefABCDEF0123456789abcdef0123456789abcdef0123456789";
        let read = |text: &str| Promise::read(&FilePath::parse("d/checksums.txt"), View::new(text.as_bytes()));
        let text = format!("{hash}  a.cubin\n{hash} include/a.h\r\n\n{hash}\tb/c.so\n");
        let Some(Ok(Promise::Hashes(hashes))) = read(&text) else { panic!() };
        assert_eq!(hashes.iter().map(|hash| &*hash.name).collect::<Vec<_>>(), ["a.cubin", "b/c.so"]);
        assert_eq!(hashes[0].sha256[..9], [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xab]);
        for other in [
            "",
            "\n",
            "text",
            hash,
            "12  a.cubin",
            &hash.replace('0', "g"),
            &format!("{hash}00  a"),
            &format!("+{}  a", &hash[1..]),
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(
            read(&format!("{hash}  a.cubin\n{hash}")).unwrap(),
            Err("line 2 is not a SHA-256 and a name".to_owned())
        );
        assert_eq!(Promise::read(&FilePath::parse("other.txt"), View::new(text.as_bytes())), None);
    }
}
