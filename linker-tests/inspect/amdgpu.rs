//! AMD code objects: `llvm-readelf --notes` prints the metadata, `--symbols` the sizes of the code.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{Ours, clang, dwarf, source, text, trial};
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};

/// LLVM's name of each figure, and fatbin's.
const FIGURES: [(&str, &str); 10] = [
    (".vgpr_count", "vgprs"),
    (".agpr_count", "agprs"),
    (".sgpr_count", "sgprs"),
    (".vgpr_spill_count", "vgpr_spills"),
    (".sgpr_spill_count", "sgpr_spills"),
    (".private_segment_fixed_size", "scratch"),
    (".group_segment_fixed_size", "shared"),
    (".kernarg_segment_size", "parameter_size"),
    (".wavefront_size", "wave_size"),
    (".max_flat_workgroup_size", "max_threads"),
];

/// Old and new processors, of both wave sizes, with and without accumulation registers.
const PROCESSORS: [&str; 5] = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1201"];

/// Compiler flags for debug information, and the expected result.
const DEBUG: [(&str, &[&str], &str); 6] = [
    ("no-debug", &[], "none"),
    ("directives-only", &["-gline-directives-only"], "lines"),
    ("lines-only", &["-gline-tables-only"], "lines"),
    ("full", &["-g"], "full"),
    ("zlib", &["-g", "-gdwarf-4", "-gz=zlib"], "full"),
    ("zstd", &["-g", "-gz=zstd"], "full"),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for processor in PROCESSORS {
        trials.push(trial(format!("amdgpu/{processor}"), move |directory| {
            let ours = compiled(directory, processor, &["-g"], "full")?;
            let spills = |kernel: &serde_json::Value| kernel["vgpr_spills"].as_u64() > Some(0);
            ensure!(
                ours.kernels.values().any(spills),
                "{}",
                ours.error("nothing spills: this proves less than it should")
            );
            Ok(())
        }));
    }
    for version in ["4", "5", "6"] {
        let option = format!("-mcode-object-version={version}");
        let test = move |directory: &Path| compiled(directory, "gfx90a", &[&option], "none").map(drop);
        trials.push(trial(format!("amdgpu/code-object-{version}"), test));
    }
    for (name, options, level) in DEBUG {
        trials.push(trial(format!("amdgpu/{name}"), move |directory| {
            compiled(directory, "gfx90a", options, level).map(drop)
        }));
    }
    trials.push(trial("amdgpu/opencl".to_owned(), |directory| opencl(directory, &[])));
    trials.push(trial("amdgpu/to-be-linked".to_owned(), |directory| opencl(directory, &["-c", "-ffunction-sections"])));
    trials.push(trial("amdgpu/code-object-2".to_owned(), version_2));
    trials
}

fn compiled(directory: &Path, processor: &str, options: &[&str], level: &str) -> Result<Ours> {
    let step = clang(directory)?.args(["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc"]);
    let step = step.arg(format!("--offload-arch={processor}")).args(options);
    step.args(["-o", "image"]).arg(source("kernels.cu")).run()?;
    let ours = compare(directory, level)?;
    ours.has_names_of_cxxfilt(directory)?;
    Ok(ours)
}

fn opencl(directory: &Path, options: &[&str]) -> Result<()> {
    let step = clang(directory)?.args(["-x", "cl", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-g"]).args(options);
    step.args(["-o", "image"]).arg(source("kernels.cl")).run()?;
    compare(directory, "full")?.has_names_of_cxxfilt(directory)
}

/// Compiles version 2, which clang 14 to 16 write on request, and compares its kernels with llvm-readelf.
fn version_2(directory: &Path) -> Result<()> {
    let step = Step::new(directory, llvm_tool("clang", "14", "clang-14")?).args(["-x", "cl", "-O2", "-nogpulib", "-c"]);
    let step = step.args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx906", "-mcode-object-version=2", "-o", "image"]);
    step.arg(source("kernels.cl")).run()?;
    let ours = Ours::of(directory, "image")?;
    let notes = Step::new(directory, Tool::Readelf.path()?).args(["--notes", "image"]).run()?.stdout;
    let mut compared = 0;
    let mut name = "";
    for line in notes.lines().skip_while(|line| *line != "Kernels:") {
        let Some((key, value)) = line.split_once(':') else { continue };
        if key == "  - Name" {
            name = value.trim();
        } else if let Some((_, own)) = FIGURES_OF_VERSION_2.iter().find(|(theirs, _)| *theirs == key.trim()) {
            let kernel = ours.kernels.get(name).with_context(|| ours.error(format!("{name} is missing")))?;
            ensure!(text(&kernel[*own]) == value.trim(), "{}", ours.error(format!("{name}: {line}")));
            compared += 1;
        }
    }
    ensure!(
        ours.kernels.len() > 1 && compared > 6 * ours.kernels.len(),
        "{}",
        ours.error(format!("{compared} figures"))
    );
    Ok(())
}

/// Keys of the note of version 2, and of `inspect --json`.
const FIGURES_OF_VERSION_2: [(&str, &str); 7] = [
    ("NumVGPRs", "vgprs"),
    ("NumSGPRs", "sgprs"),
    ("GroupSegmentFixedSize", "shared"),
    ("PrivateSegmentFixedSize", "scratch"),
    ("KernargSegmentSize", "parameter_size"),
    ("MaxFlatWorkGroupSize", "max_threads"),
    ("WavefrontSize", "wave_size"),
];

pub fn compare(directory: &Path, level: &str) -> Result<Ours> {
    let ours = Ours::of(directory, "image")?;
    let notes = Step::new(directory, Tool::Readelf.path()?).args(["--notes", "image"]).run()?;
    let theirs = kernels_of_notes(&notes.stdout);
    ensure!(theirs.len() == ours.kernels.len() && theirs.len() > 1, "{}", ours.error(format!("{theirs:?}")));
    let sizes = function_sizes(directory)?;
    for kernel in theirs {
        let name = &kernel[".name"];
        let own = ours.kernels.get(name).with_context(|| ours.error(format!("{name} is missing")))?;
        let stated = |key: &str| kernel.get(key).cloned().unwrap_or_default();
        for (theirs, key) in FIGURES {
            ensure!(
                text(&own[key]) == stated(theirs),
                "{}",
                ours.error(format!("{name}: {theirs}: {}", stated(theirs)))
            );
        }
        let is_minimum = text(&own["scratch_is_minimum"]) == "true";
        ensure!(is_minimum == (stated(".uses_dynamic_stack") == "true"), "{}", ours.error(name));
        let shape = text(&own["required_threads"]);
        ensure!(shape == stated(".reqd_workgroup_size"), "{}", ours.error(format!("{name}: {shape}")));
        ensure!(own["code_size"].as_u64() == sizes.get(name).copied(), "{}", ours.error(format!("{name}: {sizes:?}")));
    }
    ensure!(text(&ours.image["debug"]["level"]) == level, "{}", ours.error(format!("should be {level}")));
    dwarf::compare(directory, &ours, "image")?;
    Ok(ours)
}

/// The kernels in what `llvm-readelf --notes` prints as YAML: keys and values of the list's items; a list of numbers is
/// its elements as JSON has them. What is nested deeper, the arguments, is left out.
fn kernels_of_notes(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut kernels: Vec<BTreeMap<String, String>> = Vec::new();
    let lines = text.lines().skip_while(|line| *line != "amdhsa.kernels:").skip(1);
    let mut list = None;
    for line in lines.take_while(|line| line.starts_with(' ')) {
        let (indent, is_item) = (line.len() - line.trim_start().len(), line.trim_start().starts_with("- "));
        if indent == 2 && is_item {
            kernels.push(BTreeMap::new());
        }
        let Some(kernel) = kernels.last_mut() else { continue };
        let entry = line.trim_start().trim_start_matches("- ");
        match (indent, is_item, entry.split_once(':')) {
            (2, true, Some((key, value))) | (4, false, Some((key, value))) => {
                list = value.trim().is_empty().then(|| key.to_owned());
                if list.is_none() {
                    kernel.insert(key.to_owned(), value.trim().trim_matches('\'').to_owned());
                }
            }
            (6, true, None) => {
                let values = kernel.entry(list.clone().unwrap_or_default()).or_default();
                *values = format!("[{}]", [values.trim_matches(['[', ']']), entry].join(",").trim_start_matches(','));
            }
            _ => {}
        }
    }
    kernels
}

/// Functions and their sizes, from both symbol tables.
fn function_sizes(directory: &Path) -> Result<BTreeMap<String, u64>> {
    let symbols = Step::new(directory, Tool::Readelf.path()?).args(["--symbols", "--wide", "image"]).run()?;
    let function = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, size, "FUNC", _, _, _, name] = fields[..] else { return None };
        Some((name.to_owned(), size.parse().ok()?))
    };
    Ok(symbols.stdout.lines().filter_map(function).collect())
}
