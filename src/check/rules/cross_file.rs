//! What is demanded of all files together: that there are some, that the policy is about them, their size, and that they
//! agree.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{Findings, violated};
use super::{CheckedFile, Evaluator};
use crate::check::coverage::allows;
use crate::check::facts::{FileFacts, ImageCode};
use crate::check::policy::{Pattern, Policy, PolicyTarget, Requirements, Size};
use crate::check::rule::Rule;
use crate::inventory::File;
use crate::target::{TargetId, processors::Processor};

pub fn judge(evaluator: &mut Evaluator<'_>, inputs: &[String], files: &[CheckedFile], facts: &[FileFacts<'_>]) {
    let policy = evaluator.policy;
    for (number, input) in inputs.iter().enumerate() {
        evaluator.apply(Rule::HoldsDeviceCode, input, |findings| require_device_code(policy, number, files, findings));
    }
    if !policy.must_hold.is_empty() {
        evaluator.apply(Rule::HoldsDeviceCode, &policy.path, |findings| {
            let with_code: Vec<&str> = facts.iter().filter(|it| !it.images.is_empty()).map(FileFacts::path).collect();
            policy.must_hold.iter().for_each(|pattern| require_match(pattern, &with_code, findings));
        });
    }
    let matched = evaluator.matched.clone();
    evaluator.apply(Rule::MatchesSomething, &policy.path, |findings| {
        let paths: Vec<&str> = files.iter().map(|file| file.survey.file.path.as_str()).collect();
        let exceptions = policy.exceptions.iter().map(|exception| &exception.pattern);
        for pattern in policy.skip.iter().chain(exceptions) {
            require_match(pattern, &paths, findings);
        }
        let all =
            [&policy.requirements].into_iter().chain(policy.exceptions.iter().map(|exception| &exception.requirements));
        for requirements in all {
            unused_requirements(requirements, facts, &matched, findings);
        }
    });
    if let Some(most) = policy.total {
        evaluator.apply(Rule::TotalSize, &policy.path, |findings| total_size(most, facts, findings));
    }
    if policy.consistent_features {
        consistent_features(evaluator, facts);
    }
}

/// Each input that the user named has device code, or is one that is not judged.
fn require_device_code(policy: &Policy, input: usize, files: &[CheckedFile], findings: &mut Findings) {
    let mut own = files.iter().filter(|file| file.input == input).map(|file| &file.survey.file);
    let is_enough =
        |file: &File| file.device_images().next().is_some() || is_unreadable(file) || policy.skips(&file.path);
    // What is broken has been told, and may hold some.
    if !own.any(is_enough) {
        findings.add(violated("no device code"));
    }
}

fn is_unreadable(file: &File) -> bool {
    file.failure.is_some() || !file.errors.is_empty()
}

/// A pattern that is about no file is a mistake, or the file is gone.
fn require_match(pattern: &Pattern, paths: &[&str], findings: &mut Findings) {
    if !paths.iter().any(|path| pattern.matches(path)) {
        findings.add(
            violated(format!("no file that holds device code matches {:?}", pattern.text))
                .there(format!("there is {}", abbreviated(paths))),
        );
    }
}

/// Demands that no file had anything for.
fn unused_requirements(
    requirements: &Requirements,
    facts: &[FileFacts<'_>],
    matched: &BTreeSet<usize>,
    findings: &mut Findings,
) {
    for requirement in requirements.kernels.iter().flatten().filter(|requirement| !matched.contains(&requirement.line))
    {
        let which = match &requirement.matching {
            Some(regex) => format!("no kernel matches {:?}", regex.as_str()),
            None => "there is no kernel that could be looked at".to_owned(),
        };
        findings.add(violated(format!("{which} (line {})", requirement.line)));
    }
    for (target, _) in requirements.arch_sizes.iter().flatten() {
        let is_there = |facts: &FileFacts<'_>| {
            facts.images.iter().any(|image| matches!(&image.code, ImageCode::For(own) if allows(target, own)))
        };
        if !facts.iter().any(is_there) {
            findings.add(violated(format!("no code for {target}, whose size is limited")));
        }
    }
}

fn total_size(most: Size, facts: &[FileFacts<'_>], findings: &mut Findings) {
    let size = Size(facts.iter().map(FileFacts::stored).fold(0, u64::saturating_add));
    if size > most {
        let mut files: Vec<(u64, &str)> = facts.iter().map(|facts| (facts.stored(), facts.path())).collect();
        files.sort_by(|a, b| b.cmp(a));
        let largest = files.iter().take(3).map(|(size, path)| format!("{} in {path}", Size(*size)));
        let largest = largest.collect::<Vec<_>>().join(", ");
        findings.add(violated(format!("{size} of device code, at most {most} allowed")).there(largest));
    }
}

/// A processor's target ids, and the files that have exactly these.
type Settings<'f> = BTreeMap<BTreeSet<String>, Vec<&'f str>>;

/// All files with code for a processor have it for the same settings of its features, else a program that loads two of
/// them finds a device that one serves and the other does not.
fn consistent_features(evaluator: &mut Evaluator<'_>, facts: &[FileFacts<'_>]) {
    let mut processors: BTreeMap<String, Settings<'_>> = BTreeMap::new();
    for facts in facts {
        let mut own: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for image in &facts.images {
            let ImageCode::For(PolicyTarget::Native(id)) = &image.code else { continue };
            let Ok(target) = TargetId::parse(id) else { continue };
            if Processor::named(target.processor()).is_some() {
                own.entry(target.processor().to_owned()).or_default().insert(id.clone());
            }
        }
        for (processor, ids) in own {
            processors.entry(processor).or_default().entry(ids).or_default().push(facts.path());
        }
    }
    let mut found: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for settings in processors.values() {
        // What most files have is taken for what is meant.
        let Some((expected, majority)) = settings.iter().max_by_key(|(_, files)| files.len()) else { continue };
        for (ids, files) in settings {
            for file in files {
                let findings = found.entry(file).or_default();
                if ids != expected {
                    let others = format!("{} in {}", list(expected), abbreviated(majority));
                    findings.push((format!("code for {} and not for what other files have", list(ids)), others));
                }
            }
        }
    }
    for (path, messages) in found {
        evaluator.apply(Rule::ConsistentFeatures, path, |findings| {
            messages.into_iter().for_each(|(message, others)| findings.add(violated(message).there(others)));
        });
    }
}

fn list(ids: &BTreeSet<String>) -> String {
    ids.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// The first few names of many.
fn abbreviated(names: &[&str]) -> String {
    match names {
        [] => "none at all".to_owned(),
        [a, b, c, _, ..] => format!("{a}, {b}, {c} and {} more", names.len() - 3),
        few => few.join(", "),
    }
}
