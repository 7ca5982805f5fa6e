//! The page of `--html` in a real browser: headless Chromium clicks, types and takes screenshots.
//!
//! The page is generated from real images, and from two code objects whose kernels have markup as names. Each trial also
//! requires that the browser reports no error and requests nothing except the page. The screenshots, of four widths, light and
//! dark, stay in the directory of the trial `looks`.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, in_path};
use crate::harness::trial::{completion, fresh_directory};

const REAL: [&str; 6] = [
    "answer-gfx90a-debug.hsaco",
    "answer-gfx90a.hsaco",
    "answer-gfx90a-xnack+.hsaco",
    "answer-sm_90.cubin",
    "answer-sm_90-debug.cubin",
    "answer-sm_80.ptx",
];

/// A kernel name, and markup of the same length.
const NAME: &[u8; 13] = b"answer_kernel";
const HOSTILE: [&[u8; 13]; 2] = [b"<img onerror>", b"</script><b>x"];

pub fn trials() -> Vec<Trial> {
    let trial = |name| Trial::ignorable_test(format!("page/{name}"), move || completion(is_usable(name)));
    ["map", "tables", "address", "long", "findings", "keyboard", "looks"].into_iter().map(trial).collect()
}

fn is_usable(name: &str) -> Result<()> {
    let (driver, chromium) = (Tool::Chromedriver.path()?, Tool::Chromium.path()?);
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let directory = fresh_directory("page", name)?;
    make_page(&directory, name)?;
    let visit = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/page/visit.py");
    let visit = Step::new(&directory, python).arg("-B").arg(visit).arg(name).arg(driver).arg(chromium);
    visit.args(["page.html", "."]).run()?;
    Ok(())
}

/// Policy of the trials with findings: an error for missing code, and a warning about debug information.
const POLICY: &str = "warn = [\"debug-information\"]\n[archs]\nrequire = [\"sm_89\"]\n[images]\ndebug = \"none\"\n";

/// A check with undecided results, whose output goes to files, as a command that succeeds.
const CANNOT_DECIDE: &str = "\"$0\" \"$@\" >printed 2>errors; test $? -eq 2";

/// Writes `page.html` to the directory.
fn make_page(directory: &Path, name: &str) -> Result<()> {
    let fatbin = fatbin_program();
    let mut step = match name {
        "findings" => {
            fs::write(directory.join("policy.toml"), POLICY)?;
            Step::new(directory, "sh").args(["-c", CANNOT_DECIDE, fatbin, "check", "--policy", "policy.toml"])
        }
        _ => Step::new(directory, fatbin).arg("inspect"),
    };
    step = step.args(["--html", "page.html"]);
    for real in REAL {
        step = step.arg(fixture(real)?);
    }
    for (number, hostile) in HOSTILE.into_iter().enumerate() {
        let file = format!("hostile-{number}.hsaco");
        fs::write(directory.join(&file), renamed(&fs::read(fixture(REAL[1])?)?, hostile))?;
        step = step.arg(file);
    }
    if name == "findings" {
        fs::write(directory.join("cut.hsaco"), &fs::read(fixture(REAL[1])?)?[..2000])?;
        step = step.arg("cut.hsaco");
    }
    if name == "tables" {
        // The cubin is selected on sm_90, and lacks a kernel that the PTX has.
        let entries = ".entry answer_kernel() { bar.sync 0; ret; }\n.entry only_in_ptx() { bar.sync 0; ret; }\n";
        fs::write(directory.join("gap.ptx"), format!(".version 8.1\n.target sm_90\n.address_size 64\n{entries}"))?;
        let pack = Step::new(directory, fatbin).args(["pack", "--kind", "cuda", "-o", "gap.fatbin"]);
        pack.arg(fixture("answer-sm_90.cubin")?).arg("gap.ptx").run()?;
        step = step.arg("gap.fatbin");
    }
    if name == "long" {
        let kernels: String = (0..3000).map(|number| format!(".entry k{number}() {{ bar.sync 0; ret; }}\n")).collect();
        fs::write(directory.join("many.ptx"), format!(".version 8.1\n.target sm_80\n.address_size 64\n{kernels}"))?;
        step = step.arg("many.ptx");
    }
    let made = step.run()?;
    ensure!(made.stdout.is_empty(), "{}", made.error("prints something"));
    Ok(())
}

/// Returns an image with its kernel renamed in all places.
fn renamed(image: &[u8], name: &[u8; 13]) -> Vec<u8> {
    let mut image = image.to_vec();
    while let Some(at) = image.windows(NAME.len()).position(|bytes| bytes == NAME) {
        image[at..at + NAME.len()].copy_from_slice(name);
    }
    image
}
