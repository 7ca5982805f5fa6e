//! Offload binaries of other releases.
//!
//! Versions 2 and 3 are read and written by no released tool: LLVM's main branch has them, but no release, Debian package or
//! Python wheel. So a reader in another language, written from the specification alone, reads the files.
//!
//! The value of the offload kind HIP is 3 before LLVM 21 and 4 since. The packagers of both sides write files for `fatbin`.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path, llvm_tool};
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
    let both = Trial::ignorable_test("versions/hip-kinds-in-one-file", || completion(finds_both_numbers_of_hip()));
    let names = Trial::ignorable_test("versions/generated-names", || completion(numbers_names()));
    CASES.into_iter().map(trial).chain(HIP_KINDS.into_iter().map(kind)).chain([both, names]).collect()
}

/// Releases of clang-offload-packager, and the value that they write for HIP.
const HIP_KINDS: [(u32, u8); 4] = [(15, 3), (16, 3), (19, 3), (22, 4)];

/// Offset of the offload kind in a file with a single offload binary: the header, and the image kind before it.
const OFFLOAD_KIND: usize = 32 + 2;

/// First release whose packager extracts images.
const EXTRACTS: u32 = 16;

/// Name of the packager in the releases of [`HIP_KINDS`].
const PACKAGER: &str = "clang-offload-packager";

fn packager(release: u32) -> Result<PathBuf> {
    llvm_tool(PACKAGER, &release.to_string(), &format!("clang-tools-{release}"))
}

/// Packs an image for HIP with the packager of a release, and extracts it by its kind.
fn finds_hip(release: u32, value: u8) -> Result<()> {
    let packager = packager(release)?;
    let directory = fresh_directory("versions", &format!("hip-kind-of-{release}"))?;
    let gpu = fixture("answer-gfx90a.hsaco")?;
    let image = format!("--image=file={},triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip", gpu.display());
    Step::new(&directory, packager).args(["-o", "packed", &image]).run()?;
    let packed = std::fs::read(directory.join("packed"))?;
    ensure!(packed[OFFLOAD_KIND] == value, "the packager writes {} for HIP", packed[OFFLOAD_KIND]);
    let fatbin = |arguments: &[&str]| Step::new(&directory, fatbin_program()).args(arguments).run();
    let listed = fatbin(&["scan", "packed"])?;
    ensure!(listed.stdout.contains("  hip   "), "{}", listed.error("not listed as HIP"));
    fatbin(&["extract", "packed", "--kind", "hip", "--to", "image"])?;
    ensure!(std::fs::read(directory.join("image"))? == std::fs::read(&gpu)?, "the image differs");
    Ok(())
}

/// Numbers in generated names: LLVM 16 counts all images, later releases those that are extracted.
fn numbers_names() -> Result<()> {
    let directory = fresh_directory("versions", "generated-names")?;
    let images = ["--image=file=a,triple=nvptx64,arch=sm_70", "--image=file=b,triple=nvptx64,arch=sm_80"];
    ["a", "b"].into_iter().try_for_each(|name| std::fs::write(directory.join(name), name))?;
    for release in [16, 19, 22] {
        let theirs = packager(release)?;
        Step::new(&directory, &theirs).args(["-o", "packed.bin"]).args(images).run()?;
        let ours = directory.join(format!("{PACKAGER}-{release}"));
        std::os::unix::fs::symlink(fatbin_program(), &ours)?;
        let mut names = Vec::new();
        for (side, program) in [("theirs", &theirs), ("ours", &ours)] {
            let own = directory.join(format!("{side}-{release}"));
            std::fs::create_dir(&own)?;
            Step::new(&own, program).args(["../packed.bin", "--image=arch=sm_80"]).run()?;
            let entries = std::fs::read_dir(own)?.map(|entry| Ok(entry?.file_name()));
            names.push(entries.collect::<std::io::Result<Vec<_>>>()?);
        }
        ensure!(names[0] == names[1], "{release}: {names:?}");
    }
    Ok(())
}

/// Reads one file with binaries from before and after the change. fatbin finds both images. The packager of a release,
/// tool or drop-in, finds only the images with the number of this release.
fn finds_both_numbers_of_hip() -> Result<()> {
    let directory = fresh_directory("versions", "hip-kinds-in-one-file")?;
    let drop_in = |release: u32| directory.join(format!("{PACKAGER}-{release}"));
    let mut packed = Vec::new();
    for (release, value) in HIP_KINDS {
        let tool = packager(release)?;
        std::os::unix::fs::symlink(fatbin_program(), drop_in(release))?;
        std::fs::write(directory.join("image.o"), format!("of LLVM {release}"))?;
        let pack = |program: &Path, output: &str| {
            let image = format!("--image=file=image.o,triple=amdgcn-amd-amdhsa,arch=gfx{release},kind=hip");
            Step::new(&directory, program).args(["-o", output, &image]).run()
        };
        pack(&tool, "tool.bin")?;
        pack(&drop_in(release), "drop-in.bin")?;
        let [binary, other] = ["tool.bin", "drop-in.bin"].map(|name| std::fs::read(directory.join(name)));
        let binary = binary?;
        ensure!(binary[OFFLOAD_KIND] == value && other?[OFFLOAD_KIND] == value, "{release}: another kind than {value}");
        packed.extend(binary);
    }
    std::fs::write(directory.join("packed"), packed)?;
    let fatbin = |arguments: &[&str]| Step::new(&directory, fatbin_program()).args(arguments).run();
    let listed = fatbin(&["scan", "packed"])?;
    ensure!(listed.stdout.matches(" hip ").count() == HIP_KINDS.len(), "{}", listed.error("not all are HIP"));
    fatbin(&["extract", "packed", "--kind", "hip", "-o", "images"])?;
    ensure!(std::fs::read_dir(directory.join("images"))?.count() == HIP_KINDS.len(), "not all images are extracted");
    for (release, value) in HIP_KINDS.into_iter().filter(|(release, _)| *release >= EXTRACTS) {
        for (side, program) in [("tool", packager(release)?), ("drop-in", drop_in(release))] {
            for (other, number) in HIP_KINDS {
                let output = format!("{side}-{release}-{other}");
                let image = format!("--image=file={output},arch=gfx{other},kind=hip");
                Step::new(&directory, &program).args(["packed", &image]).run()?;
                let (found, expected) = (directory.join(&output).exists(), number == value);
                ensure!(
                    found == expected,
                    "{side} of {release}: image of {other} found: {found}, expected: {expected}"
                );
            }
        }
    }
    Ok(())
}

fn is_read(name: &str, arguments: &[&str], version: u32) -> Result<()> {
    let tool = |name| in_path(name).ok_or_else(|| Missing::new(name, name));
    let (python, _) = (tool("python3")?, tool("zstd")?);
    let directory = fresh_directory("versions", name)?;
    let (gpu, cubin) = (fixture("answer-gfx90a.hsaco")?, fixture("answer-sm_90.cubin")?);
    let described = format!("file={},kind=hip,note=a,note=b", gpu.display());
    let pack = Step::new(&directory, fatbin_program()).args(["pack", "-o", "out", "--image", &described]);
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
