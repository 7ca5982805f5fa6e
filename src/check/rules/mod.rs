//! A policy applied to files: every rule that it asks for, and those that always hold, file by file and then over all.

mod archs;
mod cross_file;
mod findings;
mod images;
mod kernels;
mod sizes;
mod wrappers;

use std::collections::BTreeSet;

use super::facts::FileFacts;
use super::policy::{Policy, Requirements};
use super::rule::Rule;
use super::verdict::{Evaluation, Finding, Outcome, Verdict};
use crate::inspect::DebugLevel;
use crate::survey::SurveyedFile;
use findings::Findings;

/// A file and the input that it came from, by its number.
pub struct CheckedFile {
    pub survey: SurveyedFile,
    pub input: usize,
}

/// A rule over one file.
struct FileRule {
    rule: Rule,
    /// Whether anything is demanded.
    applies: fn(&Requirements) -> bool,
    judge: fn(&FileFacts<'_>, &Requirements, &mut Findings),
}

const fn file_rule(
    rule: Rule,
    applies: fn(&Requirements) -> bool,
    judge: fn(&FileFacts<'_>, &Requirements, &mut Findings),
) -> FileRule {
    FileRule { rule, applies, judge }
}

const FILE_RULES: [FileRule; 16] = [
    file_rule(Rule::Readable, |_| true, images::readable),
    file_rule(Rule::ValidImages, |_| true, images::valid),
    file_rule(Rule::RequiredArchs, |requirements| requirements.require.is_some(), archs::required),
    file_rule(Rule::Devices, |requirements| requirements.devices.is_some(), archs::devices),
    file_rule(Rule::ForbiddenArchs, |requirements| requirements.forbid.is_some(), archs::forbidden),
    file_rule(Rule::OnlyArchs, |requirements| requirements.only.is_some(), archs::only),
    file_rule(Rule::KernelCoverage, kernels::covers, kernels::coverage),
    file_rule(Rule::KernelLimits, kernels::limits, kernels::resource_limits),
    file_rule(Rule::FileSize, |requirements| requirements.file_size.is_some(), sizes::file),
    file_rule(Rule::ArchSize, |requirements| requirements.arch_sizes.is_some(), sizes::archs),
    file_rule(
        Rule::DebugInformation,
        |requirements| requirements.debug.is_some_and(|most| most < DebugLevel::Full),
        images::debug_information,
    ),
    file_rule(Rule::BuildPaths, |requirements| requirements.build_paths == Some(false), images::build_paths),
    file_rule(Rule::Compression, |requirements| requirements.compressed.is_some(), images::compression),
    file_rule(Rule::ReadableBy, |requirements| requirements.readable_by.is_some(), images::readable_by),
    file_rule(Rule::Wrappers, |requirements| requirements.registered == Some(true), wrappers::registered),
    file_rule(Rule::DuplicateImages, |requirements| requirements.duplicates == Some(false), images::duplicates),
];

/// Applies a policy to files, which come from `inputs` as the user named them.
pub fn check(policy: &Policy, inputs: &[String], files: &[CheckedFile]) -> Verdict {
    let mut evaluator = Evaluator { policy, verdict: Verdict::default(), matched: BTreeSet::new() };
    let judged: Vec<&CheckedFile> = files.iter().filter(|it| !policy.skips(&it.survey.file.path)).collect();
    let facts: Vec<FileFacts<'_>> = judged.iter().map(|file| FileFacts::new(&file.survey)).collect();
    for facts in &facts {
        let requirements = policy.requirements_for(facts.path());
        // Of what holds no device code there is nothing to judge but whether that is because it is broken.
        let is_for_all = |rule| [Rule::Readable, Rule::ValidImages].contains(&rule);
        let rules = FILE_RULES.iter().filter(|it| is_for_all(it.rule) || !facts.images.is_empty());
        for FileRule { rule, judge, .. } in rules.filter(|it| (it.applies)(&requirements)) {
            evaluator.apply(*rule, facts.path(), |findings| judge(facts, &requirements, findings));
        }
    }
    cross_file::judge(&mut evaluator, inputs, files, &facts);
    evaluator.finish(files)
}

/// Where rules are applied and what comes of it is gathered.
struct Evaluator<'a> {
    policy: &'a Policy,
    verdict: Verdict,
    /// The lines of the policy whose demands on kernels have met one.
    matched: BTreeSet<usize>,
}

impl Evaluator<'_> {
    /// Applies a rule to what is called `path`.
    fn apply(&mut self, rule: Rule, path: &str, judge: impl FnOnce(&mut Findings)) {
        let mut findings = Findings::default();
        judge(&mut findings);
        let mut worst = Outcome::Passed;
        self.matched.extend(findings.matched_lines());
        for found in findings.into_vec() {
            let only_warn = found.outcome == Outcome::Violated && self.policy.warn.contains(&rule);
            let outcome = if only_warn { Outcome::Warned } else { found.outcome };
            worst = worst.max(outcome);
            self.verdict.findings.push(Finding {
                rule,
                outcome,
                path: path.to_owned(),
                image: found.image,
                kernel: found.kernel,
                message: found.message,
                there: found.there,
            });
        }
        self.verdict.evaluations.push(Evaluation { path: path.to_owned(), rule, outcome: worst });
    }

    /// The verdict, in order: by file as they came, then by rule.
    fn finish(mut self, files: &[CheckedFile]) -> Verdict {
        let paths = files.iter().map(|file| file.survey.file.path.as_str()).enumerate();
        let place: std::collections::HashMap<&str, usize> = paths.map(|(index, path)| (path, index)).collect();
        let key = |path: &str, rule| (place.get(path).copied().unwrap_or(usize::MAX), rule);
        self.verdict.findings.sort_by_key(|finding| key(&finding.path, finding.rule));
        self.verdict.evaluations.sort_by_key(|judged| key(&judged.path, judged.rule));
        self.verdict
    }
}
