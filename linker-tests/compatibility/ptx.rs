//! PTX, compared with ptxas.
//!
//! A driver compiles PTX as ptxas of its release does. A device runs PTX that ptxas compiles for one of the device's
//! architectures: for `sm_90` or, since PTX may use all features of the device, for `sm_90a`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fatbin_core::target::nvptx::{Arch, NUMBERS};

use super::nvidia_tools::{INCOMPATIBLE, Ptxas, device_of};
use super::{Answers, accepts, agree, equal_names, selected};
use crate::harness::parallel::parallel;

/// Targets that ptxas accepts and no release of CUDA since 7.0 compiles for. fatbin does not suggest them.
const WITHOUT_DEVICES: &str = "sm_10 sm_11 sm_12 sm_13 sm_82";

/// Devices that none of the releases compiles for. Source: the rule is the one of all other devices.
const WITHOUT_TOOLS: &str = "sm_20 sm_21 sm_30 sm_32";

/// PTX that runs on a device by the rule of all other devices. `sm_88` is newer than the last release that compiles for
/// `sm_101`.
const UNDECIDED: &str = "sm_88-on-sm_101";

/// Higher than any number that NVIDIA may give to its next architectures.
const END: u32 = 200;

/// Every target that some release of ptxas knows, on every device that one compiles for.
pub fn agrees_with_ptxas(directory: &Path) -> Result<()> {
    let releases = Ptxas::releases(directory)?;
    let targets = targets(directory, &releases[0])?;
    let mut theirs = Answers::new();
    let mut covered = BTreeSet::new();
    for ptxas in &releases {
        let own: Vec<String> = ptxas.listed.iter().filter(|arch| !covered.contains(device_of(arch))).cloned().collect();
        compile(directory, ptxas, &targets, &own, &mut theirs)?;
        covered.extend(own.iter().map(|arch| device_of(arch).to_owned()));
    }
    let without: BTreeSet<String> =
        NUMBERS.iter().map(|it| format!("sm_{it}")).filter(|it| !covered.contains(it)).collect();
    equal_names("devices without a release of ptxas", &without, WITHOUT_TOOLS)?;
    let mut codes: BTreeMap<String, PathBuf> = BTreeMap::new();
    for target in targets {
        let file = releases[0].write(directory, &target)?;
        codes.insert(target, file.into());
    }
    let (ours, undecided): (Answers, Answers) =
        selected(directory, &codes, &covered)?.into_iter().partition(|(pair, _)| theirs.contains_key(pair));
    ensure!(ours.len() >= 1000, "{} pairs", ours.len());
    agree("ptxas", &ours, &theirs, &[])?;
    undecided_pairs(&undecided)
}

/// Requires that exactly these pairs of a target and a device are unknown to every single release of ptxas: the pairs
/// of [`UNDECIDED`], and code for architectures that are later than the device.
fn undecided_pairs(answers: &Answers) -> Result<()> {
    let running = answers.iter().filter(|(_, runs)| **runs);
    let running = running.map(|((code, device), _)| format!("{code}-on-{device}")).collect();
    equal_names("PTX that runs on a device without a release of ptxas that knows both", &running, UNDECIDED)?;
    for ((code, device), runs) in answers {
        let [target, arch] = [code, device].map(|name| Arch::parse(name).map(|arch| arch.number));
        let is_impossible = target > arch || code.ends_with('a') || code.ends_with('f');
        ensure!(*runs || is_impossible, "{code} on {device}: no release of ptxas knows both");
    }
    println!("compatibility/ptxas: {} more pairs are not known to one release", answers.len());
    Ok(())
}

/// Returns the targets that ptxas knows. They equal fatbin's targets.
fn targets(directory: &Path, ptxas: &Ptxas) -> Result<Vec<String>> {
    let numbers: Vec<String> = (1..END).map(|number| format!("sm_{number}")).collect();
    let numbers = ptxas.known_targets(directory, &numbers)?;
    let suffixed: Vec<String> =
        numbers.iter().flat_map(|name| ["a", "f"].map(|suffix| format!("{name}{suffix}"))).collect();
    let suffixed = ptxas.known_targets(directory, &suffixed)?;
    let targets: Vec<String> = numbers.into_iter().chain(suffixed).collect();
    let is_known = |name: &String| Arch::parse(name).is_some_and(Arch::is_known);
    let unknown = targets.iter().filter(|name| !is_known(name)).cloned().collect();
    equal_names("targets of ptxas that fatbin does not know", &unknown, WITHOUT_DEVICES)?;
    let own = NUMBERS.iter().flat_map(|number| ["", "a", "f"].map(|suffix| format!("sm_{number}{suffix}")));
    let dropped = own.filter(|name| is_known(name) && !targets.contains(name)).collect();
    equal_names("architectures of fatbin that ptxas does not know", &dropped, "")?;
    Ok(targets)
}

/// Adds the answers of a release about its architectures. Pairs with a target that it does not know are left out.
fn compile(directory: &Path, ptxas: &Ptxas, targets: &[String], archs: &[String], answers: &mut Answers) -> Result<()> {
    let known = ptxas.known_targets(directory, targets)?;
    let compiled = parallel(archs, |arch| compiled_for(directory, ptxas, &known, arch))?;
    for (arch, compiled) in archs.iter().zip(compiled) {
        for (target, is_compiled) in known.iter().zip(compiled) {
            *answers.entry((target.clone(), device_of(arch).to_owned())).or_default() |= is_compiled;
        }
    }
    Ok(())
}

/// Returns for each target whether ptxas compiles its PTX for an architecture. A run with several files fails if it fails for
/// one of them. So one run decides about all targets that fatbin expects to be compiled, if it succeeds.
fn compiled_for(directory: &Path, ptxas: &Ptxas, targets: &[String], arch: &str) -> Result<Vec<bool>> {
    let accepts = |files: &[String]| {
        let option = format!("-arch={arch}");
        let arguments = [&option, "-o", "/dev/null"].into_iter().chain(files.iter().map(String::as_str));
        accepts(directory, &ptxas.path, &arguments.collect::<Vec<_>>(), &INCOMPATIBLE)
    };
    let device = Arch::parse(arch).with_context(|| format!("{arch} is unknown"))?;
    let is_expected = |target: &String| Arch::parse(target).is_some_and(|target| target.runs_on(device, true));
    let expected: Vec<String> = targets.iter().filter(|it| is_expected(it)).map(|it| ptxas.file(it)).collect();
    let are_accepted = accepts(&expected)?;
    let decide = |target: &String| {
        if are_accepted && is_expected(target) { Ok(true) } else { accepts(&[ptxas.file(target)]) }
    };
    targets.iter().map(decide).collect()
}
