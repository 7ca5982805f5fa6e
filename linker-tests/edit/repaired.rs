//! `fatbin diff --repaired`, on wheels that auditwheel, repairwheel and delvewheel repair, and on libraries that patchelf,
//! strip and objcopy change. The damages are public reports: kvcache-ai/Mooncake 1571 (patchelf moves the container, and the wrapper
//! keeps its address), pypa/auditwheel 716 (strip after patchelf), NixOS/nixpkgs 434101 (the first, then debug information
//! is separated).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{fatbin, trial};
use crate::harness::command::command;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, fetched, in_path, not_fetched, path_with};

/// Puts the container where patchelf moves it: next to the names of libraries.
const SCRIPT: &str = "SECTIONS { .nv_fatbin : { *(.nv_fatbin) } } INSERT AFTER .note.gnu.build-id;";

/// The runtime's functions, and a call of the library that the wheel lacks.
const EXTENSION: &str = r#"
extern int dependency(void);
int call(void) { return dependency(); }
void **__cudaRegisterFatBinary(void **wrapper) { return wrapper; }
void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) {}
int __cudaRegisterFunction(void) { return 0; }
void __cudaRegisterVar(void) {}
void __cudaRegisterManagedVar(void) {}
void __cudaRegisterSurface(void) {}
void __cudaRegisterTexture(void) {}
"#;

/// Packs the extension, and `RECORD` with the hashes of all files.
const PACK: &str = r#"
import base64, hashlib, sys, zipfile
info = "demo-1.0.dist-info/"
tag = sys.argv[1].removeprefix("demo-1.0-").removesuffix(".whl")
member = "demo/_gpu.pyd" if "win" in tag else "demo/_gpu.so"
files = {"demo/__init__.py": b"", member: open(sys.argv[2], "rb").read()}
files[info + "METADATA"] = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"
files[info + "WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
record = ""
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
        wheel.writestr(name, data)
    wheel.writestr(info + "RECORD", record + info + "RECORD,,\n")
"#;

/// Changes a byte of a member, and keeps `RECORD`.
const CHANGE: &str = r##"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for member in old.infolist():
        new.writestr(member, old.read(member) + (b"#" if member.filename.endswith("__init__.py") else b""))
"##;

/// Name of the wheel before its repair.
const WHEEL: &str = "demo-1.0-cp311-cp311-linux_x86_64.whl";
const WINDOWS_WHEEL: &str = "demo-1.0-cp311-cp311-win_amd64.whl";

pub fn trials() -> Vec<Trial> {
    vec![
        trial("repaired/auditwheel".to_owned(), auditwheel_keeps_or_damages_a_wheel),
        trial("repaired/repairwheel".to_owned(), repairwheel_keeps_a_wheel),
        trial("repaired/delvewheel".to_owned(), delvewheel_keeps_a_wheel),
        trial("repaired/libraries".to_owned(), tools_damage_libraries),
    ]
}

/// The dependency becomes part of the wheel under another name. A wheel whose container patchelf moves fails.
fn auditwheel_keeps_or_damages_a_wheel(directory: &Path) -> Result<()> {
    let patchelf = Tool::Patchelf.path()?;
    let repair = |options: &[&str], output: &str| {
        let patchelf = patchelf.parent().context("a directory")?;
        let step = python(directory)?.env("PATH", path_with(patchelf)?).env("LD_LIBRARY_PATH", directory);
        let step = step.args(["-m", "auditwheel", "repair", "--plat", "auto", "-w", output]).args(options);
        step.arg(WHEEL).run()?;
        only_file(&directory.join(output))
    };
    pack(directory, "library.so", &[])?;
    for (options, output) in [(&[][..], "plain"), (&["--strip"], "stripped")] {
        let report = intact(directory, WHEEL, &repair(options, output)?)?;
        ensure!(report["records"][0]["members"] == 6, "{report:#}");
        ensure!(report["files"][0]["path"] == "demo/_gpu.so" && report["files"].as_array().map(Vec::len) == Some(1));
    }
    let repaired = only_file(&directory.join("plain"))?;
    python(directory)?.args(["-c", CHANGE]).arg(&repaired).arg("changed.whl").run()?;
    damaged(directory, WHEEL, Path::new("changed.whl"), "wheel at 0x", "demo/__init__.py differs from RECORD")?;
    pack(directory, "library.so", &["-Wl,-T,script.t"])?;
    let moved = repair(&[], "moved")?;
    damaged(directory, WHEEL, &moved, "cuda wrapper at 0x", "where no container begins")
}

fn repairwheel_keeps_a_wheel(directory: &Path) -> Result<()> {
    pack(directory, "library.so", &[])?;
    python(directory)?.args(["-m", "repairwheel", "-o", "repaired", "-l", ".", WHEEL]).run()?;
    let report = intact(directory, WHEEL, &only_file(&directory.join("repaired"))?)?;
    ensure!(report["records"][0]["members"] == 6, "{report:#}");
    Ok(())
}

/// The DLL becomes part of the wheel under another name, and the extension imports that name.
fn delvewheel_keeps_a_wheel(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("extension.c"), EXTENSION)?;
    std::fs::write(directory.join("dependency.c"), "__declspec(dllexport) int dependency(void) { return 1; }\n")?;
    let wrap = fatbin(directory).args(["wrap", "--kind", "cuda", "--host", "x86_64-windows-gnu", "-o", "wrapper.o"]);
    wrap.arg(fixture("answer-sm_90.cubin")?).run()?;
    // delvewheel renames imports in place, and refuses symbols behind the sections.
    let cc = || Ok::<_, anyhow::Error>(Step::new(directory, Tool::MingwCc.path()?).args(["-shared", "-s", "-o"]));
    cc()?.args(["dependency.dll", "dependency.c"]).run()?;
    cc()?.args(["gpu.pyd", "extension.c", "wrapper.o", "dependency.dll"]).run()?;
    python(directory)?.args(["-c", PACK, WINDOWS_WHEEL, "gpu.pyd"]).run()?;
    let repair = ["-m", "delvewheel", "repair", "--add-path", ".", "-w", "repaired", WINDOWS_WHEEL];
    python(directory)?.args(repair).run()?;
    let repaired = only_file(&directory.join("repaired"))?;
    ensure!(String::from_utf8_lossy(&std::fs::read(&repaired)?).contains("demo.libs/dependency-"), "no DLL was added");
    let report = intact(directory, WINDOWS_WHEEL, &repaired)?;
    ensure!(report["files"][0]["path"] == "demo/_gpu.pyd" && report["records"][0]["members"] == 7, "{report:#}");
    Ok(())
}

/// strip alone and patchelf alone are harmless. The loader of this system refuses the library that strip makes of
/// patchelf's, and the constructors of a stripped object are gone.
fn tools_damage_libraries(directory: &Path) -> Result<()> {
    let patchelf = Tool::Patchelf.path()?;
    let strip = in_path("strip").ok_or_else(|| Missing::new("strip", "binutils"))?;
    let objcopy = in_path("objcopy").ok_or_else(|| Missing::new("objcopy", "binutils"))?;
    // The damage depends on the layout of the linker.
    Tool::Gold.path()?;
    let run = |program: &Path, arguments: &[&str]| Step::new(directory, program).args(arguments).run().map(drop);
    link(directory, "library.so", &[])?;
    run(&strip, &["-s", "-o", "stripped.so", "library.so"])?;
    let report = intact(directory, "library.so", Path::new("stripped.so"))?;
    ensure!(report["files"][0]["old_path"] == "library.so", "{report:#}");
    let set_rpath = ["--set-rpath", "/some/long/directory"];
    run(&patchelf, &[&set_rpath[..], &["--output", "patched.so", "library.so"]].concat())?;
    intact(directory, "library.so", Path::new("patched.so"))?;
    ensure!(loads(directory, "patched.so")?, "the loader refuses the output of patchelf");

    link(directory, "gold.so", &["-fuse-ld=gold"])?;
    std::fs::copy(directory.join("gold.so"), directory.join("patched.so"))?;
    let long = "/some/long/directory".repeat(200);
    for options in [["--set-rpath", "$ORIGIN"], ["--set-rpath", &long], ["--set-soname", "libgpu-0123abcd.so.1.2.3"]] {
        run(&patchelf, &[&options[..], &["patched.so"]].concat())?;
    }
    run(&strip, &["-s", "-o", "misaligned.so", "patched.so"])?;
    ensure!(!loads(directory, "misaligned.so")?, "the loader accepts the library");
    damaged(directory, "gold.so", Path::new("misaligned.so"), "ELF load segment at 0x", "are not page-aligned")?;

    link(directory, "separate.so", &["-Wl,-T,script.t"])?;
    run(&patchelf, &["--set-rpath", &long, "--output", "moved.so", "separate.so"])?;
    run(&objcopy, &["--only-keep-debug", "moved.so", "moved.debug"])?;
    run(&objcopy, &["--strip-debug", "--add-gnu-debuglink=moved.debug", "moved.so"])?;
    damaged(directory, "separate.so", Path::new("moved.so"), "cuda wrapper at 0x", "where no container begins")?;

    run(&objcopy, &["--remove-section", ".nvFatBinSegment", "library.so", "unregistered.so"])?;
    damaged(directory, "library.so", Path::new("unregistered.so"), "container at 0x", "is no longer registered")?;
    run(&strip, &["-s", "-o", "stripped.o", "wrapper.o"])?;
    damaged(directory, "wrapper.o", Path::new("stripped.o"), "constructors at 0x", "0 of 1 constructors lead to code")
}

fn python(directory: &Path) -> Result<Step> {
    let site = fetched("wheel-repair");
    if !site.is_dir() {
        return Err(not_fetched("wheel-repair").into());
    }
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    Ok(Step::new(directory, python).env("PYTHONPATH", site))
}

/// Links the extension with a wrapper, and a library that it needs.
fn link(directory: &Path, output: &str, flags: &[&str]) -> Result<()> {
    std::fs::write(directory.join("script.t"), SCRIPT)?;
    std::fs::write(directory.join("extension.c"), EXTENSION)?;
    std::fs::write(directory.join("dependency.c"), "int dependency(void) { return 1; }\n")?;
    fatbin(directory).args(["wrap", "--kind", "cuda", "-o", "wrapper.o"]).arg(fixture("answer-sm_90.cubin")?).run()?;
    let cc = || Ok::<_, anyhow::Error>(Step::new(directory, Tool::Cc.path()?).args(["-shared", "-fPIC", "-g"]));
    let name = "libdependency.so.1";
    cc()?.args(["-Wl,-soname,libdependency.so.1", "-o", name, "dependency.c"]).run()?;
    let link = cc()?.args(["-fuse-ld=bfd", "-Wl,--build-id", "-o", output]).args(flags);
    link.args(["extension.c", "wrapper.o", "./libdependency.so.1"]).run().map(drop)
}

fn pack(directory: &Path, library: &str, flags: &[&str]) -> Result<()> {
    link(directory, library, flags)?;
    python(directory)?.args(["-c", PACK, WHEEL, library]).run().map(drop)
}

/// Returns whether the loader of this system accepts a library.
fn loads(directory: &Path, library: &str) -> Result<bool> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let load = ["-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", &format!("./{library}")].map(str::to_owned);
    let output = command(python).args(load).env("LD_LIBRARY_PATH", directory).current_dir(directory).output()?;
    Ok(output.status.success())
}

/// Returns the only file in a directory.
fn only_file(directory: &Path) -> Result<PathBuf> {
    let files = std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    ensure!(files.len() == 1, "{files:?}");
    files.into_iter().next().context("a file")
}

fn compared(directory: &Path, old: &str, new: &Path) -> Result<(Option<i32>, Value)> {
    let mut diff = command(fatbin_program());
    let output = diff.args(["diff", "--repaired", "--json", old]).arg(new).current_dir(directory).output()?;
    let document = serde_json::from_slice(&output.stdout);
    Ok((output.status.code(), document.with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?))
}

fn intact(directory: &Path, old: &str, new: &Path) -> Result<Value> {
    let (status, report) = compared(directory, old, new)?;
    ensure!(status == Some(0) && report["intact"] == true, "{status:?}: {report:#}");
    Ok(report)
}

/// One of the problems has this place and this cause.
fn damaged(directory: &Path, old: &str, new: &Path, place: &str, cause: &str) -> Result<()> {
    let (status, report) = compared(directory, old, new)?;
    let parts = ["files", "records"].into_iter().flat_map(|key| report[key].as_array().cloned().unwrap_or_default());
    let problems = parts.flat_map(|part| part["problems"].as_array().cloned().unwrap_or_default());
    let mut problems = problems.filter_map(|problem| problem.as_str().map(str::to_owned));
    let is_named = problems.any(|problem| problem.starts_with(place) && problem.contains(cause));
    ensure!(status == Some(1) && is_named, "{status:?}: {place} ... {cause}: {report:#}");
    Ok(())
}
