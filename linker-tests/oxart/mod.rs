//! Artifact bundles of cuda-oxide, written and read by its published crate: `writer.rs`, built against oxide-artifacts.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Linker, Tool, fetched, in_path, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    let trial = |name: &'static str, test: fn(&Path) -> Result<()>| {
        Trial::ignorable_test(format!("oxart/{name}"), move || {
            completion(fresh_directory("oxart", name).and_then(|directory| test(&directory)))
        })
    };
    vec![trial("programs", programs), trial("edits", edits)]
}

fn fatbin(directory: &Path, arguments: &[&str]) -> Result<Done> {
    Step::new(directory, fatbin_program()).args(arguments).run()
}

/// Returns the path of the writer. The first call builds it, in a directory that keeps the crates of earlier runs.
fn writer() -> Result<PathBuf> {
    static WRITER: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut writer = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*writer {
        return Ok(path.clone());
    }
    let path = build_writer(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("oxart/build"))?;
    Ok(writer.insert(path).clone())
}

/// Builds the writer in a directory, and returns its path.
fn build_writer(directory: &Path) -> Result<PathBuf> {
    let vendor = fetched("oxide-artifacts").join("vendor");
    if !vendor.is_dir() {
        return Err(not_fetched("oxide-artifacts").into());
    }
    let cargo = in_path("cargo").ok_or_else(|| not_fetched("cargo"))?;
    let manifest = "[package]\nname = \"writer\"\nedition = \"2024\"\n[[bin]]\nname = \"writer\"\npath = \"writer.rs\"\n[workspace]\n\
                    [dependencies]\noxide-artifacts = { version = \"=0.2.1\", features = [\"object\"] }\n";
    let config = format!(
        "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = {:?}\n",
        std::fs::canonicalize(vendor)?
    );
    std::fs::create_dir_all(directory.join(".cargo"))?;
    std::fs::write(directory.join("Cargo.toml"), manifest)?;
    std::fs::write(directory.join(".cargo/config.toml"), config)?;
    std::fs::write(directory.join("writer.rs"), include_str!("writer.rs"))?;
    Step::new(directory, cargo).args(["build", "--quiet", "--offline", "--target-dir", "target"]).run()?;
    Ok(directory.join("target/debug/writer"))
}

/// Writes the bundles, and links both objects into `program`. The PTX is for the target of the bundle.
fn link(directory: &Path, writer: &Path, linker: Linker) -> Result<()> {
    let ptx = std::fs::read_to_string(fixture("answer-sm_80.ptx")?)?.replace(".target sm_80", ".target sm_90");
    std::fs::write(directory.join("a.ptx"), ptx)?;
    std::fs::copy(fixture("answer-sm_90.cubin")?, directory.join("a.cubin"))?;
    Step::new(directory, writer).args(["a.ptx", "a.cubin"]).run()?;
    std::fs::write(directory.join("main.c"), "extern char anchor[];\nint main(void) { return anchor[0] != 'O'; }\n")?;
    Step::new(directory, Tool::Ar.path()?).args(["rcs", "libboth.a", "both.o"]).run()?;
    let step = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?).args(["-o", "program"]);
    step.args(["main.c", "one.o", "libboth.a"]).run()?;
    Step::new(directory, directory.join("program")).run()?;
    Ok(())
}

/// Bundles are found in programs of every linker, in stripped ones and by their magic alone, and their payloads are extracted.
fn programs(directory: &Path) -> Result<()> {
    let writer = writer()?;
    for linker in Linker::ALL {
        let directory = directory.join(linker.name());
        std::fs::create_dir_all(&directory)?;
        link(&directory, &writer, linker)?;
        let published = std::fs::read(directory.join("answer.oxart"))?;
        ensure!(published == std::fs::read(fixture("answer.oxart")?)?, "the crate writes other bytes than before");
        Step::new(&directory, Tool::Objcopy.path()?).args(["--strip-all", "program", "stripped"]).run()?;
        Step::new(&directory, Tool::Objcopy.path()?)
            .args(["--rename-section", ".oxart=.other", "program", "renamed"])
            .run()?;
        for name in ["program", "stripped", "renamed"] {
            let verified = fatbin(&directory, &["verify", name])?;
            ensure!(
                verified.stdout == format!("{name}: 3 device images, intact\n"),
                "{}",
                verified.error("not intact")
            );
            let extracted =
                fatbin(&directory, &["extract", name, "-o", &format!("out-{name}"), "--name", "{number}.{extension}"]);
            let names: Vec<String> = extracted?.stdout.lines().map(str::to_owned).collect();
            ensure!(names.len() == 3, "{names:?}");
            for file in names {
                let original = if file.ends_with(".ptx") { "a.ptx" } else { "a.cubin" };
                let same = std::fs::read(directory.join(&file))? == std::fs::read(directory.join(original))?;
                ensure!(same, "{name}: {file} differs from {original}");
            }
        }
        let scan = fatbin(&directory, &["scan", "--fast", "--json", "program"])?;
        for text in
            ["\"type\": \"oxart\"", "\"section\": \".oxart\"", "\"name\": \"answer_kernel\"", "\"bundle\": \"program\""]
        {
            ensure!(scan.stdout.contains(text), "{}", scan.error(text));
        }
    }
    Ok(())
}

/// The crate reads a program with replaced payloads, and one where nothing could be dropped.
fn edits(directory: &Path) -> Result<()> {
    let writer = writer()?;
    link(directory, &writer, Linker::Bfd)?;
    let read = |name: &str| Step::new(directory, &writer).args(["read", name]).run();
    std::fs::write(directory.join("new.ptx"), ".version 8.0\n.target sm_80\n.visible .entry k() { ret; }\n")?;
    let before = read("program")?.stdout;
    let ptx = before.lines().find(|line| line.contains("a.ptx")).unwrap_or_default().to_owned();
    ensure!(!ptx.is_empty(), "{before}");
    fatbin(
        directory,
        &["replace", "--image", "image:ptx=new.ptx", "-o", "replaced", "--allow-other-target", "program"],
    )?;
    let after = read("replaced")?;
    let same = |line: &&str| !line.contains("a.ptx");
    let kept = before.lines().filter(same).eq(after.stdout.lines().filter(same));
    ensure!(kept && after.stdout.contains("  Ptx a.ptx 56 "), "{}", after.error(before));
    fatbin(directory, &["prune", "--device", "sm_90", "-o", "pruned", "program"])?;
    ensure!(read("pruned")?.stdout == before, "prune drops what only the program knows");
    fatbin(directory, &["strip", "--device-debug", "-o", "without-debug", "both.o"])?;
    ensure!(read("without-debug")?.stdout.contains("a.cubin"), "the object is not read");
    Ok(())
}
