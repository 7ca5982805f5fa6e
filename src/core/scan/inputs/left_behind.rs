//! Files that a compiler has left next to the code that programs load.
//!
//! An entry of Triton's cache has the output of every step of a compilation: `NAME.ttir`, `NAME.ttgir`, `NAME.llir`,
//! `NAME.ptx` and `NAME.cubin`. Triton loads the cubin (triton-lang/triton 3.5.1, `python/triton/compiler/compiler.py`:
//! `self.kernel = self.asm[binary_ext]`), and never the PTX. A build that failed leaves PTX without a cubin.

use std::path::Path;

use crate::scan::inventory::{File, Registration};

/// Extension of the output of the step before machine code.
const PTX: &str = "ptx";

/// Extensions of the output of the steps before PTX.
const EARLIER_STEPS: [&str; 2] = ["ttir", "ttgir"];

/// Returns whether Triton has left the file at a path.
pub fn is_left_behind(path: &Path) -> bool {
    let is_ptx = path.extension().is_some_and(|extension| extension == PTX);
    let Some(name) = path.file_stem().filter(|_| is_ptx) else { return false };
    let mut group = std::ffi::OsString::from("__grp__");
    group.push(name);
    group.push(".json");
    let has_step = |extension: &&str| path.with_extension(extension).is_file();
    path.with_file_name(group).is_file() || EARLIER_STEPS.iter().any(has_step)
}

/// Records that nothing loads the containers of a file.
pub fn record(file: &mut File) {
    for container in &mut file.containers {
        container.registration = Registration::LeftBehind;
    }
}
