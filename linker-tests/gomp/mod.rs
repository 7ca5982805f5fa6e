//! Programs that GCC 12 compiles with OpenMP for NVIDIA and AMD: their images, with symbols and without, and their
//! objects before the link.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// A target of GCC: option, triple, package, and the names that its tables have.
struct OffloadTarget {
    name: &'static str,
    option: &'static str,
    triple: &'static str,
    package: &'static str,
    names: &'static [&'static str],
}

const TARGETS: [OffloadTarget; 2] = [
    OffloadTarget {
        name: "nvptx",
        option: "-foffload=nvptx-none",
        triple: "nvptx64-nvidia-cuda",
        package: "gcc-12-offload-nvptx",
        names: &["function main$_omp_fn$0", "function work$_omp_fn$0", "variable table"],
    },
    OffloadTarget {
        name: "amdgcn",
        option: "-foffload=amdgcn-amdhsa",
        triple: "amdgcn-amd-amdhsa",
        package: "gcc-12-offload-amdgcn",
        names: &["function _fini_array", "function _init_array", "function main._omp_fn.0", "function work._omp_fn.0"],
    },
];

/// Two functions with a target region each, and a variable on the device.
const SOURCE: &str = "#pragma omp declare target\nint table[16];\n#pragma omp end declare target\n\
    static int __attribute__((noinline)) work(int x) {\n  int r;\n#pragma omp target map(from: r)\n  { r = x + table[1]; }\n  return r;\n}\n\
    int main(void) {\n  int r = 0;\n#pragma omp target map(from: r)\n  { table[0] = 42; r = table[0]; }\n  return work(r) != 42;\n}\n";

pub fn trials() -> Vec<Trial> {
    let trial = |target: &'static OffloadTarget| {
        Trial::ignorable_test(format!("gomp/{}", target.name), move || {
            completion(fresh_directory("gomp", target.name).and_then(|directory| programs(&directory, target)))
        })
    };
    TARGETS.iter().map(trial).collect()
}

fn fatbin(directory: &Path, arguments: &[&str]) -> Result<Done> {
    Step::new(directory, fatbin_program()).args(arguments).run()
}

/// Calls GCC; ignored where it has no compiler for the target.
fn gcc(directory: &Path, target: &OffloadTarget) -> Result<Step> {
    let gcc = in_path("gcc-12").ok_or_else(|| Missing::new("gcc-12", "gcc-12"))?;
    let suffix = target.option.trim_start_matches("-foffload=");
    let compiler = format!("x86_64-linux-gnu-accel-{suffix}-gcc-12");
    in_path(&compiler).ok_or_else(|| Missing::new(&compiler, target.package))?;
    std::fs::write(directory.join("a.c"), SOURCE)?;
    Ok(Step::new(directory, gcc).args(["-O1", "-fopenmp", target.option]))
}

/// Programs with and without fixed addresses, each with symbols and without.
fn programs(directory: &Path, target: &OffloadTarget) -> Result<()> {
    gcc(directory, target)?.args(["-c", "-o", "a.o", "a.c"]).run()?;
    let json = Step::new(directory, "sh").args(["-c", "\"$0\" scan --json a.o; test $? = 1"]);
    let object = json.arg(fatbin_program()).run()?;
    ensure!(object.stdout.contains("\"offload_bytecode\": \"gimple\""), "{}", object.error("no bytecode"));
    for (name, option) in [("pie", "-pie"), ("fixed", "-no-pie")] {
        gcc(directory, target)?.args([option, "-fPIE", "-o", name, "a.c"]).run()?;
        let stripped = format!("{name}.stripped");
        Step::new(directory, Tool::Objcopy.path()?).args(["--strip-all", name, &stripped]).run()?;
        let [with, without] = [name, &stripped].map(|name| described(directory, name, target));
        let (with, without) = (with?, without?);
        ensure!(with == without, "{name}: {with:?} with symbols, {without:?} without");
    }
    if target.name == "amdgcn" { with_features(directory, target) } else { Ok(()) }
}

/// Every command agrees about an image whose flags state a feature, which libgomp does not compare. The kernels that
/// libgomp launches for itself are not the program's.
fn with_features(directory: &Path, target: &OffloadTarget) -> Result<()> {
    gcc(directory, target)?.args(["-foffload-options=-march=gfx906", "-o", "gfx906", "a.c"]).run()?;
    let scan = fatbin(directory, &["scan", "gfx906"])?;
    ensure!(scan.stdout.contains("gfx906:xnack-"), "{}", scan.error("no feature"));
    std::fs::write(directory.join("p.toml"), "archs.devices = ['gfx906']\narchs.require = ['gfx906']\n")?;
    fatbin(directory, &["select", "--device", "gfx906:sramecc-:xnack+", "gfx906"])?;
    fatbin(directory, &["check", "--asked-hip", "gfx906", "gfx906"])?;
    fatbin(directory, &["check", "--policy", "p.toml", "gfx906"])?;
    let inspect = fatbin(directory, &["inspect", "gfx906"])?;
    ensure!(inspect.stdout.contains("elf, 2 kernels"), "{}", inspect.error("expected the two kernels of the source"));
    Ok(())
}

/// Returns the sizes and hashes of the images of a program. Their properties must match the target.
fn described(directory: &Path, name: &str, target: &OffloadTarget) -> Result<Vec<String>> {
    let verified = fatbin(directory, &["verify", name])?;
    ensure!(verified.stdout.ends_with(", intact\n"), "{}", verified.error("not intact"));
    let done = fatbin(directory, &["scan", "--json", "--hash", name])?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let containers = document["files"][0]["containers"].as_array().context("containers")?;
    let (mut images, mut names) = (Vec::new(), Vec::new());
    for container in containers {
        let image = &container["images"][0];
        ensure!(
            image["kind"] == "openmp" && image["triple"] == target.triple,
            "{}",
            done.error("another kind or triple")
        );
        images.push(format!("{} {}", image["size"], image["sha256"]));
        for entry in image["entries"].as_array().into_iter().flatten() {
            let [kind, name] = ["kind", "name"].map(|key| entry[key].as_str().unwrap_or_default());
            names.push(format!("{kind} {name}"));
        }
    }
    names.sort();
    ensure!(names == target.names, "{}", done.error(format!("{names:?}")));
    ensure!(!images.is_empty(), "{}", done.error("no images"));
    Ok(images)
}
