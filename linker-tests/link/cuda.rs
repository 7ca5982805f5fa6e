//! CUDA with relocatable device code.

use std::path::Path;

use anyhow::{Context, Result};

use super::fatbin;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};
use crate::runtimes::directories_of;

const HELPER: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .func (.param .b32 r) helper(.param .b32 x)
{
    .reg .b32 %r;
    ld.param.b32 %r, [x];
    st.param.b32 [r], %r;
    ret;
}
";

const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) helper(.param .b32 x);
.visible .entry kernel()
{
    .reg .b32 %r;
    .param .b32 in;
    .param .b32 out;
    mov.b32 %r, 1;
    st.param.b32 [in], %r;
    call (out), helper, (in);
    ret;
}
";

/// Relocatable cubins and PTX are linked by NVIDIA's programs, NVIDIA's cuobjdump lists the result, and libcudart registers it.
pub fn relocatable(directory: &Path) -> Result<()> {
    let ptxas = Tool::Ptxas.path()?;
    let tools = ptxas.parent().context("a program is in a directory")?;
    std::fs::write(directory.join("helper.ptx"), HELPER)?;
    std::fs::write(directory.join("kernel.ptx"), KERNEL)?;
    Step::new(directory, &ptxas).args(["-arch", "sm_90", "-c", "kernel.ptx", "-o", "kernel.cubin"]).run()?;
    let pack = fatbin(directory).args(["pack", "-o", "cuda.offload"]);
    let pack = pack.arg("--image=file=kernel.cubin,kind=cuda,triple=nvptx64-nvidia-cuda,arch=sm_90");
    pack.arg("--image=file=helper.ptx,kind=cuda,triple=nvptx64-nvidia-cuda,arch=sm_90").run()?;
    let link = fatbin(directory).args(["link", "--emit-fatbin-only", "--", "ld", "cuda.offload", "-o", "out.fatbin"]);
    let path = format!("{}:/usr/bin:/bin", tools.display());
    link.env("PATH", &path).run()?;
    let list = Step::new(directory, Tool::Cuobjdump.path()?).args(["-lelf", "out.fatbin"]).run()?;
    if !list.stdout.contains("sm_90.cubin") {
        return Err(list.error("expected a cubin"));
    }
    let inspect = fatbin(directory).args(["inspect", "out.fatbin"]).run()?;
    if !inspect.stdout.contains("kernel") {
        return Err(inspect.error("expected the kernel"));
    }
    let library = find_in(&fetched("cuda-13"), "libcudart.so.13").ok_or_else(|| not_fetched("libcudart.so.13"))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/runtimes/cuda.c");
    Step::new(directory, Tool::Cc.path()?).args(["-O1", "-fPIE", "-c"]).arg(source).args(["-o", "host.o"]).run()?;
    let link = fatbin(directory).args(["link", "--", "cc", "-pie", "host.o", "cuda.offload", "-o", "program"]);
    link.arg(&library).env("PATH", &path).run()?;
    let run = Step::new(directory, directory.join("program")).env("LD_LIBRARY_PATH", directories_of(&[&library]));
    let done = run.run()?;
    if done.stdout == "runs\n" { Ok(()) } else { Err(done.error("expected: runs")) }
}
