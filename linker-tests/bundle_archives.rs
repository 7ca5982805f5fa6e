//! Archives of bundles, unbundled by fatbin and by clang-offload-bundler, and linked by a device linker.
//!
//! The archives contain everything that tools put into them, in every dialect of `ar`. Both outputs must be equal to the
//! byte, with one exception: the reference adds the symbols of LLVM bitcode to the archive's symbol table, and fatbin does
//! not, because linkers that read bitcode do not need them there. For the output of clang, the members are compared, and the
//! device code that the linker makes of both archives.

use std::path::Path;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::command::command;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::harness::trial::{completion, fresh_directory};
use crate::linker_wrapper::kernel;

/// Dialects of archives, and the flags of llvm-ar for them.
const DIALECTS: [(&str, &[&str]); 4] = [
    ("gnu", &["--format=gnu", "rcD"]),
    ("bsd", &["--format=bsd", "rcD"]),
    ("darwin", &["--format=darwin", "rcD"]),
    ("thin", &["rcDT"]),
];

const HOST: &str = "host-x86_64-unknown-linux-gnu-";

/// Members that are bundles: file name, options of the bundler, and processors.
const BUNDLES: [(&str, &[&str], &[&str]); 6] = [
    ("binary.bc", &["-type=bc"], &["gfx906", "gfx90a:xnack+"]),
    ("aligned.o", &["-type=bc", "-bundle-align=4096"], &["gfx906"]),
    ("object.o", &["-type=o"], &["gfx90a:xnack+", "gfx906"]),
    ("zstd.o", &["-type=bc", "-compress"], &["gfx906", "gfx908"]),
    ("zlib.with.dots", &["-type=gch", "-compress"], &["gfx90a:xnack+", "gfx90a:xnack-"]),
    ("other-processor.o", &["-type=o"], &["gfx1030"]),
];

/// Requested IDs, with a flag. Some kinds do not occur in the bundles.
const REQUESTS: [(&[&str], Option<&str>); 7] = [
    (&["hip-amdgcn-amd-amdhsa--gfx906"], None),
    (&["hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", HOST, "hip-amdgcn-amd-amdhsa--gfx908"], None),
    (&["hip-amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack+"], None),
    (&["openmp-amdgcn-amd-amdhsa--gfx906"], Some("hip-openmp-compatible")),
    (&["openmp-amdgcn-amd-amdhsa--gfx906"], None),
    (&["hip-amdgcn-amd-amdhsa--gfx1100", "hip-amdgcn-amd-amdhsa--gfx1030"], Some("allow-missing")),
    (&["hip-amdgcn-amd-amdhsa--gfx906"], Some("check-input-archive")),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (dialect, flags) in DIALECTS {
        let run = move || completion(equals_the_reference(dialect, flags));
        trials.push(Trial::ignorable_test(format!("bundle-archives/{dialect}"), run));
    }
    trials.push(Trial::ignorable_test("bundle-archives/checked", || completion(refuses_what_the_reference_refuses())));
    trials.push(Trial::ignorable_test("bundle-archives/hip-rdc", || completion(a_hip_library_is_linked())));
    trials
}

fn equals_the_reference(dialect: &str, flags: &[&str]) -> Result<()> {
    let directory = fresh_directory("bundle-archives", dialect)?;
    let bundler = Tool::OffloadBundler.path()?;
    std::fs::write(directory.join("host.c"), "int host(void) { return 0; }")?;
    Step::new(&directory, Tool::Cc.path()?).args(["-c", "host.c", "-o", "host.o"]).run()?;
    // One input is an object, whose symbols are added to the archives' tables; the other has an odd size.
    std::fs::copy(fixture("answer-gfx90a.hsaco")?, directory.join("even"))?;
    std::fs::write(directory.join("odd"), "device code")?;
    std::fs::write(directory.join("notes.txt"), "no bundle")?;
    std::fs::write(directory.join("empty"), "")?;
    let mut members = vec!["host.o", "notes.txt", "empty"];
    for (name, options, processors) in BUNDLES {
        // Darwin's archives pad their members, and the reference treats the padding as compressed bytes.
        if dialect == "darwin" && options.contains(&"-compress") {
            continue;
        }
        let ids = processors.iter().map(|processor| format!("hip-amdgcn-amd-amdhsa--{processor}"));
        let ids: Vec<String> = std::iter::once(HOST.to_owned()).chain(ids).collect();
        let inputs = ["-input=host.o", "-input=even", "-input=odd"];
        let step = Step::new(&directory, &bundler).args(options).arg(format!("-targets={}", ids.join(",")));
        step.args(&inputs[..ids.len()]).arg(format!("-output={name}")).run()?;
        members.push(name);
    }
    Step::new(&directory, Tool::Ar.path()?).args(flags).arg("all.a").args(&members).run()?;
    for (ids, flag) in REQUESTS {
        let (ours, theirs) = both(&directory, &bundler, "all.a", ids, flag)?;
        let context = format!("{ids:?} {flag:?}\nours: {ours:?}\ntheirs: {theirs:?}");
        ensure!(ours.status.success() == theirs.status.success(), "{context}");
        if !theirs.status.success() {
            continue;
        }
        for (index, id) in ids.iter().enumerate() {
            let [ours, theirs] = ["ours", "theirs"].map(|who| format!("{who}-{index}.a"));
            let is_same = if *id == HOST {
                // llvm-objcopy does not recover the host's object to the byte, as fatbin does.
                names(&directory, &ours)? == names(&directory, &theirs)?
            } else {
                std::fs::read(directory.join(ours))? == std::fs::read(directory.join(theirs))?
            };
            ensure!(is_same, "{}: {id} differs, {context}", directory.display());
        }
    }
    Ok(())
}

/// Returns the names of an archive's members, one per line.
fn names(directory: &Path, archive: &str) -> Result<String> {
    Ok(Step::new(directory, Tool::Ar.path()?).args(["t", archive]).run()?.stdout)
}

/// Runs both programs, with the outputs `ours-0.a`, `theirs-0.a` and so on.
fn both(directory: &Path, bundler: &Path, archive: &str, ids: &[&str], flag: Option<&str>) -> Result<(Output, Output)> {
    let mut ours = command(fatbin_program());
    ours.current_dir(directory).arg("unbundle").arg(archive);
    let mut theirs = command(bundler);
    theirs.current_dir(directory).args(["-unbundle", "-type=a"]).arg(format!("-input={archive}"));
    theirs.arg(format!("-targets={}", ids.join(",")));
    for (index, id) in ids.iter().enumerate() {
        ours.arg("--target").arg(format!("{id}=ours-{index}.a"));
        theirs.arg(format!("-output=theirs-{index}.a"));
    }
    if let Some(flag) = flag {
        ours.arg(format!("--{flag}"));
        theirs.arg(format!("-{}", flag.replace("allow-missing", "allow-missing-bundles")));
    }
    Ok((ours.output()?, theirs.output()?))
}

/// Checks archives with conflicting IDs. The reference makes no such bundles, so they are written by hand.
fn refuses_what_the_reference_refuses() -> Result<()> {
    let directory = fresh_directory("bundle-archives", "checked")?;
    let bundler = Tool::OffloadBundler.path()?;
    let requested = "hip-amdgcn-amd-amdhsa--gfx906:xnack+";
    let rows: [(&[&str], bool); 6] = [
        (&["hip-amdgcn-amd-amdhsa--gfx906", requested], true),
        (&["hip-amdgcn-amd-amdhsa--gfx906:sramecc+", requested], true),
        (&["hip-amdgcn-amd-amdhsa--gfx906:xnack-", requested], false),
        (&["hip-amdgcn-amd-amdhsa--gfx908", requested], false),
        (&["hipv4-amdgcn-amd-amdhsa--gfx906", requested], false),
        (&[HOST, "openmp-amdgcn-amd-amdhsa--gfx906", requested], false),
    ];
    for (ids, is_refused) in rows {
        let entries: Vec<(&str, &[u8])> = ids.iter().map(|id| (*id, id.as_bytes())).collect();
        let bundle = fatbin_core::format::bundle::write(&entries, 1).context("a bundle of a few bytes")?;
        std::fs::write(directory.join("m.o"), bundle.to_vec())?;
        Step::new(&directory, Tool::Ar.path()?).args(["rcD", "all.a", "m.o"]).run()?;
        let (ours, theirs) = both(&directory, &bundler, "all.a", &[requested], Some("check-input-archive"))?;
        let context = format!("{ids:?}\nours: {ours:?}\ntheirs: {theirs:?}");
        ensure!([&ours, &theirs].map(|run| run.status.success()) == [!is_refused; 2], "{context}");
        if is_refused {
            ensure!(String::from_utf8_lossy(&theirs.stderr).contains("conflicting TargetIDs ["), "{context}");
        }
        // Without the check, all compatible code is extracted.
        let (ours, theirs) = both(&directory, &bundler, "all.a", &[requested], None)?;
        ensure!(ours.status.success() && theirs.status.success(), "{context}");
        let [ours, theirs] = ["ours", "theirs"].map(|who| std::fs::read(directory.join(format!("{who}-0.a"))));
        ensure!(ours? == theirs?, "{context}");
    }
    Ok(())
}

/// Links a library of HIP code in two files. A kernel in one file calls a function in the other, so the link needs
/// both.
fn a_hip_library_is_linked() -> Result<()> {
    let directory = fresh_directory("bundle-archives", "hip-rdc")?;
    let bundler = Tool::OffloadBundler.path()?;
    let (clang, lld) = (Tool::Clang.path()?, llvm_tool("ld.lld", "22", "lld-22")?);
    let device = "__attribute__((device)) int answer()";
    let caller = kernel("hip")
        .replace("*to = 42", "*to = answer()")
        .replace("__global__ void", &format!("{device};\n__global__ void"));
    ensure!(caller.contains("*to = answer()") && caller.contains(device), "the source of the kernel has changed");
    std::fs::write(directory.join("caller.hip"), caller.replace("int main() { return 0; }", ""))?;
    std::fs::write(directory.join("callee.hip"), format!("{device} {{ return 42; }}"))?;
    let flags = ["-x", "hip", "-fgpu-rdc", "--no-offload-new-driver", "-nogpulib", "-nogpuinc", "-c"];
    for name in ["caller", "callee"] {
        let step =
            Step::new(&directory, &clang).args(flags).args(["--offload-arch=gfx906", "--offload-arch=gfx90a:xnack+"]);
        step.arg(format!("{name}.hip")).arg("-o").arg(format!("{name}.o")).run()?;
    }
    Step::new(&directory, Tool::Ar.path()?).args(["rcD", "library.a", "caller.o", "callee.o"]).run()?;
    let ids = ["hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx90a:xnack+"];
    let (ours, theirs) = both(&directory, &bundler, "library.a", &ids, None)?;
    ensure!(ours.status.success() && theirs.status.success(), "ours: {ours:?}\ntheirs: {theirs:?}");
    for (index, processor) in ["gfx906", "gfx90a"].iter().enumerate() {
        for who in ["ours", "theirs"] {
            let archive = format!("{who}-{index}.a");
            let link = Step::new(&directory, &lld).args(["-shared", "--no-undefined", "--whole-archive", &archive]);
            link.arg(format!("-plugin-opt=mcpu={processor}")).arg("-o").arg(format!("{who}-{index}")).run()?;
        }
        let [ours, theirs] = ["ours", "theirs"].map(|who| names(&directory, &format!("{who}-{index}.a")));
        ensure!(ours? == theirs?, "{}: other members for {processor}", directory.display());
        let [ours, theirs] = ["ours", "theirs"].map(|who| std::fs::read(directory.join(format!("{who}-{index}"))));
        ensure!(ours? == theirs?, "{}: other device code for {processor}", directory.display());
        let symbols = Step::new(&directory, Tool::Objdump.path()?).arg("-T").arg(format!("ours-{index}")).run()?;
        ensure!(symbols.stdout.contains("_Z6kernelPi.kd"), "{}", symbols.error("missing kernel"));
    }
    Ok(())
}
