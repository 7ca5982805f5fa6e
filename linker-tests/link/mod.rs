//! `fatbin link`, and clang-linker-wrapper compared with its replacement.

mod clients;
mod cuda;
mod entries;
mod entry_releases;
mod forms;
mod hip;
mod host_forms;
mod inputs;
mod llvm_cases;
mod nvidia_bitcode;
mod old_driver;
mod releases;
mod response_files;
mod spirv;
mod tables;
mod windows;

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, in_path, llvm_tool};
use crate::harness::trial::{completion, fresh_directory};
use crate::runtimes::openmp_library;

/// Function that runs a trial in its directory.
type Run = fn(&Path) -> Result<()>;

pub fn trials() -> Vec<Trial> {
    let trials: [(&str, Run); 45] = [
        ("dry-run", tables::dry_run),
        ("mistakes", tables::mistakes),
        ("llvm-cases", llvm_cases::commands),
        ("wrapped-modules", llvm_cases::wrapped_modules),
        ("commands-of-main", llvm_cases::verbose),
        ("override-image", tables::override_image),
        ("openmp-without-llvm", openmp_without_llvm),
        ("hip-bundles", hip::bundles),
        ("hip-conflicts", hip::conflicts),
        ("hip-registration", hip::registration),
        ("hip-without-rdc", hip::without_rdc),
        ("unused-archive", hip::unused_archive),
        ("spirv", spirv::modules),
        ("relocatable", relocatable),
        ("host-bitcode", host_bitcode),
        ("earlier-releases", releases::drivers),
        ("archives", releases::archives),
        ("clients/optimization", clients::optimization),
        ("clients/device-words", clients::device_words),
        ("clients/duplicate-symbols", clients::duplicate_symbols),
        ("clients/many-inputs", clients::many_inputs),
        ("clients/printed-module", clients::printed_module),
        ("clients/help", clients::help),
        ("clients/gc-sections", clients::gc_sections),
        ("clients/nvidia-bitcode", nvidia_bitcode::openmp),
        ("linked-image", linked_image),
        ("cuda", cuda::relocatable),
        ("missing-kernels", entries::missing_kernels),
        ("entries-of-each-release", entry_releases::single),
        ("entries-of-two-releases", entry_releases::pairs),
        ("entries-of-another-release", entry_releases::requested),
        ("entries-run", entry_releases::run),
        ("forms", forms::table),
        ("archivers", host_forms::archivers),
        ("assembly", host_forms::assembly),
        ("cpu-device-in-cxx", host_forms::cpu_device_in_cxx),
        ("old-driver", old_driver::objects),
        ("old-bundles", old_driver::bundles),
        ("response-files", response_files::quotes),
        ("many-images", response_files::many_images),
        ("two-fat-binaries", two_fat_binaries),
        ("windows-msvc", windows::msvc),
        ("windows-gnu", windows::gnu),
        ("windows-response-files", windows::response_files),
        ("windows-two-objects", windows::two_objects_without_entries),
    ];
    let trial = |(name, run): (&'static str, Run)| {
        let run =
            move || completion(fresh_directory("link", &name.replace('/', "-")).and_then(|directory| run(&directory)));
        Trial::ignorable_test(format!("link/{name}"), run)
    };
    trials.into_iter().map(trial).collect()
}

fn fatbin(directory: &Path) -> Step {
    Step::new(directory, fatbin_program())
}

/// Creates the directory `links` with the replacements of the reference's tools.
fn install_links(directory: &Path) -> Result<()> {
    fatbin(directory).args(["install-links", "--llvm", "22", "links"]).run().map(drop)
}

/// Links OpenMP's libraries of the reference into the directory `lib`.
fn openmp_libraries(directory: &Path) -> Result<()> {
    let libraries = directory.join("lib");
    std::fs::create_dir(&libraries)?;
    symlink(openmp_library("22", "libomptarget.so")?, libraries.join("libomptarget.so"))?;
    symlink(Tool::Libomp.path()?, libraries.join("libomp.so"))?;
    Ok(())
}

/// After the compilation, clang's driver calls fatbin, which calls the system's compiler and linker, and the program
/// offloads to the CPU under libomptarget. No other program is in `PATH`, and the programs that were executed are
/// compared with a list.
fn openmp_without_llvm(directory: &Path) -> Result<()> {
    let strace = in_path("strace").ok_or_else(|| Missing::new("strace", "strace"))?;
    inputs::compile_openmp(directory)?;
    openmp_libraries(directory)?;
    install_links(directory)?;
    let tools = directory.join("tools");
    std::fs::create_dir(&tools)?;
    symlink(Tool::Cc.path()?, tools.join("cc"))?;
    symlink(Tool::Bfd.path()?, tools.join("ld"))?;
    let link = Step::new(directory, strace).args(["-f", "-qq", "-e", "trace=execve", "-o", "executed"]);
    let link = link.arg(Tool::Clang.path()?).args(["-Blinks", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]);
    let done = link.args(["openmp.o", "-Llib", "-o", "program"]).env("PATH", &tools).run()?;
    let executed = std::fs::read_to_string(directory.join("executed"))?;
    let names: BTreeSet<&str> = executed
        .lines()
        .filter(|line| line.contains("= 0"))
        .filter_map(|line| line.split('"').nth(1)?.rsplit('/').next())
        .collect();
    let clang = Tool::Clang.path()?;
    let clang = clang.file_name().context("a program has a name")?.to_string_lossy();
    let expected = BTreeSet::from([&clang, "clang-linker-wrapper", "cc", "collect2", "ld"]);
    println!("link/openmp-without-llvm: executed: {}", names.iter().copied().collect::<Vec<_>>().join(", "));
    if names != expected {
        return Err(done.error(format!("executed: {names:?}, expected: {expected:?}")));
    }
    runs(directory, "program")
}

/// Checks that a program offloads.
fn runs(directory: &Path, program: &str) -> Result<()> {
    let libomp = Tool::Libomp.path()?;
    let libraries = libomp.parent().context("a library is in a directory")?;
    let run = Step::new(directory, directory.join(program)).env("OMP_TARGET_OFFLOAD", "MANDATORY");
    let done = run.env("LD_LIBRARY_PATH", libraries).run()?;
    if done.stdout == "42\n" { Ok(()) } else { Err(done.error("expected 42")) }
}

/// Objects that contain linked device code are linked into one program, which registers each once.
fn relocatable(directory: &Path) -> Result<()> {
    inputs::compile_openmp(directory)?;
    openmp_libraries(directory)?;
    let second = inputs::OPENMP.replace("int main(void)", "int second(void)").replace("42", "43");
    std::fs::write(directory.join("second.c"), second)?;
    let compile = Step::new(directory, Tool::Clang.path()?).args(["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]);
    compile.args(["-O1", "-fPIE", "-c", "second.c", "-o", "second.o"]).run()?;
    let ld = Tool::Bfd.path()?;
    for name in ["openmp", "second"] {
        let (input, output) = (format!("{name}.o"), format!("{name}-linked.o"));
        fatbin(directory).args(["link", "--"]).arg(&ld).args(["-r", &input, "-o", &output]).run()?;
        let scan = fatbin(directory).args(["scan", &output]).run()?;
        if !scan.stdout.contains("1 device image\n") {
            return Err(scan.error("expected one image"));
        }
    }
    let cc = Tool::Cc.path()?;
    let link = fatbin(directory).args(["link", "-v", "--"]).arg(cc).args(["openmp-linked.o", "second-linked.o"]);
    let done = link.args(["-o", "program", "-Llib", "-lomp", "-lomptarget"]).run()?;
    ensure!(!done.report.contains("image.wrapper.o"), "{}", done.error("device code was linked again"));
    runs(directory, "program")
}

/// Device code is found in a host's bitcode for every release, and equals the code in the object. A program that
/// clang's driver links offloads.
fn host_bitcode(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("openmp.c"), inputs::OPENMP)?;
    let openmp = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O1"];
    for release in ["15", "16", "19", "22"] {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let fat_binary = |lto: &[&str], name: &str| -> Result<Vec<u8>> {
            let (object, output) = (format!("{name}-{release}.o"), format!("{name}-{release}"));
            let compile = Step::new(directory, &clang).args(openmp).args(lto);
            compile.args(["-c", "openmp.c", "-o", &object]).run()?;
            let link = fatbin(directory).args(["link", "--abi", &format!("llvm{release}"), "--emit-fatbin-only"]);
            link.args(["--", "cc", &object, "-o", &output]).run()?;
            Ok(std::fs::read(directory.join(output))?)
        };
        let expected = fat_binary(&[], "object")?;
        for lto in ["full", "thin"] {
            let found = fat_binary(&[&format!("-flto={lto}")], lto)?;
            ensure!(found == expected, "{release}: the device code in bitcode differs from that in an object");
        }
    }
    openmp_libraries(directory)?;
    install_links(directory)?;
    Tool::Lld.path()?;
    let link = Step::new(directory, Tool::Clang.path()?).args(["-Blinks", "-flto", "-fuse-ld=lld"]).args(openmp);
    link.args(["full-22.o", "-Llib", "-o", "program"]).run()?;
    runs(directory, "program")
}

/// An image that is linked already passes unchanged. The reference links it again: the result has no code.
fn linked_image(directory: &Path) -> Result<()> {
    let image = crate::harness::directives::fixture("answer-gfx90a.hsaco")?;
    let pack = fatbin(directory).args(["pack", "-o", "image.offload"]);
    pack.arg(format!("--image=file={},kind=hip", image.display())).run()?;
    let theirs = llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?;
    install_links(directory)?;
    let ours = directory.join("links/clang-linker-wrapper");
    for (program, name) in [(&theirs, "theirs"), (&ours, "ours")] {
        Step::new(directory, program).args(["--emit-fatbin-only", "image.offload", "-o", name]).run()?;
        fatbin(directory).args(["extract", "--to", &format!("{name}.hsaco"), name]).run()?;
    }
    ensure!(std::fs::read(directory.join("ours.hsaco"))? == std::fs::read(&image)?, "the image has changed");
    let kernels =
        |name: &str| -> Result<bool> { Ok(fatbin(directory).args(["inspect", name]).run()?.stdout.contains("answer")) };
    ensure!(kernels("ours.hsaco")?, "the image has lost its kernel");
    ensure!(!kernels("theirs.hsaco")?, "LLVM 22 keeps the kernel now: mend the note on linked images");
    // Beside another image of its target, it cannot be linked.
    let link = fatbin(directory).args(["link", "--dry-run", "--", "ld", "image.offload", "image.offload", "-o", "x"]);
    let error = link.run().err().context("two linked images of one target were accepted")?.to_string();
    ensure!(error.contains("is linked already and cannot be linked with others"), "{error}");
    Ok(())
}

/// Images of two offload kinds are not written to one file. The reference keeps the images of one kind only.
fn two_fat_binaries(directory: &Path) -> Result<()> {
    inputs::compile_hip(directory, &["gfx90a"])?;
    inputs::compile_openmp(directory)?;
    let words = ["openmp.o", "kernel.o", "helper.o", "--emit-fatbin-only", "-o", "both"];
    let theirs = llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?;
    Step::new(directory, theirs).args(words).run()?;
    let lost = fatbin(directory).args(["scan", "both"]).run()?;
    if lost.stdout.contains("openmp") {
        return Err(lost.error("LLVM 22 keeps both now: mend the divergences"));
    }
    install_links(directory)?;
    let ours = Step::new(directory, directory.join("links/clang-linker-wrapper")).args(words).run();
    let error = ours.err().context("two fat binaries were written to one file")?.to_string();
    ensure!(error.contains("the inputs have openmp and hip images"), "{error}");
    let empty = fatbin(directory).args(["link", "--emit-fatbin-only", "--", "ld", "-o", "none"]).run();
    let error = empty.err().context("a fat binary without images was written")?.to_string();
    ensure!(error.contains("no device images in the inputs"), "{error}");
    Ok(())
}
