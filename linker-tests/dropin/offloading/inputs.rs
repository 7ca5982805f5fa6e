//! The inputs of the trials.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Assembler text of a section with files, each at a multiple of 4096 as HIP's compiler places them.
fn section(name: &str, flags: &str, files: &[&str]) -> String {
    let contents: String = files.iter().map(|file| format!(".balign 4096\n.incbin \"{file}\"\n")).collect();
    format!(".section {name}, {flags}\n{contents}")
}

const BUNDLES: &str = "\"a\", @progbits";

/// Flags and type of ELF sections with offload binaries.
const BINARIES: &str = "\"e\", @0x6fff4c0b";

/// Copies all inputs into the working directory of a call.
pub fn copy(run: &Path) -> Result<()> {
    // Each pair has a directory in the directory of the trial.
    let trial = run.parent().and_then(Path::parent).context("a directory of the trial")?;
    for entry in fs::read_dir(trial.join("inputs"))? {
        let entry = entry?;
        fs::copy(entry.path(), run.join(entry.file_name()))?;
    }
    Ok(())
}

/// Makes the inputs in `inputs`.
pub fn prepare(directory: &Path) -> Result<()> {
    let inputs = &directory.join("inputs");
    fs::create_dir_all(inputs)?;
    let fixtures = [
        ("answer-gfx90a.hsaco", "answer.hsaco"),
        ("answer-gfx90a-xnack+.hsaco", "xnack.hsaco"),
        ("answer-sm_90.cubin", "answer.cubin"),
    ];
    for (name, copy) in fixtures {
        fs::copy(fixture(name)?, inputs.join(copy))?;
    }
    fs::write(inputs.join("empty"), "")?;
    fs::write(inputs.join("text"), "text\n")?;
    fs::write(inputs.join("response"), "--offloading one.o")?;
    containers(inputs)?;
    objects(inputs)?;
    libraries(inputs)
}

fn containers(inputs: &Path) -> Result<()> {
    for (name, option) in [("bundle", "-bundle-align=4096"), ("compressed", "-compress")] {
        let step = Step::new(inputs, Tool::OffloadBundler.path()?).args(["-type=o", option, "-input=empty"]);
        let step = step.args(["-input=answer.hsaco", "-input=xnack.hsaco", &format!("-output={name}")]);
        let device = "hipv4-amdgcn-amd-amdhsa--gfx90";
        step.arg(format!("-targets=host-x86_64-unknown-linux--,{device}a,{device}8")).run()?;
    }
    let step = Step::new(inputs, Tool::OffloadBinary.path()?).args(["-o", "binary"]);
    let image = |rest: &str| format!("--image=file={rest}");
    step.arg(image("answer.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip"))
        .arg(image("answer.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90,kind=cuda"))
        .arg(image("text,triple=amdgcn-amd-amdhsa,kind=openmp"))
        .run()?;
    Ok(())
}

fn objects(inputs: &Path) -> Result<()> {
    let files = [
        ("one", section(".hip_fatbin", BUNDLES, &["bundle"])),
        ("compressed", section(".hip_fatbin", BUNDLES, &["compressed"])),
        ("twice", section(".hip_fatbin", BUNDLES, &["bundle", "bundle"])),
        ("mixed", section(".hip_fatbin", BUNDLES, &["bundle", "compressed", "bundle"])),
        ("binaries", section(".llvm.offloading", BINARIES, &["binary"])),
        (
            "both",
            section(".llvm.offloading", BINARIES, &["binary"])
                + &section(".rodata.a", BUNDLES, &["bundle"])
                + &section(".rodata.b", BUNDLES, &["text", "bundle"]),
        ),
    ];
    for (name, text) in files {
        fs::write(inputs.join(format!("{name}.s")), text)?;
        let step = Step::new(inputs, Tool::Cc.path()?).args(["-c", "-o", &format!("{name}.o")]);
        step.arg(format!("{name}.s")).run()?;
    }
    fs::copy(inputs.join("one.o"), inputs.join("again.o"))?;
    let step = Step::new(inputs, Tool::Cc.path()?).args(["-shared", "-nostdlib", "-Wl,-soname,libdevice.so.1"]);
    step.args(["-o", "linked.so", "one.o"]).run()?;
    let clang = || -> Result<Step> { Ok(Step::new(inputs, Tool::Clang.path()?).args(["-c", "-o"])) };
    fs::write(inputs.join("source.c"), "int f(void) { return 1; }\n")?;
    clang()?.args(["bitcode.bc", "-emit-llvm", "source.c"]).run()?;
    clang()?.args(["mach.o", "--target=x86_64-apple-macos", "source.c"]).run()?;
    fs::write(inputs.join("coff.s"), ".section .hip_fatbin, \"dr\"\n.balign 16\n.incbin \"bundle\"\n")?;
    clang()?.args(["coff.obj", "--target=x86_64-pc-windows-msvc", "coff.s"]).run()?;
    // The header of a universal binary: one file, for x86-64, at 4096.
    let mach = fs::read(inputs.join("mach.o"))?;
    let numbers = [0xcafe_babe, 1, 0x0100_0007, 3, 4096, mach.len() as u32, 12];
    let mut universal: Vec<u8> = numbers.iter().flat_map(|number: &u32| number.to_be_bytes()).collect();
    universal.resize(4096, 0);
    Ok(fs::write(inputs.join("universal"), [universal, mach].concat())?)
}

fn libraries(inputs: &Path) -> Result<()> {
    let rows: [(&str, &str, &[&str]); 7] = [
        ("rc", "library.a", &["one.o", "text", "binaries.o", "answer.hsaco", "again.o"]),
        ("rc", "bitcode.a", &["bitcode.bc", "answer.hsaco"]),
        ("rc", "bundles.a", &["bundle", "compressed"]),
        ("rc", "empty.a", &[]),
        ("rcT", "thin.a", &["one.o"]),
        ("qc", "members.a", &["one.o", "one.o"]),
        ("rc", "binary.a", &["binary"]),
    ];
    for (flags, name, members) in rows {
        Step::new(inputs, Tool::Ar.path()?).args([flags, name]).args(members).run()?;
    }
    Ok(())
}
