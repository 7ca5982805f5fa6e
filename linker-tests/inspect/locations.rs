//! `fatbin addr2line`: `llvm-symbolizer` prints the source of every instruction of code objects, and `nvdisasm` of cubins.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Deserializer, Value};

use super::{clang, source, text, trial};
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Compiler flags for debug information of code objects. llvm-symbolizer finds no lines after `-gline-directives-only`, because
/// no unit refers to the table.
const AMD: [(&str, &[&str]); 3] =
    [("full", &["-g"]), ("dwarf-4", &["-g", "-gdwarf-4", "-gz=zlib"]), ("lines", &["-gline-tables-only"])];

/// Flags of clang and ptxas for cubins. clang's functions that are inlined are not in the line table.
const NVIDIA: [(&str, &[&str], &str); 2] =
    [("lines", &["-gline-tables-only"], "-lineinfo"), ("full", &["-g", "--cuda-noopt-device-debug"], "-g")];

/// Size of an instruction of AMD's processors, at least.
const STEP: usize = 4;

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, options) in AMD {
        trials.push(trial(format!("locations/amdgpu/{name}"), move |directory| {
            let step =
                clang(directory)?.args(["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc"]);
            step.args(["--offload-arch=gfx90a"]).args(options).args(["-o", "image"]).arg(source("kernels.cu")).run()?;
            equal_symbolizer(directory)
        }));
    }
    for (name, options, assembler) in NVIDIA {
        trials.push(trial(format!("locations/cubin/{name}"), move |directory| {
            let step = clang(directory)?.args(["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib"]);
            let step = step.args(["--cuda-gpu-arch=sm_90", "--cuda-feature=+ptx80"]).args(options);
            step.args(["-S", "-o", "ptx"]).arg(source("kernels.cu")).run()?;
            assemble(directory, assembler, "ptx".as_ref())?;
            equal_nvdisasm(directory, 1).map(drop)
        }));
    }
    trials.push(trial("locations/cubin/inlined".to_owned(), |directory| {
        assemble(directory, "-lineinfo", &source("inlined.ptx"))?;
        let deepest = equal_nvdisasm(directory, usize::MAX)?;
        ensure!(deepest == 3, "at most {deepest} functions: this proves less than it should");
        Ok(())
    }));
    trials
}

fn assemble(directory: &Path, option: &str, ptx: &Path) -> Result<()> {
    Step::new(directory, Tool::Ptxas.path()?).args(["-arch=sm_90", option, "-o", "image"]).arg(ptx).run()?;
    Ok(())
}

/// Frames of locations in the file `image`, by location.
fn ours(directory: &Path, locations: &[String]) -> Result<BTreeMap<String, Vec<Value>>> {
    fs::write(directory.join("locations"), locations.join("\n"))?;
    // Status 1: some locations have no source.
    let script = "\"$FATBIN\" addr2line --json image < locations || test $? -eq 1";
    let done = Step::new(directory, "sh").args(["-c", script]).env("FATBIN", env!("CARGO_BIN_EXE_fatbin")).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let found = document["locations"].as_array().context("no locations")?;
    ensure!(found.len() == locations.len(), "{}", done.error("not every location"));
    let frames = |it: &Value| (text(&it["location"]), it["frames"].as_array().cloned().unwrap_or_default());
    Ok(found.iter().map(frames).collect())
}

/// Function, file, line and column of a frame; absent ones as llvm-symbolizer prints them.
fn frame(frame: &Value, names: [&str; 4]) -> [String; 4] {
    names.map(|name| text(&frame[name])).map(|text| if text == "0" { String::new() } else { text })
}

fn equal_symbolizer(directory: &Path) -> Result<()> {
    let symbols = Step::new(directory, Tool::Readelf.path()?).args(["--symbols", "--wide", "image"]).run()?;
    let mut addresses = Vec::new();
    for line in symbols.stdout.lines() {
        if let [_, start, size, "FUNC", ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
            let start = usize::from_str_radix(start, 16)?;
            let size: usize = size.parse()?;
            addresses.extend((start..start + size).step_by(STEP).map(|address| format!("{address:#x}")));
        }
    }
    addresses.sort();
    addresses.dedup();
    ensure!(addresses.len() > 500, "{}", symbols.error("little code: this proves less than it should"));
    let step =
        Step::new(directory, Tool::Symbolizer.path()?).args(["--output-style=JSON", "--no-demangle", "--obj=image"]);
    let theirs = step.args(&addresses).run()?;
    let ours = ours(directory, &addresses)?;
    let mut compared = 0;
    for document in Deserializer::from_str(&theirs.stdout).into_iter::<Value>() {
        for it in document?.as_array().context("an array")? {
            let frames = it["Symbol"].as_array().context("Symbol")?;
            let expected: Vec<_> =
                frames.iter().map(|it| frame(it, ["FunctionName", "FileName", "Line", "Column"])).collect();
            let address = text(&it["Address"]);
            let found = ours[&address].iter().map(|it| frame(it, ["function", "file", "line", "column"]));
            let found: Vec<_> = found.collect();
            ensure!(found == expected, "{address}: {found:?}, expected {expected:?}");
            compared += 1;
        }
    }
    ensure!(compared == addresses.len(), "{compared} of {} addresses", addresses.len());
    Ok(())
}

/// Compares files and lines of at most `depth` functions of each instruction. Returns the most functions of one.
fn equal_nvdisasm(directory: &Path, depth: usize) -> Result<usize> {
    let listed = Step::new(directory, Tool::Nvdisasm.path()?).args(["-gi", "-c", "image"]).run()?;
    let mut expected: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut section = "";
    let mut sources: Vec<(String, String)> = Vec::new();
    let mut is_new = true;
    for line in listed.stdout.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix(".text.").and_then(|name| name.strip_suffix(':')) {
            section = name;
            sources.clear();
        } else if let Some(position) = line.strip_prefix("//## File ") {
            if is_new {
                sources.clear();
            }
            is_new = false;
            let (file, line) = position.split_once(", line ").context("a line")?;
            let line = line.split_whitespace().next().context("a number")?;
            sources.push((file.trim_matches('"').to_owned(), line.to_owned()));
        } else if let Some((offset, _)) = line.strip_prefix("/*").and_then(|line| line.split_once("*/")) {
            is_new = true;
            if let Ok(offset) = u64::from_str_radix(offset, 16) {
                expected.insert(format!("{section}+{offset:#x}"), sources.clone());
            }
        }
    }
    ensure!(expected.len() > 20, "{}", listed.error("little code: this proves less than it should"));
    let locations: Vec<String> = expected.keys().cloned().collect();
    let ours = ours(directory, &locations)?;
    for (location, expected) in &expected {
        let frames = ours[location].iter().filter(|frame| !frame["file"].is_null());
        let found: Vec<_> = frames.map(|frame| (text(&frame["file"]), text(&frame["line"]))).take(depth).collect();
        ensure!(found == *expected, "{location}: {found:?}, expected {expected:?}");
    }
    Ok(expected.values().map(Vec::len).max().unwrap_or(0))
}
