//! Offload binaries of other releases.
//!
//! Versions 2 and 3 are read and written by no released tool: LLVM's main branch has them, but no release, Debian package or
//! Python wheel. So a reader in another language, written from the specification alone, reads the files.
//!
//! The value of the offload kind HIP is 3 before LLVM 21 and 4 since. The packagers of both sides write files for `fatbin`.

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// Name, arguments of `fatbin pack`, and the expected version.
const CASES: [(&str, &[&str], u32); 4] = [
    ("version-2", &["--format-version", "2"], 2),
    ("version-3", &["--format-version", "3"], 3),
    ("version-3-zstd", &["--compress=zstd"], 3),
    ("version-3-zlib", &["--compress=zlib"], 3),
];

pub fn trials() -> Vec<Trial> {
    let trial = |(name, arguments, version)| {
        Trial::ignorable_test(format!("versions/{name}"), move || completion(is_read(name, arguments, version)))
    };
    let kind = |(release, value)| {
        let name = format!("versions/hip-kind-of-{release}");
        Trial::ignorable_test(name, move || completion(finds_hip(release, value)))
    };
    CASES.into_iter().map(trial).chain(HIP_KINDS.into_iter().map(kind)).collect()
}

/// Releases of clang-offload-packager, and the value that they write for HIP.
const HIP_KINDS: [(u32, u8); 4] = [(15, 3), (16, 3), (19, 3), (22, 4)];

/// Offset of the offload kind in a file with a single offload binary: the header, and the image kind before it.
const OFFLOAD_KIND: usize = 32 + 2;

/// Packs an image for HIP with the packager of a release, and extracts it by its kind.
fn finds_hip(release: u32, value: u8) -> Result<()> {
    let name = format!("clang-offload-packager-{release}");
    let packager = in_path(&name).ok_or_else(|| Missing::new(&name, &format!("clang-tools-{release}")))?;
    let directory = fresh_directory("versions", &format!("hip-kind-of-{release}"))?;
    let gpu = fixture("answer-gfx90a.hsaco")?;
    let image = format!("--image=file={},triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip", gpu.display());
    Step::new(&directory, packager).args(["-o", "packed", &image]).run()?;
    let packed = std::fs::read(directory.join("packed"))?;
    ensure!(packed[OFFLOAD_KIND] == value, "the packager writes {} for HIP", packed[OFFLOAD_KIND]);
    let fatbin = |arguments: &[&str]| Step::new(&directory, env!("CARGO_BIN_EXE_fatbin")).args(arguments).run();
    let listed = fatbin(&["scan", "packed"])?;
    ensure!(listed.stdout.contains("  hip   "), "{}", listed.error("not listed as HIP"));
    fatbin(&["extract", "packed", "--kind", "hip", "--to", "image"])?;
    ensure!(std::fs::read(directory.join("image"))? == std::fs::read(&gpu)?, "the image differs");
    Ok(())
}

fn is_read(name: &str, arguments: &[&str], version: u32) -> Result<()> {
    let tool = |name| in_path(name).ok_or_else(|| Missing::new(name, name));
    let (python, _) = (tool("python3")?, tool("zstd")?);
    let directory = fresh_directory("versions", name)?;
    let (gpu, cubin) = (fixture("answer-gfx90a.hsaco")?, fixture("answer-sm_90.cubin")?);
    let described = format!("file={},kind=hip,note=a,note=b", gpu.display());
    let pack = Step::new(&directory, env!("CARGO_BIN_EXE_fatbin")).args(["pack", "-o", "out", "--image", &described]);
    pack.arg(&cubin).args(arguments).run()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/linker-tests/versions/layout.py");
    let read = Step::new(&directory, python).args([script, "out"]).run()?;
    let hash = |path| -> Result<String> {
        let sum = Step::new(&directory, "sha256sum").arg(path).run()?;
        Ok(sum.stdout.split_whitespace().next().unwrap_or_default().to_owned())
    };
    let expected = format!(
        "{version} 1 4 0 arch=gfx90a note=a,b triple=amdgcn-amd-amdhsa {}\n\
         {version} 3 0 0 arch=sm_90 triple=nvptx64-nvidia-cuda {}\n",
        hash(&gpu)?,
        hash(&cubin)?
    );
    ensure!(read.stdout == expected, "{}", read.error(format!("should have been read as\n{expected}")));
    Ok(())
}
