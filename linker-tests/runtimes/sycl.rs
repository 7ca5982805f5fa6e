//! SYCL, on the runtime of oneAPI: a library registers its kernels when it is loaded, and unregisters them when it is closed.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, llvm_directory, llvm_tool, not_fetched};

/// A program that lists the kernels that the runtime knows before, while and after a library is loaded. The
/// declarations come from the runtime's ABI, because its headers are a part of the compiler.
const LIST: &str = r#"
#include <cstdio>
#include <dlfcn.h>
#include <memory>
#include <vector>

namespace sycl {
inline namespace _V1 {
class kernel_id {
    std::shared_ptr<void> impl;

public:
    const char *get_name() const noexcept;
};
std::vector<kernel_id> get_kernel_ids();
} // namespace _V1
} // namespace sycl

static void list() {
    for (auto &kernel : sycl::get_kernel_ids())
        std::printf("%s ", kernel.get_name());
    std::puts(";");
}

int main(int, char **arguments) {
    list();
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (library == nullptr) {
        std::puts(dlerror());
        return 1;
    }
    list();
    dlclose(library);
    list();
}
"#;

/// A kernel in OpenCL C, which is a kernel for SYCL's runtime, too.
const KERNEL: &str = "__kernel void work(__global int *to) { *to = 42; }\n";

/// Registers, lists and unregisters the kernels of objects. `wrap` gets the kernels in options; `link` uses the kernels
/// that clang-sycl-linker finds.
pub fn register(directory: &Path) -> Result<()> {
    let runtime = find_in(&fetched("sycl-9"), "libsycl.so.9").ok_or_else(|| not_fetched("libsycl.so.9"))?;
    std::fs::write(directory.join("list.cpp"), LIST)?;
    let compile = Step::new(directory, Tool::Cxx.path()?).args(["list.cpp", "-o", "list"]);
    compile.arg(&runtime).arg("-ldl").run()?;

    std::fs::write(directory.join("module.spv"), MODULE.map(u32::to_le_bytes).concat())?;
    let image = "file=module.spv,triple=spir64";
    let wrap = fatbin(directory).args([
        "wrap",
        "--kind",
        "sycl",
        "--abi",
        "llvm22",
        "--allow-missing-kernels",
        "--entry",
        "work",
        "--entry",
        "more",
    ]);
    wrap.args(["--image", image, "-o", "wrapped.o"]).run()?;
    Step::new(directory, Tool::Cc.path()?).args(["-shared", "wrapped.o", "-o", "wrapped.so"]).arg(&runtime).run()?;
    lists(directory, &runtime, "wrapped.so", ";\nmore work ;\n;\n")?;

    std::fs::write(directory.join("kernel.cl"), KERNEL)?;
    let clang = Tool::Clang.path()?;
    let compile = Step::new(directory, &clang).args(["--target=spirv64-unknown-unknown", "-O1", "-emit-llvm", "-c"]);
    compile.args(["kernel.cl", "-o", "kernel.bc"]).run()?;
    let pack = fatbin(directory).args(["pack", "-o", "code"]);
    pack.arg("--image=file=kernel.bc,kind=sycl,triple=spirv64-unknown-unknown,arch=generic").run()?;
    llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?;
    // clang searches its SYCL linker in PATH.
    let path = format!("{}:/usr/bin:/bin", llvm_directory().join("bin").display());
    let link = fatbin(directory).args(["link", "--", "cc", "-shared", "code", "-o", "linked.so"]).arg(&runtime);
    link.env("PATH", path).run()?;
    lists(directory, &runtime, "linked.so", ";\nwork ;\n;\n")
}

/// A SPIR-V module of an empty function: header, capability, memory model.
const MODULE: [u32; 16] =
    [0x0723_0203, 0x0001_0000, 0, 1, 0, 0x0002_0011, 6, 0x0003_000e, 2, 2, 0x0005_0036, 1, 2, 0, 3, 0x0001_0038];

/// Checks the list of kernels before, while and after a library is loaded.
fn lists(directory: &Path, runtime: &Path, library: &str, expected: &str) -> Result<()> {
    let run = Step::new(directory, directory.join("list")).arg(format!("./{library}"));
    let done = run.env("LD_LIBRARY_PATH", runtime.parent().map(PathBuf::from).unwrap_or_default()).run()?;
    if done.stdout == expected { Ok(()) } else { Err(done.error(format!("expected: {expected}"))) }
}

fn fatbin(directory: &Path) -> Step {
    Step::new(directory, fatbin_program())
}
