//! Host objects with device code of every kind, and damaged ones.

use std::path::Path;

use anyhow::Result;

use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::Tool;
use crate::linker_wrapper::kernel;

/// Device functions in two translation units.
pub const HELPER: &str = "__attribute__((device)) int helper(int x) { return x + 1; }\n";

/// A program that prints 42 if the device code of its region runs.
pub const OPENMP: &str = "\
int printf(const char *, ...);
int main(void) {
    int x = 1;
#pragma omp target map(tofrom : x)
    x = 42;
    printf(\"%d\\n\", x);
    return 0;
}
";

/// Options of clang for HIP with relocatable device code.
pub const RDC: [&str; 6] = ["-x", "hip", "-nogpulib", "-nogpuinc", "-fgpu-rdc", "--offload-new-driver"];

/// Compiles the sources of a HIP library with relocatable device code for some processors.
pub fn compile_hip(directory: &Path, processors: &[&str]) -> Result<()> {
    compile_hip_with(directory, &Tool::Clang.path()?, processors)
}

/// Compiles the sources with a compiler.
pub fn compile_hip_with(directory: &Path, clang: &Path, processors: &[&str]) -> Result<()> {
    let source = kernel("hip").replace("*to = 42;", "*to = helper(41);");
    let declaration = "__attribute__((device)) int helper(int);\n";
    std::fs::write(directory.join("kernel.hip"), format!("{declaration}{source}"))?;
    std::fs::write(directory.join("helper.hip"), HELPER)?;
    for name in ["kernel", "helper"] {
        let compile = Step::new(directory, clang).args(RDC).args(["-fPIC", "-O1", "-c"]);
        let compile = compile.args(processors.iter().map(|processor| format!("--offload-arch={processor}")));
        compile.args([format!("{name}.hip"), "-o".to_owned(), format!("{name}.o")]).run()?;
    }
    Ok(())
}

/// Compiles a program whose region runs on a CPU as a device.
pub fn compile_openmp(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("openmp.c"), OPENMP)?;
    let compile = Step::new(directory, Tool::Clang.path()?).args(["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]);
    compile.args(["-O1", "-fPIE", "-c", "openmp.c", "-o", "openmp.o"]).run()?;
    Ok(())
}

/// Creates the inputs of the tables.
pub fn create(directory: &Path) -> Result<()> {
    compile_hip(directory, &["gfx90a", "gfx942"])?;
    compile_openmp(directory)?;
    Step::new(directory, Tool::Ar.path()?).args(["rcs", "libhelper.a", "helper.o"]).run()?;
    // Bitcode, which a device linker must read.
    let bitcode =
        ["-x", "hip", "-nogpulib", "-nogpuinc", "-fgpu-rdc", "--offload-arch=gfx90a", "--offload-device-only"];
    let compile = Step::new(directory, Tool::Clang.path()?).args(bitcode);
    compile.args(["-emit-llvm", "-c", "helper.hip", "-o", "helper.bc"]).run()?;
    let cubin = fixture("answer-sm_90.cubin")?;
    std::fs::copy(&cubin, directory.join("answer.cubin"))?;
    std::fs::copy(fixture("answer-gfx90a.hsaco")?, directory.join("answer.hsaco"))?;
    let pack = |output: &str, images: &[String]| -> Result<()> {
        let step = Step::new(directory, Tool::OffloadBinary.path()?).args(["-o", output]);
        step.args(images.iter().map(|image| format!("--image={image}"))).run().map(drop)
    };
    let cuda =
        |arch: &str, kind: &str| format!("file={},triple=nvptx64-nvidia-cuda,arch={arch},kind={kind}", cubin.display());
    pack("cuda.offload", &[cuda("sm_90", "cuda"), cuda("sm_80", "cuda"), cuda("sm_100", "openmp")])?;
    let hip = |arch: &str| format!("file=helper.bc,triple=amdgcn-amd-amdhsa,arch={arch},kind=hip");
    pack("features.offload", &["gfx90a:xnack-", "gfx90a:xnack+", "gfx90a"].map(hip))?;
    pack("generic.offload", &["gfx90a", "gfx942", "generic"].map(hip))?;
    pack("bogus.offload", &[hip("gfxbogus")])?;
    pack("subarch.offload", &["file=helper.bc,triple=amdgpu9.0a-amd-amdhsa,arch=gfx90a,kind=hip".to_owned()])?;
    pack("riscv.offload", &[format!("file={},triple=riscv64-unknown-linux,kind=openmp", cubin.display())])?;
    pack("triple.offload", &["file=helper.bc,kind=openmp,triple=".to_owned()])?;
    std::fs::write(directory.join("text"), "text\n")?;
    let replace = Step::new(directory, Tool::Objcopy.path()?).arg("--update-section=.llvm.offloading=text");
    replace.args(["kernel.o", "magic.o"]).run()?;
    pack("text.offload", &["file=text,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip".to_owned()])?;
    pack("sycl.offload", &[hip("gfx90a"), hip("gfx90a").replace("kind=hip", "kind=sycl")])?;
    let object = std::fs::read(directory.join("kernel.o"))?;
    std::fs::write(directory.join("cut.o"), object.get(..3000).unwrap_or_default())?;
    std::fs::write(directory.join("bad.offload"), [&b"\x10\xff\x10\xad\x63\0\0\0"[..], &[0; 200]].concat())?;
    std::fs::write(directory.join("bad.a"), "!<arch>\ngarbage garbage")?;
    std::fs::write(directory.join("words"), "kernel.o \"helper.o\"\n--whole-archive")?;
    Ok(())
}
