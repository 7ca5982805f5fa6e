//! Archives of bundles: taken apart by us and by clang-offload-bundler, and what comes out given to a device linker.
//!
//! The archives are made of everything that tools put into them, in every dialect of `ar`, and what both write must be the
//! same to the byte. There is one exception: the reference puts the symbols of LLVM bitcode into the archive's symbol
//! table, which we do not, because no linker that can read bitcode needs them there. So for what clang compiles the members
//! are compared, and the device code that the linker makes of both archives.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::harness::trial::{completion, fresh_directory};
use crate::linker_wrapper::kernel;

/// What llvm-ar calls a dialect, and its flags for that.
const DIALECTS: [(&str, &[&str]); 4] = [
    ("gnu", &["--format=gnu", "rcD"]),
    ("bsd", &["--format=bsd", "rcD"]),
    ("darwin", &["--format=darwin", "rcD"]),
    ("thin", &["rcDT"]),
];

const HOST: &str = "host-x86_64-unknown-linux-gnu-";

/// Members that are bundles: their file, what the bundler is told beside files and targets, and the processors in it.
const BUNDLES: [(&str, &[&str], &[&str]); 6] = [
    ("binary.bc", &["-type=bc"], &["gfx906", "gfx90a:xnack+"]),
    ("aligned.o", &["-type=bc", "-bundle-align=4096"], &["gfx906"]),
    ("object.o", &["-type=o"], &["gfx90a:xnack+", "gfx906"]),
    ("zstd.o", &["-type=bc", "-compress"], &["gfx906", "gfx908"]),
    ("zlib.with.dots", &["-type=gch", "-compress"], &["gfx90a:xnack+", "gfx90a:xnack-"]),
    ("other-processor.o", &["-type=o"], &["gfx1030"]),
];

/// What is asked for, and with which flag if any; the kinds are not all that of the bundles.
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
    // One is an object, whose symbols go into the archives' tables; the other is of an odd size.
    std::fs::copy(fixture("answer-gfx90a.hsaco")?, directory.join("even"))?;
    std::fs::write(directory.join("odd"), "device code")?;
    std::fs::write(directory.join("notes.txt"), "no bundle")?;
    std::fs::write(directory.join("empty"), "")?;
    let mut members = vec!["host.o", "notes.txt", "empty"];
    for (name, options, processors) in BUNDLES {
        // Darwin's archives fill their members up, and the reference takes that for a part of the compressed bytes.
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
        let told = format!("{ids:?} {flag:?}\nours: {ours:?}\ntheirs: {theirs:?}");
        ensure!(ours.status.success() == theirs.status.success(), "{told}");
        if !theirs.status.success() {
            continue;
        }
        for (index, id) in ids.iter().enumerate() {
            let [ours, theirs] = ["ours", "theirs"].map(|who| format!("{who}-{index}.a"));
            let is_same = if *id == HOST {
                // llvm-objcopy does not restore the host's object to the byte, as we do.
                names(&directory, &ours)? == names(&directory, &theirs)?
            } else {
                std::fs::read(directory.join(ours))? == std::fs::read(directory.join(theirs))?
            };
            ensure!(is_same, "{}: {id} differs, {told}", directory.display());
        }
    }
    Ok(())
}

/// The names of an archive's members, as lines.
fn names(directory: &Path, archive: &str) -> Result<String> {
    Ok(Step::new(directory, Tool::Ar.path()?).args(["t", archive]).run()?.stdout)
}

/// Runs both programs; what they write is called `ours-0.a`, `theirs-0.a` and so on.
fn both(directory: &Path, bundler: &Path, archive: &str, ids: &[&str], flag: Option<&str>) -> Result<(Output, Output)> {
    let mut ours = Command::new(env!("CARGO_BIN_EXE_fatbin"));
    ours.current_dir(directory).arg("unbundle").arg(archive);
    let mut theirs = Command::new(bundler);
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

/// The reference makes no bundle with ids that conflict, so they are written by hand.
fn refuses_what_the_reference_refuses() -> Result<()> {
    let directory = fresh_directory("bundle-archives", "checked")?;
    let bundler = Tool::OffloadBundler.path()?;
    let asked = "hip-amdgcn-amd-amdhsa--gfx906:xnack+";
    let rows: [(&[&str], bool); 6] = [
        (&["hip-amdgcn-amd-amdhsa--gfx906", asked], true),
        (&["hip-amdgcn-amd-amdhsa--gfx906:sramecc+", asked], true),
        (&["hip-amdgcn-amd-amdhsa--gfx906:xnack-", asked], false),
        (&["hip-amdgcn-amd-amdhsa--gfx908", asked], false),
        (&["hipv4-amdgcn-amd-amdhsa--gfx906", asked], false),
        (&[HOST, "openmp-amdgcn-amd-amdhsa--gfx906", asked], false),
    ];
    for (ids, is_refused) in rows {
        let entries: Vec<(&str, &[u8])> = ids.iter().map(|id| (*id, id.as_bytes())).collect();
        let bundle = fatbin::format::bundle::write(&entries, 1).context("a bundle of a few bytes")?;
        std::fs::write(directory.join("m.o"), bundle.to_vec())?;
        Step::new(&directory, Tool::Ar.path()?).args(["rcD", "all.a", "m.o"]).run()?;
        let (ours, theirs) = both(&directory, &bundler, "all.a", &[asked], Some("check-input-archive"))?;
        let told = format!("{ids:?}\nours: {ours:?}\ntheirs: {theirs:?}");
        ensure!([&ours, &theirs].map(|run| run.status.success()) == [!is_refused; 2], "{told}");
        if is_refused {
            ensure!(String::from_utf8_lossy(&theirs.stderr).contains("conflicting TargetIDs ["), "{told}");
        }
        // In what is not checked, all that serves is taken.
        let (ours, theirs) = both(&directory, &bundler, "all.a", &[asked], None)?;
        ensure!(ours.status.success() && theirs.status.success(), "{told}");
        let [ours, theirs] = ["ours", "theirs"].map(|who| std::fs::read(directory.join(format!("{who}-0.a"))));
        ensure!(ours? == theirs?, "{told}");
    }
    Ok(())
}

/// A library of HIP code in two files, of which a kernel in the one calls a function in the other: only a linker that gets
/// both makes a program for the device of it.
fn a_hip_library_is_linked() -> Result<()> {
    let directory = fresh_directory("bundle-archives", "hip-rdc")?;
    let bundler = Tool::OffloadBundler.path()?;
    let (clang, lld) = (Tool::Clang.path()?, llvm_tool("ld.lld", "22", "lld-22")?);
    let device = "__attribute__((device)) int answer()";
    let caller = kernel("hip")
        .replace("*to = 42", "*to = answer()")
        .replace("__global__ void", &format!("{device};\n__global__ void"));
    ensure!(caller.contains("*to = answer()") && caller.contains(device), "the kernel is another one now");
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
        ensure!(symbols.stdout.contains("_Z6kernelPi.kd"), "{}", symbols.error("the kernel is not there"));
    }
    Ok(())
}
