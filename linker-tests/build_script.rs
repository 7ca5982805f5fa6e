//! The helper for build scripts: `examples/build-script`, built by cargo and run with libomptarget.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};
use crate::runtimes::directories_of;

pub fn trials() -> Vec<Trial> {
    let test = || completion(fresh_directory("build-script", "example").and_then(|it| the_example_runs(&it)));
    vec![Trial::ignorable_test("build-script/example", test)]
}

/// Builds the example in the directory of this build, which has the dependencies of fatbin compiled.
fn the_example_runs(directory: &Path) -> Result<()> {
    let (libomptarget, libomp) = (Tool::Libomptarget.path()?, Tool::Libomp.path()?);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("target");
    let build = || {
        let step = Step::new(directory, env!("CARGO")).args(["build", "--locked", "--offline", "--manifest-path"]);
        let step = step.arg(root.join("examples/build-script/Cargo.toml")).args(["--target-dir"]).arg(&target);
        step.env("LIBOMPTARGET", &libomptarget).run()
    };
    build()?;
    let program = target.join("debug/build-script-example");
    let step = Step::new(directory, &program).env("LD_LIBRARY_PATH", directories_of(&[&libomptarget, &libomp]));
    let done = step.env("OMP_TARGET_OFFLOAD", "MANDATORY").run()?;
    ensure!(done.stdout == "device wrote 42\nembedded 3312 bytes\n", done.error("another output"));

    let scanned = Step::new(directory, fatbin_program()).args(["scan", "--json"]).arg(&program).run()?;
    let document: Value = serde_json::from_str(&scanned.stdout)?;
    let containers = document["files"][0]["containers"].as_array().context("containers")?;
    let images: Vec<_> = containers.iter().flat_map(|it| it["images"].as_array()).flatten().collect();
    let found: Vec<_> = images.iter().map(|it| (it["kind"].as_str(), it["symbol"].as_str())).collect();
    ensure!(found == [(Some("openmp"), None), (None, Some("answer"))], scanned.error(format!("{found:?}")));
    Ok(())
}
