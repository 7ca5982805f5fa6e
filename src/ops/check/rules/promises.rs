//! Indexes next to code objects, compared with the code objects.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{RuleFinding, RuleFindings, undecided, violated};
use super::{AllFiles, CheckedFile, Evaluator};
use crate::analyze::promise::Promise;
use crate::check::facts::FileFacts;
use crate::check::rule::Rule;
use fatbin_core::base::file_path::FilePath;

/// Indexes, and the directories around them.
#[derive(Default)]
pub struct Promises {
    /// Path of each index, and what it promises.
    indexes: Vec<(FilePath, Result<Promise, String>)>,
    directories: Directories,
}

/// Device code in a directory, and descriptions of it.
#[derive(Default)]
struct Directory {
    files: BTreeMap<String, StoredFile>,
    kernels: BTreeSet<String>,
    /// A file that may have more kernels.
    unread: Option<String>,
}

struct StoredFile {
    sha256: Option<[u8; 32]>,
    archs: Vec<String>,
}

type Directories = BTreeMap<String, Directory>;

/// Checks that everything that an index promises is next to it, and that a list of files is complete.
pub fn kept(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    if !policy.promised_kernels {
        return;
    }
    let promises = &all.sums.promises;
    for (path, promise) in &promises.indexes {
        evaluator.apply(Rule::PromisedKernels, path, |findings| match promise {
            Ok(promise) => compare(&promises.directories, path.split_name().0, promise, findings),
            Err(error) => findings.add(undecided(error.clone())),
        });
    }
    for path in promises.unlisted() {
        let message = "no index of the directory lists this file";
        evaluator.apply(Rule::PromisedKernels, &path, |findings| findings.add(violated(message)));
    }
    if promises.indexes.is_empty() {
        evaluator.apply(Rule::PromisedKernels, &policy.path, |findings| {
            findings
                .add(violated("no index of kernels (*.dat of Tensile, *.json of Triton, checksums.txt of FlashInfer)"));
        });
    }
}

impl Promises {
    /// Adds a file.
    pub fn add(&mut self, file: &CheckedFile, facts: &FileFacts<'_>) {
        if let Some(promise) = &file.promise {
            self.indexes.push((facts.path().clone(), promise.clone()));
        }
        let survey = &facts.survey.file;
        if !survey.has_device_code() && !survey.is_incomplete() && file.promise.is_none() {
            return;
        }
        let (parent, name) = facts.path().split_name();
        let directory = self.directories.entry(parent.to_owned()).or_default();
        let archs = facts.images.iter().filter_map(|image| image.image.arch.clone()).collect();
        directory.files.insert(name.to_owned(), StoredFile { sha256: file.sha256, archs });
        let mut is_read = !survey.is_incomplete();
        for image in &facts.images {
            let inspection = image.inside.inspection.as_ref();
            is_read &= inspection.is_some_and(|it| it.not_inspected.is_none() && it.problems.is_empty());
            directory.kernels.extend(inspection.into_iter().flat_map(|it| &it.kernels).map(|it| it.name.clone()));
        }
        if !is_read {
            directory.unread.get_or_insert_with(|| name.to_owned());
        }
    }

    /// Returns the files with device code that are missing in the lists of their directories.
    fn unlisted(&self) -> Vec<String> {
        let mut lists = BTreeSet::new();
        let mut listed = BTreeSet::new();
        for (path, promise) in &self.indexes {
            let Some(names) = promise.as_ref().ok().and_then(Promise::files) else { continue };
            let (parent, _) = path.split_name();
            lists.insert(parent);
            listed.extend(names.iter().map(|name| format!("{parent}{name}")));
        }
        let in_lists = self.directories.iter().filter(|(parent, _)| lists.contains(parent.as_str()));
        let paths =
            in_lists.flat_map(|(parent, directory)| directory.files.keys().map(move |name| format!("{parent}{name}")));
        paths.filter(|path| Promise::is_code_path(path) && !listed.contains(path)).collect()
    }
}

/// Compares what an index in the directory `parent` promises with the files.
fn compare(directories: &Directories, parent: &str, promise: &Promise, findings: &mut RuleFindings) {
    let none = Directory::default();
    let directory = directories.get(parent).unwrap_or(&none);
    match promise {
        Promise::Kernels(names) => directory.has_kernels(names, findings),
        Promise::Kernel { name, arch } => directory.has_kernel(name, arch.as_deref(), findings),
        Promise::Files(names) => {
            for name in names.iter().filter(|name| !directory.files.contains_key(name.as_str())) {
                findings.add(missing(name));
            }
        }
        Promise::Hashes(hashes) => {
            for hash in hashes {
                let (below, name) = hash.name.split_at(hash.name.rfind('/').map_or(0, |at| at + 1));
                let file = directories.get(&format!("{parent}{below}")).and_then(|it| it.files.get(name));
                match file.map(|file| file.sha256) {
                    None => findings.add(missing(&hash.name)),
                    Some(None) => findings.add(undecided(format!("{} cannot be read", hash.name))),
                    Some(Some(sha256)) if sha256 != hash.sha256 => {
                        findings.add(violated(format!("{} has another SHA-256", hash.name)));
                    }
                    Some(Some(_)) => {}
                }
            }
        }
    }
}

fn missing(name: &str) -> RuleFinding {
    violated(format!("{name} is missing, or has no device code"))
}

/// Returns whether code with a target ID or arch is for a processor, such as `gfx90a` or `sm_90`. Triton compiles for
/// `sm_90a`, too, and calls it 90.
fn is_for(processor: &str, arch: &str) -> bool {
    arch.strip_prefix(processor).is_some_and(|rest| matches!(rest, "" | "a" | "f") || rest.starts_with(':'))
}

impl Directory {
    fn has_kernels(&self, names: &[String], findings: &mut RuleFindings) {
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let missing: Vec<&str> = names.iter().copied().filter(|name| !self.kernels.contains(*name)).collect();
        let Some(first) = missing.first() else { return };
        let message = format!("{} of {} kernels are in no code object of the directory", missing.len(), names.len());
        let finding = match &self.unread {
            Some(name) => undecided(format!("{message}; kernels of {name} are not known")),
            None => violated(message),
        };
        findings.add(finding.detail(format!("for example {first}")));
    }

    fn has_kernel(&self, name: &str, processor: Option<&str>, findings: &mut RuleFindings) {
        let is_of_kernel =
            |file: &str| Promise::is_code_path(file) && file.rsplit_once('.').is_some_and(|it| it.0 == name);
        let mut code = self.files.iter().filter(|(file, _)| is_of_kernel(file)).peekable();
        if code.peek().is_none() {
            findings.add(violated(format!("no file of the directory has code of {name}")));
        }
        let Some(processor) = processor else { return };
        for (file, stored) in code {
            for arch in stored.archs.iter().filter(|arch| !is_for(processor, arch)) {
                findings.add(violated(format!("{file} is for {arch}, and the kernel is described for {processor}")));
            }
        }
    }
}
