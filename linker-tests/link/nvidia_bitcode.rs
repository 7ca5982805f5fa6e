//! Bitcode of OpenMP for NVIDIA GPUs under clang 15, 16 and 19: fatbin links what the reference links, with the same kernels, and ptxas
//! gets the same arguments.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::clients::Pair;
use crate::harness::program::write_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, llvm_tool, not_fetched};

/// Two kernels. The first becomes a kernel of another mode when the function in the other file is known.
const KERNELS: &str = "\
#pragma omp begin declare target
int helper(int);
int counter = 3;
#pragma omp end declare target
int run(void) {
    int result = 7;
#pragma omp target map(tofrom : result)
    result = helper(3);
#pragma omp target teams distribute parallel for map(tofrom : result)
    for (int i = 0; i < 100; i++) {
#pragma omp atomic
        result += counter + i;
    }
    return result;
}
";

const HELPER: &str = "\
#pragma omp begin declare target
int helper(int x) { return x * 14; }
#pragma omp end declare target
";

/// Options of clang, and the words of ptxas that follow from them.
const CASES: [(&str, &[&str]); 5] = [
    ("-O0", &["-O0"]),
    ("-Os", &["-O2"]),
    ("-O2 -g", &["-O2", "-lineinfo"]),
    // The runtime is bitcode, the other images are not.
    ("-fno-offload-lto", &[]),
    ("-Wl,--ptxas-arg=--maxrregcount=32", &["-O1", "--maxrregcount=32"]),
];

/// Releases, and the cases in which the reference fails. LLVM 15 passes `-g` to ptxas, which refuses it with `-O2`. From LLVM 16 on,
/// there is no code for all of OpenMP's runtime without optimization. LLVM 16 passes freed memory to ptxas.
const RELEASES: [(&str, &[&str]); 3] =
    [("15", &["-O2 -g"]), ("16", &["-O0", "-Wl,--ptxas-arg=--maxrregcount=32"]), ("19", &["-O0"])];

pub fn openmp(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("kernels.c"), KERNELS)?;
    std::fs::write(directory.join("helper.c"), HELPER)?;
    install_cuda(directory)?;
    for (release, without_reference) in RELEASES {
        let pair = Pair::new(directory, release)?;
        let runtime = fetched(&format!("openmp-{release}")).join(format!("usr/lib/llvm-{release}/lib"));
        if !runtime.join("libomptarget.devicertl.a").exists() {
            return Err(not_fetched("libomptarget.devicertl.a").into());
        }
        let common = format!(
            "-O1 -fopenmp --offload-arch=sm_80 -foffload-lto --cuda-path=cuda -w -shared -fPIC -nostdlib -L'{0}' --libomptarget-nvptx-bc-path='{0}'",
            runtime.display()
        );
        for (options, expected) in CASES {
            let words = format!("{common} {options} kernels.c helper.c -lomptarget.devicertl");
            let log = directory.join("ptxas.log");
            std::fs::write(&log, "")?;
            let is_linked = pair.same(directory, &words)?;
            ensure!(is_linked != without_reference.contains(&options), "clang-{release} {options}: {is_linked}");
            if !is_linked {
                std::fs::write(&log, "")?;
                let output = pair.link(directory, 1, &format!("{words} -o ours.so"))?;
                ensure!(output.status.success(), "{release} {words}: {}", String::from_utf8_lossy(&output.stderr));
            }
            for line in std::fs::read_to_string(&log)?.lines() {
                let words: Vec<&str> = line.split(' ').collect();
                ensure!(expected.iter().all(|word| words.contains(word)), "clang-{release} {options}: {line}");
            }
        }
    }
    Ok(())
}

/// Creates an installation of CUDA: NVIDIA's programs, a ptxas that logs its arguments, and an empty library of functions.
fn install_cuda(directory: &Path) -> Result<()> {
    let ptxas = Tool::Ptxas.path()?;
    let tools: PathBuf = ptxas.parent().context("a program is in a directory")?.into();
    for part in ["cuda/bin", "cuda/include", "cuda/lib64", "cuda/nvvm/libdevice"] {
        std::fs::create_dir_all(directory.join(part))?;
    }
    std::fs::write(directory.join("cuda/include/cuda.h"), "#define CUDA_VERSION 11080\n")?;
    for name in ["nvlink", "fatbinary"] {
        std::os::unix::fs::symlink(tools.join(name), directory.join("cuda/bin").join(name))?;
    }
    let log = directory.join("ptxas.log");
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\nexec '{}' \"$@\"\n", log.display(), ptxas.display());
    write_program(&directory.join("cuda/bin/ptxas"), &script)?;
    std::fs::write(directory.join("empty.c"), "")?;
    // Every release reads the bitcode of the oldest one.
    let clang = llvm_tool("clang", "15", "clang-15")?;
    let compile = Step::new(directory, clang).args(["--target=nvptx64-nvidia-cuda", "-nocudalib", "-emit-llvm", "-c"]);
    compile.args(["empty.c", "-o", "cuda/nvvm/libdevice/libdevice.10.bc"]).run().map(drop)
}
