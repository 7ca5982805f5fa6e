//! Objects of clang and nvcc that a plain link leaves without device code, and links that register it.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::diagnose;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool, fetched, not_fetched};

const KERNEL: &str = "__global__ void k(int *p) { *p = 1; }\n";

/// Declarations that clang requires for kernels of HIP.
const HEADER: &str = r#"
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
"#;

/// Checks the kinds of problems of a link.
fn check(directory: &Path, line: &[&str], expected: &[&str]) -> Result<()> {
    let line: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
    let document = diagnose(directory, &[], &line)?;
    let kind = |problem: &Value| problem["kind"].as_str().unwrap_or_default().to_owned();
    let kinds: Vec<String> = document["problems"].as_array().into_iter().flatten().map(kind).collect();
    ensure!(kinds == expected, "{line:?}: expected {expected:?}\n{document:#}");
    Ok(())
}

/// The images of an OpenMP object are linked by clang, and dropped by a C compiler.
pub fn openmp(directory: &Path) -> Result<()> {
    let clang = Tool::Clang.path()?;
    let options = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"];
    std::fs::write(
        directory.join("omp.c"),
        "int main(void) {\n int x = 0;\n#pragma omp target map(tofrom : x)\n x = 42;\n return x != 42;\n}\n",
    )?;
    Step::new(directory, &clang).args(options).args(["-c", "omp.c"]).run()?;
    let (clang, cc) = (clang.display().to_string(), Tool::Cc.path()?.display().to_string());
    check(directory, &[&cc, "omp.o"], &["unregistered"])?;
    check(directory, &[&clang, options[0], options[1], "omp.o"], &[])
}

/// Two objects of a compiler cache have one module ID, and the linker refuses them.
pub fn module_ids(directory: &Path) -> Result<()> {
    let clang = Tool::Clang.path()?;
    std::fs::write(directory.join("common.h"), HEADER)?;
    for name in ["one", "two"] {
        let text = format!("#include \"common.h\"\n__global__ void {name}() {{}}\n");
        std::fs::write(directory.join(format!("{name}.hip")), text)?;
    }
    for (name, id) in [("one", "same"), ("two", "same"), ("two", "other")] {
        let output = format!("{name}-{id}.o");
        let step = Step::new(directory, &clang).args(["-x", "hip", "--offload-arch=gfx90a", "-nogpulib", "-nogpuinc"]);
        step.args([&format!("-cuid={id}"), "-c", &format!("{name}.hip"), "-o", &output]).run()?;
    }
    let linker = Linker::Bfd.path()?;
    let name = linker.display().to_string();
    check(directory, &[&name, "-r", "one-same.o", "two-same.o"], &["duplicate-module-id"])?;
    check(directory, &[&name, "-r", "one-same.o", "two-other.o"], &[])?;
    let link = |second: &str| Step::new(directory, &linker).args(["-r", "one-same.o", second, "-o", "out.o"]).run();
    link("two-other.o")?;
    let message = link("two-same.o").err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(message.contains("multiple definition of `__hip_cuid_"), "{message}");
    Ok(())
}

fn nvcc() -> Result<PathBuf> {
    let path = fetched("cuda-nvcc").join("nvidia/cu13/bin/nvcc");
    Ok(Some(path).filter(|path| path.is_file()).ok_or_else(|| not_fetched("nvcc"))?)
}

/// Relocatable CUDA code needs the output of `nvcc -dlink`, which nvcc adds by itself.
pub fn relocatable_cuda(directory: &Path) -> Result<()> {
    let nvcc = nvcc()?;
    std::fs::write(directory.join("k.cu"), KERNEL)?;
    for options in [["-dc", "k.cu", "-o", "k.o"], ["-dlink", "k.o", "-o", "dlink.o"], ["-c", "k.cu", "-o", "whole.o"]] {
        Step::new(directory, &nvcc).arg("-arch=sm_90").args(options).run()?;
    }
    let linker = Linker::Bfd.path()?.display().to_string();
    check(directory, &[&linker, "k.o"], &["unregistered"])?;
    check(directory, &[&linker, "k.o", "dlink.o"], &[])?;
    check(directory, &[&linker, "whole.o"], &[])?;
    let nvcc = nvcc.display().to_string();
    check(directory, &[&nvcc, "-arch=sm_90", "k.o", "-o", "program"], &[])?;
    // Without the option, nvcc links for sm_75.
    check(directory, &[&nvcc, "k.o", "-o", "program"], &["missing-arch"])
}

/// nvcc drops tile kernels for sm_75. It also writes an empty fat binary where there are none.
pub fn tile_kernels(directory: &Path) -> Result<()> {
    let nvcc = nvcc()?;
    let tile = "#include <cuda_tile.h>\n__tile_global__ void t(int *p) { *p = 1; }\n\
        namespace { __tile_global__ void hidden(int *p) { *p = 2; } }\n\
        void go(int *p) { t<<<1, 1>>>(p); hidden<<<1, 1>>>(p); }\n";
    std::fs::write(directory.join("tile.cu"), tile)?;
    std::fs::write(directory.join("plain.cu"), KERNEL)?;
    let linker = Linker::Bfd.path()?.display().to_string();
    let cases: [(&str, &str, &[&str]); 4] = [
        ("tile", "sm_75", &["entry-without-kernel"]),
        ("tile", "sm_80", &[]),
        ("plain", "sm_75", &[]),
        ("plain", "sm_80", &[]),
    ];
    for (source, arch, expected) in cases {
        let output = format!("{source}-{arch}.o");
        let arch = format!("-arch={arch}");
        let input = format!("{source}.cu");
        let options = ["-c", &arch, "--enable-tile", "-std=c++20", &input, "-o", &output];
        Step::new(directory, &nvcc).args(options).run()?;
        check(directory, &[&linker, &output], expected)?;
    }
    let document = diagnose(directory, &[], &[linker, "tile-sm_75.o".to_owned()])?;
    let problem = &document["problems"][0];
    ensure!(problem["count"] == 2 && problem["symbol"].is_string(), "{document:#}");
    Ok(())
}
