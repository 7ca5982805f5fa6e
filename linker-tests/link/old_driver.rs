//! Objects and bundles of clang's old offload driver and of DPC++. `fatbin link` links the device code of the former
//! and refuses the latter.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{fatbin, forms};
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, llvm_tool};

const RELEASES: [&str; 4] = ["15", "16", "19", "22"];

/// Options of HIP for relocatable device code.
const RDC: [&str; 9] =
    ["-x", "hip", "-nogpulib", "-nogpuinc", "-fgpu-rdc", "--offload-arch=gfx90a", "-O1", "-fPIE", "-c"];

/// Name of the kernel in the device code.
const KERNEL: &str = "_Z6kernelPi";

fn sources(directory: &Path) -> Result<()> {
    let runtime = forms::RUNTIME.replace("SIZES", forms::FIELDS[1]);
    let second =
        forms::HIP.replace("kernel(", "second(").replace("kernel<", "second<").replace("launch", "launch_second");
    let second = second.replace("hiplaunch_second", "hipLaunch").replace("hipLaunch_second", "hipLaunch");
    let texts = [
        ("main.c", forms::PROGRAM),
        ("runtime.c", &runtime),
        ("kernel.hip", forms::HIP),
        ("helper.hip", forms::HELPER),
        ("second.hip", &second),
    ];
    for (name, text) in texts {
        std::fs::write(directory.join(name), text)?;
    }
    Step::new(directory, Tool::Cc.path()?).args(["-fPIE", "-w", "-c", "main.c", "runtime.c"]).run().map(drop)
}

fn compile(directory: &Path, release: &str, options: &[&str], names: &[&str], suffix: &str) -> Result<()> {
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    for name in names {
        let step = Step::new(directory, &clang).args(RDC).args(options);
        step.args([format!("{name}.hip"), "-o".to_owned(), format!("{name}{suffix}")]).run()?;
    }
    Ok(())
}

/// Links a program, and returns the names that it registers.
fn link(directory: &Path, release: &str, program: &Path, words: &str) -> Result<Vec<String>> {
    let lld = PathBuf::from("/usr/lib/llvm-22/bin/ld.lld");
    if !lld.exists() {
        return Err(Missing::new("ld.lld", "lld-22").into());
    }
    let link = fatbin(directory).args(["link", "--abi", &format!("llvm{release}")]);
    let link = link.arg(format!("--device-link-tool=amdgcn={}", lld.display())).arg("--").arg(program);
    link.args(["main.o", "runtime.o"]).args(words.split(' ')).args(["-o", "program"]).run()?;
    let done = Step::new(directory, directory.join("program")).run()?;
    Ok(done.stdout.lines().map(str::to_owned).collect())
}

/// Objects of every release are linked alone, from an archive, and with objects of the new driver, in one fat binary.
pub fn objects(directory: &Path) -> Result<()> {
    sources(directory)?;
    let cc = Tool::Cc.path()?;
    for release in RELEASES {
        let suffix = format!("-{release}.o");
        compile(directory, release, &["--no-offload-new-driver"], &["kernel", "helper"], &suffix)?;
        let objects = format!("kernel{suffix} helper{suffix}");
        let archive = format!("lib{release}.a");
        Step::new(directory, Tool::Ar.path()?).args(["rcs", &archive]).args(objects.split(' ')).run()?;
        for words in [&objects, &archive] {
            ensure!(link(directory, release, &cc, words)? == [KERNEL], "{release}: {words}");
        }
    }
    compile(directory, "22", &["--offload-new-driver"], &["kernel", "helper", "second"], ".o")?;
    let cases: [(&str, &[&str]); 3] = [
        ("kernel-22.o helper.o", &[KERNEL]),
        ("kernel.o helper-22.o", &[KERNEL]),
        ("kernel-22.o second.o helper.o", &[KERNEL, "_Z6secondPi"]),
    ];
    for (words, expected) in cases {
        let mut found = link(directory, "22", &cc, words)?;
        found.sort();
        ensure!(found == expected, "{words}: {found:?}");
        let scan = fatbin(directory).args(["scan", "program"]).run()?;
        ensure!(scan.stdout.contains("1 device image\n"), "{}", scan.error("expected one image"));
    }
    // What an earlier device link has linked is left to it.
    fatbin(directory)
        .args(["link", "--"])
        .arg(Tool::Bfd.path()?)
        .args(["-r", "kernel-22.o", "helper-22.o", "-o", "linked.o"])
        .run()?;
    ensure!(link(directory, "22", &cc, "linked.o")? == [KERNEL], "an object that is linked already");
    Ok(())
}

/// Bundles of bitcode are linked by a linker that reads bitcode; archives of them are refused, as are objects of DPC++.
pub fn bundles(directory: &Path) -> Result<()> {
    sources(directory)?;
    let clang = Tool::Clang.path()?;
    for (option, suffix) in [("-emit-llvm", ".bc"), ("-flto", "-lto.o")] {
        compile(directory, "22", &["--no-offload-new-driver", option], &["kernel", "helper"], suffix)?;
        let words = format!("-fuse-ld=lld kernel{suffix} helper{suffix}");
        ensure!(link(directory, "22", &clang, &words)? == [KERNEL], "{option}");
    }
    Step::new(directory, Tool::Ar.path()?).args(["rcs", "lib.a", "kernel.bc", "helper.bc"]).run()?;
    std::fs::write(directory.join("image"), b"\x03\x02\x23\x07 SPIR-V")?;
    let section = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64-unknown-unknown";
    let add = Step::new(directory, Tool::Objcopy.path()?).arg(format!("--add-section={section}=image"));
    add.arg(format!("--set-section-flags={section}=exclude")).args(["runtime.o", "sycl.o"]).run()?;
    let cc = Tool::Cc.path()?;
    let refused = [
        (&cc, "kernel.bc helper.bc", "kernel.bc is a bundle with host code: if that is bitcode, link with lld"),
        (&cc, "lib.a", "lib.a!kernel.bc: this bundle contains host code, which linkers do not read"),
        (&cc, "sycl.o", "sycl.o: SYCL device code for spir64-unknown-unknown is linked by DPC++ only"),
    ];
    for (program, words, message) in refused {
        let error =
            link(directory, "22", program, words).err().with_context(|| format!("{words}: linked"))?.to_string();
        ensure!(error.contains(message), "{words}: {error}");
    }
    Ok(())
}
