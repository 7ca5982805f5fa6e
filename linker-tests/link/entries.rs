//! Kernels that host objects use and no image has, in objects of each release of clang.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{fatbin, inputs};
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool, llvm_tool};
use crate::linker_wrapper::kernel;

/// Releases with the entries of 32 and of 56 bytes, in sections of each kind and in one.
const RELEASES: [&str; 4] = ["15", "16", "19", "22"];

/// An object that clang has compiled lacks no kernel. Without its device code it lacks each, and the link fails on request.
pub fn missing_kernels(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("kernel.hip"), kernel("hip"))?;
    std::fs::write(directory.join("openmp.c"), inputs::OPENMP)?;
    for release in RELEASES {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let lld = PathBuf::from(format!("/usr/lib/llvm-{release}/bin/ld.lld"));
        if !lld.exists() {
            return Err(Missing::new("ld.lld", &format!("lld-{release}")).into());
        }
        let hip = ["-x", "hip", "-nogpulib", "-nogpuinc", "-fgpu-rdc", "--offload-new-driver", "--offload-arch=gfx90a"];
        let openmp = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O1"];
        let sources =
            [(&hip[..], "kernel.hip", "_Z6kernelPi", "hip"), (&openmp, "openmp.c", "__omp_offloading_", "openmp")];
        for (options, source, kernel, kind) in sources {
            let (object, without) = (format!("{kind}-{release}.o"), format!("{kind}-{release}-without.o"));
            Step::new(directory, &clang).args(options).args(["-c", source, "-o", &object]).run()?;
            let remove = Step::new(directory, Tool::Objcopy.path()?).arg("--remove-section=.llvm.offloading");
            remove.args([&object, &without]).run()?;
            let link = |mode: &str, object: &str| -> Result<Done> {
                let link = fatbin(directory).args(["link", "--abi", &format!("llvm{release}"), mode]);
                let link = link.arg(format!("--device-link-tool=amdgcn={}", lld.display()));
                link.args(["--", "true", object, "-o", "program"]).run()
            };
            let complete = link("--check-entries=error", &object)?;
            ensure!(!complete.report.contains("warning"), complete.error("expected no warning"));
            let warned = link("--check-entries=warn", &without)?;
            let message = format!("warning: {without}: no {kind} image has kernel {kernel}");
            ensure!(warned.report.contains(&message), warned.error(format!("expected: {message}")));
            let error = link("--check-entries=error", &without).err().context("a missing kernel was accepted")?;
            ensure!(error.to_string().contains(&format!("no {kind} image has kernel {kernel}")), "{error}");
        }
    }
    Ok(())
}
