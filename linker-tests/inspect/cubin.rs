//! NVIDIA cubins: `cuobjdump -res-usage` prints the resources of each function.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{Ours, clang, dwarf, source, text, trial};
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Both forms of the ELF header, with and without 1 KB of shared memory reserved by the system (90 and later).
const ARCHITECTURES: [&str; 6] = ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100f", "sm_120"];

/// The kernels of `kernels.cu`.
const KERNELS: usize = 8;

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for architecture in ARCHITECTURES {
        trials.push(trial(format!("cubin/{architecture}"), move |directory| {
            let ours = assembled(directory, &["-g"], architecture, &[], "lines")?;
            let scratch = |name: &str| ours.kernels[name]["scratch"].as_u64();
            ensure!(
                scratch("_Z5callsPii") >= Some(128),
                "{}",
                ours.error("nothing on the stack: this proves less than it should")
            );
            Ok(())
        }));
    }
    let without_debug = |directory: &Path| assembled(directory, &[], "sm_90", &[], "none").map(drop);
    trials.push(trial("cubin/no-debug".to_owned(), without_debug));
    // `debug` in the target of the PTX requires `-g`.
    let full = |directory: &Path| {
        assembled(directory, &["-g", "--cuda-noopt-device-debug"], "sm_90", &["-g"], "full").map(drop)
    };
    trials.push(trial("cubin/full-debug".to_owned(), full));
    trials.push(trial("cubin/to-be-linked".to_owned(), to_be_linked));
    trials
}

fn ptx(directory: &Path, options: &[&str]) -> Result<()> {
    let step = clang(directory)?.args(["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib"]);
    let step = step.args(["--cuda-gpu-arch=sm_70", "--cuda-feature=+ptx78"]).args(options);
    step.args(["-S", "-o", "ptx"]).arg(source("kernels.cu")).run()?;
    Ok(())
}

fn assemble(directory: &Path, architecture: &str, options: &[&str]) -> Result<()> {
    let step = Step::new(directory, Tool::Ptxas.path()?).arg(format!("-arch={architecture}")).args(options);
    step.args(["-o", "image", "ptx"]).run()?;
    Ok(())
}

fn assembled(directory: &Path, clang: &[&str], architecture: &str, ptxas: &[&str], level: &str) -> Result<Ours> {
    ptx(directory, clang)?;
    assemble(directory, architecture, ptxas)?;
    let ours = compare(directory, level)?;
    ensure!(ours.kernels.len() == KERNELS, "{}", ours.error(format!("should be {KERNELS} kernels")));
    ours.has_names_of_cxxfilt(directory)?;
    agrees_with_ptx(directory, &ours)?;
    Ok(ours)
}

/// Compares the report about the cubin `image` with the output of the other tools.
pub fn compare(directory: &Path, level: &str) -> Result<Ours> {
    let ours = Ours::of(directory, "image")?;
    for (name, theirs) in &usage(directory, &ours)? {
        ensure!(of(&ours.kernels[name]) == *theirs, "{}", ours.error(format!("{name}: cuobjdump: {theirs:?}")));
    }
    ensure!(text(&ours.image["debug"]["level"]) == level, "{}", ours.error(format!("should be {level}")));
    dwarf::compare(directory, &ours, "image")?;
    Ok(ours)
}

/// An unlinked cubin has no stack size yet, and cuobjdump prints 0. The frame size is known, and is a lower bound: a
/// linked kernel without a frame may still have callees.
fn to_be_linked(directory: &Path) -> Result<()> {
    let linked = assembled(directory, &[], "sm_90", &[], "none")?;
    assemble(directory, "sm_90", &["-c"])?;
    let ours = Ours::of(directory, "image")?;
    for (name, theirs) in usage(directory, &ours)? {
        let own = &ours.kernels[&name];
        ensure!(theirs["STACK"] == "0", "{}", ours.error("cuobjdump knows better than it did"));
        ensure!(own["scratch_is_minimum"].as_bool() == Some(true), "{}", ours.error(&name));
        let without_stack = |figures: BTreeMap<String, String>| -> Vec<_> {
            figures.into_iter().filter(|(key, _)| key != "STACK").collect()
        };
        ensure!(without_stack(of(own)) == without_stack(theirs), "{}", ours.error(&name));
        let known = linked.kernels[&name]["scratch"].as_u64();
        ensure!(own["scratch"].as_u64() <= known, "{}", ours.error(format!("{name}: {known:?} once linked")));
    }
    let spills = &ours.kernels["_ZN6inside6spillsILi3EdEEvPVT0_"];
    ensure!(spills["scratch"].as_u64() > Some(0), "{}", ours.error("the frame should be told"));
    Ok(())
}

type Figures = BTreeMap<String, String>;

/// Returns fatbin's figures of a kernel under cuobjdump's names.
fn of(kernel: &Value) -> Figures {
    let stack = match kernel["scratch_is_minimum"].as_bool() {
        Some(true) => "UNKNOWN".to_owned(),
        _ => text(&kernel["scratch"]),
    };
    let figures = [("REG", text(&kernel["registers"])), ("STACK", stack), ("SHARED", text(&kernel["shared"]))];
    let mut figures: Figures = figures.map(|(name, value)| (name.to_owned(), value)).into();
    for bank in kernel["constant_banks"].as_array().into_iter().flatten() {
        figures.insert(format!("CONSTANT[{}]", bank["bank"]), text(&bank["size"]));
    }
    figures
}

/// Returns cuobjdump's figures of each kernel. It lists other functions too.
fn usage(directory: &Path, ours: &Ours) -> Result<BTreeMap<String, Figures>> {
    let done = Step::new(directory, Tool::Cuobjdump.path()?).args(["-res-usage", "image"]).run()?;
    let mut usage = BTreeMap::new();
    let mut lines = done.stdout.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix(" Function ").and_then(|rest| rest.strip_suffix(':')) else { continue };
        let figures = lines.next().context("a line of figures")?.split_whitespace();
        let figures = figures.filter_map(|figure| figure.split_once(':'));
        let wanted = |name: &str| ["REG", "STACK", "SHARED"].contains(&name) || name.starts_with("CONSTANT");
        let figures: Figures =
            figures.filter(|(name, _)| wanted(name)).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        if ours.kernels.contains_key(name) {
            usage.insert(name.to_owned(), figures);
        } else {
            ensure!(!figures.contains_key("CONSTANT[0]"), "{}", ours.error(format!("{name} is missing")));
        }
    }
    let all = usage.len() == ours.kernels.len() && !usage.is_empty();
    ensure!(all, "{}", done.error(format!("{:?}", usage.keys())));
    Ok(usage)
}

/// What the text states comes out of ptxas again: parameters, launch bounds, lines, and shared memory where the system
/// keeps none.
fn agrees_with_ptx(directory: &Path, cubin: &Ours) -> Result<()> {
    let text_of = Ours::of(directory, "ptx")?;
    let arch = text(&cubin.image["arch"]);
    let number: u32 = arch.trim_matches(|c: char| !c.is_ascii_digit()).parse()?;
    for (name, kernel) in &cubin.kernels {
        let stated = &text_of.kernels[name];
        for key in ["parameter_size", "max_threads"] {
            ensure!(stated[key] == kernel[key], "{}", text_of.error(cubin.error(format!("{name}: {key}"))));
        }
        let places = |kernel: &Value| -> Vec<(Option<u64>, Option<u64>)> {
            let parameters = kernel["parameters"].as_array().cloned().unwrap_or_default();
            parameters.iter().map(|it| (it["offset"].as_u64(), it["size"].as_u64())).collect()
        };
        ensure!(places(stated) == places(kernel), "{}", text_of.error(cubin.error(format!("{name}: parameters"))));
        ensure!(stated["source"]["line"] == kernel["source"]["line"], "{}", text_of.error(cubin.error(name)));
        if number < 90 {
            ensure!(stated["shared"] == kernel["shared"], "{}", text_of.error(cubin.error(format!("{name}: shared"))));
        }
    }
    ensure!(text_of.image["debug"]["level"] == cubin.image["debug"]["level"], "{}", text_of.error("debug level"));
    Ok(())
}
