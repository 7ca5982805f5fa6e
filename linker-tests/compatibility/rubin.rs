//! Rubin (10.7), the third member of the family of Blackwell's 10.0 and 10.3, in every command that decides what a device runs.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::accepts;
use super::nvidia_tools::Ptxas;
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Devices, and how each runs code of `both.fatbin`.
const ANSWERS: [(&str, &str); 5] = [
    ("sm_100", "native"),
    ("sm_103", "compatible"),
    ("sm_107", "compatible"),
    ("sm_110", "jit-ptx"),
    ("sm_120", "jit-ptx"),
];

/// A container of a cubin for `sm_100f`, and of PTX for any device since 7.5.
pub fn is_a_member_of_the_family_in_every_command(directory: &Path) -> Result<()> {
    let ptxas = Ptxas::newest(directory)?;
    let [family, any] =
        [ptxas.write_kernel(directory, "sm_100f", "kernel")?, ptxas.write_kernel(directory, "sm_75", "kernel")?];
    let compile = |options: &[&str]| Step::new(directory, &ptxas.path).args(options).run();
    compile(&["-arch=sm_100f", &family, "-o", "family.cubin"])?;
    compile(&["-arch=sm_107", &family, "-o", "rubin.cubin"])?;
    compile(&["-arch=sm_100f", "-c", &family, "-o", "relocatable.cubin"])?;
    let nvlink = Tool::Nvlink.path()?;
    ensure!(accepts(directory, &nvlink, &["-arch=sm_107", "relocatable.cubin", "-o", "linked.cubin"], &[])?);
    let images = ["--image3=kind=elf,sm=100f,file=family.cubin", &format!("--image3=kind=ptx,sm=75,file={any}")];
    Step::new(directory, Tool::Fatbinary.path()?).arg("--create=both.fatbin").args(images).run()?;

    for (device, method) in ANSWERS {
        select_and_prune(directory, device, method)?;
        check(directory, device, method != "jit-ptx")?;
    }
    matrix(directory)?;
    let conda = fatbin(directory, &["metadata", "--format", "conda", "family.cubin"])?;
    ensure!(conda.contains("\"__cuda_arch ==10.0|==10.3|==10.7\""), "metadata: {conda}");
    let floors = json(directory, &["requires", "--json", "--device", "sm_107", "both.fatbin"])?;
    // The PTX would need the newest release.
    let preferred = &floors["files"][0]["devices"][0]["needs"][0]["preferred"]["at_least"]["release"];
    ensure!(preferred == "13.4", "requires: {floors:#}");
    Ok(())
}

/// The cubin is selected, and kept, on its own family only.
fn select_and_prune(directory: &Path, device: &str, method: &str) -> Result<()> {
    let document = json(directory, &["select", "--json", "--device", device, "both.fatbin"])?;
    let answer = &document["files"][0]["choices"][0]["answers"][0]["answer"];
    ensure!(answer == method, "select on {device}: {answer}");
    let pruned = format!("{device}.fatbin");
    fatbin(directory, &["prune", "--device", device, "both.fatbin", "-o", &pruned])?;
    let document = json(directory, &["scan", "--json", &pruned])?;
    let images = document["files"][0]["containers"][0]["images"].as_array().map(Vec::as_slice).unwrap_or_default();
    let archs: Vec<&str> = images.iter().filter_map(|image| image["arch"].as_str()).collect();
    let expected = if method == "jit-ptx" { "sm_75" } else { "sm_100f" };
    ensure!(archs == [expected], "prune for {device}: {document:#}");
    Ok(())
}

/// A policy that demands machine code for a device holds for members of the family only.
fn check(directory: &Path, device: &str, is_member: bool) -> Result<()> {
    std::fs::write(directory.join("policy.toml"), format!("archs.devices = ['{device}']\n"))?;
    let mut fatbin = command(fatbin_program());
    let output = fatbin.args(["check", "--policy", "policy.toml", "both.fatbin"]).current_dir(directory).output()?;
    let expected = if is_member { 0 } else { 1 };
    ensure!(output.status.code() == Some(expected), "check for {device}: {output:?}");
    Ok(())
}

fn matrix(directory: &Path) -> Result<()> {
    let devices = ANSWERS.map(|(device, _)| device).join(",");
    let document = json(directory, &["inspect", "--matrix", "--json", "--device", &devices, "both.fatbin"])?;
    for (cell, (device, method)) in ANSWERS.into_iter().enumerate() {
        let cell = &document["matrix"]["kernels"][0]["devices"][cell];
        ensure!(cell["device"] == device && cell["state"] == method, "matrix: {document:#}");
    }
    Ok(())
}

fn fatbin(directory: &Path, arguments: &[&str]) -> Result<String> {
    Ok(Step::new(directory, fatbin_program()).args(arguments).run()?.stdout)
}

/// Returns a document. The exit status is also the answer of some commands.
fn json(directory: &Path, arguments: &[&str]) -> Result<Value> {
    let output = command(fatbin_program()).args(arguments).current_dir(directory).output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
