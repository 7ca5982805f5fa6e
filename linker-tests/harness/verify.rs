//! Checks of a linked program: its output, and that its images are found and extracted.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::fatbin_program;
use crate::harness::build::Built;
use crate::harness::directives::{Case, Image};
use crate::harness::step::{Done, Step};
use crate::harness::tools::Tool;

pub fn run(case: &Case, directory: &Path, built: &Built) -> Result<Done> {
    let mut libraries = directory.as_os_str().to_owned();
    if case.openmp_target.is_some() {
        // A run path would not apply to libomptarget's own dependencies.
        for library in [Tool::Libomp.path()?, Tool::Libomptarget.path()?] {
            libraries.push(":");
            libraries.push(library.parent().unwrap_or(Path::new("/")));
        }
    }
    let mut step = Step::new(directory, directory.join(&built.program)).env("LD_LIBRARY_PATH", libraries);
    for (name, value) in &case.environment {
        step = step.env(name, value);
    }
    step.run()
}

pub fn prints_expected(case: &Case, done: &Done) -> Result<()> {
    if done.stdout != case.expected_stdout {
        let expected = case.source.with_file_name("expected-stdout");
        return Err(done.error(format!("the output of the program differs from {}", expected.display())));
    }
    Ok(())
}

/// Checks that `fatbin scan` finds exactly these images, each in a separate offload binary, in order, with triple and
/// size.
pub fn scan_finds(directory: &Path, file: &Path, images: &[Image]) -> Result<()> {
    let done = Step::new(directory, fatbin_program()).args(["scan", "--json"]).arg(file).run()?;
    let report: Value =
        serde_json::from_str(&done.stdout).map_err(|error| done.error(format!("invalid JSON: {error}")))?;
    let mut found = Vec::new();
    for container in elements(&report["files"]).flat_map(|file| elements(&file["containers"])) {
        let images = elements(&container["images"]).map(|image| {
            let field = |name: &str| image[name].as_str().map_or("-".to_owned(), str::to_owned);
            format!("{} {} {} bytes", field("triple"), field("arch"), image["size"])
        });
        let images: Vec<String> = images.collect();
        found.push(format!("{}: {}", container["type"].as_str().unwrap_or("?"), images.join(" + ")));
    }
    let mut expected = Vec::new();
    for image in images {
        let field = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let size = read(directory, &image.file)?.len();
        expected.push(format!("offload-binary: {} {} {size} bytes", field(&image.triple), field(&image.arch)));
    }
    same_list(&done, "`fatbin scan` does not find the wrapped images", &expected, &found)
}

/// Checks that `fatbin extract` writes exactly the images, byte for byte, under any name.
pub fn extract_gives_back(directory: &Path, file: &Path, images: &[Image]) -> Result<()> {
    let output = PathBuf::from(format!("{}.extracted", file.display()));
    std::fs::create_dir(directory.join(&output))?;
    let done = Step::new(directory, fatbin_program()).arg("extract").arg(file).arg("-o").arg(&output).run()?;

    let mut extracted = Vec::new();
    for entry in std::fs::read_dir(directory.join(&output))? {
        let path = entry?.path();
        extracted.push(std::fs::read(&path).with_context(|| path.display().to_string())?);
    }
    for image in images {
        let bytes = read(directory, &image.file)?;
        let Some(position) = extracted.iter().position(|candidate| *candidate == bytes) else {
            return Err(done.error(format!("no extracted file equals {}", image.file)));
        };
        extracted.remove(position);
    }
    if !extracted.is_empty() {
        return Err(done.error(format!("more files than images: {} too many", extracted.len())));
    }
    Ok(())
}

/// Checks that llvm-objdump lists the images of a linked file in order, with triple and architecture.
pub fn objdump_lists(directory: &Path, file: &Path, images: &[Image]) -> Result<()> {
    let done = Step::new(directory, Tool::Objdump.path()?).arg("--offloading").arg(file).run()?;
    let column = |name: &str| -> Vec<String> {
        let values = done.stdout.lines().filter_map(|line| line.strip_prefix(name));
        values.map(|value| value.trim().to_owned()).collect()
    };
    let known = |field: fn(&Image) -> &Option<String>| -> Vec<String> {
        images.iter().map(|image| field(image).clone().unwrap_or_default()).collect()
    };
    same_list(&done, "llvm-objdump lists other triples", &known(|image| &image.triple), &column("triple "))?;
    same_list(&done, "llvm-objdump lists other architectures", &known(|image| &image.arch), &column("arch "))
}

fn same_list(done: &Done, message: &str, expected: &[String], found: &[String]) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let lines = |list: &[String]| list.iter().map(|line| format!("\n  {line}")).collect::<String>();
    Err(done.error(format!("{message}\nexpected:{}\nfound:{}", lines(expected), lines(found))))
}

/// Returns the elements of a JSON array, and none of any other value, which fails the comparison that follows.
fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn read(directory: &Path, file: &str) -> Result<Vec<u8>> {
    let path = directory.join(file);
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    ensure!(!bytes.is_empty(), "{}: empty image", path.display());
    Ok(bytes)
}
