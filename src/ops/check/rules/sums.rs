//! What a check keeps of its files for rules about all of them. A package may have a hundred thousand files, so a path is
//! only kept if a rule of the policy needs it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::CheckedFile;
use super::packages::PackageFacts;
use super::promises::Promises;
use crate::check::facts::{FileFacts, ImageCode};
use crate::check::policy::{Pattern, Policy};
use crate::check::target::PolicyTarget;
use fatbin_core::base::bytes::total;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::target::processors::Processor;
use fatbin_core::target::{Platform, TargetId};

/// Target IDs that a file contains, by AMD processor.
pub type Settings = BTreeMap<String, BTreeSet<String>>;

/// Facts about all files of a check.
#[derive(Default)]
pub struct Sums {
    /// Indexes of the inputs that have device code, or may have.
    pub accepted: BTreeSet<usize>,
    pub packages: BTreeMap<String, u64>,
    /// Targets of the device code, and platforms; `None` for an unknown one.
    pub targets: Vec<PolicyTarget>,
    pub platforms: HashSet<Option<Platform>>,
    /// All files, by the patterns for files that are skipped or have exceptions.
    pub named: PatternMatches,
    /// The files with device code that the policy does not skip, by the patterns of must-hold.
    pub holding: PatternMatches,
    pub code: CodeSize,
    /// Settings of files, if the policy compares them. Equal ones are stored once.
    pub settings: Vec<(String, Arc<Settings>)>,
    known_settings: BTreeSet<Arc<Settings>>,
    pub coverage: PackageFacts,
    pub promises: Promises,
}

/// Number of names in a message.
pub const EXAMPLES: usize = 3;

/// Files by the patterns that they match.
#[derive(Default)]
pub struct PatternMatches {
    /// Indexes of the patterns that match a file.
    matched: BTreeSet<usize>,
    /// The first files, and the number of all.
    pub first: Vec<String>,
    pub count: usize,
}

impl PatternMatches {
    fn add<'a>(&mut self, path: &FilePath, patterns: impl IntoIterator<Item = &'a Pattern>) {
        let mut patterns = patterns.into_iter().enumerate().peekable();
        if self.first.len() < EXAMPLES && patterns.peek().is_some() {
            self.first.push(path.to_string());
        }
        self.count += 1;
        for (index, pattern) in patterns {
            if !self.matched.contains(&index) && pattern.matches(path) {
                self.matched.insert(index);
            }
        }
    }

    /// Returns the patterns that match no file.
    pub fn unmatched<'a>(&self, patterns: impl IntoIterator<Item = &'a Pattern>) -> impl Iterator<Item = &'a Pattern> {
        let patterns = patterns.into_iter().enumerate();
        patterns.filter(|(index, _)| !self.matched.contains(index)).map(|(_, pattern)| pattern)
    }
}

/// Size of the device code of all files in bytes, and the largest files.
#[derive(Default)]
pub struct CodeSize {
    pub all: u64,
    /// The largest first.
    pub largest: Vec<(u64, String)>,
}

impl CodeSize {
    fn add(&mut self, path: &str, size: u64) {
        self.all = total([self.all, size]);
        let is_smaller = |(other, name): &(u64, String)| (*other, name.as_str()) < (size, path);
        if self.largest.len() < EXAMPLES || self.largest.last().is_some_and(is_smaller) {
            self.largest.push((size, path.to_owned()));
            self.largest.sort_by_cached_key(|file| Reverse(file.clone()));
            self.largest.truncate(EXAMPLES);
        }
    }
}

impl Sums {
    /// Adds a file. A file that the policy skips has no facts.
    pub fn add(&mut self, file: &CheckedFile, facts: Option<&FileFacts<'_>>, inputs: &[String], policy: &Policy) {
        let inventory = &file.survey.file;
        let path = &inventory.path;
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
        self.named.add(path, policy.named());
        let Some(facts) = facts else { return };
        for image in &facts.images {
            self.platforms.insert(Platform::of(image.image.triple.as_deref(), image.image.arch.as_deref()));
            if let ImageCode::For(target) = &image.code
                && !self.targets.contains(target)
            {
                self.targets.push(target.clone());
            }
        }
        if !inventory.kpack.is_empty() {
            self.platforms.insert(Some(Platform::Amd));
        }
        if has_code {
            self.holding.add(path, &policy.must_hold);
        }
        self.code.add(path, facts.stored());
        if policy.consistent_features {
            let own = Arc::new(settings_of(facts));
            let own = self.known_settings.get(&own).cloned().unwrap_or(own);
            self.known_settings.insert(Arc::clone(&own));
            self.settings.push((path.to_string(), own));
        }
        if policy.package_coverage.is_required() {
            let input = inputs.get(file.input).map(String::as_str).unwrap_or_default();
            self.coverage.add(file, facts, input, policy);
        }
        if policy.promised_kernels {
            self.promises.add(file, facts);
        }
    }
}

/// Returns the target IDs of a file for AMD processors.
fn settings_of(facts: &FileFacts<'_>) -> Settings {
    let mut settings = Settings::new();
    for image in &facts.images {
        let ImageCode::For(PolicyTarget::Native(id)) = &image.code else { continue };
        let Ok(target) = TargetId::parse(id) else { continue };
        if Processor::named(target.processor()).is_some() {
            settings.entry(target.processor().to_owned()).or_default().insert(id.clone());
        }
    }
    settings
}
