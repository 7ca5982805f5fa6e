//! What `all` and `all-major` in a list of architectures mean, by release of CUDA.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::nvidia_tools::Ptxas;
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::vendors::nvcc::nvcc;

/// Releases of nvcc that name the code that they make for `-arch=all` and `-arch=all-major`.
const WITH_NVCC: [&str; 2] = ["13.0", "13.5"];

/// Releases of ptxas, the newest first: without nvcc, its list is what `all` compiles.
const WITH_PTXAS: [&str; 3] = ["13.5", "12.9", "11.8"];

pub fn agrees_with_nvcc(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("k.cu"), "__global__ void k() {}\n")?;
    let releases = Ptxas::releases(directory)?;
    // A file that lacks all of it: PTX of an architecture that no release has.
    let old = ".version 3.0\n.target sm_20\n.address_size 64\n.visible .entry k() { ret; }\n";
    std::fs::write(directory.join("old.ptx"), old)?;
    for release in WITH_NVCC {
        for word in ["all", "all-major"] {
            let expected = compiled(directory, release, word)?;
            let asked = asked(directory, release, word)?;
            ensure!(asked == expected, "{word} of CUDA {release}: {asked:?}, nvcc: {expected:?}");
        }
    }
    ensure!(releases.len() == WITH_PTXAS.len());
    for (release, ptxas) in WITH_PTXAS.into_iter().zip(releases) {
        let listed = ptxas.listed.into_iter().filter(|name| !name.ends_with(['a', 'f']));
        let listed: BTreeSet<String> = listed.collect();
        let mut asked = asked(directory, release, "all")?;
        asked.retain(|name| name.starts_with("sm_"));
        ensure!(asked == listed, "all of CUDA {release}: {asked:?}, ptxas: {listed:?}");
    }
    Ok(())
}

/// Returns the code that nvcc passes to fatbinary.
fn compiled(directory: &Path, release: &str, word: &str) -> Result<BTreeSet<String>> {
    let options = ["--dryrun", &format!("-arch={word}"), "-c", "k.cu"];
    // nvcc prints the commands to standard error.
    let output = command(nvcc(release)?).args(options).current_dir(directory).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("--image3=kind=")).context("no call of fatbinary")?;
    let images =
        line.split("--image3=kind=").skip(1).filter_map(|image| image.split(',').next().zip(image.split(',').nth(1)));
    let name = |(kind, number): (&str, &str)| {
        let number = number.trim_start_matches("sm=");
        if kind == "elf" { format!("sm_{number}") } else { format!("compute_{number}") }
    };
    Ok(images.map(name).collect())
}

/// Returns the code that `check` misses in a file without any of it.
fn asked(directory: &Path, release: &str, word: &str) -> Result<BTreeSet<String>> {
    let options = ["--asked-cmake", word, "--asked-cuda", release, "--format", "json", "old.ptx"];
    let output = command(fatbin_program()).arg("check").args(options).current_dir(directory).output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let findings = document["findings"].as_array().context("no findings")?;
    let messages = findings.iter().filter(|it| it["rule"] == "asked-archs").filter_map(|it| it["message"].as_str());
    let names = messages.filter_map(|message| message.strip_prefix("no code for ")?.split(' ').next());
    Ok(names.map(str::to_owned).collect())
}
