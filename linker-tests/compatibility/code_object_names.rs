//! Names and kernels of AMD's code objects of every version, compared with AMD's library comgr and with llvm-readelf.
//!
//! comgr 2.4.0 (ROCm 5.2) judges versions 2 to 4 of the processors that it knows. llvm-readelf judges every version, but
//! prints the flags of version 2 as those of version 3: there, it judges the processor.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::target_ids::{processors, settings_of};
use super::{accepts, equal_names};
use crate::harness::fatbin_program;
use crate::harness::parallel::parallel;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, llvm_tool, not_fetched};

const SOURCE: &str = "kernel void answer(global int *x) { *x = 42; }\nkernel void other(void) {}\n";

/// Messages about a processor that a release or a version of the format does not have.
const REJECTIONS: [&str; 4] =
    ["does not support", "invalid target ID", "unknown target CPU", "is only available on code object version 6"];

/// Processors of LLVM 22 that comgr 2.4.0 does not know.
const UNKNOWN_TO_COMGR: &str = "gfx942 gfx950 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 \
    gfx1201 gfx1250 gfx1251";

/// A code object, and what each program says about it.
struct Row {
    file: String,
    version: u32,
    fatbin: String,
    kernels: BTreeSet<String>,
    comgr: Option<Named>,
    readelf: Flags,
}

/// Name of a code object, and its kernels.
type Named = (String, BTreeSet<String>);

/// Flags that llvm-readelf prints: processor, and features with their signs.
struct Flags {
    processor: String,
    features: Vec<String>,
}

pub fn agree_with_comgr_and_readelf(directory: &Path) -> Result<()> {
    let rows = rows(directory)?;
    let mut unknown = BTreeSet::new();
    let mut judged = 0;
    for Row { file, version, fatbin, kernels, comgr, readelf } in &rows {
        let expected = expected_of_readelf(*version, fatbin, readelf);
        ensure!(*fatbin == expected, "{file}: fatbin {fatbin}, llvm-readelf {expected}");
        match comgr {
            Some((name, names)) => {
                ensure!(fatbin == name, "{file}: fatbin {fatbin}, comgr {name}");
                ensure!(kernels == names, "{file}: fatbin {kernels:?}, comgr {names:?}");
                judged += 1;
            }
            None if *version > 4 => {}
            None => {
                unknown.insert(readelf.processor.clone());
            }
        }
    }
    equal_names("comgr", &unknown, UNKNOWN_TO_COMGR)?;
    let count = |version| rows.iter().filter(|row| row.version == version).count();
    let counts = [2, 3, 4, 5, 6].map(count);
    ensure!(rows.len() >= 200 && counts.iter().all(|&count| count >= 15), "{counts:?} of versions 2 to 6");
    ensure!(judged >= 150, "comgr judges {judged}");
    println!(
        "compatibility/code-object-names: {} code objects, {counts:?} of versions 2 to 6, 0 contradictions to \
         llvm-readelf; comgr judges {judged}",
        rows.len()
    );
    Ok(())
}

/// Returns the name that the flags of llvm-readelf mean.
fn expected_of_readelf(version: u32, fatbin: &str, flags: &Flags) -> String {
    let mut name = flags.processor.clone();
    let own = || fatbin.split(':').skip(1);
    match version {
        2 => name.extend(own().map(|feature| format!(":{feature}"))),
        // A flag without a sign means on, and no flag means off if the processor has the feature.
        3 => {
            for feature in own().map(|feature| feature.trim_end_matches(['+', '-'])) {
                let is_on = flags.features.iter().any(|it| it == feature);
                name += &format!(":{feature}{}", if is_on { '+' } else { '-' });
            }
            // A flag that fatbin does not have.
            name.extend(flags.features.iter().filter(|it| !name.contains(*it)).cloned().collect::<Vec<_>>());
        }
        // A flag without a sign means any.
        _ => {
            let mut set: Vec<&String> = flags.features.iter().filter(|it| it.ends_with(['+', '-'])).collect();
            set.sort();
            name.extend(set.into_iter().map(|feature| format!(":{feature}")));
        }
    }
    name
}

fn rows(directory: &Path) -> Result<Vec<Row>> {
    let mut files = compiled(directory)?;
    for fixture in ["answer-gfx90a.hsaco", "answer-gfx90a-xnack+.hsaco", "answer-gfx90a-debug.hsaco"] {
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture), directory.join(fixture))?;
        files.push((fixture.to_owned(), 6));
    }
    let paths: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
    let inspect = Step::new(directory, fatbin_program()).args(["inspect", "--json"]).args(&paths).run()?;
    let document: Value = serde_json::from_str(&inspect.stdout)?;
    let ours = document["files"].as_array().context("no files")?;
    let comgr = comgr(directory, &paths)?;
    let readelf = readelf(directory, &paths)?;
    ensure!([ours.len(), comgr.len(), readelf.len()] == [files.len(); 3], "{} files", files.len());
    let mut rows = Vec::new();
    for ((((file, version), ours), comgr), readelf) in files.into_iter().zip(ours).zip(comgr).zip(readelf) {
        let image = &ours["images"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        ensure!(text(&image["triple"]) == "amdgcn-amd-amdhsa", "{file}: {image}");
        let kernels = image["kernels"].as_array().into_iter().flatten().map(|kernel| text(&kernel["name"])).collect();
        rows.push(Row { file, version, fatbin: text(&image["arch"]), kernels, comgr, readelf });
    }
    Ok(rows)
}

/// Compiles a code object of each version for each target ID that the version has. Returns names and versions.
fn compiled(directory: &Path) -> Result<Vec<(String, u32)>> {
    std::fs::write(directory.join("answer.cl"), SOURCE)?;
    let (old, new) = (llvm_tool("clang", "14", "clang-14")?, Tool::Clang.path()?);
    let mut jobs = Vec::new();
    for processor in processors(directory)? {
        for settings in settings_of(&processor) {
            for (version, clang) in [(2, &old), (3, &old), (4, &new), (5, &new), (6, &new)] {
                let is_generic = processor.ends_with("-generic");
                // Versions 5 and 6 have the flags of version 4.
                let is_new = version < 5 || settings.is_empty() || is_generic;
                let may_exist = match version {
                    // The instruction sets before gfx10.
                    2 => processor.len() == "gfx900".len(),
                    6 => true,
                    _ => !is_generic,
                };
                if is_new && may_exist {
                    jobs.push((format!("{processor}{settings}"), version, clang));
                }
            }
        }
    }
    let files = parallel(&jobs, |(id, version, clang)| {
        let file = format!("{}-v{version}.o", id.replace(':', "_"));
        let (cpu, abi) = (format!("-mcpu={id}"), format!("-mcode-object-version={version}"));
        let target = ["-x", "cl", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-fno-crash-diagnostics", &cpu, &abi];
        let output = ["-c", "answer.cl", "-o", &file];
        let is_written = accepts(directory, clang, &[&target[..], &output].concat(), &REJECTIONS)?;
        Ok(is_written.then_some((file, *version)))
    })?;
    Ok(files.into_iter().flatten().collect())
}

fn comgr(directory: &Path, files: &[&str]) -> Result<Vec<Option<Named>>> {
    let libraries = fetched("hip-5").join("usr/lib/x86_64-linux-gnu");
    let library: PathBuf = find_in(&libraries, "libamd_comgr.so").ok_or_else(|| not_fetched("libamd_comgr.so"))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/compatibility/comgr.c");
    Step::new(directory, Tool::Cc.path()?).args(["-o", "ask", "-ldl"]).arg(source).run()?;
    let ask = Step::new(directory, directory.join("ask")).env("LD_LIBRARY_PATH", &libraries);
    let output = ask.arg(library).args(files).run()?.stdout;
    let answer = |line: &str| {
        let (name, kernels) = line.split_once(' ').unwrap_or((line, ""));
        let id = name.strip_prefix("amdgcn-amd-amdhsa--")?;
        Some((id.to_owned(), kernels.split_whitespace().map(str::to_owned).collect()))
    };
    Ok(output.lines().map(answer).collect())
}

fn readelf(directory: &Path, files: &[&str]) -> Result<Vec<Flags>> {
    let output = Step::new(directory, Tool::Readelf.path()?).arg("-h").args(files).run()?.stdout;
    let lines = output.lines().filter_map(|line| line.trim_start().strip_prefix("Flags:"));
    let flags = lines.map(|line| {
        // The number, the processor, and its features or the version of a generic processor.
        let mut words = line.split(',').map(str::trim).skip(1).filter(|word| !word.starts_with("generic_v"));
        let processor = words.next().context("no processor")?.to_owned();
        Ok(Flags { processor, features: words.map(str::to_owned).collect() })
    });
    flags.collect()
}
