//! Metal libraries of a real wheel: mps-flash-attn has 12 as files, and 10 in archives of compiled pipelines, next to
//! machine code for a GPU.
//!
//! They are read a second time here, without fatbin's reader: by the words of the format in the order of the bytes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{fetched, find_in, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Stem of the wheel.
const WHEEL: &str = "mps_flash_attn-0.6.3-cp314-cp314-macosx_11_0_arm64";

pub fn trials() -> Vec<Trial> {
    let trial = |name: &'static str, test: fn(&Path) -> Result<()>| {
        Trial::ignorable_test(format!("metal/{name}"), move || {
            completion(fresh_directory("metal", name).and_then(|directory| test(&directory)))
        })
    };
    vec![trial("images", images), trial("functions", functions), trial("floor", floor)]
}

/// Unpacks the wheel, and returns its files.
fn files(directory: &Path) -> Result<Vec<String>> {
    let wheel = find_in(&fetched("metal"), WHEEL).ok_or_else(|| not_fetched(WHEEL))?;
    Step::new(directory, "python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(".").run()?;
    let listed = Step::new(directory, "find").args([".", "-type", "f"]).run()?;
    Ok(listed.stdout.lines().map(str::to_owned).collect())
}

fn report(directory: &Path, words: &[&str], files: &[String]) -> Result<Value> {
    let step = Step::new(directory, fatbin_program()).args(words.iter().copied()).arg("--json").args(files);
    Ok(serde_json::from_str(&step.run()?.stdout)?)
}

/// Offsets and sizes of the images in a file: the slices of an archive, or wherever the magic is before a plausible size.
fn naive(bytes: &[u8]) -> BTreeSet<(u64, u64)> {
    if bytes.starts_with(b"\xcb\xfe\xba\xbe") {
        let numbers: Vec<u64> =
            bytes[4..].chunks_exact(4).map(|it| it.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))).collect();
        return numbers[1..].chunks_exact(5).take(numbers[0] as usize).map(|it| (it[2], it[3])).collect();
    }
    let libraries = bytes.windows(4).enumerate().filter(|(_, word)| word == b"MTLB").filter_map(|(at, _)| {
        let size = u64::from_le_bytes(bytes.get(at + 16..at + 24)?.try_into().ok()?);
        let header = u64::from_le_bytes(bytes.get(at + 24..at + 32)?.try_into().ok()?);
        (header == 88 && size <= (bytes.len() - at) as u64).then_some((at as u64, size))
    });
    libraries.collect()
}

/// Every library is found, with its own bytes, and nothing else.
fn images(directory: &Path) -> Result<()> {
    let files = files(directory)?;
    let mut count = 0;
    for file in &files {
        let bytes = fs::read(directory.join(file))?;
        let expected = naive(&bytes);
        if expected.is_empty() {
            continue;
        }
        let report = report(directory, &["scan"], std::slice::from_ref(file))?;
        let containers = report["files"][0]["containers"].as_array().context("containers")?;
        let images = containers.iter().filter_map(|it| it["images"].as_array()).flatten();
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let found = images.map(|it| (number(&it["offset"]), number(&it["size"]))).collect::<BTreeSet<_>>();
        ensure!(found == expected, "{file}: {found:?}, expected {expected:?}");
        count += expected.len();
        let step = Step::new(directory, fatbin_program());
        step.args(["extract", "-o", "out", "--name", "{number}"]).arg(file).run()?;
        for (number, (offset, size)) in expected.iter().enumerate() {
            let image = fs::read(directory.join(format!("out/{number}")))?;
            ensure!(image == bytes[*offset as usize..(offset + size) as usize], "{file}: image {number} differs");
        }
        fs::remove_dir_all(directory.join("out"))?;
    }
    ensure!(count == 32, "{count} images");
    let step = Step::new(directory, fatbin_program());
    step.arg("verify").arg("mps_flash_attn").run()?;
    Ok(())
}

/// The names behind the tag `NAME` are the kernels.
fn functions(directory: &Path) -> Result<()> {
    let files = files(directory)?;
    for file in files.iter().filter(|file| file.ends_with(".metallib")) {
        let bytes = fs::read(directory.join(file))?;
        let names = bytes.windows(4).enumerate().filter(|(_, word)| word == b"NAME").map(|(at, _)| {
            let name = bytes[at + 6..].split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        });
        let expected: Vec<String> = names.collect();
        let report = report(directory, &["inspect"], std::slice::from_ref(file))?;
        let kernels = report["files"][0]["images"][0]["kernels"].as_array().context("kernels")?;
        let found: Vec<&str> = kernels.iter().filter_map(|kernel| kernel["name"].as_str()).collect();
        ensure!(found == expected, "{file}: {found:?}, expected {expected:?}");
    }
    Ok(())
}

/// The libraries need a newer system than the tag of the wheel, `macosx_11_0`, states.
fn floor(directory: &Path) -> Result<()> {
    files(directory)?;
    let report = report(directory, &["requires"], &["mps_flash_attn".to_owned()])?;
    let text = report.to_string();
    ensure!(text.contains("\"product\":\"macos\"") && text.contains("\"release\":\"26.0\""), "{text}");
    let wheel = find_in(&fetched("metal"), WHEEL).ok_or_else(|| not_fetched(WHEEL))?;
    fs::write(directory.join("policy.toml"), "images.platform-tag = true\n")?;
    // Passing is an error.
    let violated = Step::new(directory, "sh").args(["-c", r#"! "$0" check --policy policy.toml "$1""#]);
    let violated = violated.arg(fatbin_program()).arg(wheel).run()?.stdout;
    for release in ["macOS 15.0", "macOS 26.0"] {
        let message = format!("needs {release}, but the wheel is for macosx_11_0_arm64\n");
        ensure!(violated.contains(&message), "{violated}");
    }
    Ok(())
}
