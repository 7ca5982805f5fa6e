//! Indexes next to code objects, compared with the code objects.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{RuleFindings, undecided, violated};
use super::{AllFiles, Evaluator};
use crate::analyze::promise::{Promise, split};
use crate::check::facts::FileFacts;
use crate::check::rule::Rule;

/// Device code in a directory.
#[derive(Default)]
struct Directory<'a> {
    files: BTreeSet<&'a str>,
    kernels: BTreeSet<&'a str>,
    /// A file that may have more kernels.
    unread: Option<&'a str>,
}

/// Checks that every kernel or file that an index promises is next to it.
pub fn kept(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    if !policy.promised_kernels {
        return;
    }
    let directories = directories(all.facts);
    let mut has_index = false;
    for file in all.files.iter().filter(|file| !policy.skips(&file.survey.file.path)) {
        let Some(promise) = &file.promise else { continue };
        has_index = true;
        let path = &file.survey.file.path;
        let none = Directory::default();
        let directory = directories.get(split(path).0).unwrap_or(&none);
        evaluator.apply(Rule::PromisedKernels, path, |findings| match promise {
            Ok(promise) => directory.compare(promise, findings),
            Err(error) => findings.add(undecided(error.clone())),
        });
    }
    if !has_index {
        evaluator.apply(Rule::PromisedKernels, &policy.path, |findings| {
            findings.add(violated("no index of kernels (*.dat of Tensile, __grp__*.json of Triton)"));
        });
    }
}

fn directories<'a>(facts: &'a [FileFacts<'a>]) -> BTreeMap<&'a str, Directory<'a>> {
    let mut directories = BTreeMap::<&str, Directory<'_>>::new();
    for facts in facts.iter().filter(|facts| facts.survey.file.has_device_code() || facts.survey.file.is_incomplete()) {
        let (parent, name) = split(facts.path());
        let directory = directories.entry(parent).or_default();
        directory.files.insert(name);
        let mut is_read = !facts.survey.file.is_incomplete();
        for image in &facts.images {
            let inspection = image.inside.inspection.as_ref();
            is_read &= inspection.is_some_and(|it| it.not_inspected.is_none() && it.problems.is_empty());
            directory
                .kernels
                .extend(inspection.into_iter().flat_map(|it| &it.kernels).map(|kernel| kernel.name.as_str()));
        }
        if !is_read {
            directory.unread = directory.unread.or(Some(name));
        }
    }
    directories
}

impl Directory<'_> {
    fn compare(&self, promise: &Promise, findings: &mut RuleFindings) {
        match promise {
            Promise::Files(names) => {
                for name in names.iter().filter(|name| !self.files.contains(name.as_str())) {
                    findings.add(violated(format!("{name} is missing, or has no device code")));
                }
            }
            Promise::Kernels(names) => {
                let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
                let missing: Vec<&str> = names.difference(&self.kernels).copied().collect();
                let Some(first) = missing.first() else { return };
                let message =
                    format!("{} of {} kernels are in no code object of the directory", missing.len(), names.len());
                let finding = match self.unread {
                    Some(name) => undecided(format!("{message}; kernels of {name} are not known")),
                    None => violated(message),
                };
                findings.add(finding.detail(format!("for example {first}")));
            }
        }
    }
}
