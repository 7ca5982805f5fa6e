//! Rules over all files together: that device code is present, that every entry of the policy applies, the total size,
//! and consistent features.

use std::collections::{BTreeMap, BTreeSet};

use super::asked;
use super::findings::{RuleFindings, violated};
use super::sums::{CodeSize, EXAMPLES, PatternMatches, Sums};
use super::{AllFiles, Evaluator};
use crate::check::coverage::allows;
use crate::check::policy::{Pattern, Requirements, Size};
use crate::check::rule::Rule;

/// Reports inputs without device code, and patterns of must-hold that match no file with device code.
pub fn device_code(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    for (index, input) in all.inputs.iter().enumerate() {
        let has_code = all.sums.accepted.contains(&index);
        evaluator.apply(Rule::HoldsDeviceCode, input, |findings| {
            if !has_code {
                findings.add(violated("no device code"));
            }
        });
    }
    if !policy.must_hold.is_empty() {
        evaluator.apply(Rule::HoldsDeviceCode, &policy.path, |findings| {
            require_matches(&policy.must_hold, &all.sums.holding, findings);
        });
    }
}

/// Reports entries of the policy that apply to nothing: they are mistakes, or a file is missing.
pub fn policy_entries(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    let matched_lines = evaluator.matched_lines.clone();
    evaluator.apply(Rule::MatchesSomething, &policy.path, |findings| {
        require_matches(policy.named(), &all.sums.named, findings);
        for requirements in policy.all_requirements() {
            unused_requirements(requirements, all.sums, &matched_lines, findings);
        }
    });
}

/// Reports patterns that match no file.
fn require_matches<'a>(
    patterns: impl IntoIterator<Item = &'a Pattern>,
    matches: &PatternMatches,
    findings: &mut RuleFindings,
) {
    for pattern in matches.unmatched(patterns) {
        let message = format!("no file with device code matches {:?}", pattern.text);
        findings.add(violated(message).detail(format!("available: {}", abbreviated(&matches.first, matches.count))));
    }
}

/// Reports requirements for kernels and architectures that no file contains.
fn unused_requirements(
    requirements: &Requirements,
    sums: &Sums,
    matched_lines: &BTreeSet<usize>,
    findings: &mut RuleFindings,
) {
    for requirement in requirements.kernels.iter().flatten() {
        if matched_lines.contains(&requirement.line) {
            continue;
        }
        let problem = match &requirement.matching {
            Some(regex) => format!("no kernel matches {:?}", regex.as_str()),
            None => "no kernel could be inspected".to_owned(),
        };
        findings.add(violated(format!("{problem} (line {})", requirement.line)));
    }
    if let Some(finding) = requirements.asked.as_ref().and_then(|asked| asked::unmatched(asked, sums)) {
        findings.add(finding);
    }
    for (target, _) in requirements.arch_sizes.iter().flatten() {
        if !sums.targets.iter().any(|own| allows(target, own)) {
            findings.add(violated(format!("no code for {target}, which has a size limit")));
        }
    }
}

/// Compares the size of the device code of all files with the limit of the policy.
pub fn total_size(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    let Some(limit) = policy.total else { return };
    evaluator.apply(Rule::TotalSize, &policy.path, |findings| {
        let CodeSize { all, largest } = &all.sums.code;
        let size = Size(*all);
        if size > limit {
            let largest = largest.iter().map(|(size, path)| format!("{} in {path}", Size(*size)));
            let largest = largest.collect::<Vec<_>>().join(", ");
            findings.add(violated(format!("{size} of device code, at most {limit} allowed")).detail(largest));
        }
    });
}

/// Compares the size of each package with the limit of the policy: the bytes of the file, as indexes of packages count
/// them.
pub fn package_size(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    let Some(limit) = policy.package else { return };
    let packages = &all.sums.packages;
    for (path, size) in packages {
        evaluator.apply(Rule::PackageSize, path, |findings| {
            let size = Size(*size);
            if size > limit {
                findings.add(violated(format!("{size} as stored, at most {limit} allowed")));
            }
        });
    }
    if packages.is_empty() {
        evaluator.apply(Rule::PackageSize, &policy.path, |findings| {
            findings.add(violated("no package among the inputs, and there is a size limit for packages"));
        });
    }
}

/// Checks that all files with code for a processor are built for the same settings of its features. Otherwise a program
/// may load two files and find that a device runs the code of only one of them.
pub fn consistent_features(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let mut processors: BTreeMap<&str, BTreeMap<&BTreeSet<String>, Vec<&str>>> = BTreeMap::new();
    for (path, settings) in &all.sums.settings {
        for (processor, ids) in &**settings {
            processors.entry(processor).or_default().entry(ids).or_default().push(path);
        }
    }
    let mut deviations: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for settings in processors.values() {
        // The settings of most files are taken for the intended ones.
        let Some((expected, majority)) = settings.iter().max_by_key(|(_, files)| files.len()) else { continue };
        for (ids, files) in settings {
            for file in files {
                let deviations = deviations.entry(file).or_default();
                if ids != expected {
                    let message = format!("built for {}, unlike other files", list(ids));
                    deviations
                        .push((message, format!("{} in {}", list(expected), abbreviated(majority, majority.len()))));
                }
            }
        }
    }
    for (path, deviations) in deviations {
        evaluator.apply(Rule::ConsistentFeatures, path, |findings| {
            for (message, expected) in deviations {
                findings.add(violated(message).detail(expected));
            }
        });
    }
}

fn list(ids: &BTreeSet<String>) -> String {
    ids.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// Returns the first names of `count`, and the number of the others.
fn abbreviated<T: AsRef<str>>(names: &[T], count: usize) -> String {
    match names {
        [] => "none".to_owned(),
        [a, b, c, ..] if count > EXAMPLES => {
            format!("{}, {}, {} and {} more", a.as_ref(), b.as_ref(), c.as_ref(), count - EXAMPLES)
        }
        few => few.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", "),
    }
}
