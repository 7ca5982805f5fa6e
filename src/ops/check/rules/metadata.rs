//! Metadata of packages, compared with the device code that they contain.

use std::collections::BTreeMap;

use super::findings::{RuleFinding, RuleFindings, undecided, violated};
use super::{AllFiles, Evaluator};
use crate::analyze::metadata::{DeviceCode, PackageMetadata};
use crate::analyze::vendored;
use crate::check::facts::{FileFacts, ImageFacts};
use crate::check::rule::Rule;

/// Checks that all claims hold, and that all code is claimed.
pub fn agrees(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    if !policy.metadata {
        return;
    }
    let checked = all.files.iter().filter(|file| !policy.skips(&file.survey.file.path));
    let mut has_metadata = false;
    for file in checked {
        let Some(metadata) = &file.metadata else { continue };
        has_metadata = true;
        match metadata {
            Ok(metadata) => Package::new(metadata, all.facts).evaluate(evaluator),
            Err(error) => evaluator.apply(Rule::Metadata, &file.survey.file.path, |findings| {
                findings.add(undecided(error.to_string()));
            }),
        }
    }
    if !has_metadata {
        evaluator.apply(Rule::Metadata, &policy.path, |findings| {
            findings.add(violated("no package with metadata (metadata.json, variant.json, info/index.json)"));
        });
    }
}

/// A package: its metadata, its files, and their device code.
struct Package<'a> {
    metadata: &'a PackageMetadata,
    files: Vec<&'a FileFacts<'a>>,
    code: DeviceCode,
}

impl<'a> Package<'a> {
    fn new(metadata: &'a PackageMetadata, facts: &'a [FileFacts<'a>]) -> Package<'a> {
        let mut files: Vec<&FileFacts<'_>> = facts.iter().filter(|facts| metadata.covers(facts.path())).collect();
        vendored::take(&mut files, |facts| &facts.survey.file);
        let mut code = DeviceCode::default();
        for facts in &files {
            code.merge(DeviceCode::of_file(&facts.survey.file));
        }
        Package { metadata, files, code }
    }

    fn evaluate(&self, evaluator: &mut Evaluator<'_>) {
        evaluator.apply(Rule::Metadata, &self.metadata.path, |findings| self.check_claims(findings));
        for facts in &self.files {
            if !facts.images.is_empty() {
                evaluator.apply(Rule::Metadata, facts.path(), |findings| self.check_images(facts, findings));
            }
        }
    }

    /// Reports claims that the code contradicts.
    fn check_claims(&self, findings: &mut RuleFindings) {
        if self.code.is_empty() && !self.metadata.requires_code() {
            return;
        }
        for claim in &self.metadata.claims {
            if let Some(reason) = claim.meaning.contradiction(&self.code) {
                findings.add(self.contradicted(&format!("claims {}, but {reason}", claim.text)));
            }
        }
    }

    /// Creates the finding for a claim. It is undecided if code that cannot be read, or whose devices are not known,
    /// may be the missing code.
    fn contradicted(&self, message: &str) -> RuleFinding {
        let unread = self.files.iter().find(|facts| facts.survey.file.is_incomplete());
        let finding = if let Some(image) = self.code.undetermined.first() {
            undecided(format!("{message}; image {} of {} {}", image.number, image.path, image.reason))
        } else if let Some(facts) = unread {
            undecided(format!("{message} in the readable part of {}", facts.path()))
        } else {
            violated(message)
        };
        finding.detail(self.available())
    }

    /// Returns the code of the package as a clause, with the first file and image of each kind of code.
    fn available(&self) -> String {
        let mut places: BTreeMap<usize, String> = BTreeMap::new();
        let names = self.code.names();
        for facts in &self.files {
            for image in &facts.images {
                for name in code_of(image).names() {
                    let index = names.iter().position(|known| *known == name).unwrap_or(names.len());
                    let place = || format!("{name} (image {} of {})", image.number, self.name_of(facts));
                    places.entry(index).or_insert_with(place);
                }
            }
        }
        if places.is_empty() {
            return "no device code".to_owned();
        }
        format!("available: {}", places.into_values().collect::<Vec<_>>().join(", "))
    }

    /// Returns the name of a file in the package.
    fn name_of(&self, facts: &FileFacts<'a>) -> &'a str {
        facts.path().name()
    }

    /// Reports images for devices that the metadata excludes the package from.
    fn check_images(&self, facts: &FileFacts<'_>, findings: &mut RuleFindings) {
        let mut reported: Vec<DeviceCode> = Vec::new();
        for image in &facts.images {
            let code = code_of(image);
            let [backend] = code.backends()[..] else { continue };
            if reported.contains(&code) {
                continue;
            }
            let unclaimed_ptx = code.is_forward_compatible() && !self.metadata.claims_later_devices();
            let problem = match self.metadata.accepts(&code) {
                Some(false) => "is not claimed, so devices for it are refused",
                Some(true) if unclaimed_ptx => "is not claimed, so later devices are refused",
                _ => continue,
            };
            let claimed = self.metadata.claimed(backend);
            let finding = violated(format!("{} {problem}", code.names().join(", "))).image(image);
            findings.add(finding.detail(format!("claimed in {}: {claimed}", self.metadata.path)));
            reported.push(code);
        }
    }
}

fn code_of(image: &ImageFacts<'_>) -> DeviceCode {
    let mut code = DeviceCode::default();
    // An image whose devices are not known makes claims undecided, and is not claimed itself.
    if image.is_code_of_file {
        code.add(image.image).ok();
    }
    code
}
