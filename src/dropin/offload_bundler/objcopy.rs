//! The calls of llvm-objcopy that `-###` prints.
//!
//! The tool makes such calls for bundles of objects only. Build systems and tests look for these lines; this program
//! makes no such calls. The temporary file in them contains the single byte that represents the host. Its name is the
//! name that the tool uses.

use std::path::{Path, PathBuf};

use fatbin_core::format::bundle::MAGIC_TEXT;

/// Call that makes a bundle by adding sections to the host's object, which is one of the files.
pub fn adding(files: &[(&str, &Path)], host: usize, output: &Path) -> String {
    let mut arguments = Vec::new();
    for (index, (id, file)) in files.iter().enumerate() {
        let content = if index == host { temporary() } else { file.to_path_buf() };
        arguments.push(format!("--add-section={MAGIC_TEXT}{id}={}", content.display()));
        arguments.push(format!("--set-section-flags={MAGIC_TEXT}{id}=readonly,exclude"));
    }
    arguments.extend(["--".to_owned(), files[host].1.display().to_string(), output.display().to_string()]);
    call(&arguments)
}

/// Call that recovers the host's object by removing the sections.
pub fn removing(input: &Path) -> String {
    let [input, output] = [input, &temporary()].map(|path| path.display().to_string());
    call(&["--regex".to_owned(), format!("--remove-section={MAGIC_TEXT}.*"), "--".to_owned(), input, output])
}

fn temporary() -> PathBuf {
    std::env::temp_dir().join("clang-offload-bundler.tmp")
}

fn call(arguments: &[String]) -> String {
    let quoted: Vec<String> = arguments.iter().map(|argument| format!(" \"{argument}\"")).collect();
    format!("\"llvm-objcopy\"{}\n", quoted.concat())
}
