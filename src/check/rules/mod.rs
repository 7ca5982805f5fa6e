//! A policy applied to files: every rule that it asks for, and those that always hold, file by file and then over all.

mod archs;
mod cross_file;
mod findings;
mod images;
mod kernels;
mod sizes;
mod wrappers;

use std::collections::BTreeSet;

use super::facts::Facts;
use super::policy::{Demands, Policy};
use super::rule::Rule;
use super::verdict::{Finding, Judged, Outcome, Verdict};
use crate::inspect::DebugLevel;
use crate::survey::SurveyedFile;
use findings::Findings;

/// A file and the input that it came from, by its number.
pub struct Subject {
    pub survey: SurveyedFile,
    pub input: usize,
}

/// A rule over one file.
struct FileRule {
    rule: Rule,
    /// Whether anything is demanded.
    applies: fn(&Demands) -> bool,
    judge: fn(&Facts<'_>, &Demands, &mut Findings),
}

const fn file_rule(
    rule: Rule,
    applies: fn(&Demands) -> bool,
    judge: fn(&Facts<'_>, &Demands, &mut Findings),
) -> FileRule {
    FileRule { rule, applies, judge }
}

const FILE_RULES: [FileRule; 16] = [
    file_rule(Rule::Readable, |_| true, images::readable),
    file_rule(Rule::ValidImages, |_| true, images::valid),
    file_rule(Rule::RequiredArchs, |demands| demands.require.is_some(), archs::required),
    file_rule(Rule::Devices, |demands| demands.devices.is_some(), archs::devices),
    file_rule(Rule::ForbiddenArchs, |demands| demands.forbid.is_some(), archs::forbidden),
    file_rule(Rule::OnlyArchs, |demands| demands.only.is_some(), archs::only),
    file_rule(Rule::KernelCoverage, kernels::covers, kernels::coverage),
    file_rule(Rule::KernelLimits, kernels::limits, kernels::within_limits),
    file_rule(Rule::FileSize, |demands| demands.file_size.is_some(), sizes::file),
    file_rule(Rule::ArchSize, |demands| demands.arch_sizes.is_some(), sizes::archs),
    file_rule(
        Rule::DebugInformation,
        |demands| demands.debug.is_some_and(|most| most < DebugLevel::Full),
        images::debug_information,
    ),
    file_rule(Rule::BuildPaths, |demands| demands.build_paths == Some(false), images::build_paths),
    file_rule(Rule::Compression, |demands| demands.compressed.is_some(), images::compression),
    file_rule(Rule::ReadableBy, |demands| demands.readable_by.is_some(), images::readable_by),
    file_rule(Rule::Wrappers, |demands| demands.registered == Some(true), wrappers::registered),
    file_rule(Rule::DuplicateImages, |demands| demands.duplicates == Some(false), images::duplicates),
];

/// Applies a policy to files, which come from `inputs` as the user named them.
pub fn check(policy: &Policy, inputs: &[String], subjects: &[Subject]) -> Verdict {
    let mut bench = Bench { policy, verdict: Verdict::default(), matched: BTreeSet::new() };
    let judged: Vec<&Subject> = subjects.iter().filter(|it| !policy.skips(&it.survey.file.path)).collect();
    let facts: Vec<Facts<'_>> = judged.iter().map(|subject| Facts::new(&subject.survey)).collect();
    for facts in &facts {
        let demands = policy.demands_of(facts.path());
        // Of what holds no device code there is nothing to judge but whether that is because it is broken.
        let is_for_all = |rule| [Rule::Readable, Rule::ValidImages].contains(&rule);
        let rules = FILE_RULES.iter().filter(|it| is_for_all(it.rule) || !facts.images.is_empty());
        for FileRule { rule, judge, .. } in rules.filter(|it| (it.applies)(&demands)) {
            bench.apply(*rule, facts.path(), |findings| judge(facts, &demands, findings));
        }
    }
    cross_file::judge(&mut bench, inputs, subjects, &facts);
    bench.finish(subjects)
}

/// Where rules are applied and what comes of it is gathered.
struct Bench<'a> {
    policy: &'a Policy,
    verdict: Verdict,
    /// The lines of the policy whose demands on kernels have met one.
    matched: BTreeSet<usize>,
}

impl Bench<'_> {
    /// Applies a rule to what is called `path`.
    fn apply(&mut self, rule: Rule, path: &str, judge: impl FnOnce(&mut Findings)) {
        let mut findings = Findings::default();
        judge(&mut findings);
        let mut worst = Outcome::Passed;
        self.matched.extend(findings.matched_lines());
        for found in findings.into_found() {
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
        self.verdict.judged.push(Judged { path: path.to_owned(), rule, outcome: worst });
    }

    /// The verdict, in order: by file as they came, then by rule.
    fn finish(mut self, subjects: &[Subject]) -> Verdict {
        let paths = subjects.iter().map(|subject| subject.survey.file.path.as_str()).enumerate();
        let place: std::collections::HashMap<&str, usize> = paths.map(|(index, path)| (path, index)).collect();
        let key = |path: &str, rule| (place.get(path).copied().unwrap_or(usize::MAX), rule);
        self.verdict.findings.sort_by_key(|finding| key(&finding.path, finding.rule));
        self.verdict.judged.sort_by_key(|judged| key(&judged.path, judged.rule));
        self.verdict
    }
}
