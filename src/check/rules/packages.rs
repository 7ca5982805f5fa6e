//! Devices that each package as a whole must run on. A package of thousands of cubins has a file for each device, so that
//! no file is judged alone.

use std::collections::{BTreeMap, BTreeSet};

use super::devices::device;
use super::findings::{RuleFinding, RuleFindings, undecided, violated};
use super::{AllFiles, Evaluator};
use crate::analyze::coverage::{Coverage, CoverageCell, InspectedImages};
use crate::analyze::select::NamedDevice;
use crate::base::error::Error;
use crate::check::coverage::runs_on_device;
use crate::check::facts::{FileFacts, unique_list};
use crate::check::policy::{FamilyRequirement, PackageCoverage, Policy};
use crate::check::rule::Rule;
use crate::check::target::PolicyTarget;
use crate::image::family;
use crate::target::nvptx;
use crate::target::runs_on::LoadMethod;

/// Checks that each package runs on its devices.
pub fn coverage(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    let required = &policy.package_coverage;
    if required.devices.is_empty() && required.kernels.is_empty() {
        return;
    }
    for (path, files) in packages(all, policy) {
        evaluator.apply(Rule::PackageCoverage, &path, |findings| {
            check_devices(&files, required, findings);
            check_kernels(&files, required, findings);
        });
    }
}

/// Returns the files of each package by its path. A directory is a package, and so are all files that are named one by
/// one; the path of the policy stands for several of them.
fn packages<'a>(all: &AllFiles<'a>, policy: &Policy) -> BTreeMap<String, Vec<&'a FileFacts<'a>>> {
    let mut packages: BTreeMap<String, Vec<&FileFacts<'_>>> = BTreeMap::new();
    let mut loose: Vec<&FileFacts<'_>> = Vec::new();
    let evaluated = all.files.iter().filter(|file| !policy.skips(&file.survey.file.path));
    for (file, facts) in evaluated.zip(all.facts) {
        let input = all.inputs.get(file.input).map(String::as_str).unwrap_or_default();
        match &file.package {
            Some(package) => packages.entry(package.path.clone()).or_default().push(facts),
            None if facts.path() == input => loose.push(facts),
            None => packages.entry(input.to_owned()).or_default().push(facts),
        }
    }
    match loose.as_slice() {
        [] => {}
        [only] => packages.entry(only.path().to_owned()).or_default().push(only),
        _ => packages.entry(policy.path.clone()).or_default().extend(loose),
    }
    packages.retain(|_, files| files.iter().any(|facts| facts.survey.file.has_device_code()));
    packages
}

fn check_devices(files: &[&FileFacts<'_>], required: &PackageCoverage, findings: &mut RuleFindings) {
    let native: Vec<&str> = files.iter().flat_map(|facts| facts.native_targets()).collect();
    let ptx: Vec<nvptx::Arch> = files.iter().flat_map(|facts| facts.ptx()).collect();
    let others = || files.iter().flat_map(|facts| facts.archs());
    for target in &required.devices {
        let runs = match target {
            PolicyTarget::Native(name) => {
                let device = nvptx::Arch::parse(name);
                let compiles = |ptx: &nvptx::Arch| device.is_some_and(|device| ptx.runs_on(device, true));
                runs_on_device(&native, name) || (required.with_jit && ptx.iter().any(compiles))
            }
            other => others().any(|arch| arch == other.to_string()),
        };
        if !runs {
            let finding = missing(files, format!("no file has code that runs on {target}"));
            findings.add(finding.detail(format!("available: {}", unique_list(&others().collect::<Vec<_>>()))));
        }
    }
}

/// Creates the finding for missing code. It is undecided if a file could not be read.
fn missing(files: &[&FileFacts<'_>], message: String) -> RuleFinding {
    match files.iter().find(|facts| facts.survey.file.is_incomplete()) {
        Some(facts) => undecided(format!("{message} in the readable part of {}", facts.path())),
        None => violated(message),
    }
}

/// A family of kernels in a package.
#[derive(Default)]
struct Family {
    /// The best answer of its kernels for each device.
    answers: Vec<Answer>,
    /// Architectures of its code.
    archs: BTreeSet<String>,
}

/// How a family runs on a device, the worst first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    #[default]
    No,
    Unlinked,
    Unknown,
    Jit,
    Native,
}

impl Answer {
    fn of(cell: CoverageCell<'_>) -> Answer {
        match cell {
            CoverageCell::Runs { method: LoadMethod::FromPtx, .. } => Answer::Jit,
            CoverageCell::Runs { .. } => Answer::Native,
            CoverageCell::Unknown => Answer::Unknown,
            CoverageCell::Unlinked => Answer::Unlinked,
            CoverageCell::None | CoverageCell::OtherPlatform | CoverageCell::Gap => Answer::No,
        }
    }
}

fn check_kernels(files: &[&FileFacts<'_>], required: &PackageCoverage, findings: &mut RuleFindings) {
    if required.kernels.is_empty() {
        return;
    }
    let mut devices: Vec<NamedDevice> =
        required.kernels.iter().flat_map(|it| it.devices.iter().filter_map(device)).collect();
    let mut known = BTreeSet::new();
    devices.retain(|device| known.insert(device.name.clone()));
    let images: Vec<InspectedImages<'_>> = files.iter().map(|facts| facts.survey.into()).collect();
    let coverage = match Coverage::new(&images, &devices) {
        Ok(coverage) => coverage,
        Err(Error::Malformed { malformed, .. }) => return findings.add(undecided(malformed.to_string())),
        Err(error) => return findings.add(undecided(error.to_string())),
    };
    for requirement in &required.kernels {
        let families = families(&coverage, requirement);
        if families.is_empty() {
            findings.add(missing(files, format!("no kernel matches {:?}", requirement.matching.as_str())));
        }
        let listed: Vec<NamedDevice> = requirement.devices.iter().filter_map(device).collect();
        for (name, family) in families {
            let answers = devices.iter().zip(&family.answers);
            for (device, answer) in answers.filter(|(device, _)| listed.contains(device)) {
                if let Some(finding) = finding(files, &device.name, *answer, required.with_jit) {
                    let archs: Vec<String> = family.archs.iter().cloned().collect();
                    findings.add(finding.kernel(&name).detail(format!("its code is for {}", unique_list(&archs))));
                }
            }
        }
    }
}

/// Returns the finding for a family that does not run on a device.
fn finding(files: &[&FileFacts<'_>], device: &str, answer: Answer, with_jit: bool) -> Option<RuleFinding> {
    match answer {
        Answer::Native => None,
        Answer::Jit if with_jit => None,
        Answer::Jit => Some(violated(format!("no machine code that runs on {device} (only PTX)"))),
        Answer::Unknown => Some(undecided(format!("cannot determine whether it runs on {device}"))),
        Answer::Unlinked => Some(violated(format!("must be linked before it runs on {device}"))),
        Answer::No => Some(missing(files, format!("does not run on {device}"))),
    }
}

/// Returns the families of the kernels whose names match, by name.
fn families(coverage: &Coverage<'_>, required: &FamilyRequirement) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for kernel in &coverage.kernels {
        let readable = kernel.demangled.unwrap_or(kernel.name);
        let captured = [readable, kernel.name].into_iter().find_map(|name| required.matching.captures(name.as_bytes()));
        let Some(captured) = captured else { continue };
        let name = match captured.get(1) {
            Some(group) => String::from_utf8_lossy(group.as_bytes()).into_owned(),
            None => family(readable),
        };
        let family = families.entry(name).or_default();
        family.archs.extend(kernel.archs.iter().cloned());
        let answers = coverage.cells(kernel).map(Answer::of);
        family.answers.resize(coverage.devices.len(), Answer::No);
        for (known, answer) in family.answers.iter_mut().zip(answers) {
            *known = answer.max(*known);
        }
    }
    families
}
