//! Checks files against a policy: `cargo run --example check POLICY.toml PATH...`

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use fatbin::check::{Policy, check_paths};

/// Returns the findings of a policy, one per line; none if all requirements are met.
pub fn check(policy: &str, paths: &[PathBuf]) -> Result<Vec<String>, Box<dyn Error>> {
    let verdict = check_paths(&Policy::parse("policy", policy)?, paths);
    Ok(verdict.findings.into_iter().map(|finding| finding.message).collect())
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let policy = std::fs::read_to_string(arguments.next().ok_or("a policy is missing")?)?;
    let findings = check(&policy, &arguments.collect::<Vec<_>>())?;
    for finding in &findings {
        println!("{finding}");
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
