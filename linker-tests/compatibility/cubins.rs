//! Cubins, compared with nvlink, which links relocatable ones for an architecture if a device of that architecture runs them.
//!
//! nvlink accepts a cubin that is already linked for every architecture. So it gets relocatable cubins, and `fatbin select`
//! linked ones of the same PTX.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fatbin_core::target::nvptx::NUMBERS;

use super::nvidia_tools::{Ptxas, device_of, listed};
use super::{Answers, TooLenient, accepts, agree, equal_names, selected};
use crate::harness::parallel::parallel;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

const GUIDE: &str = "CUDA C++ programming guide, Binary Compatibility: desktop and Tegra are not compatible";

/// Cubins that nvlink links for an architecture, and whose devices do not load them: parts of Tegra.
const NOT_LOADED: [TooLenient; 4] = [
    TooLenient {
        code: "sm_80",
        device: "sm_87",
        source: "measured on Jetson Orin: no kernel image is available (github.com/jax-ml/jax, pull request 40492)",
    },
    TooLenient { code: "sm_86", device: "sm_87", source: GUIDE },
    TooLenient { code: "sm_87", device: "sm_88", source: GUIDE },
    TooLenient { code: "sm_87", device: "sm_89", source: GUIDE },
];

/// Devices that nvlink does not link for, and architectures without ptxas. No tool on PyPI links for them. Source of fatbin's
/// answers: the tests in `src/core/target/runs_on_tests.rs`, from the compatibility guides of Maxwell to Turing.
const WITHOUT_NVLINK: &str =
    "sm_20 sm_21 sm_30 sm_32 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_101";
const WITHOUT_PTXAS: &str = "sm_20 sm_21 sm_30 sm_32";

/// Parts of nvlink's messages about a cubin for another architecture, and for one with a suffix.
const REJECTIONS: [&str; 2] = ["does not match target", "cannot link accelerated arch to non-accelerated"];

/// Cubins for every architecture that some release of ptxas compiles for, on every device that nvlink links for.
pub fn agrees_with_nvlink(directory: &Path) -> Result<()> {
    let nvlink = Tool::Nvlink.path()?;
    let cubins = cubins(directory)?;
    let archs = listed(directory, &nvlink, "--arch")?;
    let pairs: Vec<(&String, &String)> =
        cubins.keys().flat_map(|code| archs.iter().map(move |arch| (code, arch))).collect();
    let linked = parallel(&pairs, |(code, arch)| {
        let arguments = [&format!("-arch={arch}"), "-o", "/dev/null", &relocatable(code)];
        accepts(directory, &nvlink, &arguments, &REJECTIONS)
    })?;
    let mut theirs = Answers::new();
    for ((code, arch), is_linked) in pairs.into_iter().zip(linked) {
        *theirs.entry((code.clone(), device_of(arch).to_owned())).or_default() |= is_linked;
    }
    let devices: BTreeSet<String> = archs.iter().map(|arch| device_of(arch).to_owned()).collect();
    let known = || NUMBERS.iter().map(|number| format!("sm_{number}"));
    let without = known().filter(|device| !devices.contains(device)).collect();
    equal_names("devices without nvlink", &without, WITHOUT_NVLINK)?;
    let without = known().filter(|code| !cubins.contains_key(code)).collect();
    equal_names("architectures without ptxas", &without, WITHOUT_PTXAS)?;
    let ours = selected(directory, &cubins, &devices)?;
    ensure!(ours.len() >= 500, "{} pairs", ours.len());
    agree("nvlink", &ours, &theirs, &NOT_LOADED)
}

/// Compiles a kernel for every architecture, by the newest release that can, into a linked and a relocatable cubin. Returns the
/// paths of the linked ones by architecture.
fn cubins(directory: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut cubins = BTreeMap::new();
    for ptxas in Ptxas::releases(directory)? {
        let archs: Vec<&String> = ptxas.listed.iter().filter(|arch| !cubins.contains_key(*arch)).collect();
        let files = parallel(&archs, |arch| {
            let source = ptxas.write(directory, arch)?;
            let step = || Step::new(directory, &ptxas.path).arg(format!("-arch={arch}"));
            step().args(["-c", "-o", &relocatable(arch), &source]).run()?;
            let linked = format!("{arch}.cubin");
            step().args(["-o", &linked, &source]).run()?;
            Ok(PathBuf::from(linked))
        })?;
        let compiled: Vec<(String, PathBuf)> = archs.into_iter().cloned().zip(files).collect();
        cubins.extend(compiled);
    }
    Ok(cubins)
}

fn relocatable(arch: &str) -> String {
    format!("{arch}-relocatable.cubin")
}
