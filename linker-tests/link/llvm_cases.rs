//! The cases of LLVM's own tests for clang-linker-wrapper, which both programs run.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSection};

use super::tables;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

const HOST: &str = "--host-triple=x86_64-unknown-linux-gnu";

/// Option of clang for objects of Windows.
const WINDOWS: [&str; 1] = ["--target=x86_64-unknown-windows-msvc"];

/// Creates the inputs of `llvm-cases.txt`, runs each case with both programs, and compares what they print.
pub fn commands(directory: &Path) -> Result<()> {
    let programs = tables::programs(directory)?;
    compile(directory, &[], "elf.o")?;
    // An output of an earlier link is not read.
    std::fs::write(directory.join("a.out"), "output")?;
    let mut compared = 0;
    for line in include_str!("llvm-cases.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some((name, images)) = line.split_once(" = ").or(line.split_once(" =")) {
            create(directory, name.trim(), images)?;
            continue;
        }
        let (name, words) = line.split_once(" : ").with_context(|| format!("{line}: expected NAME : LINE"))?;
        tables::compare(directory, &programs, &format!("--dry-run {HOST} {words}"))
            .with_context(|| name.trim().to_owned())?;
        compared += 1;
    }
    ensure!(compared >= 25, "only {compared} cases");
    Ok(())
}

/// Creates an input with images: a host object, host bitcode, an archive of an object, or an offload binary.
fn create(directory: &Path, name: &str, images: &str) -> Result<()> {
    let packed = if name.ends_with(".out") { name.to_owned() } else { format!("{name}.packed") };
    let images: Vec<&str> = images.split(',').map(str::trim).filter(|image| !image.is_empty()).collect();
    let mut pack = Step::new(directory, Tool::OffloadBinary.path()?).args(["-o", &packed]);
    for image in &images {
        let mut words = image.split(' ');
        let (kind, triple) = (words.next().unwrap_or_default(), words.next().context("a triple")?);
        let arch = words.next().map_or(String::new(), |arch| format!(",arch={arch}"));
        pack = pack.arg(format!("--image=file=elf.o,kind={kind},triple={triple}{arch}"));
    }
    if !images.is_empty() {
        pack.run()?;
    }
    let embed = format!("-fembed-offload-object={packed}");
    let embed = if images.is_empty() { vec![] } else { vec!["-Xclang", embed.as_str()] };
    match name.split_once('.').map(|(_, extension)| extension) {
        Some("obj") => compile(directory, &[&embed[..], &WINDOWS].concat(), name),
        Some("o") => compile(directory, &embed, name),
        Some("bc.o") => compile(directory, &[&embed[..], &["-emit-llvm"]].concat(), name),
        Some(extension @ ("a" | "lib")) => {
            let target = if extension == "lib" { &WINDOWS[..] } else { &[] };
            compile(directory, &[&embed[..], target].concat(), "member.o")?;
            Step::new(directory, Tool::Ar.path()?).args(["rcs", name, "member.o"]).run().map(drop)
        }
        Some("out") => Ok(()),
        _ => bail!("{name}: unknown kind of input"),
    }
}

fn compile(directory: &Path, options: &[&str], output: &str) -> Result<()> {
    // An externally visible variable. It makes linkers extract members of archives.
    std::fs::write(directory.join("host.c"), "__attribute__((visibility(\"protected\"), used)) int x;\n")?;
    let compile = Step::new(directory, Tool::Clang.path()?).args(["--target=x86_64-unknown-linux-gnu", "-c"]);
    compile.args(options).args(["host.c", "-o", output]).run().map(drop)
}

/// The LLVM IR that both programs print makes objects with the same sections, as LLVM's test linker-wrapper-image.c
/// expects them.
pub fn wrapped_modules(directory: &Path) -> Result<()> {
    let programs = tables::programs(directory)?;
    compile(directory, &[], "elf.o")?;
    for (kind, target) in [
        ("openmp", "nvptx64-nvidia-cuda sm_70"),
        ("cuda", "nvptx64-nvidia-cuda sm_70"),
        ("hip", "amdgcn-amd-amdhsa gfx908"),
    ] {
        create(directory, "input.o", &format!("{kind} {target}"))?;
        for relocatable in ["", "-r"] {
            let line =
                format!("--dry-run --print-wrapped-module {HOST} --linker-path=ld {relocatable} input.o -o a.out");
            let mut sections = Vec::new();
            for (program, name) in programs.iter().zip(["theirs", "ours"]) {
                let line: Vec<&str> = line.split_whitespace().collect();
                let output = tables::run(directory, program, &line.join(" "))?;
                let text = String::from_utf8_lossy(&output.stderr);
                // Commands begin with a blank.
                let ir: String =
                    text.lines().filter(|line| !line.starts_with(" \"")).map(|line| format!("{line}\n")).collect();
                let (source, object) = (format!("{name}.ll"), format!("{name}.o"));
                std::fs::write(directory.join(&source), ir)?;
                Step::new(directory, Tool::Clang.path()?).args(["-c", &source, "-o", &object]).run()?;
                sections.push(data_sections(&std::fs::read(directory.join(object))?)?);
            }
            ensure!(sections[0] == sections[1], "{kind} {relocatable}: {sections:#?}");
            ensure!(sections[0].len() >= 3, "{kind} {relocatable}: {sections:#?}");
        }
    }
    Ok(())
}

/// Returns name and flags of the sections with data, sorted. Compilers put tables of jumps into `.rodata`.
fn data_sections(bytes: &[u8]) -> Result<Vec<String>> {
    let file = object::File::parse(bytes)?;
    let is_data = |name: &str| {
        ![".rela", ".rodata", ".text", ".eh_frame", ".strtab", ".symtab", ".note", ".comment", ".llvm_addrsig"]
            .iter()
            .any(|it| name.starts_with(it))
    };
    let mut sections = Vec::new();
    for section in file.sections().filter(|section| section.name().is_ok_and(is_data)) {
        sections.push(format!("{} {:?}", section.name()?, section.flags()));
    }
    sections.sort();
    Ok(sections)
}

/// Expectations of LLVM's test linker-wrapper-verbose.c on the main branch: images, further words, and the commands in
/// their order. Each command is a list of fragments in their order.
const VERBOSE: [(&str, &str, &[&[&str]]); 5] = [
    (
        "openmp nvptx64-nvidia-cuda sm_70, openmp amdgcn-amd-amdhsa gfx90a",
        "input.o",
        &[
            &[
                "llvm-offload-binary",
                "input.o --image=kind=openmp,triple=nvptx64-nvidia-cuda,arch=sm_70,file=",
                ".o --image=kind=openmp,triple=amdgcn-amd-amdhsa,arch=gfx90a,file=",
            ],
            &["clang", "--target=nvptx64-nvidia-cuda -march=sm_70"],
            &["clang", "--target=amdgcn-amd-amdhsa -mcpu=gfx90a"],
            &[
                "llvm-offload-binary",
                "-o",
                ".offload --image=file=",
                ".img,kind=openmp,triple=nvptx64-nvidia-cuda,arch=sm_70",
            ],
            &[
                "llvm-offload-binary",
                "-o",
                ".offload --image=file=",
                ".img,kind=openmp,triple=amdgcn-amd-amdhsa,arch=gfx90a",
            ],
            &[
                "llvm-offload-wrapper",
                "--kind=openmp --triple=x86_64-unknown-linux-gnu -o",
                ".bc",
                ".offload",
                ".offload",
            ],
            &[
                "clang",
                "--no-default-config --target=x86_64-unknown-linux-gnu -c -fPIC -o",
                ".openmp.image.wrapper.o",
                ".bc",
            ],
        ],
    ),
    (
        "openmp nvptx64-nvidia-cuda sm_70",
        "-r input.o",
        &[&[
            "llvm-offload-wrapper",
            "--kind=openmp --triple=x86_64-unknown-linux-gnu -o",
            ".bc --relocatable",
            ".offload",
        ]],
    ),
    (
        "cuda nvptx64-nvidia-cuda sm_70, cuda nvptx64-nvidia-cuda sm_52",
        "input.o",
        &[
            &["fatbinary", "--create", ".fatbin", "--image3=kind=elf,sm=70", "--image3=kind=elf,sm=52"],
            &["llvm-offload-wrapper", "--kind=cuda --triple=x86_64-unknown-linux-gnu -o", ".bc", ".fatbin"],
            &["clang", "-c -fPIC -o", ".cuda.image.wrapper.o", ".bc"],
        ],
    ),
    (
        "hip amdgcn-amd-amdhsa gfx90a, hip amdgcn-amd-amdhsa gfx908",
        "input.o",
        &[
            &[
                "clang-offload-bundler",
                "hip-amdgcn-amd-amdhsa--gfx90a,hip-amdgcn-amd-amdhsa--gfx908",
                "-output=",
                ".hipfb",
            ],
            &["llvm-offload-wrapper", "--kind=hip --triple=x86_64-unknown-linux-gnu -o", ".bc", ".hipfb"],
        ],
    ),
    (
        "openmp nvptx64-nvidia-cuda sm_70",
        "--should-extract=sm_70 input.a",
        &[&[
            "llvm-offload-binary",
            "input.a --image=kind=openmp,triple=nvptx64-nvidia-cuda,arch=sm_70,member=member.o,file=",
        ]],
    ),
];

/// The printed commands of the main branch include all that is needed to link again. It is not packaged: fatbin's
/// commands are compared with LLVM's test.
pub fn verbose(directory: &Path) -> Result<()> {
    super::fatbin(directory).args(["install-links", "--llvm", "24", "links"]).run()?;
    compile(directory, &[], "elf.o")?;
    let program = directory.join("links/clang-linker-wrapper").display().to_string();
    for (images, words, commands) in VERBOSE {
        let input = words.split(' ').next_back().context("an input")?;
        create(directory, input, images)?;
        let line =
            format!("{HOST} --wrapper-verbose --save-temps --dry-run --linker-path=/usr/bin/ld {words} -o a.out");
        let output = tables::run(directory, &program, &line)?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{line}\n{text}");
        let mut lines = text.lines();
        for fragments in commands {
            let has_all = |line: &str| {
                let mut rest = line;
                fragments.iter().all(|fragment| {
                    let after = rest.split_once(fragment).map(|(_, after)| after);
                    rest = after.unwrap_or_default();
                    after.is_some()
                })
            };
            ensure!(lines.any(has_all), "{line}: expected {fragments:?}\n{text}");
        }
    }
    Ok(())
}
