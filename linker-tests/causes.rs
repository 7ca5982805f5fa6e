//! Causes that `fatbin diff` names: two builds of one source in different directories, by real compilers, and the same images
//! in other containers.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, llvm_tool, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Name of a trial, and its test in a separate directory.
type Test = (&'static str, fn(&Path) -> Result<()>);

const TRIALS: [Test; 5] = [
    ("nvcc", nvcc_in_two_directories),
    ("clang", clang_in_two_directories),
    ("stored", other_containers_and_compression),
    ("time-stamps", sources_of_another_time),
    ("changed", other_code_has_no_causes),
];

/// Kernels with and without names that are generated anew for each build.
const SOURCE: &str = "namespace { __global__ void anonymous(int *p) { *p += 1; } }
static __global__ void hidden(int *p) { *p += 2; }
static __device__ int counter;
__global__ void plain(int *p) { *p += counter; }
void use(int *p) { anonymous<<<1, 1>>>(p); hidden<<<1, 1>>>(p); }
";

/// The same for clang without the headers of HIP.
const HIP_SOURCE: &str = "#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
static __device__ int counter;
extern \"C\" __global__ void plain(int *p) { *p += counter; }
namespace { __global__ void anonymous(int *p) { *p += 2; } }
void *use() { return (void *)anonymous; }
";

pub fn trials() -> Vec<Trial> {
    let trial = |&(name, test): &Test| {
        Trial::ignorable_test(format!("causes/{name}"), move || {
            completion(fresh_directory("causes", name).and_then(|directory| test(&directory)))
        })
    };
    TRIALS.iter().map(trial).collect()
}

/// Compiles a source in two directories by the command that `compile` returns for each.
fn build_twice(directory: &Path, file: &str, source: &str, compile: &dyn Fn(&Path) -> Result<Step>) -> Result<()> {
    for name in ["first", "second"] {
        let own = directory.join(name);
        std::fs::create_dir_all(&own)?;
        std::fs::write(own.join(file), source)?;
        compile(&own)?.run()?;
    }
    Ok(())
}

/// Returns the document of `fatbin diff --json`.
fn diff(directory: &Path, old: &str, new: &str) -> Result<Value> {
    let mut command = command(fatbin_program());
    let output = command.current_dir(directory).args(["diff", "--json", old, new]).output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn check(document: &Value, expected: &[&str]) -> Result<()> {
    ensure!(document["same_code"] == true && document["causes"] == json!(expected), "{expected:?}: {document:#}");
    Ok(())
}

/// Returns the lock of a file of its directory, without what differs between builds of one source.
fn lock(directory: &Path, file: &str) -> Result<String> {
    let step = Step::new(directory, fatbin_program());
    Ok(step.args(["lock", "--code-only", "-o", "-", file]).run()?.stdout)
}

fn nvcc_in_two_directories(directory: &Path) -> Result<()> {
    let root = fetched("cuda-nvcc");
    let nvcc = find_in(&root, "nvcc").ok_or_else(|| not_fetched("nvcc"))?;
    let cases: [(&[&str], &[&str]); 4] = [
        (&[], &["module-ids"]),
        (&["-rdc=true"], &["module-ids"]),
        (&["-lineinfo"], &["module-ids", "paths"]),
        (&["-G"], &["module-ids", "temporary-names", "paths"]),
    ];
    for (options, expected) in cases {
        let both = ["-gencode", "arch=compute_90,code=sm_90", "-gencode", "arch=compute_90,code=compute_90"];
        let compile = |own: &Path| Ok(Step::new(own, &nvcc).args(["-c", "-o", "k.o", "k.cu"]).args(both).args(options));
        build_twice(directory, "k.cu", SOURCE, &compile)?;
        check(&diff(directory, "first/k.o", "second/k.o")?, expected)?;
        let locks = ["first", "second"].map(|name| lock(&directory.join(name), "k.o"));
        let [first, second] = locks;
        ensure!(first? == second?, "{options:?}: the locks of the code differ");
    }
    Ok(())
}

fn clang_in_two_directories(directory: &Path) -> Result<()> {
    let clang = llvm_tool("clang", "19", "clang-19")?;
    for (options, expected) in
        [(&["-O2"][..], &["module-ids"][..]), (&["-O2", "-g"], &["module-ids", "paths"]), (&["-O2", "-cuid=x"], &[])]
    {
        let device = ["-x", "hip", "--offload-arch=gfx90a", "-nogpulib", "-nogpuinc", "--offload-device-only"];
        let compile =
            |own: &Path| Ok(Step::new(own, &clang).args(device).args(options).args(["h.hip", "-o", "h.hipfb"]));
        build_twice(directory, "h.hip", HIP_SOURCE, &compile)?;
        check(&diff(directory, "first/h.hipfb", "second/h.hipfb")?, expected)?;
    }
    Ok(())
}

fn other_containers_and_compression(directory: &Path) -> Result<()> {
    let fixture = |name: &str| format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let (cubin, ptx) = (fixture("answer-sm_90.cubin"), fixture("answer-sm_80.ptx"));
    let create = |output: &str, images: [&str; 2]| {
        let step = Step::new(directory, Tool::Fatbinary.path()?);
        let image = |path: &str| {
            let (kind, arch) = if path == cubin { ("elf", "90") } else { ("ptx", "80") };
            format!("--image3=kind={kind},sm={arch},file={path}")
        };
        step.args(["--64", &format!("--create={output}"), &image(images[0]), &image(images[1])]).run()
    };
    create("first.fatbin", [&cubin, &ptx])?;
    create("second.fatbin", [&ptx, &cubin])?;
    check(&diff(directory, "first.fatbin", "second.fatbin")?, &["order"])?;
    let transcode = Step::new(directory, fatbin_program());
    transcode.args(["transcode", "--to", "none", "first.fatbin", "-o", "plain.fatbin"]).run()?;
    check(&diff(directory, "first.fatbin", "plain.fatbin")?, &["compression"])?;
    check(&diff(directory, "first.fatbin", "first.fatbin")?, &[])
}

/// The directive `.file` has a time stamp and a size in PTX of older toolkits, which ptxas copies to the line table.
fn sources_of_another_time(directory: &Path) -> Result<()> {
    let ptxas = Tool::Ptxas.path()?;
    for (name, time) in [("first", 1_700_000_000), ("second", 1_700_000_001)] {
        let head = format!(".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\", {time}, 99\n");
        std::fs::write(directory.join("k.ptx"), format!("{head}.visible .entry k()\n{{\n.loc 1 2 3\nret;\n}}\n"))?;
        let output = format!("{name}.cubin");
        Step::new(directory, &ptxas).args(["-arch=sm_90", "-lineinfo", "-o", &output, "k.ptx"]).run()?;
    }
    check(&diff(directory, "first.cubin", "second.cubin")?, &["time-stamps"])
}

fn other_code_has_no_causes(directory: &Path) -> Result<()> {
    let ptxas = Tool::Ptxas.path()?;
    for (name, value) in [("first", 1), ("second", 2)] {
        let body = format!(".reg .b32 %r<2>; mov.u32 %r1, {value}; st.global.u32 [g], %r1; ret;");
        let head = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .global .u32 g;\n";
        let source = format!("{head}.visible .entry f()\n{{ {body} }}\n");
        std::fs::write(directory.join("f.ptx"), source)?;
        let output = format!("{name}.cubin");
        Step::new(directory, &ptxas).args(["-arch=sm_90", "-o", &output, "f.ptx"]).run()?;
    }
    let document = diff(directory, "first.cubin", "second.cubin")?;
    ensure!(document["same_code"] == false && document["causes"] == json!([]), "{document:#}");
    Ok(())
}
