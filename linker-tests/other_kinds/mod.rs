//! Containers of an independent writer, `containers.py`, which is written from the published layouts alone: SYCLBIN, DirectX,
//! AdaptiveCpp's HCF, IREE's modules, bundles for MUSA, and LLVM 23's table of SYCL kernels. Images are equal to the writer's, in
//! files and between other data.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// A kind of the writer: fixtures, the type of the container, the triples of its images, and other words of `scan --json`.
struct Kind {
    name: &'static str,
    fixtures: &'static [&'static str],
    container: &'static str,
    triples: &'static [&'static str],
    words: &'static [&'static str],
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "syclbin",
        fixtures: &["answer.metallib", "answer-dg2.zebin", "answer.oxart"],
        container: "syclbin",
        triples: &["spir64-unknown-unknown", "spir64_gen-unknown-unknown", "spir64_gen-unknown-unknown"],
        words: &["\"arch\": \"dg2\""],
    },
    Kind {
        name: "dxbc",
        fixtures: &["answer.tilebc", "answer.metallib"],
        container: "dxbc",
        triples: &["", ""],
        words: &["\"form\": \"dxil\""],
    },
    Kind {
        name: "hcf",
        fixtures: &["answer.c", "judge.c"],
        container: "hcf",
        triples: &["", ""],
        words: &["\"name\": \"_Z6kernelPi\"", "\"generator\": \"AdaptiveCpp SSCP\""],
    },
    Kind {
        name: "iree",
        fixtures: &["answer-gfx90a.hsaco", "answer-sm_80.ptx"],
        container: "embedded",
        triples: &["amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda"],
        words: &[],
    },
    Kind {
        name: "musa",
        fixtures: &["answer-dg2.zebin", "answer.c"],
        container: "bundle",
        triples: &["mtgpu-mt-musa", "mtgpu-mt-musa"],
        words: &["\"kind\": \"musa\"", "\"arch\": \"mp_21\"", "\"arch\": \"mp_22\""],
    },
    Kind {
        name: "symbols",
        fixtures: &["answer.c"],
        container: "offload-binary",
        triples: &["spirv64"],
        words: &["\"name\": \"_ZTS6kernel0\"", "\"name\": \"_ZTS6kernel199\""],
    },
];

pub fn trials() -> Vec<Trial> {
    let trial = |kind: Kind| {
        Trial::ignorable_test(format!("other_kinds/{}", kind.name), move || {
            completion(fresh_directory("other_kinds", kind.name).and_then(|directory| reads(&directory, &kind)))
        })
    };
    let wine = Trial::ignorable_test("other_kinds/dxbc-of-wine", || {
        completion(fresh_directory("other_kinds", "dxbc-of-wine").and_then(|directory| shaders_of_wine(&directory)))
    });
    KINDS.into_iter().map(trial).chain([wine]).collect()
}

/// A library of Debian's wine with shaders in its data.
const WINE: &str = "/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/d2d1.dll";

/// Every shader is found with its extent: wherever the magic is before version 1.0.
fn shaders_of_wine(directory: &Path) -> Result<()> {
    let bytes = std::fs::read(WINE).map_err(|_| Missing::new("d2d1.dll", "libwine"))?;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let shaders =
        bytes.windows(32).enumerate().filter(|(at, header)| header.starts_with(b"DXBC") && word(at + 20) == 1);
    let expected: Vec<[u64; 2]> = shaders.map(|(at, _)| [at as u64, word(at + 24).into()]).collect();
    ensure!(!expected.is_empty(), "no shaders");
    let done = Step::new(directory, fatbin_program()).args(["scan", "--json", WINE]).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let containers = document["files"][0]["containers"].as_array().context("containers")?;
    let found = containers.iter().filter(|it| it["type"] == "dxbc");
    let found = found.map(|it| ["offset", "size"].map(|key| it[key].as_u64().unwrap_or_default()));
    ensure!(found.eq(expected.iter().copied()), "{}", done.error("other extents"));
    Ok(())
}

fn reads(directory: &Path, kind: &Kind) -> Result<()> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/linker-tests/other_kinds/containers.py");
    let mut writer = Step::new(directory, python).args([script, kind.name, "file"]);
    for name in kind.fixtures {
        writer = writer.arg(fixture(name)?);
    }
    let expected: Vec<String> = writer.run()?.stdout.lines().map(str::to_owned).collect();
    for file in ["file", "file.data"] {
        if directory.join(file).exists() {
            equals_the_writer(directory, kind, file, &expected)?;
        }
    }
    Ok(())
}

fn equals_the_writer(directory: &Path, kind: &Kind, file: &str, expected: &[String]) -> Result<()> {
    let done = Step::new(directory, fatbin_program()).args(["scan", "--json", "--hash", file]).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let mut hashes = Vec::new();
    let mut triples = Vec::new();
    for scanned in document["files"].as_array().context("files")? {
        ensure!(scanned["errors"] == Value::Array(Vec::new()), "{}", done.error("errors"));
        for container in scanned["containers"].as_array().context("containers")? {
            ensure!(container["type"] == kind.container, "{}", done.error("another container"));
            for image in container["images"].as_array().context("images")? {
                if image["image"] != "empty" && image["kind"] != "host" {
                    hashes.push(image["sha256"].as_str().unwrap_or_default().to_owned());
                    triples.push(image["triple"].as_str().unwrap_or_default().to_owned());
                }
            }
        }
    }
    ensure!(hashes == expected, "{}: {hashes:?}, expected {expected:?}", kind.name);
    ensure!(triples == kind.triples, "{}: {triples:?}", kind.name);
    for word in kind.words {
        ensure!(done.stdout.contains(word), "{}: {word} is missing", kind.name);
    }
    let out = format!("{file}.out");
    let step = Step::new(directory, fatbin_program());
    step.args(["extract", "-o", &out, "--name", "{member}{number}", file]).run()?;
    let mut extracted = Vec::new();
    for entry in std::fs::read_dir(directory.join(&out))? {
        let digest = Sha256::digest(std::fs::read(entry?.path())?);
        extracted.push(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
    extracted.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    ensure!(extracted == expected, "{}: extracted {extracted:?}, expected {expected:?}", kind.name);
    Ok(())
}
