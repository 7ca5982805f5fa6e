//! HIP: bundles, registration and objects, compared with the reference.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use regex::Regex;

use super::{fatbin, inputs, install_links};
use crate::harness::command::command;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::linker_wrapper::kernel;

const PROCESSORS: [&str; 4] = ["gfx90a:xnack+", "gfx90a:xnack-", "gfx942", "gfx1100"];

/// The bundles in HIP libraries equal the bundles of the reference's tool: two translation units, an archive, and
/// compressed.
pub fn bundles(directory: &Path) -> Result<()> {
    inputs::compile_hip(directory, &PROCESSORS)?;
    Step::new(directory, Tool::Ar.path()?).args(["rcs", "libhelper.a", "helper.o"]).run()?;
    install_links(directory)?;
    let theirs = llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?;
    let ours = directory.join("links/clang-linker-wrapper");
    let lines = [
        "kernel.o helper.o",
        "libhelper.a kernel.o",
        "kernel.o helper.o --device-compiler=-O3 --device-compiler=amdgcn-amd-amdhsa=-flto-partitions=8",
        "libhelper.a --should-extract=gfx942",
    ];
    for line in lines {
        let bundle = |program: &Path, output: &str| -> Result<Vec<u8>> {
            let words = line.split(' ').chain(["--emit-fatbin-only", "-o", output]);
            Step::new(directory, program).args(words).run()?;
            Ok(std::fs::read(directory.join(output))?)
        };
        let (expected, found) = (bundle(&theirs, "theirs.hipfb")?, bundle(&ours, "ours.hipfb")?);
        ensure!(expected.len() > 4096, "{line}: the reference's bundle is empty");
        ensure!(found == expected, "{line}: {}: theirs.hipfb and ours.hipfb differ", directory.display());
    }
    compressed(directory, &theirs, &ours)?;
    // fatbin's own command, into a library.
    let cc = Tool::Cc.path()?;
    fatbin(directory).args(["link", "--"]).arg(&cc).args(["-shared", "kernel.o", "helper.o", "-o", "lib.so"]).run()?;
    Step::new(directory, &theirs).args("kernel.o helper.o --emit-fatbin-only -o all.hipfb".split(' ')).run()?;
    for (file, images) in [("lib.so", "linked"), ("all.hipfb", "expected")] {
        fatbin(directory).args(["extract", "--name", "{arch}", "-o", images, file]).run()?;
    }
    same_images(directory, "linked", "expected")
}

/// The reference's tool, its replacement, and fatbin's own commands refuse objects for gfx90a and gfx90a:xnack+. They
/// accept objects with both settings of the feature.
pub fn conflicts(directory: &Path) -> Result<()> {
    install_links(directory)?;
    let theirs = llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?;
    let ours = directory.join("links/clang-linker-wrapper");
    for (name, processor) in [("any", "gfx90a"), ("on", "gfx90a:xnack+"), ("off", "gfx90a:xnack-")] {
        inputs::compile_hip(directory, &[processor])?;
        for object in ["kernel", "helper"] {
            std::fs::rename(directory.join(format!("{object}.o")), directory.join(format!("{object}-{name}.o")))?;
        }
    }
    // Code for a setting of the feature is linked for the open one, too.
    let cases: [(&[&str], bool); 3] = [
        (&["kernel-any.o", "helper-on.o"], false),
        (&["kernel-any.o", "helper-off.o"], false),
        (&["kernel-off.o", "helper-off.o", "kernel-on.o", "helper-on.o"], true),
    ];
    for (objects, is_accepted) in cases {
        let own = Path::new(fatbin_program());
        for program in [&theirs, &ours, own] {
            let is_own = program == own;
            let before: &[&str] =
                if is_own { &["link", "--emit-fatbin-only", "--", "cc"] } else { &["--emit-fatbin-only"] };
            let mut run = command(program);
            let output = run.args(before).args(objects).args(["-o", "bundle"]).current_dir(directory).output()?;
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let message =
                if is_own { "conflicting targets" } else { "Cannot bundle inputs with conflicting targets: '" };
            ensure!(output.status.success() == is_accepted, "{program:?} {objects:?}: {}: {text}", output.status);
            ensure!(is_accepted || text.contains(message), "{program:?} {objects:?}: {text}");
        }
    }
    Ok(())
}

/// Compressed bundles have the same images, and the same header except sizes and hash. The bytes depend on the release
/// of zstd.
fn compressed(directory: &Path, theirs: &Path, ours: &Path) -> Result<()> {
    let mut headers = Vec::new();
    for (program, name) in [(theirs, "theirs"), (ours, "ours")] {
        let output = format!("{name}.ccob");
        let link = Step::new(directory, program).args(["kernel.o", "helper.o", "--compress", "--emit-fatbin-only"]);
        link.args(["-o", &output]).run()?;
        fatbin(directory).args(["extract", "--name", "{arch}", "-o", &format!("{name}-images"), &output]).run()?;
        let bundle = std::fs::read(directory.join(output))?;
        // Magic, version and method.
        headers.push(bundle.get(..8).context("a header")?.to_vec());
    }
    ensure!(headers[0] == headers[1] && headers[0].starts_with(b"CCOB"), "{headers:?}");
    same_images(directory, "theirs-images", "ours-images")
}

/// Compares the images in two directories.
fn same_images(directory: &Path, one: &str, other: &str) -> Result<()> {
    for arch in PROCESSORS {
        let name = arch.replace(':', "_");
        let image = |images: &str| std::fs::read(directory.join(images).join(&name)).with_context(|| name.clone());
        ensure!(image(one)? == image(other)?, "{arch}: the images in {one} and {other} differ");
    }
    Ok(())
}

/// Functions that HIP's launches call, in addition to the judge's.
const STUBS: &str = "\
int hipLaunchKernel(void) { return 0; }
unsigned __hipPopCallConfiguration(void) { return 0; }
";

/// Programs register the same, in one step and by way of an object (`-r`), with the objects of both programs.
pub fn registration(directory: &Path) -> Result<()> {
    inputs::compile_hip(directory, &PROCESSORS)?;
    install_links(directory)?;
    std::fs::write(directory.join("stubs.c"), STUBS)?;
    let cc = Tool::Cc.path()?;
    Step::new(directory, &cc).args(["-O1", "-fPIE", "-c", "stubs.c"]).arg(fixture("judge.c")?).run()?;
    let programs =
        [llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?, directory.join("links/clang-linker-wrapper")];
    // The judge prints the text at an address, where a kernel of clang's has the address of its stub, which may contain a line
    // feed.
    let host = Regex::new("(?s)host .*?, device")?;
    let mut logs = Vec::new();
    for (program, name) in programs.iter().zip(["theirs", "ours"]) {
        let link = Step::new(directory, program).arg(format!("--linker-path={}", cc.display()));
        link.args(["kernel.o", "helper.o", "stubs.o", "judge.o", "-o", name]).run()?;
        let (object, relocated) = (format!("{name}-linked.o"), format!("{name}-relocated"));
        let link = Step::new(directory, program).arg(format!("--linker-path={}", Tool::Bfd.path()?.display()));
        link.args(["-r", "kernel.o", "helper.o", "-o", &object]).run()?;
        Step::new(directory, &cc).args([&object, "stubs.o", "judge.o", "-o", &relocated]).run()?;
        for program in [name, &relocated] {
            let log = Step::new(directory, directory.join(program)).run()?.stdout;
            logs.push(host.replace_all(&log, "host, device").into_owned());
        }
    }
    let [theirs, theirs_relocated, ours, ours_relocated] = &logs[..] else { anyhow::bail!("expected four logs") };
    ensure!(theirs.contains("_Z6kernelPi"), "the log has no kernel:\n{theirs}");
    ensure!(theirs == ours, "theirs:\n{theirs}\nours:\n{ours}");
    ensure!(theirs_relocated == ours_relocated, "theirs:\n{theirs_relocated}\nours:\n{ours_relocated}");
    Ok(())
}

/// Objects with device code that is linked for each source are equal to the byte.
pub fn without_rdc(directory: &Path) -> Result<()> {
    install_links(directory)?;
    std::fs::write(directory.join("kernel.hip"), kernel("hip"))?;
    llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?;
    let compile = |search: &[&str], output: &str| -> Result<Vec<u8>> {
        // The ID of a compilation depends on its command line.
        let options = ["-x", "hip", "-nogpulib", "-nogpuinc", "--offload-new-driver", "-fuse-cuid=none", "-O2", "-c"];
        let compile = Step::new(directory, Tool::Clang.path()?).args(search).args(options);
        let compile = compile.args(PROCESSORS.map(|processor| format!("--offload-arch={processor}")));
        compile.args(["kernel.hip", "-o", output]).run()?;
        Ok(std::fs::read(directory.join(output))?)
    };
    let (theirs, ours) = (compile(&[], "theirs.o")?, compile(&["-Blinks"], "ours.o")?);
    ensure!(theirs == ours, "theirs.o and ours.o differ");
    let scan = fatbin(directory).args(["scan", "ours.o"]).run()?;
    if scan.stdout.contains("4 device images\n") { Ok(()) } else { Err(scan.error("expected four images")) }
}

/// An archive whose device code contributes nothing is reported. The reference is silent about it.
pub fn unused_archive(directory: &Path) -> Result<()> {
    inputs::compile_hip(directory, &["gfx1100"])?;
    Step::new(directory, Tool::Ar.path()?).args(["rcs", "libother.a", "kernel.o", "helper.o"]).run()?;
    inputs::compile_hip(directory, &["gfx90a"])?;
    let line = ["kernel.o", "helper.o", "libother.a", "--emit-fatbin-only", "-o", "theirs"];
    let theirs = Step::new(directory, llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?).args(line).run()?;
    ensure!(!theirs.report.contains("libother.a:"), "LLVM 22 reports the archive now: {}", theirs.report);
    let link = fatbin(directory).args(["link", "-v", "--", "true", "kernel.o", "helper.o", "libother.a", "-o", "x"]);
    let ours = link.run()?;
    let note = "libother.a: not linked: no object has code for amdgcn-amd-amdhsa gfx1100";
    if ours.report.contains(note) { Ok(()) } else { Err(ours.error(format!("expected: {note}"))) }
}
