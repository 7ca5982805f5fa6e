//! Files whose sections patchelf has moved, judged by the loader: what the runtime is passed at the start, and segments
//! that are refused.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{fatbin, trial};
use crate::harness::command::command;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// A runtime that reports whether what it is passed is a container, and the program that loads a library.
const RUNTIME: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
void **__RUNTIMERegisterFatBinary(void **wrapper) {
    puts(wrapper[1] && !memcmp(wrapper[1], "MAGIC", 4) ? "container" : "no container");
    return wrapper;
}
void __RUNTIMERegisterFatBinaryEnd(void **handle) {}
void __RUNTIMEUnregisterFatBinary(void **handle) {}
int __RUNTIMERegisterFunction(void) { return 0; }
void __RUNTIMERegisterVar(void) {}
void __RUNTIMERegisterManagedVar(void) {}
void __RUNTIMERegisterSurface(void) {}
void __RUNTIMERegisterTexture(void) {}
"#;

/// A program that loads the library that it is passed.
const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
    if (count > 1 && !dlopen(arguments[1], RTLD_NOW)) {
        puts(dlerror());
        return 1;
    }
    return 0;
}
"#;

/// A wrapper that leads to a place in its container, and the constructor that registers it.
const BESIDE: &str = r#"
__asm__(".section SECTION,\"a\"; .p2align 3; code: .incbin \"packed\"; .previous");
extern char code[] __attribute__((visibility("hidden")));
struct wrapper { unsigned magic, version; void *container, *unused; };
__attribute__((section("WRAPPERS"))) struct wrapper wrapper = {WORD, 1, code + 64, 0};
extern void *__RUNTIMERegisterFatBinary(void *);
__attribute__((constructor)) static void start(void) { __RUNTIMERegisterFatBinary(&wrapper); }
"#;

/// Puts the containers where patchelf moves them: next to the names of libraries.
const SCRIPT: &str = "SECTIONS { .nv_fatbin : { *(.nv_fatbin) } } INSERT AFTER .note.gnu.build-id;";

/// Offload kind, name of the runtime's functions, start of a container, sections, start of a wrapper, image and a
/// device for it.
struct Registered {
    kind: &'static str,
    runtime: &'static str,
    magic: &'static str,
    section: &'static str,
    wrappers: &'static str,
    word: &'static str,
    image: &'static str,
    device: &'static str,
}

const CUDA: Registered = Registered {
    kind: "cuda",
    runtime: "cuda",
    magic: r"\x50\xed\x55\xba",
    section: ".nv_fatbin",
    wrappers: ".nvFatBinSegment",
    word: "0x466243b1",
    image: "answer-sm_90.cubin",
    device: "sm_90",
};

const HIP: Registered = Registered {
    kind: "hip",
    runtime: "hip",
    magic: "__CL",
    section: ".hip_fatbin",
    wrappers: ".hipFatBinSegment",
    word: "0x48495046",
    image: "answer-gfx90a.hsaco",
    device: "gfx90a",
};

/// Forms of files: name and flags.
const FORMS: [(&str, &[&str]); 7] = [
    ("library", &["-shared", "-fPIC"]),
    ("library-relr", &["-shared", "-fPIC", "-Wl,-z,pack-relative-relocs"]),
    ("library-bound", &["-shared", "-fPIC", "-Wl,-z,relro,-z,now"]),
    ("pie", &["-pie", "-fPIE"]),
    ("pie-relr", &["-pie", "-fPIE", "-Wl,-z,pack-relative-relocs"]),
    ("fixed", &["-no-pie"]),
    ("static-pie", &["-static-pie", "-fPIE"]),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for registered in [&CUDA, &HIP] {
        for (name, flags) in FORMS {
            let test = move |directory: &Path| the_runtime_decides(directory, registered, flags);
            trials.push(trial(format!("moved/{}/{name}", registered.kind), test));
        }
    }
    trials.push(trial("moved/patchelf".to_owned(), patchelf_moves_a_container));
    trials.push(trial("moved/segments".to_owned(), segments_load_or_not));
    trials
}

/// `verify` passes, and `select` finds the image, if the runtime is passed a container at the start of the program.
fn the_runtime_decides(directory: &Path, registered: &Registered, flags: &[&str]) -> Result<()> {
    let is_library = prepare(directory, registered, flags)?;
    let image = fixture(registered.image)?;
    let step = fatbin(directory);
    let step = if registered.kind == "cuda" {
        step.args(["pack", "--kind", "cuda", "-o", "packed"]).arg(image)
    } else {
        std::fs::write(directory.join("nothing"), "")?;
        let step = step.args([
            "bundle",
            "--raw",
            "--type",
            "o",
            "-o",
            "packed",
            "--target",
            "host-x86_64-unknown-linux-gnu=nothing",
        ]);
        step.arg("--target").arg(format!("hipv4-amdgcn-amd-amdhsa--gfx90a={}", image.display()))
    };
    step.run()?;
    let beside = BESIDE.replace("RUNTIME", registered.runtime).replace("WRAPPERS", registered.wrappers);
    std::fs::write(
        directory.join("beside.c"),
        beside.replace("SECTION", registered.section).replace("WORD", registered.word),
    )?;
    link(directory, flags, "beside.c", "beside")?;
    link(directory, flags, "wrapper.o", "linked")?;
    ensure!(judged(directory, "linked", registered, is_library)?, "the runtime is passed no container");
    ensure!(!judged(directory, "beside", registered, is_library)?, "the runtime is passed a container");
    Ok(())
}

/// patchelf moves a container next to the names that grow, and the wrapper keeps its address.
fn patchelf_moves_a_container(directory: &Path) -> Result<()> {
    let patchelf = Tool::Patchelf.path()?;
    std::fs::write(directory.join("script.t"), SCRIPT)?;
    for flags in [&["-shared", "-fPIC"][..], &["-shared", "-fPIC", "-Wl,-z,pack-relative-relocs"]] {
        prepare(directory, &CUDA, flags)?;
        let flags = [flags, &["-Wl,-T,script.t", "-Wl,--build-id"]].concat();
        link(directory, &flags, "wrapper.o", "linked")?;
        ensure!(judged(directory, "linked", &CUDA, true)?, "the runtime is passed no container");
        std::fs::copy(directory.join("linked"), directory.join("moved"))?;
        let long = "/some/long/directory".repeat(200);
        Step::new(directory, &patchelf).args(["--set-rpath", &long, "moved"]).run()?;
        ensure!(!judged(directory, "moved", &CUDA, true)?, "patchelf has not moved the container");
    }
    Ok(())
}

/// Writes the runtime, the loader and the wrapper. Returns whether the form is a library.
fn prepare(directory: &Path, registered: &Registered, flags: &[&str]) -> Result<bool> {
    let runtime = RUNTIME.replace("RUNTIME", registered.runtime).replace("MAGIC", registered.magic);
    let is_library = flags.contains(&"-shared");
    let main = if is_library { "" } else { LOADER };
    std::fs::write(directory.join("runtime.c"), runtime + main)?;
    std::fs::write(directory.join("loader.c"), LOADER)?;
    Step::new(directory, Tool::Cc.path()?).args(["-o", "loader", "loader.c", "-ldl"]).run()?;
    let image = fixture(registered.image)?;
    fatbin(directory).args(["wrap", "--kind", registered.kind, "-o", "wrapper.o"]).arg(image).run()?;
    Ok(is_library)
}

fn link(directory: &Path, flags: &[&str], wrapper: &str, output: &str) -> Result<()> {
    let link = Step::new(directory, Tool::Cc.path()?).args(flags).args(["-fuse-ld=bfd", "-o", output]);
    link.args(["runtime.c", wrapper, "-ldl"]).run().map(drop)
}

/// Returns whether the runtime is passed a container. `verify` and `select` must agree.
fn judged(directory: &Path, name: &str, registered: &Registered, is_library: bool) -> Result<bool> {
    let path = format!("./{name}");
    let run = if is_library {
        Step::new(directory, directory.join("loader")).arg(&path).run()?
    } else {
        Step::new(directory, directory.join(&path)).run()?
    };
    let is_passed = run.stdout.starts_with("container\n");
    ensure!(is_passed || run.stdout.starts_with("no container\n"), "{}", run.error("nothing is registered"));
    let status = |arguments: &[&str]| -> Result<(i32, String)> {
        let output = command(fatbin_program()).args(arguments).arg(name).current_dir(directory).output()?;
        let text = [output.stdout, output.stderr].concat();
        Ok((output.status.code().context("a status")?, String::from_utf8_lossy(&text).into_owned()))
    };
    let (verified, report) = status(&["verify"])?;
    ensure!(verified == if is_passed { 0 } else { 2 }, "verify exits with {verified}\n{report}{}", run.report);
    let place = format!("{} wrapper at 0x", registered.kind);
    ensure!(is_passed || report.contains(&place), "no place\n{report}");
    let (selected, report) = status(&["select", "--device", registered.device])?;
    ensure!(selected == i32::from(!is_passed), "select exits with {selected}\n{report}{}", run.report);
    Ok(is_passed)
}

/// Changes of the offset and the alignment of a segment, judged by the loader of this system. `verify` accepts what it
/// maps, and reports what it refuses. Where the loader only compares offsets within a page, older ones compare all of
/// the alignment.
fn segments_load_or_not(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("runtime.c"), RUNTIME.replace("RUNTIME", "cuda").replace("MAGIC", CUDA.magic))?;
    std::fs::write(directory.join("loader.c"), LOADER)?;
    let cc = || Ok::<_, anyhow::Error>(Step::new(directory, Tool::Cc.path()?));
    cc()?.args(["-o", "loader", "loader.c", "-ldl"]).run()?;
    fatbin(directory).args(["wrap", "--kind", "cuda", "-o", "wrapper.o"]).arg(fixture(CUDA.image)?).run()?;
    let link = cc()?.args(["-shared", "-fPIC", "-Wl,-z,max-page-size=0x1000", "-o", "good", "runtime.c", "wrapper.o"]);
    link.run()?;
    let good = std::fs::read(directory.join("good"))?;
    let number = |at: usize| good.get(at..at + 8).and_then(|it| it.try_into().ok()).map(u64::from_le_bytes);
    let headers = number(32).context("an ELF header")? as usize;
    // The last load segment holds the data.
    let is_load = |at: &usize| good.get(*at..*at + 4) == Some(&[1, 0, 0, 0]);
    let segment = (0..16).map(|index| headers + 56 * index).rfind(is_load).context("a segment")?;
    let offset = number(segment + 8).context("an offset")?;
    let cases =
        [(0, 0x1000, true), (0, 0x3000, true), (16, 0x1000, false), (0x800, 0x1000, false), (0x800, 0x4000, false)];
    for (step, alignment, is_mapped) in cases {
        let mut bytes = good.clone();
        bytes[segment + 8..segment + 16].copy_from_slice(&(offset - step).to_le_bytes());
        bytes[segment + 48..segment + 56].copy_from_slice(&u64::to_le_bytes(alignment));
        std::fs::write(directory.join("changed"), &bytes)?;
        let loaded = command(directory.join("loader")).arg("./changed").current_dir(directory).output()?;
        let text = String::from_utf8_lossy(&loaded.stdout).into_owned();
        ensure!(loaded.status.success() == is_mapped, "{step:#x} {alignment:#x}: {}: {text}", loaded.status);
        let verify = command(fatbin_program()).args(["verify", "changed"]).current_dir(directory).output()?;
        let report = String::from_utf8_lossy(&verify.stderr).into_owned();
        ensure!(verify.status.success() == is_mapped, "{step:#x} {alignment:#x}: verify: {report}; loader: {text}");
        let place = format!("ELF load segment at {:#x}: segment ", offset - step);
        ensure!(is_mapped || report.contains(&place), "no place: {report}");
    }
    Ok(())
}
