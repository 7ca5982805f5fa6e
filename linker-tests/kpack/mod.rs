//! kpack archives of an independent writer, and fatbin's for an independent reader: `archive.py`, which is written from the
//! layout alone.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use fatbin_core::format::kpack::{KpackMember, KpackProperties, write};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// Code objects: key, arch and fixture.
const MEMBERS: [(&str, &str, &str); 4] = [
    ("math-libs/BLAS/rocBLAS/stage/lib/librocblas.so.5#0", "gfx90a", "answer-gfx90a.hsaco"),
    ("math-libs/BLAS/rocBLAS/stage/lib/librocblas.so.5#0", "gfx90a:xnack+", "answer-gfx90a-xnack+.hsaco"),
    ("math-libs/BLAS/rocBLAS/stage/lib/librocblas.so.5#300", "gfx90a", "answer-gfx90a-debug.hsaco"),
    ("bin/tool#0", "gfx90a:xnack+", "answer-gfx90a-xnack+.hsaco"),
];
const ARCHES: [&str; 2] = ["gfx90a", "gfx90a:xnack+"];

pub fn trials() -> Vec<Trial> {
    let trial = |name: &'static str, scheme: &'static str, test: fn(&Path, &str) -> Result<()>| {
        Trial::ignorable_test(format!("kpack/{name}/{scheme}"), move || {
            completion(fresh_directory("kpack", &format!("{name}-{scheme}")).and_then(|it| test(&it, scheme)))
        })
    };
    let schemes = ["none", "zstd"];
    let reads = schemes.map(|scheme| trial("reads", scheme, reads_an_independent_archive));
    let written = schemes.map(|scheme| trial("is-read", scheme, is_read_independently));
    reads.into_iter().chain(written).collect()
}

/// Returns a call of the independent writer and reader.
pub fn archive_py(directory: &Path) -> Result<Step> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    Ok(Step::new(directory, python).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/linker-tests/kpack/archive.py")))
}

fn fixture(name: &str) -> String {
    format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns what the reader prints for the images that `fatbin scan` finds.
pub fn scanned(directory: &Path, archive: &str) -> Result<String> {
    let done = Step::new(directory, fatbin_program()).args(["scan", "--json", "--hash", archive]).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let mut lines = String::new();
    for container in document["files"][0]["containers"].as_array().context("containers")? {
        ensure!(container["type"] == "kpack", "{}", done.error("another container"));
        for image in container["images"].as_array().context("images")? {
            let [key, arch, hash] = ["id", "arch", "sha256"].map(|name| image[name].as_str().unwrap_or("-"));
            writeln!(lines, "{key} {arch} {hash}")?;
        }
    }
    Ok(lines)
}

fn reads_an_independent_archive(directory: &Path, scheme: &str) -> Result<()> {
    let members = MEMBERS.map(|(key, arch, file)| format!("{key}={arch}={}", fixture(file)));
    archive_py(directory)?.args(["write", "test.kpack", scheme, &ARCHES.join(",")]).args(members).run()?;
    equals_the_reader(directory)
}

fn is_read_independently(directory: &Path, scheme: &str) -> Result<()> {
    let images: Vec<Vec<u8>> = MEMBERS.iter().map(|it| std::fs::read(fixture(it.2))).collect::<Result<_, _>>()?;
    let members: Vec<KpackMember<'_, '_>> =
        MEMBERS.iter().zip(&images).map(|(&(key, arch, _), image)| KpackMember { key, arch, image }).collect();
    let properties = KpackProperties { group_name: "test", family: ARCHES[0], arches: &ARCHES };
    let archive = write(&properties, &members, (scheme == "zstd").then_some(3))?.to_vec();
    std::fs::write(directory.join("test.kpack"), archive)?;
    equals_the_reader(directory)
}

fn equals_the_reader(directory: &Path) -> Result<()> {
    let theirs = archive_py(directory)?.args(["read", "test.kpack"]).run()?;
    ensure!(theirs.stdout.lines().count() == MEMBERS.len(), "{}", theirs.error("a line for each code object"));
    let ours = scanned(directory, "test.kpack")?;
    ensure!(ours == theirs.stdout, "{}", theirs.error(format!("fatbin finds:\n{ours}")));
    Step::new(directory, fatbin_program()).args(["verify", "test.kpack"]).run()?;
    Ok(())
}
