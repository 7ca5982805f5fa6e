//! Categories of bytes: for cubins those of cubloaty, for AMD's code objects the sections of `llvm-readelf`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{number, trial};
use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool, fetched, find_in, in_path, not_fetched};

/// Assemblers, and archs of each: with and without Mercury.
const CUBINS: [(&str, &str); 5] = [
    ("ptxas-11.8", "sm_75"),
    ("ptxas-12.9", "sm_100a"),
    ("cuda-tools", "sm_90a"),
    ("cuda-tools", "sm_100f"),
    ("cuda-tools", "sm_120"),
];

/// Options of clang and ptxas.
const FORMS: [(&str, &[&str], &str); 4] = [
    ("plain", &[], "-O3"),
    ("lines", &["-gline-tables-only"], "-lineinfo"),
    ("full", &["-g", "--cuda-noopt-device-debug"], "-g"),
    ("relocatable", &[], "-c"),
];

/// cubloaty's name of each category, and names of fatbin's. Both are names of a sum.
const NAMES: [(&[&str], &[&str]); 8] = [
    (&["code"], &["code"]),
    (&["capmerc", "merc"], &["mercury"]),
    (&["constant"], &["constants"]),
    (&["data"], &["data"]),
    (&["info", "other"], &["attributes", "notes", "metadata"]),
    (&["reloc"], &["relocations"]),
    (&["symbols"], &["symbols"]),
    (&["elf"], &["headers", "padding"]),
];

/// Prints the bytes of each category as cubloaty counts them, of all functions and of no function.
const CUBLOATY: &str = "
import collections, json, sys
from cubloaty.analysis import analyze_file
for path in sys.argv[1:]:
    sums = collections.Counter()
    for image in analyze_file(path).images:
        for sizes in [image.shared, *(function.size for function in image.functions.values())]:
            sums.update(sizes)
    print(json.dumps(sums))
";

/// Category of each section of the code objects.
const SECTIONS: [(&str, &str); 16] = [
    (".text", "code"),
    (".rodata", "constants"),
    (".data", "data"),
    (".note", "notes"),
    (".dynsym", "symbols"),
    (".symtab", "symbols"),
    (".strtab", "symbols"),
    (".dynstr", "symbols"),
    (".shstrtab", "symbols"),
    (".gnu.hash", "symbols"),
    (".hash", "symbols"),
    (".rela.dyn", "relocations"),
    (".dynamic", "metadata"),
    (".comment", "metadata"),
    (".AMDGPU.csdata", "metadata"),
    (".got", "data"),
];

pub fn trials() -> Vec<Trial> {
    let cubins = CUBINS.map(|(tools, arch)| {
        trial(&format!("categories/{tools}-{arch}"), move |directory| agrees_with_cubloaty(directory, tools, arch))
    });
    let objects = [("plain", &[][..]), ("debug", &["-g"])].map(|(name, options)| {
        trial(&format!("categories/gfx90a-{name}"), move |directory| agrees_with_readelf(directory, options))
    });
    cubins.into_iter().chain(objects).collect()
}

/// Compiles `kernels.cu` for a vendor's device.
fn clang(directory: &Path, options: &[&str], output: &str) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/inspect/kernels.cu");
    let step = Step::new(directory, Tool::Clang.path()?).args(["-O2", "-nogpulib", "--cuda-device-only"]);
    step.args(options).args(["-o", output]).arg(source).run()?;
    Ok(())
}

fn sizes(directory: &Path, levels: &str, path: &str) -> Result<(Value, Done)> {
    let step = Step::new(directory, fatbin_program()).args(["size", "--json", "--by", levels, path]);
    let done = step.run()?;
    Ok((serde_json::from_str(&done.stdout)?, done))
}

fn agrees_with_cubloaty(directory: &Path, tools: &str, arch: &str) -> Result<()> {
    let ptxas: PathBuf = find_in(&fetched(tools), "ptxas").ok_or_else(|| not_fetched("ptxas"))?;
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let cubloaty = fetched("cubloaty");
    ensure!(cubloaty.is_dir(), not_fetched("cubloaty"));
    for (name, clang_options, option) in FORMS {
        let options =
            ["-x", "cuda", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_70", "--cuda-feature=+ptx78", "-S"];
        clang(directory, &[&options[..], clang_options].concat(), "ptx")?;
        let step = Step::new(directory, &ptxas).arg(format!("-arch={arch}")).arg(option);
        step.args(["-o", name, "ptx"]).run()?;
    }
    let step = Step::new(directory, python).env("PYTHONPATH", &cubloaty).args(["-c", CUBLOATY]);
    let theirs = step.args(FORMS.map(|(name, ..)| name)).run()?;
    ensure!(theirs.stdout.lines().count() == FORMS.len(), "{}", theirs.error("should be a line for each"));
    for ((name, ..), line) in FORMS.iter().zip(theirs.stdout.lines()) {
        let theirs: BTreeMap<String, u64> = serde_json::from_str(line)?;
        let (document, done) = sizes(directory, "category", name)?;
        let rows = document["rows"].as_array().context("rows")?;
        let ours =
            rows.iter().map(|row| Ok((row["name"].as_str().context("a name")?.to_owned(), number(&row["stored"])?)));
        let ours: BTreeMap<String, u64> = ours.collect::<Result<_>>()?;
        let sum = |sizes: &BTreeMap<String, u64>, names: &[&str]| -> u64 {
            names.iter().filter_map(|name| sizes.get(*name)).sum()
        };
        let debug: (&[&str], &[&str]) = (&["debug"], &["debug"]);
        for (their_names, our_names) in NAMES.into_iter().chain([debug]) {
            let (found, expected) = (sum(&ours, our_names), sum(&theirs, their_names));
            ensure!(
                found == expected,
                "{}",
                done.error(format!("{our_names:?}: {found} bytes, of cubloaty {expected}"))
            );
        }
        let size = std::fs::metadata(directory.join(name))?.len();
        ensure!(ours.values().sum::<u64>() == size && theirs.values().sum::<u64>() == size, "{}", done.error(line));
    }
    Ok(())
}

fn agrees_with_readelf(directory: &Path, options: &[&str]) -> Result<()> {
    let hip = ["-x", "hip", "--no-gpu-bundle-output", "-nogpuinc", "--offload-arch=gfx90a"];
    clang(directory, &[&hip[..], options].concat(), "image")?;
    let readelf = Step::new(directory, Tool::Readelf.path()?).args(["-S", "--elf-output-style=JSON", "image"]).run()?;
    let theirs: Value = serde_json::from_str(&readelf.stdout)?;
    let mut expected = BTreeMap::new();
    for section in theirs[0]["Sections"].as_array().context("sections")? {
        let section = &section["Section"];
        let name = section["Name"]["Name"].as_str().context("a name")?;
        let is_stored = !["SHT_NULL", "SHT_NOBITS"].contains(&section["Type"]["Name"].as_str().context("a type")?);
        let size = number(&section["Size"])?;
        if is_stored && size > 0 {
            let known = SECTIONS.iter().find(|(known, _)| *known == name).map(|(_, category)| *category);
            let category = if name.starts_with(".debug_") { Some("debug") } else { known };
            let category = category.with_context(|| readelf.error(format!("{name}: unknown")))?;
            *expected.entry((category.to_owned(), name.to_owned())).or_insert(0) += size;
        }
    }
    ensure!(expected.contains_key(&("debug".to_owned(), ".debug_info".to_owned())) != options.is_empty(), "debug");
    let (document, done) = sizes(directory, "category,section", "image")?;
    let mut found = BTreeMap::new();
    let mut rest = 0;
    for category in document["rows"].as_array().context("rows")? {
        for section in category["rows"].as_array().context("rows")? {
            let (name, size) = (category["name"].as_str().context("a name")?, number(&section["stored"])?);
            match section["name"].as_str() {
                Some(section) => *found.entry((name.to_owned(), section.to_owned())).or_insert(0) += size,
                None => rest += size,
            }
        }
    }
    ensure!(found == expected, "{}", done.error(format!("not {expected:?}")));
    let size = std::fs::metadata(directory.join("image"))?.len();
    ensure!(found.values().sum::<u64>() + rest == size, "{}", done.error(format!("{size} bytes")));
    Ok(())
}
