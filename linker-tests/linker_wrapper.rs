//! fatbin's objects, compared with the objects of clang-linker-wrapper. That tool cannot be called alone: clang's
//! driver calls it, and keeps its object and the wrapped image with `-save-temps`.
//!
//! fatbin wraps the image as well. Both objects are linked with a program that has entries and with the judge. Both
//! logs must be equal, with the size and the hash of each registered image. In LLVM 15 and 16 the image is the offload
//! binary around OpenMP's image, and its two strings have another order: clang-offload-wrapper of LLVM 15, which the matrix
//! compares, writes the arch first. The trials `runtimes/openmp-15-devices` show that the runtime reads it. CUDA's device code cannot be linked without NVIDIA's tools of that time, which are not available. A script
//! replaces them, because the contents of the fat binary do not matter here.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;

use crate::harness::command::command;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::program::write_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, llvm_tool, path_with};
use crate::harness::trial::{completion, fresh_directory};

/// Kind, its value in entries, and releases: the tool's releases in Debian 12 that precede the reference.
const REFERENCES: [(&str, u32, [&str; 3]); 3] =
    [("openmp", 1, ["15", "16", "19"]), ("cuda", 2, ["15", "16", "19"]), ("hip", 4, ["15", "16", "19"])];

/// The declarations of HIP or CUDA that a kernel needs.
const KERNEL: &str = "\
#define __global__ __attribute__((global))
typedef unsigned long size_t;
struct dim3 { unsigned x, y, z; };
extern \"C\" int RUNTIME(LaunchKernel)(const void *, dim3, dim3, void **, size_t, void *);
extern \"C\" unsigned POP(dim3 *, dim3 *, size_t *, void *);
__global__ void kernel(int *to) { *to = 42; }
int main() { return 0; }
";

/// Replacement for nvlink and fatbinary, which writes an empty fat binary followed by zeros: LLVM does not align one that is
/// no longer than the header. As ptxas, it writes a cubin marked as relocatable.
const STAND_IN: &str = "\
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -o | --output-file | --create) output=$2 ;;
    --create=*) output=${1#--create=} ;;
    esac
    shift
done
case $0 in
*ptxas)
    cp CUBIN \"$output\"
    printf '\\001' | dd of=\"$output\" bs=1 seek=16 conv=notrunc 2>/dev/null
    ;;
*)
    printf '\\120\\355\\125\\272\\001\\000\\020\\000\\000\\000\\000\\000\\000\\000\\000\\000' >\"$output\"
    head -c 48 /dev/zero >>\"$output\"
    ;;
esac
";

/// Returns the source of a kernel for HIP or CUDA.
pub fn kernel(kind: &str) -> String {
    let pop = format!("__{kind}PopCallConfiguration");
    KERNEL.replace("RUNTIME(LaunchKernel)", &format!("{kind}LaunchKernel")).replace("POP", &pop)
}

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (kind, bit, releases) in REFERENCES {
        for release in releases {
            let run = move || completion(prints_the_same(kind, bit, release));
            trials.push(Trial::ignorable_test(format!("linker-wrapper/{kind}-{release}"), run));
        }
    }
    trials
}

fn prints_the_same(kind: &str, bit: u32, release: &str) -> Result<()> {
    let directory = fresh_directory("linker-wrapper", &format!("{kind}-{release}"))?;
    llvm_tool("clang-linker-wrapper", release, &format!("clang-tools-{release}"))?;
    drive(&directory, kind, release)?;
    let (theirs, image) =
        (one_of(&directory, &["wrapper.o"])?, one_of(&directory, &["hipfb", "fatbin", "img", "x86_64-.out"])?);
    let wrap = Step::new(&directory, fatbin_program()).args(["wrap", "--kind", kind]);
    let wrap = wrap.args(["--host", "x86_64-unknown-linux-gnu", "--abi", &format!("llvm{release}"), "-o", "ours.o"]);
    let wrap = if kind == "openmp" {
        wrap.arg(format!("--image=file={},triple=x86_64-pc-linux-gnu", image.display()))
    } else {
        wrap.arg("--raw").arg(&image)
    };
    wrap.run()?;
    let section = format!("-DSECTION={}_offloading_entries", if kind == "openmp" { "omp" } else { kind });
    let cc = || -> Result<Step> { Ok(Step::new(&directory, Tool::Cc.path()?).args(["-O1", "-fPIE", "-DOLD_ENTRIES"])) };
    let matrix = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/matrix");
    cc()?.arg("-c").arg(fixture("judge.c")?).args(["-o", "judge.o"]).run()?;
    let program = cc()?.args(["-DENTRIES", &section, &format!("-DKIND={bit}"), "-c"]);
    program.arg(matrix.join("program.c")).args(["-o", "program.o"]).run()?;
    let log = |object: &Path, name: &str| -> Result<_> {
        let link = cc()?.arg(matrix.join("main.c")).args(["program.o", "judge.o"]).arg(object);
        link.args(["-o", name]).run()?;
        Step::new(&directory, directory.join(name)).run()
    };
    let theirs = log(&theirs, "theirs")?;
    let ours = log(&directory.join("ours.o"), "ours")?;
    let has_binary = kind == "openmp" && ["15", "16"].contains(&release);
    let comparable = |log: &str| {
        let lines = log.lines().filter(|line| !(has_binary && line.trim_start().starts_with("image 0,")));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    ensure!(comparable(&theirs.stdout).len() > 2, "{}", theirs.error("the log is empty"));
    if comparable(&ours.stdout) != comparable(&theirs.stdout) {
        return Err(ours.error(format!("with LLVM's object the program prints:\n{}", theirs.stdout)));
    }
    Ok(())
}

/// Compiles and links a program with clang's driver. The last step, the host's link, fails without the runtimes; only the
/// files that the wrapper has left by then are needed.
fn drive(directory: &Path, kind: &str, release: &str) -> Result<()> {
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    let mut link = command(&clang);
    link.current_dir(directory).args(["-save-temps=obj", "-o", "driver", "-nostdlib"]);
    if kind == "openmp" {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp/main.c");
        link.args(["-O1", "-fPIE", "-DMARKER=42", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]).arg(source);
    } else {
        std::fs::write(directory.join("kernel.cpp"), kernel(kind))?;
        // In two steps: clang 15 embeds the device code only when it writes a host object.
        let mut compile = Step::new(directory, &clang).args(["-x", kind, "--offload-new-driver", "-fgpu-rdc"]);
        link.args(["--offload-link", "kernel.o"]);
        if kind == "hip" {
            let lld = PathBuf::from(format!("/usr/lib/llvm-{release}/bin/ld.lld"));
            ensure_there(&lld, &format!("lld-{release}"))?;
            compile = compile.args(["-nogpulib", "-nogpuinc", "--offload-arch=gfx90a"]);
        } else {
            let path = path_with(&stand_ins(directory)?)?;
            compile = compile.args(["-nocudalib", "-nocudainc", "--no-cuda-version-check", "--offload-arch=sm_52"]);
            compile = compile.args(["-Xclang", "-target-sdk-version=11.8", "--cuda-path=cuda"]).env("PATH", &path);
            link.arg("--cuda-path=cuda").env("PATH", path);
        }
        compile.args(["-foffload-lto", "-c", "kernel.cpp", "-o", "kernel.o"]).run()?;
    }
    let output = link.output().with_context(|| format!("{link:?}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    one_of(directory, &["wrapper.o"]).with_context(|| format!("in {}: {link:?}\n{stderr}", directory.display()))?;
    Ok(())
}

fn ensure_there(path: &Path, package: &str) -> Result<()> {
    if path.exists() { Ok(()) } else { Err(Missing::new(&path.display().to_string(), package).into()) }
}

/// Creates replacements for CUDA's tools in `cuda`, which replaces a CUDA installation, and returns their directory.
pub fn stand_ins(directory: &Path) -> Result<PathBuf> {
    let tools = directory.join("cuda/bin");
    for part in ["cuda/bin", "cuda/include", "cuda/nvvm/libdevice"] {
        std::fs::create_dir_all(directory.join(part))?;
    }
    let cubin = fixture("answer-sm_90.cubin")?;
    let stand_in = STAND_IN.replace("CUBIN", &format!("'{}'", cubin.display()));
    for name in ["ptxas", "nvlink", "fatbinary"] {
        write_program(&tools.join(name), &stand_in)?;
    }
    Ok(tools)
}

/// Returns the file in `directory` with the first of these endings that any file has. No other file may have that ending.
fn one_of(directory: &Path, endings: &[&str]) -> Result<PathBuf> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        names.push(entry?.path());
    }
    for ending in endings {
        let found: Vec<_> = names.iter().filter(|path| path.to_string_lossy().ends_with(ending)).collect();
        match found[..] {
            [] => {}
            [path] => return Ok(path.clone()),
            _ => bail!("several files end in {ending}: {found:?}"),
        }
    }
    bail!("{}: no file ends in {endings:?}", directory.display())
}
