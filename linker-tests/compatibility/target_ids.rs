//! Names of AMD's processors, and the features that a target ID may set, compared with `clang --offload-arch`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fatbin_core::target::TargetId;
use fatbin_core::target::compatibility;

use super::{accepts, equal_names};
use crate::harness::parallel::parallel;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Processors of fatbin that clang does not know, and where they come from: LLVM 23, `AMDGPUTargetParser.def`, and former
/// names, which LLVM has dropped and files still have.
const UNKNOWN_TO_CLANG: &str =
    "gfx1154 gfx1170 gfx1171 gfx1172 gfx1310 gfx11-7-generic gfx12-5-generic gfx13-generic gfx940 gfx941";

/// Names that clang lists for its back end, and does not accept as an architecture.
const NO_PROCESSORS: &str = "generic generic-hsa";

/// Features after the name of a processor, in forms that clang accepts for some and rejects for others.
const SETTINGS: [&str; 6] = ["", ":xnack+", ":xnack-", ":sramecc+", ":sramecc+:xnack-", ":xnack-:sramecc+"];

/// Forms that no processor has.
const MALFORMED: [&str; 5] =
    ["gfx90a:xnack", "gfx90a:bogus+", "gfx90a:xnack+:xnack-", "gfx90a:xnack+:xnack+", "gfx90a:xnack+sramecc+"];

/// Forms that clang accepts and files do not have: it ignores a colon at the end, which the grammar of target IDs does
/// not have.
const TOLERATED: [&str; 2] = ["gfx90a:", "gfx90a:xnack+:"];

/// Every name with every setting is valid for both or for neither.
pub fn agrees_with_clang(directory: &Path) -> Result<()> {
    let clang = source(directory)?;
    let names = names(directory)?;
    let ids = names.iter().flat_map(|name| SETTINGS.map(|settings| format!("{name}{settings}")));
    let others = MALFORMED.iter().chain(&TOLERATED).map(|id| (*id).to_owned());
    let ids: Vec<String> = ids.chain(others).collect();
    ensure!(ids.len() >= 430, "{} target IDs", ids.len());
    let accepted = parallel(&ids, |id| offload_archs(directory, &clang, &[id]))?;
    let mut contradictions = Vec::new();
    for (id, is_accepted) in ids.iter().zip(&accepted) {
        let own = TargetId::parse(id);
        let is_expected = own.is_ok() || TOLERATED.contains(&id.as_str());
        if is_expected != *is_accepted {
            contradictions.push(format!("{id}: clang {is_accepted}, fatbin {own:?}"));
        }
    }
    ensure!(contradictions.is_empty(), "{} contradictions:\n{}", contradictions.len(), contradictions.join("\n"));
    let valid = accepted.iter().filter(|is_accepted| **is_accepted).count();
    println!("compatibility/offload-arch: {} target IDs, {valid} of them valid, 0 contradictions", ids.len());
    Ok(())
}

/// Two target IDs of a processor exclude each other for both or for neither.
pub fn combinations_agree_with_clang(directory: &Path) -> Result<()> {
    let clang = source(directory)?;
    let mut pairs = Vec::new();
    for name in processors(directory)? {
        let ids: Vec<String> = settings_of(&name).into_iter().map(|settings| format!("{name}{settings}")).collect();
        for (number, one) in ids.iter().enumerate() {
            pairs.extend(ids[number + 1..].iter().map(|other| (one.clone(), other.clone())));
        }
    }
    ensure!(pairs.len() >= 200, "{} pairs", pairs.len());
    let accepted = parallel(&pairs, |(one, other)| offload_archs(directory, &clang, &[one, other]))?;
    let mut contradictions = Vec::new();
    let mut missed = 0;
    for ((one, other), is_accepted) in pairs.iter().zip(&accepted) {
        let excludes = compatibility::conflict([one.as_str(), other.as_str()]).is_some();
        let is_missed = excludes && is_missed_by_clang(one, other);
        missed += usize::from(is_missed);
        if (excludes && !is_missed) == *is_accepted {
            contradictions.push(format!("{one} and {other}: clang {is_accepted}"));
        }
    }
    ensure!(contradictions.is_empty(), "{} contradictions:\n{}", contradictions.len(), contradictions.join("\n"));
    println!(
        "compatibility/offload-arch-combinations: {} pairs, 0 contradictions, {missed} that clang misses",
        pairs.len()
    );
    Ok(())
}

/// Returns whether clang accepts a combination by mistake. Its documentation says that a feature is set in all target
/// IDs of a processor or in none. clang looks only for features that are in the second ID, in the order of the texts,
/// and not in the first.
fn is_missed_by_clang(one: &str, other: &str) -> bool {
    let (first, second) = if one < other { (one, other) } else { (other, one) };
    let features = |id: &str| id.split(':').skip(1).map(|it| it.trim_end_matches(['+', '-']).to_owned()).collect();
    let [first, second]: [BTreeSet<String>; 2] = [features(first), features(second)];
    second.is_subset(&first)
}

fn source(directory: &Path) -> Result<PathBuf> {
    std::fs::write(directory.join("empty.hip"), "")?;
    Tool::Clang.path()
}

/// Returns whether clang compiles HIP for a combination of architectures.
fn offload_archs(directory: &Path, clang: &Path, ids: &[&str]) -> Result<bool> {
    let archs: Vec<String> = ids.iter().map(|id| format!("--offload-arch={id}")).collect();
    let options = ["-###", "-c", "-nogpulib", "-nogpuinc", "--offload-device-only", "empty.hip"];
    let arguments: Vec<&str> = archs.iter().map(String::as_str).chain(options).collect();
    let rejections = ["unsupported HIP gpu architecture", "invalid target ID", "invalid offload arch combinations"];
    accepts(directory, clang, &arguments, &rejections)
}

/// Returns the names of processors that clang or fatbin knows: primary and alternative ones.
fn names(directory: &Path) -> Result<BTreeSet<String>> {
    let listed = listed(directory)?;
    let without_processor = listed.iter().filter(|name| TargetId::parse(name).is_err() || *name == "generic");
    equal_names("names of clang that fatbin does not know", &without_processor.cloned().collect(), NO_PROCESSORS)?;
    let unknown = possible_names().filter(|name| TargetId::parse(name).is_ok() && !listed.contains(name)).collect();
    equal_names("processors of fatbin that clang does not know", &unknown, UNKNOWN_TO_CLANG)?;
    // SPIR-V for any of AMD's processors.
    let listed = listed.into_iter().chain(["amdgcnspirv".to_owned()]);
    Ok(listed.filter(|name| !NO_PROCESSORS.split(' ').any(|it| it == name)).collect())
}

/// Returns the primary names of the processors that clang knows.
pub fn processors(directory: &Path) -> Result<BTreeSet<String>> {
    let is_primary =
        |name: &String| name.starts_with("gfx") && TargetId::parse(name).is_ok_and(|id| id.processor() == name);
    Ok(names(directory)?.into_iter().filter(is_primary).collect())
}

/// Returns the names of processors in the help of clang.
fn listed(directory: &Path) -> Result<BTreeSet<String>> {
    let help = Step::new(directory, Tool::Clang.path()?).args(["--target=amdgcn-amd-amdhsa", "--print-supported-cpus"]);
    let help = help.run()?;
    // It is written to the standard error.
    let names: BTreeSet<String> =
        help.report.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect();
    ensure!(names.len() >= 70, help.error(format!("{} processors listed", names.len())));
    Ok(names)
}

/// Returns every name that a processor may have.
fn possible_names() -> impl Iterator<Item = String> {
    let numbers = (0x600..0x2000_u32).map(|number| {
        let (major, rest) = (number >> 8, number & 0xff);
        format!("gfx{major}{rest:02x}")
    });
    let minor = (6..32).flat_map(|major| (0..16).map(move |minor| format!("gfx{major}-{minor}-generic")));
    numbers.chain(minor).chain((6..32).map(|major| format!("gfx{major}-generic")))
}

/// Returns the settings of the features of a processor: every feature is left open, on or off.
pub fn settings_of(processor: &str) -> Vec<String> {
    let mut settings = vec![String::new()];
    for feature in ["sramecc", "xnack"] {
        if TargetId::parse(&format!("{processor}:{feature}+")).is_ok() {
            let with = |before: &String| {
                ["".to_owned(), format!(":{feature}+"), format!(":{feature}-")].map(|it| format!("{before}{it}"))
            };
            settings = settings.iter().flat_map(with).collect();
        }
    }
    settings
}
