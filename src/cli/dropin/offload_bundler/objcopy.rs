//! The calls of llvm-objcopy that the tool would make, as `-###` prints them.
//!
//! Only bundles of objects take any. Build systems and tests look for these lines; nothing here makes the calls, and the
//! temporary file in them, which holds the one byte that stands for the host, is named as the tool names its own.

use std::path::{Path, PathBuf};

use crate::format::bundle::MAGIC;

/// The call that makes a bundle: sections are added to the host's object, which is one of the files.
pub fn adding(files: &[(&str, &Path)], host: usize, output: &Path) -> String {
    let magic = magic();
    let mut arguments = Vec::new();
    for (index, (id, file)) in files.iter().enumerate() {
        let content = if index == host { temporary() } else { file.to_path_buf() };
        arguments.push(format!("--add-section={magic}{id}={}", content.display()));
        arguments.push(format!("--set-section-flags={magic}{id}=readonly,exclude"));
    }
    arguments.extend(["--".to_owned(), files[host].1.display().to_string(), output.display().to_string()]);
    call(&arguments)
}

/// The call that restores the host's object.
pub fn removing(input: &Path) -> String {
    let [input, output] = [input, &temporary()].map(|path| path.display().to_string());
    call(&["--regex".to_owned(), format!("--remove-section={}.*", magic()), "--".to_owned(), input, output])
}

fn magic() -> &'static str {
    std::str::from_utf8(MAGIC).expect("it is ASCII")
}

fn temporary() -> PathBuf {
    std::env::temp_dir().join("clang-offload-bundler.tmp")
}

fn call(arguments: &[String]) -> String {
    let quoted: Vec<String> = arguments.iter().map(|argument| format!(" \"{argument}\"")).collect();
    format!("\"llvm-objcopy\"{}\n", quoted.concat())
}
