//! `fatbin size` on packages that people install: rows add up to the member sizes in Python's zipfile, and the effects
//! of compression match fatbinary. Categories match other tools.

mod categories;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool, in_path};
use crate::harness::trial::{completion, fresh_directory};
use crate::real_files;

pub fn trials() -> Vec<Trial> {
    // The wheel for Linux has the same libraries as the one for Windows, in files of the format of the other wheels.
    let names = real_files::names().into_iter().filter(|name| *name != "bitsandbytes");
    let sums = names.map(|name| trial(&format!("sums/{name}"), move |directory| adds_up(directory, name)));
    sums.chain([trial("what-if/fatbinary", predicts_fatbinary)]).chain(categories::trials()).collect()
}

/// Returns a trial in a separate directory.
fn trial(name: &str, test: impl FnOnce(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("size/{name}"), move || {
        completion(fresh_directory("size", &directory).and_then(|directory| test(&directory)))
    })
}

/// Combinations of all levels. Each reads other parts of the files.
const LEVELS: [&str; 5] = ["file,container,codec,kind", "tu,arch", "arch,family,section", "kernel", "category,kernel"];

/// Prints size and packed size of each member of a zip file, or the size of another file.
const MEMBERS: &str = "
import os, sys, zipfile
path = sys.argv[1]
if zipfile.is_zipfile(path):
    for member in zipfile.ZipFile(path).infolist():
        print(member.file_size, member.compress_size, path + '!' + member.filename)
else:
    print(os.path.getsize(path), '-', path)
";

fn adds_up(directory: &Path, name: &'static str) -> Result<()> {
    let path = real_files::path_of(name)?;
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let listing = Step::new(directory, python).args(["-c", MEMBERS]).arg(&path).run()?;
    let members = listing.stdout.lines().map(|line| {
        let [size, packed, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { return None };
        Some((name.to_owned(), (size.parse().ok()?, packed.parse().ok())))
    });
    let members: BTreeMap<String, (u64, Option<u64>)> = members.collect::<Option<_>>().context("a line of python3")?;
    for levels in LEVELS {
        let step = Step::new(directory, fatbin_program()).args(["size", "--json", "--by", levels]);
        let done = step.arg(&path).run()?;
        let document: Value = serde_json::from_str(&done.stdout)?;
        let files = document["files"].as_array().context("files")?;
        ensure!(!files.is_empty(), "{}", done.error("no files"));
        let mut total = 0;
        for file in files {
            let found = (number(&file["size"])?, file["packed_size"].as_u64());
            let path = file["path"].as_str().context("a path")?;
            ensure!(members.get(path) == Some(&found), "{}", done.error(format!("{path}: {found:?}")));
            total += found.0;
        }
        ensure!(document["size"] == total, "{}", done.error(format!("the sum of the files is {total}")));
        for package in document["packages"].as_array().into_iter().flatten() {
            let parts = ["device_code", "host_code", "libraries", "others", "overhead"];
            let sum = parts.iter().map(|part| number(&package[*part])).sum::<Result<u64>>()?;
            let size = std::fs::metadata(&path)?.len();
            ensure!(sum == size && package["size"] == size, "{}", done.error(format!("the package has {size} bytes")));
        }
        check_rows(&document["rows"], total, number(&document["decompressed_size"])?, &done)?;
    }
    Ok(())
}

/// Checks that rows add up, at every level.
fn check_rows(rows: &Value, stored: u64, decompressed: u64, done: &Done) -> Result<()> {
    let rows = rows.as_array().context("rows")?;
    let (mut stored_sum, mut decompressed_sum) = (0, 0);
    for row in rows {
        let sizes = (number(&row["stored"])?, number(&row["decompressed"])?);
        if row["rows"].is_array() {
            check_rows(&row["rows"], sizes.0, sizes.1, done)?;
        }
        stored_sum += sizes.0;
        decompressed_sum += sizes.1;
    }
    let (found, expected) = ((stored_sum, decompressed_sum), (stored, decompressed));
    ensure!(found == expected, "{}", done.error(format!("rows add up to {found:?}, not {expected:?}")));
    Ok(())
}

fn number(value: &Value) -> Result<u64> {
    value.as_u64().context("a number")
}

/// Values of `--what-if`, and the options of fatbinary for them.
const MODES: [(&str, &[&str]); 4] = [
    ("none", &["--compress=false"]),
    ("balance", &["--compress-mode=balance", "--compress-all"]),
    ("size", &["--compress-mode=size", "--compress-all"]),
    ("speed", &["--compress-mode=speed", "--compress-all"]),
];

/// Writes the images of nvJPEG for four archs with fatbinary in each mode, and compares the sizes with predictions from
/// each of the other files. Only two of them predict the mode that takes most of the time.
fn predicts_fatbinary(directory: &Path) -> Result<()> {
    let fatbinary = Tool::Fatbinary.path()?;
    let extract = ["extract", "--name", "{arch}-{number}.{extension}", "-o", "images"];
    let archs = ["--arch", "sm_75", "--arch", "sm_80", "--arch", "sm_90", "--arch", "sm_121"];
    let step = Step::new(directory, fatbin_program()).args(extract).args(archs);
    step.arg(real_files::path_of("nvjpeg")?).run()?;
    let mut images = Vec::new();
    for entry in std::fs::read_dir(directory.join("images"))? {
        let name = entry?.file_name().into_string().ok().context("a name")?;
        let arch = name.strip_prefix("sm_").and_then(|name| name.split('-').next()).context("an arch")?;
        let kind = if name.ends_with(".ptx") { "ptx" } else { "elf" };
        images.push(format!("--image3=kind={kind},sm={arch},file=images/{name}"));
    }
    images.sort();
    ensure!(images.len() > 40, "only {} images", images.len());
    let mut sizes = BTreeMap::new();
    for (mode, options) in MODES {
        let step = Step::new(directory, &fatbinary).args(["-64", &format!("--create={mode}.fatbin")]);
        step.args(options).args(&images).run()?;
        sizes.insert(mode, std::fs::metadata(directory.join(format!("{mode}.fatbin")))?.len());
    }
    for (from, _) in MODES {
        let is_predicted = |mode: &str| mode != "size" || ["none", "size"].contains(&from);
        let changes: Vec<&str> = MODES.map(|(mode, _)| mode).into_iter().filter(|mode| is_predicted(mode)).collect();
        let step = Step::new(directory, fatbin_program()).args(["size", "--json"]);
        let step = changes.iter().fold(step, |step, mode| step.args(["--what-if", mode]));
        let done = step.arg(format!("{from}.fatbin")).run()?;
        let document: Value = serde_json::from_str(&done.stdout)?;
        let effects = document["what_if"].as_array().context("effects")?;
        ensure!(effects.len() == changes.len() + 1, "{}", done.error("a missing effect"));
        for effect in effects {
            let change = effect["change"].as_str().context("a change")?;
            let (predicted, real) = (number(&effect["size"])?, sizes.get(change).unwrap_or(&sizes[from]));
            ensure!(predicted == *real, "{}", done.error(format!("{change}: {predicted} bytes, of fatbinary {real}")));
        }
    }
    Ok(())
}
