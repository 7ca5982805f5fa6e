//! Embedded files in programs for other machines, for Windows and for macOS.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{Files, check_scan, embed, source, trial};
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::harness::trial::{completion, fresh_directory};
use crate::harness::wine::wine;
use crate::matrix::host::{HOSTS, Host, LinkOutput};
use crate::matrix::macos;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("embed/windows-msvc", |directory| windows_msvc(directory, "x86_64-pc-windows-msvc")),
        trial("embed/windows-msvc-aarch64", |directory| windows_msvc(directory, "aarch64-pc-windows-msvc")),
        trial("embed/windows-gnu", windows_gnu),
        trial("embed/macos-x86_64", |directory| macos(directory, "x86_64-apple-macosx11.0", "x86_64", "x86_64")),
        trial("embed/macos-aarch64", |directory| macos(directory, "arm64-apple-macosx11.0", "arm64", "aarch64")),
    ];
    // Programs for LoongArch have no C library here.
    for host in HOSTS.iter().filter(|host| host.has_libc()) {
        let run = || linux(&fresh_directory("embed/hosts", host.name)?, host);
        trials.push(Trial::ignorable_test(format!("embed/hosts/{}", host.name), move || completion(run())));
    }
    trials
}

/// A program for another machine checks the files in an emulator.
fn linux(directory: &Path, host: &Host) -> Result<()> {
    let files = Files::write(directory)?;
    embed(directory, host.triple, "files.o", &[])?;
    let step = host.compiler(directory)?.args(["-I.", "-DFREESTANDING"]).args(files.macros());
    step.arg(source()).args(["-o", "check.o"]).run()?;
    let step = host.link(Linker::Lld, directory, LinkOutput::Static)?.args(["--gc-sections", "-s", "-o", "program"]);
    host.end_of_link(step.args(["check.o", "files.o"]), LinkOutput::Static)?.run()?;
    host.run(directory, &directory.join("program"))?.run()?;
    ensure!(!files.has_unused(&directory.join("program"))?, "an unused file was kept");
    check_scan(directory, "program", &["--fast"], &[("kernel", &files.kernel), ("text", &files.text)])
}

/// Compiles `check.c` for a system to `check.o`.
fn compile(directory: &Path, files: &Files, triple: &str, system: &str) -> Result<()> {
    let step = Step::new(directory, Tool::Clang.path()?).arg(format!("--target={triple}")).arg(format!("-D{system}"));
    let step = step.args(["-ffreestanding", "-fno-stack-protector", "-O1", "-Wall", "-Wextra", "-Werror", "-I."]);
    step.args(files.macros()).arg("-c").arg(source()).args(["-o", "check.o"]).run()?;
    Ok(())
}

fn windows_msvc(directory: &Path, triple: &str) -> Result<()> {
    let files = Files::write(directory)?;
    for (program, options, is_kept) in [("dropped.exe", &[][..], false), ("kept.exe", &["--retain"], true)] {
        embed(directory, triple, "files.o", options)?;
        compile(directory, &files, triple, "WINDOWS")?;
        let step = Step::new(directory, Tool::LldLink.path()?).args(["/entry:mainCRTStartup", "/subsystem:console"]);
        step.args(["/opt:ref", "/opt:icf"]).arg(format!("/out:{program}")).args(["check.o", "files.o"]).run()?;
        ensure!(files.has_unused(&directory.join(program))? == is_kept, "{program}: the unused file");
        // The program has no symbols.
        check_scan(directory, program, &[], &[("kernel", &files.kernel), ("text", &files.text)])?;
        if triple.starts_with("x86_64") {
            runs_under_wine(directory, program)?;
        }
    }
    Ok(())
}

fn windows_gnu(directory: &Path) -> Result<()> {
    let triple = "x86_64-w64-windows-gnu";
    let files = Files::write(directory)?;
    embed(directory, triple, "files.o", &[])?;
    let step = Step::new(directory, Tool::MingwCc.path()?).args(["-O1", "-Wall", "-Werror", "-I.", "-DFREESTANDING"]);
    step.args(files.macros()).arg("-c").arg(source()).args(["-o", "check.o"]).run()?;
    for (linker, flags) in [("bfd", vec![]), ("lld", Linker::Lld.cc_flags()?)] {
        let program = format!("{linker}.exe");
        let step = Step::new(directory, Tool::MingwCc.path()?).args(flags).args(["-Wl,--gc-sections", "-s"]);
        step.args(["check.o", "files.o", "-o", &program]).run()?;
        ensure!(!files.has_unused(&directory.join(&program))?, "{program}: an unused file was kept");
        check_scan(directory, &program, &[], &[("kernel", &files.kernel), ("text", &files.text)])?;
        runs_under_wine(directory, &program)?;
    }
    Ok(())
}

fn runs_under_wine(directory: &Path, program: &str) -> Result<()> {
    let run = wine(directory, &directory.join(program), &[])?;
    ensure!(run.status.success(), "{program}: {run:?}");
    Ok(())
}

fn macos(directory: &Path, triple: &str, architecture: &str, machine: &str) -> Result<()> {
    let files = Files::write(directory)?;
    let runtime = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("linker-tests/matrix/macos.c");
    let step = Step::new(directory, Tool::Clang.path()?).arg(format!("--target={triple}"));
    step.args(["-ffreestanding", "-fno-stack-protector", "-O1", "-c"]).arg(runtime).args(["-o", "runtime.o"]).run()?;
    std::fs::write(directory.join("libSystem.tbd"), macos::LIBRARY)?;
    let linux = HOSTS.iter().find(|host| host.name == machine).context("Linux on the machine")?;
    for (program, options, is_kept) in [("dropped", &[][..], false), ("kept", &["--retain"], true)] {
        embed(directory, triple, "files.o", options)?;
        compile(directory, &files, triple, "MACOS")?;
        let step = Step::new(directory, Tool::Ld64Lld.path()?).args(["-arch", architecture, "-dead_strip"]);
        let step = step.args(["-platform_version", "macos", "11.0", "11.0", "-e", "_start", "-no_fixup_chains"]);
        step.args(["-o", program, "check.o", "runtime.o", "files.o", "libSystem.tbd"]).run()?;
        ensure!(files.has_unused(&directory.join(program))? == is_kept, "{program}: the unused file");
        check_scan(directory, program, &[], &[("kernel", &files.kernel), ("text", &files.text)])?;
        linux.run(directory, &macos::loader(linux, directory)?)?.arg(program).run()?;
    }
    Ok(())
}
