//! `fatbin link` with objects of several releases of clang: a recording runtime counts what is registered.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::fatbin;
use super::inputs::{self, RDC};
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Tool, llvm_tool};
use crate::runtimes::{directories_of, openmp_library};

/// Releases of clang, and the sizes of their entries.
const RELEASES: [(&str, usize); 4] = [("15", 32), ("16", 32), ("19", 32), ("22", 56)];

/// A HIP kernel and an OpenMP region, named after the release.
const KERNEL: &str = "\
struct dim3 { unsigned x, y, z; };
extern \"C\" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern \"C\" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);
extern \"C\" __attribute__((global)) void NAME(float *p) { p[0] = 2; }
extern \"C\" void NEED(void) {}
";
const REGION: &str = "\
void NAME(void) {
    int s = 0;
#pragma omp target map(tofrom : s)
    s = 42;
}
";

/// Prints the HIP kernels that are registered, and the sizes of OpenMP's tables.
const RUNTIME: &str = "\
#include <stdio.h>
int hipLaunchKernel() { return 0; }
int __hipPopCallConfiguration() { return 0; }
void *__hipRegisterFatBinary(void *p) { return p; }
void __hipUnregisterFatBinary(void *p) {}
void __hipRegisterFunction(void *h, void *f, void *d, char *n) { printf(\"%s\\n\", n); }
void __hipRegisterVar() {}
void __hipRegisterManagedVar() {}
void __hipRegisterSurface() {}
void __hipRegisterTexture() {}
struct descriptor { int n; void *images; char *begin, *end; };
void __tgt_register_lib(struct descriptor *d) { printf(\"%d images, %ld bytes\\n\", d->n, (long)(d->end - d->begin)); }
void __tgt_unregister_lib(void *d) {}
void __tgt_register_requires(long x) {}
int __tgt_target_mapper() { return 1; }
int __tgt_target_kernel() { return 1; }
int __kmpc_global_thread_num() { return 0; }
";

/// Device code that every ld.lld links with the others': the default version differs.
const CODE_OBJECT: &str = "-mcode-object-version=5";

/// Compiles an object of each kind by each release, with further options of clang, as `KIND-RELEASE-NAME.o`.
fn compile(directory: &Path, name: &str, options: &[&str]) -> Result<()> {
    for (release, _) in RELEASES {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let compile = |kind: &str, source: &str, words: &[&str]| -> Result<()> {
            let compile = Step::new(directory, &clang)
                .args(words)
                .args(options)
                .args([format!("-DNAME=k{release}"), format!("-DNEED=need_k{release}")]);
            compile.args(["-O1", "-fPIE", "-c", source, "-o", &format!("{kind}-{release}-{name}.o")]).run().map(drop)
        };
        let version = if release == "15" { "-mcode-object-version=4" } else { CODE_OBJECT };
        compile("hip", "kernel.hip", &[&RDC[..], &["--offload-arch=gfx906", version]].concat())?;
        compile("openmp", "region.c", &["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"])?;
    }
    Ok(())
}

fn prepare(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("kernel.hip"), KERNEL)?;
    std::fs::write(directory.join("region.c"), REGION)?;
    std::fs::write(directory.join("runtime.c"), RUNTIME)?;
    std::fs::write(directory.join("main.c"), "int main(void) { return 0; }\n")?;
    Step::new(directory, Tool::Cc.path()?).args(["-w", "-fPIE", "-c", "runtime.c", "main.c"]).run()?;
    compile(directory, "plain", &[])
}

/// Links with `fatbin link`, and returns the lines that the program prints.
fn registered(directory: &Path, words: &[&str]) -> Result<BTreeSet<String>> {
    let link =
        fatbin(directory).args(["link", "--"]).args(words).args(["runtime.o", "main.o", "-o", "program"]).run()?;
    let done = Step::new(directory, directory.join("program")).run()?;
    let verify = fatbin(directory).args(["verify", "program"]).run()?;
    ensure!(verify.stdout.contains("intact"), "{}", link.error(verify.stdout.clone()));
    std::fs::remove_file(directory.join("program"))?;
    Ok(done.stdout.lines().map(str::to_owned).collect())
}

fn expect(found: BTreeSet<String>, expected: &[String], what: &str) -> Result<()> {
    ensure!(found.iter().eq(expected.iter().collect::<BTreeSet<_>>()), "{what}: {found:?}, expected {expected:?}");
    Ok(())
}

/// Every linker, with and without `--gc-sections`, keeps and registers the entries of an object of each release. So it is
/// for bitcode of the host.
pub fn single(directory: &Path) -> Result<()> {
    prepare(directory)?;
    compile(directory, "lto", &["-flto"])?;
    let clang = Tool::Clang.path()?;
    let clang = clang.to_str().context("the path is text")?;
    let cc = Tool::Cc.path()?;
    let cc = cc.to_str().context("the path is text")?;
    let mut links = 0;
    for (release, size) in RELEASES {
        let mut lines = vec![vec![cc], vec![clang, "-fuse-ld=lld"]];
        for linker in ["gold", "mold"] {
            lines.push(vec![cc, if linker == "gold" { "-fuse-ld=gold" } else { "-fuse-ld=mold" }]);
        }
        for line in &lines {
            for (name, gc) in [("plain", ""), ("plain", "-Wl,--gc-sections"), ("lto", ""), ("lto", "-Wl,--gc-sections")]
            {
                // GNU's linkers do not read bitcode of clang without its plugin.
                if name == "lto" && line[0] == cc {
                    continue;
                }
                let (hip, openmp) = (format!("hip-{release}-{name}.o"), format!("openmp-{release}-{name}.o"));
                let words = |object| -> Vec<&str> {
                    line.iter().copied().chain([object]).chain((!gc.is_empty()).then_some(gc)).collect()
                };
                let what = format!("{} {gc} {name} {release}", line.join(" "));
                expect(registered(directory, &words(hip.as_str()))?, &[format!("k{release}")], &what)?;
                let table = format!("1 images, {size} bytes");
                expect(registered(directory, &words(openmp.as_str()))?, &[table], &what)?;
                links += 2;
            }
        }
    }
    println!("link/entries-of-each-release: {links} links");
    Ok(())
}

/// HIP's objects of two releases register the kernels of both, also from an archive. OpenMP's do where one runtime reads
/// both; otherwise the link names both objects.
pub fn pairs(directory: &Path) -> Result<()> {
    prepare(directory)?;
    for (release, _) in RELEASES {
        let (archive, object) = (format!("libk{release}.a"), format!("hip-{release}-plain.o"));
        Step::new(directory, Tool::Ar.path()?).args(["rcs", &archive, &object]).run()?;
    }
    let mut refused = Vec::new();
    for (one, one_size) in RELEASES {
        for (other, other_size) in RELEASES.into_iter().filter(|(other, _)| *other > one) {
            let objects = [format!("hip-{one}-plain.o"), format!("hip-{other}-plain.o")];
            let need = format!("-Wl,-u,need_k{other}");
            let archive = format!("libk{other}.a");
            for words in [["cc", &objects[0], &objects[1], ""], ["cc", &objects[0], &archive, &need]] {
                let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
                match registered(directory, &words) {
                    Ok(found) => {
                        expect(found, &[format!("k{one}"), format!("k{other}")], &words.join(" "))?;
                    }
                    // ld.lld links code objects of one ABI.
                    Err(error) if one == "15" => {
                        ensure!(error.to_string().contains("ABI version"), "{words:?}: {error:?}");
                        refused.push(format!("hip {one} {other}"));
                    }
                    Err(error) => return Err(error.context(words.join(" "))),
                }
            }
            let objects = [format!("openmp-{one}-plain.o"), format!("openmp-{other}-plain.o")];
            let words = ["cc", &objects[0], &objects[1]];
            if one_size == other_size {
                let table = format!("1 images, {} bytes", 2 * one_size);
                expect(registered(directory, &words)?, &[table], &words.join(" "))?;
            } else {
                let error = registered(directory, &words).err().context("two tables were registered as one")?;
                let error = error.to_string();
                ensure!(objects.iter().all(|object| error.contains(object.as_str())), "{error}");
                refused.push(format!("openmp {one} {other}"));
            }
        }
    }
    refused.dedup();
    println!("link/entries-of-two-releases: refused: {}", refused.join(", "));
    Ok(())
}

/// A release that the user requests, but that registers none of an object's entries, is an error.
pub fn requested(directory: &Path) -> Result<()> {
    prepare(directory)?;
    for (kind, release, abi) in [("hip", "19", "llvm22"), ("openmp", "22", "llvm19"), ("openmp", "16", "main")] {
        let object = format!("{kind}-{release}-plain.o");
        let link = |mode: &str| -> Result<Done> {
            let link = fatbin(directory).args(["link", "--abi", abi, mode, "--", "cc", &object]);
            link.args(["runtime.o", "main.o", "-o", "program"]).run()
        };
        let error = link("--check-entries=error").err().context("the entries are not registered")?.to_string();
        let registered = if release == "16" { "llvm17" } else { &format!("llvm{release}") };
        let message =
            format!("{object}: its offload entries are of {registered}, and a wrapper of {abi} registers none of them");
        ensure!(error.contains(&message) && error.contains("use --abi auto"), "{error}");
        ensure!(!directory.join("program").exists(), "a program that registers no kernel is left");
        ensure!(link("--check-entries=warn")?.report.contains(&message), "no warning");
        std::fs::remove_file(directory.join("program"))?;
    }
    Ok(())
}

/// Programs that `fatbin link` links without `--abi` offload under the runtime of the compiler's release.
pub fn run(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("openmp.c"), inputs::OPENMP)?;
    for (release, _) in RELEASES {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let compile = Step::new(directory, &clang).args(["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O1"]);
        compile.args(["-fPIE", "-c", "openmp.c", "-o", "openmp.o"]).run()?;
        let libomptarget = match release {
            "22" => "libomptarget.so".to_owned(),
            _ => format!("libomptarget.so.{release}"),
        };
        let libomp = if release == "22" { "libomp.so" } else { "libomp.so.5" };
        let libraries = [openmp_library(release, libomp)?, openmp_library(release, &libomptarget)?];
        let link = fatbin(directory).args(["link", "--", "cc", "-Wl,--no-as-needed", "openmp.o"]).args(&libraries);
        link.args(["-o", "program"]).run()?;
        let run = Step::new(directory, directory.join("program")).env("OMP_TARGET_OFFLOAD", "MANDATORY");
        let done = run.env("LD_LIBRARY_PATH", directories_of(&[&libraries[0], &libraries[1]])).run()?;
        ensure!(done.stdout == "42\n", "{}", done.error(format!("{release}: expected 42")));
    }
    Ok(())
}
