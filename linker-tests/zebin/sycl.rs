//! ocloc's archives as images of SYCL, and the names of devices in ocloc and in DPC++'s runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{compile, fatbin, ocloc};
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};

/// Sections of DPC++'s offload models.
const SECTIONS: [&str; 2] = ["__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen", "OFFLOAD_DEVICE_CODE"];

/// Names of devices that ocloc and DPC++ accept.
const OF_OCLOC: [&str; 26] = [
    "bdw", "skl", "kbl", "cfl", "apl", "bxt", "glk", "whl", "aml", "cml", "icllp", "ehl", "jsl", "tgllp", "rkl",
    "adl-s", "adl-p", "adl-n", "dg1", "acm-g10", "dg2-g10", "acm-g11", "dg2-g11", "acm-g12", "dg2-g12", "pvc",
];

/// Names of single devices that ocloc accepts and DPC++ does not.
const OF_OCLOC_ONLY: [&str; 4] = ["lkf", "ats-m150", "ats-m75", "pvc-sdv"];

/// Prefix of the names of devices in DPC++.
const PREFIX: &str = "intel_gpu_";

/// Writes a library with an image in a section, and the table of images.
fn library(directory: &Path, section: &str, image: &str) -> Result<()> {
    let source = format!(
        ".section {section},\"a\"\n.balign 16\n.globl image\nimage: .incbin \"{image}\"\nend:\n\
         .section .tgtimg,\"aw\"\n.quad image, end-image\n"
    );
    std::fs::write(directory.join("library.s"), source)?;
    let compile = Step::new(directory, Tool::Cc.path()?).args(["-shared", "-nostdlib", "-o", "library.so"]);
    compile.arg("library.s").run()?;
    Ok(())
}

/// Each member of an archive is an image, and the one for a device is selected on it.
pub fn images(directory: &Path) -> Result<()> {
    compile(directory, "dg2-g10,dg2-g11,pvc")?;
    std::fs::rename(directory.join("a"), directory.join("a.ar"))?;
    for section in SECTIONS {
        library(directory, section, "a.ar")?;
        let scan = fatbin(directory, &["scan", "--json", "library.so"])?;
        let document: Value = serde_json::from_str(&scan.stdout)?;
        let file = &document["files"][0];
        ensure!(file["containers"][0]["type"] == "sycl-image", "{}", scan.error("another container"));
        let inner = &file["containers"][0]["images"][0]["containers"][0];
        ensure!(inner["type"] == "ocloc-archive", "{}", scan.error("no archive in it"));
        let images = inner["images"].as_array().context("images")?;
        let archs: Vec<&str> = images.iter().filter_map(|image| image["arch"].as_str()).collect();
        ensure!(archs == ["acm_g10", "acm_g11", "pvc"], "{}", scan.error("other archs"));
        ensure!(
            images.iter().all(|it| it["triple"] == "spir64_gen" && it["kind"] == "sycl"),
            "{}",
            scan.error("target")
        );
        for (device, number) in [("dg2_g10", Some(0)), ("acm_g11", Some(1)), ("12_60_7", Some(2)), ("bmg_g21", None)] {
            ensure!(selected(directory, device)? == number, "{device} in {section}");
        }
        let verified = fatbin(directory, &["verify", "library.so"])?;
        ensure!(verified.stdout == "library.so: 3 device images, intact\n", "{}", verified.error("not intact"));
    }
    Ok(())
}

/// Returns the number of the image that is selected on a device of this name.
fn selected(directory: &Path, device: &str) -> Result<Option<u64>> {
    let mut select = command(fatbin_program());
    select.current_dir(directory).args(["select", "--json", "--device", &format!("{PREFIX}{device}"), "library.so"]);
    let output = select.output()?;
    ensure!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout)?;
    Ok(document["files"][0]["choices"][0]["answers"][0]["chosen"].as_u64())
}

/// The version of each device that ocloc knows is the one that fatbin has for DPC++'s name of it.
pub fn names(directory: &Path) -> Result<()> {
    let mut versions = BTreeMap::new();
    for name in OF_OCLOC.into_iter().chain(OF_OCLOC_ONLY) {
        let ids = ocloc(directory, &["ids", name])?.stdout;
        let ids: Vec<&str> = ids.split_once(':').map_or("", |(_, ids)| ids).split_whitespace().collect();
        // Families have several.
        if let [version] = ids[..] {
            versions.insert(name.to_owned(), version.trim_end_matches(',').to_owned());
        }
    }
    ensure!(versions.len() > 25, "{versions:?}");
    let all: Vec<&String> = versions.values().collect::<BTreeSet<_>>().into_iter().collect();
    let mut archive = b"!<arch>\n".to_vec();
    for version in &all {
        archive.extend(
            format!("{:<16}0           0     0     644     4         `\ncode", format!("64.{version}/")).bytes(),
        );
    }
    std::fs::write(directory.join("all.ar"), archive)?;
    library(directory, SECTIONS[0], "all.ar")?;
    for (name, version) in &versions {
        let select = |device: &str| selected(directory, &device.replace(['-', '.'], "_"));
        if OF_OCLOC_ONLY.contains(&name.as_str()) {
            ensure!(select(name).is_err(), "{name} is DPC++'s name, too");
            continue;
        }
        let expected = all.iter().position(|it| *it == version).map(|number| number as u64);
        ensure!(select(name)? == expected && select(version)? == expected, "{name} is {version}");
    }
    Ok(())
}

/// fatbin knows each name of a device in DPC++'s runtime.
pub fn runtime(directory: &Path) -> Result<()> {
    let runtime = find_in(&fetched("sycl-9"), "libsycl.so.9").ok_or_else(|| not_fetched("libsycl.so.9"))?;
    let bytes = std::fs::read(runtime)?;
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    let words = bytes.split(|byte| !is_name(byte)).filter(|word| word.starts_with(PREFIX.as_bytes()));
    let words: BTreeSet<&str> = words.filter_map(|word| str::from_utf8(word).ok()).collect();
    // Compilers store the starts of several names as constants, without a byte between them.
    let is_whole = |word: &&str| word.matches(PREFIX).count() == 1 && !words.iter().any(|it| is_start(word, it));
    let names: Vec<&str> = words.iter().copied().filter(is_whole).collect();
    ensure!(names.len() > 30, "{names:?}");
    std::fs::write(
        directory.join("code.ar"),
        "!<arch>\n64.dg2/         0           0     0     644     4         `\ncode",
    )?;
    library(directory, SECTIONS[1], "code.ar")?;
    for name in names {
        selected(directory, name.strip_prefix(PREFIX).unwrap_or(name)).with_context(|| name.to_owned())?;
    }
    Ok(())
}

fn is_start(word: &str, longer: &str) -> bool {
    longer.len() > word.len() && longer.starts_with(word)
}
