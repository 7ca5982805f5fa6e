//! `fatbin metadata`, compared with the programs that read such metadata: variantlib, the loader of Hugging Face's
//! kernels, and conda's rattler. `readers.py` calls them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, fetched, find_in, in_path, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Name of a trial, and its test in a separate directory.
type Test = (&'static str, fn(&Path) -> Result<()>);

const TRIALS: [Test; 5] = [
    ("variantlib", wheel_variants_are_those_of_variantlib),
    ("kernels", the_loader_accepts_every_device_that_runs_the_code),
    ("conda", constraints_hold_on_exactly_the_devices_that_run_the_code),
    ("wheel", a_real_wheel_is_compared_with_its_metadata),
    ("amd", amd_code_is_claimed_by_names_that_readers_know),
];

/// Code of packages: `sm_90a` is machine code, `compute_90` PTX.
const PACKAGES: [&str; 6] = [
    "sm_80 sm_90 compute_90",
    "sm_75 sm_86 sm_120",
    "sm_90a sm_100a",
    "sm_100f compute_120",
    "sm_87 sm_110",
    "compute_80",
];

/// Devices whose names `fatbin select` is asked about.
const DEVICES: [u32; 14] = [75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121];

/// Parts whose code the loader of kernels does not distinguish from code for other parts of the same major version.
const INDISTINCT: [u32; 5] = [87, 88, 101, 107, 110];

pub fn trials() -> Vec<Trial> {
    let trial = |&(name, test): &Test| {
        Trial::ignorable_test(format!("metadata/{name}"), move || {
            completion(fresh_directory("metadata", name).and_then(|directory| test(&directory)))
        })
    };
    TRIALS.iter().map(trial).collect()
}

fn fatbin(directory: &Path) -> Step {
    Step::new(directory, fatbin_program())
}

fn read(directory: &Path, reader: &str, file: &str) -> Result<Value> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let site = fetched("package-metadata");
    ensure_fetched(&site)?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/linker-tests/metadata/readers.py");
    let done = Step::new(directory, python).env("PYTHONPATH", &site).args([script, reader, file]).run()?;
    Ok(serde_json::from_str(&done.stdout)?)
}

fn ensure_fetched(site: &Path) -> Result<()> {
    if site.is_dir() { Ok(()) } else { Err(not_fetched("package-metadata").into()) }
}

/// Compiles the code of a package with ptxas, and returns the names of the files.
fn compile(directory: &Path, package: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for name in package.split(' ') {
        let arch = name.replace("compute_", "sm_");
        let source = format!(".version 9.0\n.target {arch}\n.address_size 64\n.visible .entry answer()\n{{ ret; }}\n");
        std::fs::write(directory.join(format!("{name}.ptx")), source)?;
        if name == arch {
            let cubin = format!("{name}.cubin");
            let ptxas = Step::new(directory, Tool::Ptxas.path()?);
            ptxas.args([format!("-arch={arch}"), "-o".to_owned(), cubin.clone(), format!("{name}.ptx")]).run()?;
            files.push(cubin);
        } else {
            files.push(format!("{name}.ptx"));
        }
    }
    Ok(files)
}

/// Returns the metadata of a package in a format, with the additional keys that its reader requires.
fn write(directory: &Path, format: &str, files: &[String], others: &Value) -> Result<Value> {
    let done = fatbin(directory).args(["metadata", "--format", format]).args(files).run()?;
    let mut document: Value = serde_json::from_str(&done.stdout)?;
    for (key, value) in others.as_object().into_iter().flatten() {
        document[key] = value.clone();
    }
    std::fs::write(directory.join(format), document.to_string())?;
    Ok(document)
}

/// Returns the devices that have code in one of the files, according to `fatbin select`.
fn running(directory: &Path, files: &[String]) -> Result<BTreeSet<u32>> {
    let mut running = BTreeSet::new();
    for number in DEVICES {
        for file in files {
            let mut command = command(fatbin_program());
            let command = command.args(["select", "--device", &format!("sm_{number}")]).arg(directory.join(file));
            if command.output()?.status.code() == Some(0) {
                running.insert(number);
            }
        }
    }
    ensure!(!running.is_empty(), "no device runs {files:?}");
    Ok(running)
}

/// Returns the devices of [`DEVICES`] that a reader accepts.
fn accepted(answer: &Value) -> Result<BTreeSet<u32>> {
    let names = answer["accepted"].as_array().with_context(|| answer.to_string())?;
    let is_accepted = |number: &u32| names.iter().any(|name| *name == format!("sm_{number}"));
    Ok(DEVICES.into_iter().filter(is_accepted).collect())
}

fn wheel_variants_are_those_of_variantlib(directory: &Path) -> Result<()> {
    for package in PACKAGES {
        let files = compile(directory, package)?;
        let done = fatbin(directory).args(["metadata", "--format", "pep825", "--cuda", "12.8"]).args(&files).run()?;
        std::fs::write(directory.join("variant.json"), &done.stdout)?;
        let answer = read(directory, "variant", "variant.json")?;
        ensure!(answer["text"] == done.stdout.trim_end(), "{}", done.error(format!("variantlib writes {answer:#}")));
        ensure!(answer["label"] == answer["derived_label"], "{}", done.error(format!("{answer:#}")));
        let mut expected: Vec<String> = package
            .split(' ')
            .map(|name| match name.split_once('_') {
                Some(("sm", number)) => format!("nvidia :: sm_arch :: {number}_real"),
                Some((_, number)) => format!("nvidia :: sm_arch :: {number}_virtual"),
                None => String::new(),
            })
            .chain(["nvidia :: cuda_version_lower_bound :: 12.8".to_owned()])
            .collect();
        expected.sort();
        ensure!(answer["properties"] == json!(expected), "{}", done.error(format!("{answer:#}")));
    }
    Ok(())
}

fn the_loader_accepts_every_device_that_runs_the_code(directory: &Path) -> Result<()> {
    let others = json!({ "name": "answer", "id": "answer_1", "version": 1, "license": "mit", "python-depends": [] });
    for package in PACKAGES {
        let files = compile(directory, package)?;
        let document = write(directory, "hf-kernels", &files, &others)?;
        let answer = read(directory, "kernels", "hf-kernels")?;
        ensure!(answer["type"] == "cuda" && answer["archs"] == document["backend"]["archs"], "{answer:#}");
        let (accepted, running) = (accepted(&answer)?, running(directory, &files)?);
        let missing: Vec<_> = running.difference(&accepted).collect();
        ensure!(missing.is_empty(), "{package}: {document} refuses {missing:?}");
        // Nor does it know that the code of embedded parts runs on no others.
        let is_embedded = package.split(' ').any(|name| INDISTINCT.iter().any(|it| name == format!("sm_{it}")));
        let is_wrong = |number: &&u32| !is_embedded && !INDISTINCT.contains(number);
        let wrong: Vec<_> = accepted.difference(&running).filter(is_wrong).collect();
        ensure!(wrong.is_empty(), "{package}: {document} accepts {wrong:?}");
    }
    Ok(())
}

fn constraints_hold_on_exactly_the_devices_that_run_the_code(directory: &Path) -> Result<()> {
    let others = json!({ "name": "answer", "version": "1", "build": "0", "build_number": 0, "subdir": "linux-64" });
    for package in PACKAGES {
        let files = compile(directory, package)?;
        let document = write(directory, "conda", &files, &others)?;
        let accepted = accepted(&read(directory, "conda", "conda")?)?;
        let running = running(directory, &files)?;
        ensure!(accepted == running, "{package}: {document} accepts {accepted:?}, the code runs on {running:?}");
    }
    Ok(())
}

/// A wheel with code for 15 architectures.
const WHEEL: &str = "nvidia_nvjpeg_cu12-12.4.0.76-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64";
const DIST_INFO: &str = "nvidia_nvjpeg_cu12-12.4.0.76.dist-info";

fn wheel() -> Result<PathBuf> {
    Ok(find_in(&fetched("real-files"), WHEEL).ok_or_else(|| not_fetched(WHEEL))?)
}

/// Returns the exit status and the output of a check of the wheel with this `variant.json` and its row in RECORD.
fn check(directory: &Path, variant: &str) -> Result<(Option<i32>, String)> {
    let mut wheel = zip::ZipArchive::new(std::fs::File::open(wheel()?)?)?;
    let record = format!("{DIST_INFO}/RECORD");
    let mut changed = zip::ZipWriter::new(std::fs::File::create(directory.join("changed.whl"))?);
    for index in 0..wheel.len() {
        let member = wheel.by_index_raw(index)?;
        if member.name()? != record {
            changed.raw_copy_file(member)?;
        }
    }
    let row = format!("{DIST_INFO}/variant.json,,{}\n", variant.len());
    changed.start_file(format!("{DIST_INFO}/variant.json"), zip::write::SimpleFileOptions::default())?;
    changed.write_all(variant.as_bytes())?;
    changed.start_file(&record, zip::write::SimpleFileOptions::default())?;
    std::io::copy(&mut wheel.by_name(&record)?, &mut changed)?;
    changed.write_all(row.as_bytes())?;
    changed.finish()?;
    std::fs::write(directory.join("policy.toml"), "[package]\nmetadata = true\n")?;
    let mut command = command(fatbin_program());
    let command = command.current_dir(directory).args(["check", "--policy", "policy.toml", "changed.whl"]);
    let output = command.output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?))
}

fn a_real_wheel_is_compared_with_its_metadata(directory: &Path) -> Result<()> {
    let done = fatbin(directory).args(["metadata", "--format", "pep825"]).arg(wheel()?).run()?;
    let (status, out) = check(directory, &done.stdout)?;
    ensure!(status == Some(0), "{out}");
    let wrong = done.stdout.replace("\"90_real\"", "\"87_real\"");
    ensure!(wrong != done.stdout, "{}", done.error("no code for sm_90"));
    let (status, out) = check(directory, &wrong)?;
    ensure!(status == Some(1), "{out}");
    for expected in [
        &format!(
            "changed.whl!{DIST_INFO}/variant.json: metadata: claims nvidia :: sm_arch :: 87_real, but no machine code runs on sm_87"
        ),
        "sm_90 is not claimed, so devices for it are refused",
    ] {
        ensure!(out.contains(expected), "{expected:?} missing in {out}");
    }
    Ok(())
}

fn amd_code_is_claimed_by_names_that_readers_know(directory: &Path) -> Result<()> {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/answer-gfx90a-xnack+.hsaco").to_owned();
    let done = fatbin(directory).args(["metadata", "--format", "pep825", &fixture]).run()?;
    std::fs::write(directory.join("variant.json"), &done.stdout)?;
    let answer = read(directory, "variant", "variant.json")?;
    ensure!(answer["unknown"] == json!([]), "{}", done.error("unknown to the provider"));
    ensure!(answer["properties"] == json!(["amd :: gfx_arch :: gfx90a"]), "{answer:#}");
    let others = json!({ "name": "answer", "id": "answer_1", "version": 1, "license": "mit", "python-depends": [] });
    write(directory, "hf-kernels", &[fixture], &others)?;
    let answer = read(directory, "kernels", "hf-kernels")?;
    ensure!(answer["type"] == "rocm" && answer["archs"] == json!(["gfx90a"]), "{answer:#}");
    Ok(())
}
