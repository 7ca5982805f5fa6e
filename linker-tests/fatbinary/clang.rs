//! clang before LLVM 22 as a client of the drop-in, with the option for images that fatbinary 13.5 no longer accepts. Later
//! releases are in the tables of [`crate::drivers`].

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};

use super::fatbin;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool, path_with};
use crate::linker_wrapper::stand_ins;

/// Releases of clang in Debian 12 that pass `--image`.
pub const RELEASES: [&str; 4] = ["14", "15", "16", "19"];

/// An object has exactly the cubins and the PTX that ptxas and clang wrote.
pub fn builds_an_object(directory: &Path, release: &str) -> Result<()> {
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    fatbin(directory, &["install-links", "--llvm", release, "links"])?;
    let bin = stand_ins(directory)?;
    for name in ["ptxas", "fatbinary"] {
        std::fs::remove_file(bin.join(name))?;
    }
    std::os::unix::fs::symlink(Tool::Ptxas.path()?, bin.join("ptxas"))?;
    std::fs::write(directory.join("cuda/include/cuda.h"), "#define CUDA_VERSION 11050\n")?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/drivers/sources");
    std::fs::copy(sources.join("kernel.cu"), directory.join("kernel.cu"))?;
    // Older releases find the programs of CUDA in `PATH` only.
    let mut step = Step::new(directory, clang).env("PATH", path_with(&bin)?).args([
        "-Blinks",
        "--cuda-path=cuda",
        "-nocudalib",
        "-nocudainc",
    ]);
    step = step.args(["--no-cuda-version-check", "--cuda-gpu-arch=sm_75", "--cuda-gpu-arch=sm_80", "-save-temps"]);
    if release != "14" {
        step = step.arg("--no-offload-new-driver");
    }
    step.args(["--cuda-include-ptx=all", "-c", "kernel.cu", "-o", "kernel.o"]).run()?;

    let verified = fatbin(directory, &["verify", "kernel.o"])?;
    ensure!(verified.stdout == "kernel.o: 4 device images, intact\n", "{}", verified.error("not intact"));
    let extracted = fatbin(directory, &["extract", "kernel.o", "-o", "out"])?;
    let cubins = files(directory, |name| name.contains("sm_") && (name.ends_with(".o") || name.ends_with(".cubin")))?;
    ensure!(cubins.len() == 2, "clang leaves {} cubins", cubins.len());
    let found = files(&directory.join("out"), |name| name.ends_with(".cubin"))?;
    ensure!(found == cubins, "{}", extracted.error("other cubins"));
    let scanned = fatbin(directory, &["scan", "--json", "kernel.o"])?;
    ensure!(
        scanned.stdout.matches("\"codec\": \"lz4\"").count() == 2,
        "{}",
        scanned.error("PTX is not compressed with LZ4")
    );
    Ok(())
}

/// Returns the contents of the files in a directory whose names are of a form.
fn files(directory: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<BTreeSet<Vec<u8>>> {
    let mut contents = BTreeSet::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if is_wanted(&entry.file_name().to_string_lossy()) {
            contents.insert(std::fs::read(entry.path())?);
        }
    }
    Ok(contents)
}
