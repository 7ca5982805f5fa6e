//! LLVM's: llvm-objdump --offloading, clang-offload-bundler -list, llvm-offload-binary.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{
    LINUX, WINDOWS, bytes_of, cubin, fails_with, files_beginning, hsaco, object, ours, ours_takes_out, same, trial,
};
use crate::harness::directives::fixture;
use crate::harness::step::{Done, Step};
use crate::harness::tools::Tool;

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const GPU: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a";

pub fn trials() -> Vec<Trial> {
    vec![
        trial("llvm-objdump/compressed-bundle", objdump_writes_wrong_bytes_for_a_compressed_bundle),
        trial("llvm-objdump/mixed-section", objdump_loses_images_of_a_mixed_section),
        trial("llvm-objdump/coff", objdump_rejects_bundles_in_coff),
        trial("llvm-objdump/cuda", objdump_prints_nothing_for_cuda),
        trial("clang-offload-bundler/several-plain", bundler_lists_the_first_of_several_plain_bundles),
        trial("clang-offload-bundler/two-compressed", bundler_fails_on_two_compressed_bundles),
        trial("llvm-offload-binary/several-matches", offload_binary_keeps_the_last_of_several_matches),
    ]
}

/// A bundle as HIP's compiler makes it, made by the reference.
fn bundle(directory: &Path, name: &str, image: &Path, options: &[&str]) -> Result<()> {
    let step = Step::new(directory, Tool::OffloadBundler.path()?).args(["-type=o", "-bundle-align=4096"]).args(options);
    let step = step.arg(format!("-targets={HOST},{GPU}")).arg("-input=/dev/null");
    step.arg(format!("-input={}", image.display())).arg(format!("-output={name}")).run()?;
    Ok(())
}

/// Bundles one after another, each at the next multiple of 4096 as a linker puts them.
fn section(directory: &Path, bundles: &[&str]) -> Result<()> {
    let mut section = Vec::new();
    for bundle in bundles {
        section.resize(section.len().next_multiple_of(4096), 0);
        section.extend(bytes_of(&directory.join(bundle))?);
    }
    Ok(std::fs::write(directory.join("section"), section)?)
}

fn objdump(directory: &Path, file: &str) -> Result<Done> {
    Step::new(directory, Tool::Objdump.path()?).args(["--offloading", file]).run()
}

fn objdump_writes_wrong_bytes_for_a_compressed_bundle(directory: &Path) -> Result<()> {
    bundle(directory, "compressed", &hsaco()?, &["-compress"])?;
    object(directory, "host.o", LINUX, ".hip_fatbin", "compressed")?;
    let done = objdump(directory, "host.o")?;
    let theirs = directory.join(format!("host.o.0.{GPU}"));
    ensure!(theirs.is_file(), "{}", done.error("it does not even say that it has written the image"));
    ensure!(!same(&theirs, &hsaco()?)?, "{}", done.error("it writes the right bytes now"));
    ours_takes_out(directory, "host.o", &[hsaco()?])
}

fn objdump_loses_images_of_a_mixed_section(directory: &Path) -> Result<()> {
    let images = ["answer-gfx90a.hsaco", "answer-gfx90a-xnack+.hsaco", "answer-gfx90a-debug.hsaco"];
    let images: Vec<PathBuf> = images.into_iter().map(fixture).collect::<Result<_>>()?;
    bundle(directory, "first", &images[0], &[])?;
    bundle(directory, "second", &images[1], &["-compress"])?;
    bundle(directory, "third", &images[2], &["-compress"])?;
    section(directory, &["first", "second", "third"])?;
    object(directory, "host.o", LINUX, ".hip_fatbin", "section")?;
    let done = objdump(directory, "host.o")?;
    let theirs = files_beginning(directory, "host.o.")?;
    let device: Vec<_> = theirs.iter().filter(|path| path.to_string_lossy().contains("hipv4")).collect();
    ensure!(device.len() < images.len(), "{}", done.error("it finds all three now"));
    ours_takes_out(directory, "host.o", &images)
}

fn objdump_rejects_bundles_in_coff(directory: &Path) -> Result<()> {
    bundle(directory, "plain", &hsaco()?, &[])?;
    object(directory, "host.obj", WINDOWS, ".hip_fatbin", "plain")?;
    let step = Step::new(directory, Tool::Objdump.path()?).args(["--offloading", "host.obj"]);
    fails_with(step, "COFF object files not supported")?;
    ours_takes_out(directory, "host.obj", &[hsaco()?])
}

fn objdump_prints_nothing_for_cuda(directory: &Path) -> Result<()> {
    super::cuobjdump::fat_binary(directory, "fat", &cubin()?)?;
    object(directory, "host.o", LINUX, ".nv_fatbin", "fat")?;
    let done = objdump(directory, "host.o")?;
    ensure!(!done.stdout.contains("IMAGE") && !done.stdout.contains("sm_90"), "{}", done.error("it knows CUDA now"));
    ours_takes_out(directory, "host.o", &[cubin()?])
}

fn bundler_lists_the_first_of_several_plain_bundles(directory: &Path) -> Result<()> {
    bundle(directory, "plain", &hsaco()?, &[])?;
    section(directory, &["plain", "plain"])?;
    let list = Step::new(directory, Tool::OffloadBundler.path()?).args(["-type=o", "-list", "-input=section"]).run()?;
    ensure!(list.stdout.matches(GPU).count() == 1, "{}", list.error("it lists both now"));
    let own = ours(directory, &["list", "section"])?;
    ensure!(own.stdout == format!("{HOST}\n{GPU}\n").repeat(2), "{}", own.error("both should be listed"));
    ours_takes_out(directory, "section", &[hsaco()?, hsaco()?])
}

fn bundler_fails_on_two_compressed_bundles(directory: &Path) -> Result<()> {
    bundle(directory, "compressed", &hsaco()?, &["-compress"])?;
    section(directory, &["compressed", "compressed"])?;
    let list = Step::new(directory, Tool::OffloadBundler.path()?).args(["-type=o", "-list", "-input=section"]);
    fails_with(list, "Failed to decompress input")?;
    let own = ours(directory, &["list", "section"])?;
    ensure!(own.stdout == format!("{HOST}\n{GPU}\n").repeat(2), "{}", own.error("both should be listed"));
    ours_takes_out(directory, "section", &[hsaco()?, hsaco()?])
}

/// It warns since release 22, writes each image over the one before, and ends with status 0.
fn offload_binary_keeps_the_last_of_several_matches(directory: &Path) -> Result<()> {
    let images = [hsaco()?, fixture("answer-gfx90a-debug.hsaco")?];
    let tool = Tool::OffloadBinary.path()?;
    for (image, name) in images.iter().zip(["first", "second"]) {
        let described = format!("--image=file={},triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip", image.display());
        Step::new(directory, &tool).args(["-o", name, &described]).run()?;
    }
    let both = [bytes_of(&directory.join("first"))?, bytes_of(&directory.join("second"))?].concat();
    std::fs::write(directory.join("both"), both)?;
    let done = Step::new(directory, &tool).args(["both", "--image=file=image,arch=gfx90a"]).run()?;
    let theirs = files_beginning(directory, "image")?;
    ensure!(theirs.len() == 1 && same(&theirs[0], &images[1])?, "{}", done.error("the first is not lost any more"));
    ours_takes_out(directory, "both", &images)?;
    fails_with(
        Step::new(directory, env!("CARGO_BIN_EXE_fatbin"))
            .args(["extract", "both", "--arch", "gfx90a", "--to", "image"]),
        "one output for several images",
    )
}
