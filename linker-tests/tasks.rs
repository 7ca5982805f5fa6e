//! The scripts in `docs/tasks`, run with the wheel, the C library and the crate. Other tools read what they write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::step::{Done, Step};
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};
use crate::inspect::locations::instructions;
use crate::native;
use crate::vendors::nvcc::nvcc;

/// All scripts.
const SCRIPTS: [&str; 8] = [
    "aot-inductor-cuda.py",
    "aot-inductor-rocm.py",
    "fat-binary-per-source.rs",
    "fat-binary.py",
    "kernel-figures.py",
    "kernel-list.rs",
    "preprocessed-files.rs",
    "source-lines.c",
];

pub fn trials() -> Vec<Trial> {
    type Test = fn(&Path) -> Result<()>;
    let tests: [(&str, Test); 3] = [("listed", listed), ("source-lines", source_lines), ("crates", crates)];
    let trial = |(name, test): (&'static str, Test)| {
        Trial::ignorable_test(format!("tasks/{name}"), move || {
            completion(fresh_directory("tasks", name).and_then(|directory| test(&directory)))
        })
    };
    tests.into_iter().map(trial).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn script(name: &str) -> String {
    root().join("docs/tasks").join(name).display().to_string()
}

/// A script that no trial runs fails here.
fn listed(_: &Path) -> Result<()> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join("docs/tasks"))? {
        found.insert(entry?.file_name().into_string().unwrap_or_default());
    }
    found.retain(|name| !name.ends_with(".md"));
    ensure!(found == SCRIPTS.map(str::to_owned).into(), "{found:?}");
    let page = fs::read_to_string(script("README.md"))?;
    for name in SCRIPTS {
        ensure!(page.contains(&format!("[{name}]({name})")), "docs/tasks/README.md lacks {name}");
    }
    Ok(())
}

/// Runs the scripts in Python in a directory with an interpreter that has the wheel.
pub fn python(directory: &Path, run: &dyn Fn(&[&str]) -> Result<Done>, wheel: &Path) -> Result<()> {
    let images = ["answer-sm_90.cubin", "answer-sm_80.ptx", "answer-gfx90a.hsaco"];
    for name in images {
        fs::copy(fixture(name)?, directory.join(name))?;
    }
    let [cubin, ptx, hsaco] = images;
    run(&[&script("fat-binary.py"), "fat", cubin, ptx])?;
    has_images(directory, "fat", cubin, ptx)?;
    run(&[&script("aot-inductor-cuda.py"), "kernel", cubin, ptx])?;
    has_images(directory, "kernel.fatbin", cubin, ptx)?;
    let program = "#include <stdio.h>\nextern const char kernel[], kernel_end[];\n\
        int main(void) { return fwrite(kernel, 1, kernel_end - kernel, fopen(\"embedded\", \"wb\")) == 0; }\n";
    fs::write(directory.join("main.c"), program)?;
    Step::new(directory, Tool::Cc.path()?).args(["-o", "program", "main.c", "kernel.o"]).run()?;
    Step::new(directory, directory.join("program")).run()?;
    same(directory, "embedded", "kernel.fatbin")?;

    fs::write(directory.join("k.c"), "__attribute__((amdgpu_kernel)) void k(int *p) { *p = 1; }\n")?;
    let clang = Step::new(directory, Tool::Clang.path()?).args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx942"]);
    clang.args(["-nogpulib", "-o", "gfx942.hsaco", "k.c"]).run()?;
    run(&[&script("aot-inductor-rocm.py"), "ours.hipfb", hsaco, "gfx942.hsaco"])?;
    let targets =
        ["host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx942"];
    let bundler = Step::new(directory, Tool::OffloadBundler.path()?).args(["--type=o", "--bundle-align=4096"]);
    let bundler =
        bundler.arg(format!("--targets={}", targets.join(","))).args(["--input=/dev/null", "--output=theirs"]);
    bundler.arg(format!("--input={hsaco}")).arg("--input=gfx942.hsaco").run()?;
    same(directory, "ours.hipfb", "theirs")?;

    run(&["-m", "zipfile", "-e", wheel.to_str().context("a path in UTF-8")?, "wheel"])?;
    let library = "wheel/nvidia/nvjpeg/lib/libnvjpeg.so.12";
    let done = run(&[&script("kernel-figures.py"), library, "sm_90"])?;
    let usage = Step::new(directory, Tool::Cuobjdump.path()?).args(["-res-usage", "-arch=sm_90", library]).run()?;
    let theirs = usage_of_kernels(&usage.stdout);
    let ours: BTreeSet<String> =
        done.stdout.lines().filter_map(|line| line.rsplit_once(' ')).map(|it| it.0.to_owned()).collect();
    ensure!(theirs.len() > 100 && ours == theirs, done.error(format!("cuobjdump prints {theirs:?}")));
    Ok(())
}

/// Kernels with their registers and shared memory in cuobjdump's words, in the script's words.
fn usage_of_kernels(printed: &str) -> BTreeSet<String> {
    let mut kernels = BTreeSet::new();
    let mut lines = printed.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("Function ").and_then(|name| name.strip_suffix(':')) else { continue };
        let usage: BTreeMap<_, _> =
            lines.next().unwrap_or_default().split_whitespace().filter_map(|word| word.split_once(':')).collect();
        kernels.insert(format!("sm_90 {name} registers={} shared={}", usage["REG"], usage["SHARED"]));
    }
    kernels
}

/// cuobjdump extracts exactly these images from a fat binary.
fn has_images(directory: &Path, container: &str, cubin: &str, ptx: &str) -> Result<()> {
    let theirs = directory.join(format!("{container}-images"));
    fs::create_dir(&theirs)?;
    let step = Step::new(&theirs, Tool::Cuobjdump.path()?).args(["-xelf", "all", "-xptx", "all"]);
    let done = step.arg(format!("../{container}")).run()?;
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&theirs)? {
        let path = entry?.path();
        found.insert(path.extension().context("an extension")?.to_owned(), fs::read(path)?);
    }
    let read = |name: &str| fs::read(directory.join(name));
    let expected = BTreeMap::from([("cubin".into(), read(cubin)?), ("ptx".into(), read(ptx)?)]);
    ensure!(found == expected, done.error("other images"));
    Ok(())
}

fn same(directory: &Path, one: &str, other: &str) -> Result<()> {
    ensure!(fs::read(directory.join(one))? == fs::read(directory.join(other))?, "{one} differs from {other}");
    Ok(())
}

/// The script in C finds the sources that nvdisasm prints for each instruction.
fn source_lines(directory: &Path) -> Result<()> {
    native::compile(directory, script("source-lines.c").as_ref(), Tool::Cc, &["-std=c11"], "source-lines")?;
    let ptx = root().join("linker-tests/inspect/inlined.ptx");
    Step::new(directory, Tool::Ptxas.path()?).args(["-arch=sm_90", "-lineinfo", "-o", "image"]).arg(ptx).run()?;
    let listed = Step::new(directory, Tool::Nvdisasm.path()?).args(["-gi", "-c", "image"]).run()?;
    let (mut samples, mut expected) = (String::new(), String::new());
    for (kernel, offset, sources) in instructions(&listed.stdout)? {
        samples += &format!("{kernel} {offset:x}\n");
        expected += &format!("{kernel} {offset:x}\n");
        for (file, line) in sources {
            expected += &format!("{file} {line}\n");
        }
    }
    fs::write(directory.join("samples"), samples)?;
    let run = Step::new(directory, "sh").args(["-c", "./source-lines image < samples"]);
    let done = run.env("LD_LIBRARY_PATH", native::installation()?.join("lib")).run()?;
    // nvdisasm does not name the functions.
    let without_function = |line: &str| match line.strip_prefix("  ") {
        Some(frame) => frame.split_once(' ').map(|it| it.1.to_owned()),
        None => Some(line.to_owned()),
    };
    let found: Vec<String> = done.stdout.lines().filter_map(without_function).filter(|line| line != "? 0").collect();
    ensure!(expected.lines().eq(found) && expected.lines().count() > 40, done.error(expected));
    Ok(())
}

/// A program for each build script: writes what it embeds, and prints the list of kernels.
const PROGRAMS: [(&str, &str); 2] = [
    ("fat-binary-per-source", ""),
    (
        "kernel-list",
        "include!(concat!(env!(\"OUT_DIR\"), \"/kernels.rs\"));\n\
         pub fn list() { for (module, kernel) in KERNELS { println!(\"{module} {kernel}\"); } }\n",
    ),
];

const PROGRAM: &str = "\
mod modules { include!(concat!(env!(\"OUT_DIR\"), \"/modules.rs\")); }
fn main() {
    for (name, bytes) in modules::all() { std::fs::write(format!(\"{name}.fatbin\"), bytes).unwrap(); }
    list();
}
";

const NO_LIST: &str = "fn list() {}\n";

/// Kernels that the text of a source does not name.
const TEMPLATE: &str = "\
#define KERNEL extern \"C\" __global__ void
KERNEL
scale(float *p) { *p *= 2; }
template <typename T> __global__ void fill(T *p) { *p = 1; }
template __global__ void fill<int>(int *);
";

/// The scripts in Rust, as build scripts and as a program of packages outside of the workspace. cargo compiles the crate once for
/// both, and has the dependencies of `bindings/c`.
fn crates(directory: &Path) -> Result<()> {
    let nvcc = nvcc("13.5")?;
    Tool::Cuobjdump.path()?;
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"*-*\"]\n";
    fs::write(directory.join("Cargo.toml"), workspace)?;
    fs::copy(root().join("bindings/c/Cargo.lock"), directory.join("Cargo.lock"))?;
    let dependency = format!(
        "fatbin = {{ path = {:?}, default-features = false, features = [\"full\"] }}",
        root().join("src/fatbin")
    );
    for (name, list) in PROGRAMS {
        let script = format!("build = {:?}\n\n[build-dependencies]", script(&format!("{name}.rs")));
        package(directory, name, &script, &dependency)?;
        let list = if list.is_empty() { NO_LIST } else { list };
        fs::write(directory.join(name).join("src/main.rs"), format!("{PROGRAM}{list}"))?;
        fs::create_dir(directory.join(name).join("kernels"))?;
        fs::write(directory.join(name).join("kernels/template.cu"), TEMPLATE)?;
        fs::copy(root().join("linker-tests/vendors/kernels.cu"), directory.join(name).join("kernels/kernels.cu"))?;
    }
    package(directory, "preprocessed-files", "\n[dependencies]", &dependency)?;
    let source = script("preprocessed-files.rs");
    fs::copy(source, directory.join("preprocessed-files/src/main.rs"))?;
    let build = Step::new(directory, env!("CARGO")).args(["build", "--offline"]).env("NVCC", nvcc);
    native::with_target_directory(build.env("CUDA_COMPUTE_CAPS", "80,90"))?.run()?;
    let programs = native::target_directory()?.join("debug");
    for (name, _) in PROGRAMS {
        has_kernels(&directory.join(name), &programs.join(name), name)?;
    }
    preprocessed_files(directory, &programs.join("preprocessed-files"))
}

fn package(directory: &Path, name: &str, before: &str, dependency: &str) -> Result<()> {
    fs::create_dir_all(directory.join(name).join("src"))?;
    let text = format!("[package]\nname = {name:?}\nedition = \"2024\"\n{before}\n{dependency}\n");
    Ok(fs::write(directory.join(name).join("Cargo.toml"), text)?)
}

/// cuobjdump finds the images and the kernels in the files that a program embeds.
fn has_kernels(directory: &Path, program: &Path, name: &str) -> Result<()> {
    let done = Step::new(directory, program).run()?;
    let mut kernels = BTreeSet::new();
    for module in ["kernels", "template"] {
        let file = format!("{module}.fatbin");
        let step = Step::new(directory, Tool::Cuobjdump.path()?);
        let usage = step.args(["-res-usage", &file]).run()?.stdout;
        let names = usage.lines().filter_map(|line| line.trim().strip_prefix("Function ")?.strip_suffix(':'));
        // The list has no functions that kernels call.
        kernels.extend(names.filter(|name| !name.contains("twice")).map(|name| format!("{module} {name}")));
        let listed = Step::new(directory, Tool::Cuobjdump.path()?).args(["-lelf", "-lptx", &file]).run()?;
        let archs: &[&str] =
            if name == "kernel-list" { &["sm_90.cubin"] } else { &["sm_80.cubin", "sm_90.cubin", "sm_90.ptx"] };
        ensure!(archs.iter().all(|arch| listed.stdout.contains(arch)), listed.error(format!("{name}: {archs:?}")));
    }
    let found: BTreeSet<String> = done.stdout.lines().map(str::to_owned).collect();
    ensure!(name != "kernel-list" || (found == kernels && found.len() == 5), done.error(format!("{kernels:?}")));
    Ok(())
}

/// The files that clang names in the text of each target, which its bundler decompresses.
fn preprocessed_files(directory: &Path, program: &Path) -> Result<()> {
    fs::write(directory.join("host.h"), "#define VALUE 1\n")?;
    fs::write(directory.join("device.h"), "#define VALUE 2\n")?;
    let source = "#ifdef __HIP_DEVICE_COMPILE__\n#include \"device.h\"\n#else\n#include \"host.h\"\n#endif\nint value = VALUE;\n";
    fs::write(directory.join("k.hip"), source)?;
    let clang = Step::new(directory, Tool::Clang.path()?).args(["-E", "-x", "hip", "-nogpuinc", "-nogpulib"]);
    let clang = clang.args(["--offload-arch=gfx90a", "--offload-arch=gfx942", "--offload-compress"]);
    clang.args(["-o", "preprocessed", "k.hip"]).run()?;
    ensure!(fs::read(directory.join("preprocessed"))?.starts_with(b"CCOB"), "the output is not compressed");
    let done = Step::new(directory, program).arg("preprocessed").run()?;
    let mut expected = BTreeSet::new();
    for target in ["host-x86_64-pc-linux-gnu-", "hip-amdgcn-amd-amdhsa--gfx90a", "hip-amdgcn-amd-amdhsa--gfx942"] {
        let bundler = Step::new(directory, Tool::OffloadBundler.path()?).args(["--unbundle", "--type=ii"]);
        let bundler = bundler.args(["--input=preprocessed", "--output=text"]);
        bundler.arg(format!("--targets={target}")).run()?;
        let text = fs::read_to_string(directory.join("text"))?;
        let header = if target.starts_with("host") { "./host.h" } else { "./device.h" };
        ensure!(text.contains(&format!("# 1 \"{header}\"")), "{target}: {text}");
        expected.extend([format!("{target} {header}"), format!("{target} k.hip")]);
    }
    let found: BTreeSet<String> = done.stdout.lines().map(str::to_owned).collect();
    ensure!(found == expected, done.error(format!("expected: {expected:?}")));
    Ok(())
}
