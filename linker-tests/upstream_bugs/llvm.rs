//! Bugs of LLVM's tools: llvm-objdump --offloading, clang-offload-bundler -list, llvm-offload-binary.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{
    LINUX, LLVM_OBJDUMP, OFFLOAD_BINARY, OFFLOAD_BUNDLER, WINDOWS, bytes_of, cubin, fails_with, files_with_prefix,
    hsaco, object, ours, ours_extracts, same, trial,
};
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
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

/// Makes a bundle with the reference, like HIP's compiler does.
fn bundle(directory: &Path, name: &str, image: &Path, options: &[&str]) -> Result<()> {
    let step = Step::new(directory, Tool::OffloadBundler.path()?).args(["-type=o", "-bundle-align=4096"]).args(options);
    let step = step.arg(format!("-targets={HOST},{GPU}")).arg("-input=/dev/null");
    step.arg(format!("-input={}", image.display())).arg(format!("-output={name}")).run()?;
    Ok(())
}

/// Writes bundles back to back to a file, each at a multiple of 4096 as linkers place them.
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
    let is_correct = theirs.is_file() && same(&theirs, &hsaco()?)?;
    let test = if is_correct { Err(done.error("the bytes are correct")) } else { Ok(()) };
    LLVM_OBJDUMP.has_bug(directory, test)?;
    ours_extracts(directory, "host.o", &[hsaco()?])
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
    let theirs = files_with_prefix(directory, "host.o.")?;
    let device: Vec<_> = theirs.iter().filter(|path| path.to_string_lossy().contains("hipv4")).collect();
    let test = if device.len() < images.len() { Ok(()) } else { Err(done.error("all three are found")) };
    LLVM_OBJDUMP.has_bug(directory, test)?;
    ours_extracts(directory, "host.o", &images)
}

fn objdump_rejects_bundles_in_coff(directory: &Path) -> Result<()> {
    bundle(directory, "plain", &hsaco()?, &[])?;
    object(directory, "host.obj", WINDOWS, ".hip_fatbin", "plain")?;
    let step = Step::new(directory, Tool::Objdump.path()?).args(["--offloading", "host.obj"]);
    LLVM_OBJDUMP.has_bug(directory, fails_with(step, "COFF object files not supported"))?;
    ours_extracts(directory, "host.obj", &[hsaco()?])
}

fn objdump_prints_nothing_for_cuda(directory: &Path) -> Result<()> {
    super::cuobjdump::fat_binary(directory, "fat", &cubin()?)?;
    object(directory, "host.o", LINUX, ".nv_fatbin", "fat")?;
    let done = objdump(directory, "host.o")?;
    let is_listed = done.stdout.contains("IMAGE") || done.stdout.contains("sm_90");
    let test = if is_listed { Err(done.error("CUDA is supported")) } else { Ok(()) };
    LLVM_OBJDUMP.has_bug(directory, test)?;
    ours_extracts(directory, "host.o", &[cubin()?])
}

fn bundler_lists_the_first_of_several_plain_bundles(directory: &Path) -> Result<()> {
    bundle(directory, "plain", &hsaco()?, &[])?;
    section(directory, &["plain", "plain"])?;
    let list = Step::new(directory, Tool::OffloadBundler.path()?).args(["-type=o", "-list", "-input=section"]).run()?;
    let test = if list.stdout.matches(GPU).count() == 1 { Ok(()) } else { Err(list.error("both are listed")) };
    OFFLOAD_BUNDLER.has_bug(directory, test)?;
    let own = ours(directory, &["list", "section"])?;
    ensure!(own.stdout == format!("{HOST}\n{GPU}\n").repeat(2), "{}", own.error("both should be listed"));
    ours_extracts(directory, "section", &[hsaco()?, hsaco()?])
}

fn bundler_fails_on_two_compressed_bundles(directory: &Path) -> Result<()> {
    bundle(directory, "compressed", &hsaco()?, &["-compress"])?;
    section(directory, &["compressed", "compressed"])?;
    let list = Step::new(directory, Tool::OffloadBundler.path()?).args(["-type=o", "-list", "-input=section"]);
    OFFLOAD_BUNDLER.has_bug(directory, fails_with(list, "Failed to decompress input"))?;
    let own = ours(directory, &["list", "section"])?;
    ensure!(own.stdout == format!("{HOST}\n{GPU}\n").repeat(2), "{}", own.error("both should be listed"));
    ours_extracts(directory, "section", &[hsaco()?, hsaco()?])
}

/// Since release 22 the tool warns, overwrites each image with the next, and exits with status 0.
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
    let theirs = files_with_prefix(directory, "image")?;
    let is_lost = theirs.len() == 1 && same(&theirs[0], &images[1])?;
    let test = if is_lost { Ok(()) } else { Err(done.error("the first image is not lost")) };
    OFFLOAD_BINARY.has_bug(directory, test)?;
    ours_extracts(directory, "both", &images)?;
    fails_with(
        Step::new(directory, fatbin_program()).args(["extract", "both", "--arch", "gfx90a", "--to", "image"]),
        "image: more than one image matches",
    )
}
