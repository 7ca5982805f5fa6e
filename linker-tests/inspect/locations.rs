//! `fatbin addr2line`: `llvm-symbolizer` prints the source of every instruction of code objects, and `nvdisasm` of cubins.
//! Random addresses, also between functions and inside instructions, are looked up in one run, whose time is printed next to the
//! tool's. The code objects of Debian's rocRAND and of PennyLane have line tables; no small package has cubins with any, so these
//! are compiled here.

use std::collections::BTreeMap;
use std::fs;
use std::iter::successors;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Deserializer, Value};

use super::{clang, source, text, trial};
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;
use crate::real_files;

/// Compiler flags for debug information of code objects. llvm-symbolizer finds no lines after `-gline-directives-only`, because
/// no unit refers to the table.
const AMD: [(&str, &[&str]); 3] =
    [("full", &["-g"]), ("dwarf-4", &["-g", "-gdwarf-4", "-gz=zlib"]), ("lines", &["-gline-tables-only"])];

/// Flags of clang and ptxas for cubins. clang's functions that are inlined are not in the line table.
const NVIDIA: [(&str, &[&str], &str); 2] =
    [("lines", &["-gline-tables-only"], "-lineinfo"), ("full", &["-g", "--cuda-noopt-device-debug"], "-g")];

/// Packages with code objects: the arch, and an index, each for an image with DWARF 4 or 5.
const SHIPPED: [(&str, &str, &str); 3] =
    [("rocrand", "gfx1030", "0-"), ("rocrand", "gfx90a:xnack+", "5-"), ("pennylane", "gfx942", "14-")];

/// Size of an instruction of AMD's processors, at least.
const STEP: usize = 4;

/// Size of an instruction of NVIDIA's processors.
const NVIDIA_STEP: u64 = 16;

/// Number of random locations in an image.
const RANDOM: usize = 10_000;

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
    for (package, arch, index) in SHIPPED {
        let name = format!("locations/shipped/{package}-{arch}");
        trials.push(trial(name, move |directory| random_addresses(directory, package, arch, index)));
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
    let done = Step::new(directory, "sh").args(["-c", script]).env("FATBIN", fatbin_program()).run()?;
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
    compare_with_symbolizer(directory, &addresses).map(drop)
}

/// Asks for random bytes of the code in an image of a package.
fn random_addresses(directory: &Path, package: &'static str, arch: &str, index: &str) -> Result<()> {
    let extract = Step::new(directory, fatbin_program()).args(["extract", "--arch", arch, "--name"]);
    extract.args(["images/{name}/{number}-{extension}"]).arg(real_files::path_of(package)?).run()?;
    let images = Step::new(directory, "find").args(["images", "-name", &format!("{index}hsaco")]).run()?;
    fs::copy(directory.join(images.stdout.lines().min().context("no image")?), directory.join("image"))?;
    let sections = Step::new(directory, Tool::Readelf.path()?).args(["--sections", "--wide", "image"]).run()?;
    let text = sections.stdout.lines().find_map(|line| line.split_once(" .text ")).context("no .text")?.1;
    let words: Vec<&str> = text.split_whitespace().collect();
    let [start, size] = [words[1], words[3]].map(|number| u64::from_str_radix(number, 16));
    let (start, size) = (start?, size?);
    let addresses: Vec<String> = random().take(RANDOM).map(|number| format!("{:#x}", start + number % size)).collect();
    let with_lines = compare_with_symbolizer(directory, &addresses)?;
    ensure!(with_lines > RANDOM / 20, "{with_lines} addresses with lines: this proves less than it should");
    Ok(())
}

/// Returns an endless sequence of numbers.
fn random() -> impl Iterator<Item = u64> {
    let step =
        |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    successors(Some(50), step).skip(1).map(|state| state >> 16)
}

/// Compares all frames of addresses. Returns the number of addresses with a line.
fn compare_with_symbolizer(directory: &Path, addresses: &[String]) -> Result<usize> {
    let step =
        Step::new(directory, Tool::Symbolizer.path()?).args(["--output-style=JSON", "--no-demangle", "--obj=image"]);
    let start = Instant::now();
    let theirs = step.args(addresses).run()?;
    let their_time = start.elapsed();
    let start = Instant::now();
    let ours = ours(directory, addresses)?;
    print_ratio(directory, addresses.len(), start.elapsed().as_secs_f64() / their_time.as_secs_f64());
    let (mut compared, mut with_lines) = (0, 0);
    for document in Deserializer::from_str(&theirs.stdout).into_iter::<Value>() {
        for it in document?.as_array().context("an array")? {
            let frames = it["Symbol"].as_array().context("Symbol")?;
            let expected: Vec<_> =
                frames.iter().map(|it| frame(it, ["FunctionName", "FileName", "Line", "Column"])).collect();
            let address = text(&it["Address"]);
            let found = ours[&address].iter().map(|it| frame(it, ["function", "file", "line", "column"]));
            let found: Vec<_> = found.collect();
            // The tool prints a frame without anything where nothing is known.
            let expected: Vec<_> =
                expected.into_iter().filter(|frame| *frame != [const { String::new() }; 4]).collect();
            ensure!(found == expected, "{address}: {found:?}, expected {expected:?}");
            compared += 1;
            with_lines += usize::from(expected.first().is_some_and(|frame| !frame[2].is_empty()));
        }
    }
    ensure!(compared == addresses.len(), "{compared} of {} addresses", addresses.len());
    Ok(with_lines)
}

/// Prints the time of this build, which is not optimized, as a multiple of the tool's.
fn print_ratio(directory: &Path, count: usize, ratio: f64) {
    let name = directory.file_name().unwrap_or_default().display();
    println!("inspect/{name}: {count} locations in {ratio:.2} times the tool's time");
}

/// Files and lines, the innermost inlined function first.
pub type Sources = Vec<(String, String)>;

/// Compares files and lines of at most `depth` functions of each instruction, and of random bytes of them. Returns the most
/// functions of one.
fn equal_nvdisasm(directory: &Path, depth: usize) -> Result<usize> {
    let start = Instant::now();
    let listed = Step::new(directory, Tool::Nvdisasm.path()?).args(["-gi", "-c", "image"]).run()?;
    let their_time = start.elapsed();
    let instructions = instructions(&listed.stdout)?;
    ensure!(instructions.len() > 20, "{}", listed.error("little code: this proves less than it should"));
    let any = random().map(|number| (&instructions[number as usize % instructions.len()], number >> 32));
    let any = any.map(|((section, offset, sources), number)| (section, offset + number % NVIDIA_STEP, sources));
    let all = instructions.iter().map(|(section, offset, sources)| (section, *offset, sources));
    let expected: Vec<(String, &Sources)> = all
        .chain(any.take(RANDOM))
        .map(|(section, offset, sources)| (format!("{section}+{offset:#x}"), sources))
        .collect();
    let locations: Vec<String> = expected.iter().map(|(location, _)| location.clone()).collect();
    let start = Instant::now();
    let ours = ours(directory, &locations)?;
    print_ratio(directory, locations.len(), start.elapsed().as_secs_f64() / their_time.as_secs_f64());
    for (location, expected) in &expected {
        let frames = ours[location].iter().filter(|frame| !frame["file"].is_null());
        let found: Vec<_> = frames.map(|frame| (text(&frame["file"]), text(&frame["line"]))).take(depth).collect();
        ensure!(found == **expected, "{location}: {found:?}, expected {expected:?}");
    }
    Ok(instructions.iter().map(|(.., sources)| sources.len()).max().unwrap_or(0))
}

/// Instructions in a listing of nvdisasm: the function, the offset, and the sources.
pub fn instructions(listing: &str) -> Result<Vec<(&str, u64, Sources)>> {
    let mut instructions = Vec::new();
    let mut section = "";
    let mut sources = Sources::new();
    let mut is_new = true;
    for line in listing.lines().map(str::trim) {
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
                instructions.push((section, offset, sources.clone()));
            }
        }
    }
    Ok(instructions)
}
