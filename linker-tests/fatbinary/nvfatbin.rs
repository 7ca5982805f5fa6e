//! The functions of nvFatbin in libfatbin, compared with NVIDIA's library.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{cubins, fatbinary, relocatable};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, fetched, find_in, in_path, not_fetched};
use crate::native::installation;

const SCRIPT: &str = include_str!("nvfatbin.py");

/// Status codes that some call must have. nvFatbin has no others for inputs that it does not store.
const STATUSES: &str = "statuses 0 1 2 3 4 5 8 9 10 11 15 16\n";

/// Every function, every option and random sequences of calls have equal results.
pub fn have_equal_results(directory: &Path) -> Result<()> {
    let theirs = find_in(&fetched("nvfatbin"), "libnvfatbin.so").ok_or_else(|| not_fetched("nvfatbin"))?;
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    cubins(directory)?;
    relocatable::objects(directory)?;
    for name in ["answer.tilebc", "answer-sm_90.ltoir"] {
        std::fs::copy(fixture(name)?, directory.join(name.replace("answer-", "")))?;
    }
    let images =
        ["elf,sm=90,file=sm_90.cubin", "ptx,sm=90,file=sm_90.ptx"].map(|image| format!("--image3=kind={image}"));
    fatbinary(directory, &[], &images)?;
    std::fs::rename(directory.join("fat"), directory.join("a.fatbin"))?;
    std::fs::write(directory.join("compare.py"), SCRIPT)?;
    let ours = installation()?.join("lib/libfatbin.so");
    let done = Step::new(directory, python).arg("compare.py").arg(theirs).arg(ours).run()?;
    ensure!(done.stdout.starts_with("100 sequences, ") && done.stdout.ends_with(STATUSES), done.error(STATUSES));
    Ok(())
}
