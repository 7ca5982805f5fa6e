//! Evaluates the rules of a policy, and the rules that always apply: first file by file, then over all files.

mod archs;
mod asked;
mod cross_file;
mod devices;
mod drivers;
mod findings;
mod host_runtime;
mod images;
mod kernels;
mod kpack;
mod libraries;
mod metadata;
mod packages;
mod platform_tag;
mod promises;
mod proofs;
mod ptx;
mod sizes;
mod sums;
mod vendored;
mod wrappers;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::facts::FileFacts;
use super::policy::{Policy, Requirements};
use super::proof_status::ProofStatus;
use super::ptx_assembler::Assembly;
use super::rule::Rule;
use super::verdict::{Evaluation, Finding, Outcome, Verdict};
use crate::analyze::host_runtime::RequiredPackages;
use crate::analyze::metadata::{InvalidMetadata, PackageMetadata};
use crate::analyze::promise::Promise;
use crate::analyze::survey::Survey;
use crate::analyze::vendored::VendoredLibrary;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::image::DebugLevel;
use findings::{RuleFinding, RuleFindings};
use libraries::Libraries;
use sums::Sums;
use vendored::VendoredFindings;

/// A file of a check, analyzed to the extent that the policy needs.
#[derive(Debug, Clone)]
pub struct CheckedFile {
    /// The inventory, and the contents of its images.
    pub survey: Survey,
    /// Index of the input that the file was found in.
    pub input: usize,
    /// Result of comparing it with the proofs of changes, if the policy requires a proof.
    pub proof: ProofStatus,
    /// Package that the file was found in.
    pub package: Option<StoredPackage>,
    /// Metadata of a package in the file, if the policy requires that it agrees with the code; `None` in all other
    /// files.
    pub metadata: Option<Result<PackageMetadata, InvalidMetadata>>,
    /// What the file promises, if it is an index of kernels and the policy compares indexes with code objects.
    pub promise: Option<Result<Promise, String>>,
    /// SHA-256 of a file with device code, if an index may state it and the policy compares indexes with files.
    pub sha256: Option<[u8; 32]>,
    /// Its PTX as ptxas assembled it, if the policy requires that and ptxas was run.
    pub assemblies: Option<Vec<Assembly>>,
    /// Packages that the file requires, if it is the metadata of a distribution and the policy compares host code with
    /// them.
    pub required: Option<RequiredPackages>,
}

/// A package or another archive on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPackage {
    /// Its path.
    pub path: String,
    /// Size of the file in bytes.
    pub size: u64,
}

/// Files that a rule is evaluated on, and the function that evaluates it.
enum Scope {
    /// Each file, with or without device code.
    EachFile(EvaluateFile),
    /// Each file with device code, if its requirements mention the rule.
    EachFileWithCode { is_required: fn(&Requirements) -> bool, evaluate: EvaluateFile },
    /// All files together.
    AllFiles(fn(&mut Evaluator<'_>, &AllFiles<'_>)),
}

type EvaluateFile = fn(&FileFacts<'_>, &Requirements, &mut RuleFindings);

/// Files of a check that is evaluated as a whole.
struct AllFiles<'a> {
    /// Inputs as the user named them.
    inputs: &'a [String],
    /// Files that rules need as a whole, if the policy has such a rule.
    files: &'a [CheckedFile],
    /// Facts about these files, without the ones that the policy skips.
    facts: &'a [FileFacts<'a>],
    sums: &'a Sums,
}

impl Rule {
    fn scope(self) -> Scope {
        use Scope::{AllFiles, EachFile};
        let with_code =
            |is_required: fn(&Requirements) -> bool, evaluate| Scope::EachFileWithCode { is_required, evaluate };
        match self {
            Rule::Readable => EachFile(images::readable),
            Rule::HoldsDeviceCode => AllFiles(cross_file::device_code),
            Rule::MatchesSomething => AllFiles(cross_file::policy_entries),
            Rule::ValidImages => EachFile(images::valid),
            Rule::RequiredArchs => with_code(|it| it.require.is_some(), archs::required),
            Rule::Asked => with_code(|it| it.asked.is_some(), asked::asked),
            Rule::Devices => with_code(|it| it.devices.is_some(), archs::devices),
            Rule::ForbiddenArchs => with_code(|it| it.forbid.is_some(), archs::forbidden),
            Rule::OnlyArchs => with_code(|it| it.only.is_some(), archs::only),
            Rule::ConsistentFeatures => AllFiles(cross_file::consistent_features),
            Rule::KernelCoverage => with_code(kernels::requires_coverage, kernel_coverage),
            Rule::KernelLimits => with_code(kernels::requires_limits, kernels::resource_limits),
            Rule::FileSize => with_code(|it| it.file_size.is_some(), sizes::file),
            Rule::ArchSize => with_code(|it| it.arch_sizes.is_some(), sizes::archs),
            Rule::TotalSize => AllFiles(cross_file::total_size),
            Rule::PackageSize => AllFiles(cross_file::package_size),
            Rule::PackageCoverage => AllFiles(packages::coverage),
            Rule::DebugInformation => {
                with_code(|it| it.debug.is_some_and(|level| level < DebugLevel::Full), images::debug_information)
            }
            Rule::BuildPaths => with_code(|it| it.build_paths == Some(false), images::build_paths),
            Rule::Compression => with_code(|it| it.compressed.is_some(), images::compression),
            Rule::ReadableBy => with_code(|it| it.readable_by.is_some(), images::readable_by),
            Rule::FindableBy => with_code(|it| it.findable_by.is_some(), images::findable_by),
            Rule::LoadableBy => with_code(|it| it.loadable_by.is_some(), drivers::loadable_by),
            Rule::PtxAssembles => with_code(|it| it.ptx_assembles == Some(true), ptx::assembles),
            Rule::Wrappers => with_code(|it| it.registered == Some(true), wrappers::registered),
            Rule::DuplicateImages => with_code(|it| it.duplicates == Some(false), images::duplicates),
            Rule::Metadata => AllFiles(metadata::agrees),
            Rule::PromisedKernels => AllFiles(promises::kept),
            Rule::PlatformTag => with_code(|it| it.platform_tag == Some(true), platform_tag::allows_load),
            Rule::HostRuntime => AllFiles(host_runtime::agrees),
            Rule::Proven => with_code(|it| it.proven == Some(true), proofs::proven),
        }
    }
}

fn kernel_coverage(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    devices::kernels(facts, requirements, findings);
    kernels::coverage(facts, requirements, findings);
}

/// Returns the name of the innermost wheel around a file, without its ending.
fn wheel_name(path: &FilePath) -> Option<&str> {
    path.archives().find_map(|name| name.strip_suffix(".whl"))
}

/// Evaluates a policy on files. `inputs` are the names of the inputs that [`CheckedFile::input`] refers to.
pub fn check(policy: &Policy, inputs: Vec<String>, files: impl IntoIterator<Item = CheckedFile>) -> Verdict {
    let mut check = Check::new(policy, inputs);
    for file in files {
        check.add(file);
    }
    check.finish()
}

/// The evaluation of a policy, file by file.
pub struct Check<'p> {
    evaluator: Evaluator<'p>,
    inputs: Vec<String>,
    sums: Sums,
    /// The files, if a rule needs them as a whole.
    files: Vec<CheckedFile>,
}

impl<'p> Check<'p> {
    /// Begins a check. `inputs` are the names of the inputs that [`CheckedFile::input`] refers to.
    pub fn new(policy: &'p Policy, inputs: Vec<String>) -> Self {
        let evaluator = Evaluator {
            policy,
            findings: Vec::new(),
            evaluations: Evaluations::Listed { places: Vec::new(), paths: String::new() },
            files: 0,
            positions: HashMap::new(),
            matched_lines: BTreeSet::new(),
            libraries: Libraries::default(),
            vendored: VendoredFindings::default(),
            not_judged: Vec::new(),
        };
        Check { evaluator, inputs, sums: Sums::default(), files: Vec::new() }
    }

    /// Only counts the evaluations: [`Verdict::evaluations`] remains empty.
    pub fn counting(mut self) -> Self {
        self.evaluator.evaluations = Evaluations::Counted([0; Outcome::ALL.len()]);
        self
    }

    /// Evaluates the rules for single files. Returns the survey unless the check needs it.
    pub fn add(&mut self, file: CheckedFile) -> Option<Survey> {
        let policy = self.evaluator.policy;
        let position = self.evaluator.place(&file, &self.inputs);
        let facts = (!policy.skips(&file.survey.file.path)).then(|| file.facts());
        if let Some(facts) = &facts {
            self.evaluator.evaluate_file(facts, position, file.input);
        }
        self.sums.add(&file, facts.as_ref(), &self.inputs, policy);
        drop(facts);
        if !policy.needs_whole_files() {
            return Some(file.survey);
        }
        self.files.push(file);
        None
    }

    /// Evaluates the rules for all files together.
    pub fn finish(self) -> Verdict {
        let Check { mut evaluator, inputs, mut sums, files } = self;
        for member in std::mem::take(&mut evaluator.libraries).finish() {
            evaluator.record(member.position, member.rule, &member.path, member.findings);
        }
        evaluator.finish_vendored();
        sums.coverage.finish(evaluator.policy);
        let evaluated = files.iter().filter(|file| !evaluator.policy.skips(&file.survey.file.path));
        let facts: Vec<FileFacts<'_>> = evaluated.map(CheckedFile::facts).collect();
        let all_files = AllFiles { inputs: &inputs, files: &files, facts: &facts, sums: &sums };
        for rule in Rule::ALL {
            if let Scope::AllFiles(evaluate) = rule.scope() {
                evaluate(&mut evaluator, &all_files);
            }
        }
        evaluator.finish()
    }
}

impl CheckedFile {
    fn facts(&self) -> FileFacts<'_> {
        FileFacts { proof: &self.proof, assemblies: self.assemblies.as_deref(), ..FileFacts::new(&self.survey) }
    }
}

/// Outcomes of rules.
enum Evaluations {
    /// Numbers of evaluations by outcome.
    Counted([usize; Outcome::ALL.len()]),
    /// All evaluations. Many small allocations would keep what is freed around them apart.
    Listed { places: Vec<EvaluationPlace>, paths: String },
}

/// An evaluation. Its path is a part of the paths of all evaluations.
struct EvaluationPlace {
    position: usize,
    path: Range<usize>,
    rule: Rule,
    outcome: Outcome,
}

impl Evaluations {
    fn add(&mut self, position: usize, path: &str, rule: Rule, outcome: Outcome) {
        match self {
            Evaluations::Counted(counts) => {
                for (count, _) in counts.iter_mut().zip(Outcome::ALL).filter(|(_, it)| **it == outcome) {
                    *count += 1;
                }
            }
            Evaluations::Listed { places, paths } => {
                let last = places.last().map(|last| last.path.clone());
                let known = last.filter(|last| paths.get(last.clone()) == Some(path));
                let place = known.unwrap_or_else(|| {
                    let start = paths.len();
                    *paths += path;
                    start..paths.len()
                });
                places.push(EvaluationPlace { position, path: place, rule, outcome });
            }
        }
    }
}

/// Evaluates rules and collects their findings.
struct Evaluator<'a> {
    policy: &'a Policy,
    /// Findings with the positions of their files.
    findings: Vec<(usize, Finding)>,
    evaluations: Evaluations,
    /// Number of files.
    files: usize,
    /// Positions of the files that a rule about all files may have findings about.
    positions: HashMap<String, usize>,
    /// Lines of the policy whose kernel requirements applied to a kernel.
    matched_lines: BTreeSet<usize>,
    libraries: Libraries,
    vendored: VendoredFindings,
    /// Libraries of others that rules have left out.
    not_judged: Vec<String>,
}

impl Evaluator<'_> {
    /// Returns the position of the next file, and keeps it if a rule about all files may have findings about the file:
    /// about inputs and packages, and with some rules about members.
    fn place(&mut self, file: &CheckedFile, inputs: &[String]) -> usize {
        let path = &file.survey.file.path;
        let policy = self.policy;
        let judges_packages = policy.package.is_some() || policy.package_coverage.is_required();
        let judges_members = policy.needs_whole_files() || policy.consistent_features || policy.promised_kernels;
        let is_input = inputs.get(file.input).is_some_and(|input| *path == **input);
        let position = self.files;
        if is_input || judges_members || (judges_packages && file.package.is_none()) {
            self.positions.insert(path.to_string(), position);
        }
        self.files += 1;
        position
    }

    /// Evaluates the rules that apply to single files. A file without device code can only have findings about its
    /// damage, unless it lacks code that it launches.
    fn evaluate_file(&mut self, facts: &FileFacts<'_>, position: usize, input: usize) {
        let vendored = VendoredLibrary::of(&facts.survey.file);
        if vendored.is_none() && facts.survey.file.has_device_code() {
            self.vendored.add_own_code(input);
        }
        let has_code = facts.survey.file.has_device_code() || facts.survey.file.lacks_its_code();
        let requirements = self.policy.requirements_for(facts.path());
        let library = libraries::library(facts.path()).filter(|_| facts.survey.file.has_device_code());
        if let Some(library) = &library {
            self.libraries.add(library, facts);
        }
        for &rule in Rule::ALL {
            let evaluate = match rule.scope() {
                Scope::EachFile(evaluate) => evaluate,
                Scope::EachFileWithCode { is_required, evaluate } if has_code && is_required(&requirements) => evaluate,
                Scope::EachFileWithCode { .. } | Scope::AllFiles(_) => continue,
            };
            if let Some(vendored) = vendored.as_ref().filter(|_| vendored::is_about_code(rule)) {
                let mut findings = RuleFindings::default();
                evaluate(facts, &requirements, &mut findings);
                self.vendored.defer(vendored, input, (position, facts.path()), rule, findings);
                continue;
            }
            match library.as_ref().filter(|_| libraries::is_met_together(rule)) {
                None => {
                    self.apply_at(position, rule, facts.path(), |findings| evaluate(facts, &requirements, findings));
                }
                Some(library) => {
                    let mut findings = RuleFindings::default();
                    evaluate(facts, &requirements, &mut findings);
                    self.libraries.defer(library.clone(), position, facts.path(), rule, findings.into_vec());
                }
            }
        }
    }

    /// Records the findings about libraries of others in inputs without other code.
    fn finish_vendored(&mut self) {
        let (judged, not_judged) = std::mem::take(&mut self.vendored).finish();
        self.not_judged = not_judged;
        for it in judged {
            self.matched_lines.extend(&it.findings.matched_lines);
            self.record(it.position, it.rule, &it.path, it.findings.into_vec());
        }
    }

    /// Records the outcome of a rule for `path`, a file or another path, and the findings that `evaluate` adds.
    fn apply(&mut self, rule: Rule, path: &str, evaluate: impl FnOnce(&mut RuleFindings)) {
        let position = self.positions.get(path).copied().unwrap_or(usize::MAX);
        self.apply_at(position, rule, path, evaluate);
    }

    /// Like [`Self::apply`]. `position` is the position of the file, or the largest number for another path.
    fn apply_at(&mut self, position: usize, rule: Rule, path: &str, evaluate: impl FnOnce(&mut RuleFindings)) {
        let mut findings = RuleFindings::default();
        evaluate(&mut findings);
        self.matched_lines.extend(&findings.matched_lines);
        self.record(position, rule, path, findings.into_vec());
    }

    fn record(&mut self, position: usize, rule: Rule, path: &str, findings: Vec<RuleFinding>) {
        let mut worst = Outcome::Passed;
        for finding in findings {
            let is_warning = finding.outcome == Outcome::Violated && self.policy.warn.contains(&rule);
            let outcome = if is_warning { Outcome::Warned } else { finding.outcome };
            worst = worst.max(outcome);
            let finding = Finding {
                rule,
                outcome,
                path: path.to_owned(),
                image: finding.image,
                kernel: finding.kernel,
                message: finding.message,
                detail: finding.detail,
                remedy: finding.remedy,
            };
            self.findings.push((position, finding));
        }
        self.evaluations.add(position, path, rule, worst);
    }

    /// Returns the verdict, sorted by file in the order of the inputs, then by rule.
    fn finish(mut self) -> Verdict {
        self.findings.sort_by_key(|(position, finding)| (*position, finding.rule));
        let findings = self.findings.into_iter().map(|(_, finding)| finding).collect();
        match self.evaluations {
            Evaluations::Counted(counts) => {
                Verdict { findings, unlisted: counts, not_judged: self.not_judged, ..Verdict::default() }
            }
            Evaluations::Listed { mut places, paths } => {
                places.sort_by_key(|place| (place.position, place.rule));
                let path = |place: Range<usize>| paths.get(place).unwrap_or_default().to_owned();
                let evaluation = |EvaluationPlace { path: place, rule, outcome, .. }| Evaluation {
                    path: path(place),
                    rule,
                    outcome,
                };
                let evaluations = places.into_iter().map(evaluation).collect();
                Verdict { findings, evaluations, not_judged: self.not_judged, ..Verdict::default() }
            }
        }
    }
}
