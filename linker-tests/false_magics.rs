//! Bytes that look like a container and are none. LLVM's own library knows every magic, so it contains each of them, in
//! code and in tables, and not one device image.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::tools::Tool;
use crate::trial::completion;

const MAGICS: [&[u8]; 2] = [b"\x10\xff\x10\xad", b"__CLANG_OFFLOAD_BUNDLE__"];

pub fn trial() -> Trial {
    Trial::ignorable_test("false-magics/libLLVM", || completion(libllvm_holds_no_image()))
}

fn libllvm_holds_no_image() -> Result<()> {
    let library = Tool::LibLlvm.path()?;
    let bytes = std::fs::read(&library).with_context(|| library.display().to_string())?;
    for magic in MAGICS {
        // Otherwise finding nothing would prove nothing.
        ensure!(contains(&bytes, magic), "{}: no {magic:?} in it", library.display());
    }
    let run = Command::new(env!("CARGO_BIN_EXE_fatbin")).arg("scan").arg(&library).output()?;
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    ensure!(run.status.code() == Some(1) && err.is_empty(), "{}: {out}{err}", run.status);
    Ok(())
}

fn contains(bytes: &[u8], magic: &[u8]) -> bool {
    bytes.windows(magic.len()).any(|window| window == magic)
}
