//! Objects of clang for the command lines of a table.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::{contents, equal, extracted, fresh_output};
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};

/// Releases in Debian and on apt.llvm.org whose tools are installed.
pub const RELEASES: [&str; 5] = ["14", "15", "16", "19", "22"];

const TABLE: &str = include_str!("clang.txt");

/// Processors of the rows.
const PROCESSORS: [&str; 2] = ["gfx90a", "gfx1030"];

/// Minimum number of rows for each release.
const FEWEST_ROWS: usize = 5;

/// A command line and the form of its output.
struct Row {
    form: &'static str,
    images: usize,
    source: &'static str,
    options: Vec<&'static str>,
}

fn rows(release: &str) -> Result<Vec<Row>> {
    let release: u32 = release.parse()?;
    let mut rows = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().with_context(|| format!("invalid row: {line}"));
        let (releases, form, images, source) = (word()?, word()?, word()?.parse()?, word()?);
        let (first, is_last) = releases.strip_suffix('-').map_or((releases, true), |first| (first, false));
        let first: u32 = first.parse()?;
        if first == release || first < release && !is_last {
            rows.push(Row { form, images, source, options: words.collect() });
        }
    }
    Ok(rows)
}

/// fatbin and the vendor's tool extract the same images of each output.
pub fn outputs(directory: &Path, release: &str) -> Result<()> {
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/drivers/sources");
    let rows = rows(release)?;
    ensure!(rows.len() >= FEWEST_ROWS, "{} rows", rows.len());
    for row in rows {
        let what = format!("clang {release} {} {}", row.source, row.options.join(" "));
        let step = Step::new(directory, &clang).args(["-nogpulib", "-nogpuinc", "-fPIC", "-c", "-o", "output.o"]);
        let step = if row.source.ends_with(".c") { Step::new(directory, &clang).args(OPENMP) } else { step };
        step.args(&row.options).arg(sources.join(row.source)).run()?;
        let ours = extracted(directory, "output.o", &[".hsaco", ".bc", ".o"])?;
        let theirs = fresh_output(directory)?;
        match row.form {
            "bundle" => {
                let dump = ["--dump-section", ".hip_fatbin=bundle", "output.o", "/dev/null"];
                Step::new(directory, Tool::Objcopy.path()?).args(dump).run()?;
                unbundle(&theirs, release, "../bundle")?;
            }
            "object" => unbundle(&theirs, release, "../output.o")?,
            "binary" => unpack(&theirs, &row.options.join(" "))?,
            form => bail!("unknown form {form}"),
        }
        equal(&what, &ours, &contents(&theirs, |_| true)?, row.images)?;
    }
    Ok(())
}

const OPENMP: [&str; 5] = ["-nogpulib", "-fPIC", "-c", "-o", "output.o"];

/// Extracts all device images with the bundler of a release.
fn unbundle(directory: &Path, release: &str, input: &str) -> Result<()> {
    let bundler: PathBuf = llvm_tool("clang-offload-bundler", release, &format!("clang-tools-{release}"))?;
    let (inputs, outputs) = if release == "14" { ("-inputs", "-outputs") } else { ("-input", "-output") };
    let input = format!("{inputs}={input}");
    let list = Step::new(directory, &bundler).args(["-type=o", "-list", &input]).run()?;
    let targets: Vec<&str> = list.stdout.lines().filter(|line| !line.starts_with("host-")).collect();
    ensure!(!targets.is_empty(), "{}", list.error("no targets"));
    for (number, target) in targets.iter().enumerate() {
        let (target, output) = (format!("-targets={target}"), format!("{outputs}={number}"));
        Step::new(directory, &bundler).args(["-type=o", "-unbundle", &target, &input, &output]).run()?;
    }
    Ok(())
}

/// Extracts the images for each processor of a command line.
fn unpack(directory: &Path, options: &str) -> Result<()> {
    for processor in PROCESSORS.into_iter().filter(|processor| options.contains(processor)) {
        let image = format!("--image=file={processor},triple=amdgcn-amd-amdhsa,arch={processor}");
        Step::new(directory, Tool::OffloadBinary.path()?).args(["../output.o", &image]).run()?;
    }
    Ok(())
}
