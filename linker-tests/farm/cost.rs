//! `examples/index/cost.py` on a wheel.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path};
use crate::real_files;

/// Sizes of an index, and the price of an hour.
const WHEELS: f64 = 1_000_000.0;
const GIGABYTES: f64 = 2000.0;
const PRICE: f64 = 0.5;

pub fn hours_follow_from_the_throughput_on_a_sample(directory: &Path) -> Result<()> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/index/cost.py");
    let sample = real_files::path_of("nvjpeg")?;
    let index = [format!("--wheels={WHEELS}"), format!("--gigabytes={GIGABYTES}"), format!("--price={PRICE}")];
    let options = ["--runs=1", "--cores=10", "--read=4", "--json", "--fatbin", env!("CARGO_BIN_EXE_fatbin")];
    let done = Step::new(directory, python).arg(script).args(index).args(options).arg(&sample).run()?;
    let result: Value = serde_json::from_str(&done.stdout)?;
    let number = |name: &str| result[name].as_f64().with_context(|| done.report.clone());
    let is_near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(other.abs());

    let bytes = std::fs::metadata(&sample)?.len() as f64;
    ensure!(is_near(number("sample_gigabytes")?, bytes / 1e9), done.error("size of the sample"));
    // 175 images take time even on the fastest machine.
    ensure!(number("seconds_per_gigabyte")? > 0.1 && number("memory_mib")? > 1.0, done.error("nothing was measured"));
    let hours = (WHEELS * number("seconds_per_wheel")? + GIGABYTES * number("seconds_per_gigabyte")?) / 3600.0;
    ensure!(is_near(number("core_hours")?, hours), done.error("core-hours"));
    ensure!(
        is_near(number("hours")?, hours / 10.0) && is_near(number("cost")?, hours * PRICE),
        done.error("hours and cost")
    );
    ensure!(is_near(number("reading_hours")?, GIGABYTES / 4.0 / 3600.0), done.error("reading"));
    Ok(())
}
