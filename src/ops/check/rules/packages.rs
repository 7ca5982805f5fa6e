//! Devices that each package as a whole must run on. A package of thousands of cubins has a file for each device, so that
//! no file is judged alone.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::archs::{Acceptance, service};
use super::devices::device;
use super::findings::{RuleFinding, RuleFindings, undecided, violated};
use super::libraries::library;
use super::{AllFiles, CheckedFile, Evaluator};
use crate::analyze::coverage::{Coverage, CoverageCell, InspectedImages};
use crate::analyze::select::NamedDevice;
use crate::analyze::survey::PackageSurvey;
use crate::analyze::vendored::VendoredLibrary;
use crate::check::coverage::runs_on_device;
use crate::check::facts::{FileFacts, unique_list};
use crate::check::policy::{FamilyRequirement, PackageCoverage, Policy};
use crate::check::rule::Rule;
use crate::check::target::PolicyTarget;
use fatbin_core::base::error::Error;
use fatbin_core::image::family;
use fatbin_core::target::nvptx;
use fatbin_core::target::runs_on::LoadMethod;

/// Sums over the files of each package, by its path. A directory is a package, and so are all files that are named one
/// by one, whose path is empty.
#[derive(Default)]
pub struct PackageFacts(BTreeMap<String, Package>);

#[derive(Default)]
struct Package {
    /// Number of files, and the path of the first.
    files: usize,
    first: String,
    has_code: bool,
    /// Code of the package. Libraries of others count only where it has no other code.
    own: Code,
    vendored: Code,
    /// A file that could not be read.
    incomplete: Option<String>,
    /// Kernels, if they are required.
    surveys: PackageSurvey,
}

/// Device code of some files.
#[derive(Default)]
struct Code {
    archs: BTreeSet<String>,
    /// Machine code of files for different processors, which serve a device together.
    native: BTreeSet<String>,
    /// Devices that a file serves alone.
    served: Vec<PolicyTarget>,
}

impl Package {
    fn code(&self) -> &Code {
        if self.own.archs.is_empty() { &self.vendored } else { &self.own }
    }
}

impl Code {
    fn add(&mut self, facts: &FileFacts<'_>, required: &PackageCoverage) {
        self.archs.extend(facts.archs());
        if library(facts.path()).is_some() {
            self.native.extend(facts.native_targets().into_iter().map(str::to_owned));
        }
        let accepts_ptx = |_: nvptx::Arch| required.with_jit;
        for target in &required.devices {
            if !self.served.contains(target) && service(facts, &accepts_ptx, target) == Some(Acceptance::Accepted) {
                self.served.push(target.clone());
            }
        }
    }

    /// Returns whether the code runs on a device.
    fn serves(&self, target: &PolicyTarget) -> bool {
        let native = || self.native.iter().map(String::as_str).collect::<Vec<&str>>();
        let together = match target {
            PolicyTarget::Native(name) => runs_on_device(&native(), name),
            other => self.archs.contains(&other.to_string()),
        };
        together || self.served.contains(target)
    }
}

impl PackageFacts {
    /// Adds a file of the input with this name.
    pub fn add(&mut self, file: &CheckedFile, facts: &FileFacts<'_>, input: &str, policy: &Policy) {
        let path = match &file.package {
            Some(package) => &package.path,
            None if facts.path() == input => "",
            None => input,
        };
        let package = self.0.entry(path.to_owned()).or_default();
        if package.files == 0 {
            package.first = facts.path().to_string();
        }
        package.files += 1;
        package.has_code |= facts.survey.file.has_device_code();
        let is_vendored = VendoredLibrary::of(&facts.survey.file).is_some();
        let code = if is_vendored { &mut package.vendored } else { &mut package.own };
        code.add(facts, &policy.package_coverage);
        if facts.survey.file.is_incomplete() {
            package.incomplete.get_or_insert_with(|| facts.path().to_string());
        }
        if !policy.package_coverage.kernels.is_empty() {
            package.surveys.add(facts.survey.clone());
        }
    }

    /// Ends all packages. The path of the policy stands for several files that are named one by one.
    pub fn finish(&mut self, policy: &Policy) {
        if let Some(loose) = self.0.remove("") {
            let path = if loose.files == 1 { &loose.first } else { &policy.path };
            self.0.insert(path.clone(), loose);
        }
        self.0.retain(|_, package| package.has_code);
        for package in self.0.values_mut() {
            package.surveys = mem::take(&mut package.surveys).finish();
        }
    }
}

/// Checks that each package runs on its devices.
pub fn coverage(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let required = &evaluator.policy.package_coverage;
    for (path, package) in &all.sums.coverage.0 {
        evaluator.apply(Rule::PackageCoverage, path, |findings| {
            check_devices(package, required, findings);
            check_kernels(package, required, findings);
        });
    }
}

fn check_devices(package: &Package, required: &PackageCoverage, findings: &mut RuleFindings) {
    for target in &required.devices {
        if !package.code().serves(target) {
            let finding = missing(package, format!("no file has code that runs on {target}"));
            let archs: Vec<String> = package.code().archs.iter().cloned().collect();
            findings.add(finding.detail(format!("available: {}", unique_list(&archs))));
        }
    }
}

/// Creates the finding for missing code. It is undecided if a file could not be read.
fn missing(package: &Package, message: String) -> RuleFinding {
    match &package.incomplete {
        Some(path) => undecided(format!("{message} in the readable part of {path}")),
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
            CoverageCell::None | CoverageCell::OtherPlatform | CoverageCell::Gap(_) => Answer::No,
        }
    }
}

fn check_kernels(package: &Package, required: &PackageCoverage, findings: &mut RuleFindings) {
    if required.kernels.is_empty() {
        return;
    }
    let mut devices: Vec<NamedDevice> =
        required.kernels.iter().flat_map(|it| it.devices.iter().filter_map(device)).collect();
    let mut known = BTreeSet::new();
    devices.retain(|device| known.insert(device.name.clone()));
    let coverage = match Coverage::new(&InspectedImages::of_package(&package.surveys), &devices) {
        Ok(coverage) => coverage,
        Err(Error::Malformed { malformed, .. }) => return findings.add(undecided(malformed.to_string())),
        Err(error) => return findings.add(undecided(error.to_string())),
    };
    for requirement in &required.kernels {
        let families = families(&coverage, requirement);
        if families.is_empty() {
            findings.add(missing(package, format!("no kernel matches {:?}", requirement.matching.as_str())));
        }
        let listed: Vec<NamedDevice> = requirement.devices.iter().filter_map(device).collect();
        for (name, family) in families {
            let answers = devices.iter().zip(&family.answers);
            for (device, answer) in answers.filter(|(device, _)| listed.contains(device)) {
                if let Some(finding) = finding(package, &device.name, *answer, required.with_jit) {
                    let archs: Vec<String> = family.archs.iter().cloned().collect();
                    findings.add(finding.kernel(&name).detail(format!("its code is for {}", unique_list(&archs))));
                }
            }
        }
    }
}

/// Returns the finding for a family that does not run on a device.
fn finding(package: &Package, device: &str, answer: Answer, with_jit: bool) -> Option<RuleFinding> {
    match answer {
        Answer::Native => None,
        Answer::Jit if with_jit => None,
        Answer::Jit => Some(violated(format!("no machine code that runs on {device} (only PTX)"))),
        Answer::Unknown => Some(undecided(format!("cannot determine whether it runs on {device}"))),
        Answer::Unlinked => Some(violated(format!("must be linked before it runs on {device}"))),
        Answer::No => Some(missing(package, format!("does not run on {device}"))),
    }
}

/// Returns the families of the kernels whose names match, by name.
fn families(coverage: &Coverage<'_>, required: &FamilyRequirement) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for kernel in &coverage.kernels {
        let readable = coverage.names.shown(kernel.name);
        let captured =
            [readable.as_str(), kernel.name].into_iter().find_map(|name| required.matching.captures(name.as_bytes()));
        let Some(captured) = captured else { continue };
        let name = match captured.get(1) {
            Some(group) => String::from_utf8_lossy(group.as_bytes()).into_owned(),
            None => family(&readable),
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
