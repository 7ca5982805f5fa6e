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
mod metadata;
mod packages;
mod platform_tag;
mod promises;
mod proofs;
mod ptx;
mod sizes;
mod wrappers;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::facts::{FileFacts, ImageCode};
use super::policy::{PackageCoverage, Policy, Requirements};
use super::proof_status::ProofStatus;
use super::ptx_assembler::Assembly;
use super::rule::Rule;
use super::target::PolicyTarget;
use super::verdict::{Evaluation, Finding, Outcome, Verdict};
use crate::analyze::host_runtime::RequiredPackages;
use crate::analyze::metadata::{InvalidMetadata, PackageMetadata};
use crate::analyze::promise::Promise;
use crate::analyze::survey::Survey;
use crate::image::DebugLevel;
use crate::target::Platform;
use cross_file::{Settings, settings_of};
use findings::RuleFindings;
use packages::PackageFacts;
use promises::Promises;

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

/// What is kept of the files for rules that need no whole files. A package may have a hundred thousand.
#[derive(Default)]
struct Sums {
    files: Vec<FileSums>,
    /// Paths of all files. Many small allocations would keep what is freed around them apart.
    paths: String,
    /// Indexes of the inputs that have device code, or may have.
    accepted: BTreeSet<usize>,
    packages: BTreeMap<String, u64>,
    /// Targets of the device code, and platforms; `None` for an unknown one.
    targets: Vec<PolicyTarget>,
    platforms: HashSet<Option<Platform>>,
    /// Settings of files, if the policy compares them. Equal ones are stored once.
    settings: BTreeSet<Arc<Settings>>,
    coverage: PackageFacts,
    promises: Promises,
}

struct FileSums {
    /// Place of its path among the paths of all files.
    path: Range<usize>,
    is_skipped: bool,
    has_code: bool,
    /// Size of the device code in bytes.
    stored: u64,
    settings: Option<Arc<Settings>>,
}

impl Sums {
    /// Adds a file. A file that the policy skips has no facts.
    fn add(&mut self, file: &CheckedFile, facts: Option<&FileFacts<'_>>, inputs: &[String], policy: &Policy) {
        let inventory = &file.survey.file;
        let has_code = inventory.has_device_code();
        // Damage is reported by other rules, and a damaged file may contain device code.
        if has_code || inventory.is_incomplete() || facts.is_none() {
            self.accepted.insert(file.input);
        }
        if let Some(package) = &file.package
            && !self.packages.contains_key(&package.path)
        {
            self.packages.insert(package.path.clone(), package.size);
        }
        for image in facts.iter().flat_map(|facts| &facts.images) {
            self.platforms.insert(Platform::of(image.image.triple.as_deref(), image.image.arch.as_deref()));
            if let ImageCode::For(target) = &image.code
                && !self.targets.contains(target)
            {
                self.targets.push(target.clone());
            }
        }
        if facts.is_some() && !inventory.kpack.is_empty() {
            self.platforms.insert(Some(Platform::Amd));
        }
        let start = self.paths.len();
        self.paths += &inventory.path;
        let mut settings = None;
        if let Some(facts) = facts {
            if policy.consistent_features {
                let own = Arc::new(settings_of(facts));
                settings = Some(self.settings.get(&own).cloned().unwrap_or(own));
                self.settings.extend(settings.clone());
            }
            let PackageCoverage { devices, kernels, .. } = &policy.package_coverage;
            if !devices.is_empty() || !kernels.is_empty() {
                let input = inputs.get(file.input).map(String::as_str).unwrap_or_default();
                self.coverage.add(file, facts, input, policy);
            }
            if policy.promised_kernels {
                self.promises.add(file, facts);
            }
        }
        self.files.push(FileSums {
            path: start..self.paths.len(),
            is_skipped: facts.is_none(),
            has_code,
            stored: facts.map_or(0, FileFacts::stored),
            settings,
        });
    }

    fn path(&self, file: &FileSums) -> &str {
        self.paths.get(file.path.clone()).unwrap_or_default()
    }

    /// Returns the files that the policy does not skip.
    fn evaluated(&self) -> impl Iterator<Item = &FileSums> {
        self.files.iter().filter(|file| !file.is_skipped)
    }
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
fn wheel_name(path: &str) -> Option<&str> {
    let wheel = path.rsplit('!').skip(1).find_map(|file| file.strip_suffix(".whl"))?;
    wheel.rsplit(['/', '\\']).next()
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
            verdict: Verdict::default(),
            evaluations: Vec::new(),
            paths: String::new(),
            matched_lines: BTreeSet::new(),
        };
        Check { evaluator, inputs, sums: Sums::default(), files: Vec::new() }
    }

    /// Evaluates the rules for single files. Returns the survey unless the check needs it.
    pub fn add(&mut self, file: CheckedFile) -> Option<Survey> {
        let policy = self.evaluator.policy;
        let facts = (!policy.skips(&file.survey.file.path)).then(|| file.facts());
        if let Some(facts) = &facts {
            self.evaluator.evaluate_file(facts);
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
        sums.coverage.finish(evaluator.policy);
        let evaluated = files.iter().filter(|file| !evaluator.policy.skips(&file.survey.file.path));
        let facts: Vec<FileFacts<'_>> = evaluated.map(CheckedFile::facts).collect();
        let all_files = AllFiles { inputs: &inputs, files: &files, facts: &facts, sums: &sums };
        for rule in Rule::ALL {
            if let Scope::AllFiles(evaluate) = rule.scope() {
                evaluate(&mut evaluator, &all_files);
            }
        }
        evaluator.finish(&sums)
    }
}

impl CheckedFile {
    fn facts(&self) -> FileFacts<'_> {
        FileFacts { proof: &self.proof, assemblies: self.assemblies.as_deref(), ..FileFacts::new(&self.survey) }
    }
}

/// Evaluates rules and collects their findings.
struct Evaluator<'a> {
    policy: &'a Policy,
    /// The verdict, without its evaluations.
    verdict: Verdict,
    /// Place of the path of each evaluation in `paths`, its rule and its outcome.
    evaluations: Vec<(Range<usize>, Rule, Outcome)>,
    paths: String,
    /// Lines of the policy whose kernel requirements applied to a kernel.
    matched_lines: BTreeSet<usize>,
}

impl Evaluator<'_> {
    /// Evaluates the rules that apply to single files. A file without device code can only have findings about its
    /// damage.
    fn evaluate_file(&mut self, facts: &FileFacts<'_>) {
        let requirements = self.policy.requirements_for(facts.path());
        for &rule in Rule::ALL {
            let evaluate = match rule.scope() {
                Scope::EachFile(evaluate) => evaluate,
                Scope::EachFileWithCode { is_required, evaluate }
                    if facts.survey.file.has_device_code() && is_required(&requirements) =>
                {
                    evaluate
                }
                Scope::EachFileWithCode { .. } | Scope::AllFiles(_) => continue,
            };
            self.apply(rule, facts.path(), |findings| evaluate(facts, &requirements, findings));
        }
    }

    /// Records the outcome of a rule for `path`, and the findings that `evaluate` adds.
    fn apply(&mut self, rule: Rule, path: &str, evaluate: impl FnOnce(&mut RuleFindings)) {
        let mut findings = RuleFindings::default();
        evaluate(&mut findings);
        let mut worst = Outcome::Passed;
        self.matched_lines.extend(&findings.matched_lines);
        for finding in findings.into_vec() {
            let is_warning = finding.outcome == Outcome::Violated && self.policy.warn.contains(&rule);
            let outcome = if is_warning { Outcome::Warned } else { finding.outcome };
            worst = worst.max(outcome);
            self.verdict.findings.push(Finding {
                rule,
                outcome,
                path: path.to_owned(),
                image: finding.image,
                kernel: finding.kernel,
                message: finding.message,
                detail: finding.detail,
                remedy: finding.remedy,
            });
        }
        let last = self.evaluations.last().map(|(last, ..)| last.clone());
        let known = last.filter(|last| self.paths.get(last.clone()) == Some(path));
        let place = known.unwrap_or_else(|| {
            let start = self.paths.len();
            self.paths += path;
            start..self.paths.len()
        });
        self.evaluations.push((place, rule, worst));
    }

    /// Returns the verdict, sorted by file in the order of the inputs, then by rule.
    fn finish(mut self, sums: &Sums) -> Verdict {
        let paths = sums.files.iter().map(|file| sums.path(file)).enumerate();
        let position: HashMap<&str, usize> = paths.map(|(index, path)| (path, index)).collect();
        let key = |path: &str, rule| (position.get(path).copied().unwrap_or(usize::MAX), rule);
        self.verdict.findings.sort_by_key(|finding| key(&finding.path, finding.rule));
        let path = |place: &Range<usize>| self.paths.get(place.clone()).unwrap_or_default();
        self.evaluations.sort_by_key(|(place, rule, _)| key(path(place), *rule));
        let evaluation =
            |(place, rule, outcome): (Range<usize>, _, _)| Evaluation { path: path(&place).to_owned(), rule, outcome };
        self.verdict.evaluations = self.evaluations.into_iter().map(evaluation).collect();
        self.verdict
    }
}
