//! Grouping of findings: the same problem of thirty images of a file is reported once.

use std::collections::HashMap;

use fatbin_core::target::natural_order;
use fatbin_ops::check::{Finding, ImageLocation};

/// Findings of one file and rule with the same message.
pub struct FindingGroup<'a> {
    /// The first finding, which represents all.
    pub finding: &'a Finding,
    /// Images of findings about images.
    pub images: Vec<&'a ImageLocation>,
}

/// Groups findings, in the order of the first of each group.
pub fn group_findings(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    let mut known = HashMap::new();
    for finding in findings {
        let Finding { rule, outcome, path, image, kernel, message, detail, .. } = finding;
        let key = (rule, outcome, path, image.is_some(), kernel, message, detail);
        let group = *known.entry(key).or_insert(groups.len());
        if group == groups.len() {
            groups.push(FindingGroup { finding, images: Vec::new() });
        }
        groups[group].images.extend(image);
    }
    groups
}

impl FindingGroup<'_> {
    /// Returns the images as a phrase.
    pub fn place(&self) -> Option<String> {
        match self.images.as_slice() {
            [] => None,
            [image] => {
                let arch = image.arch.as_deref().map(|arch| format!(" ({arch})")).unwrap_or_default();
                let offset = image.offset.map(|offset| format!(" at {offset:#x}")).unwrap_or_default();
                Some(format!("image {}{arch}{offset}", image.number))
            }
            several => {
                let mut archs: Vec<&str> = several.iter().filter_map(|image| image.arch.as_deref()).collect();
                archs.sort_by_cached_key(|arch| natural_order(arch));
                archs.dedup();
                let archs = if archs.is_empty() { String::new() } else { format!(" ({})", archs.join(", ")) };
                Some(format!("each of {} images{archs}", several.len()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_ops::check::{Outcome, Rule};

    fn finding(number: usize, arch: &str, message: &str) -> Finding {
        Finding {
            rule: Rule::Readable,
            outcome: Outcome::Violated,
            path: "a.so".to_owned(),
            image: Some(ImageLocation { number, offset: None, arch: Some(arch.to_owned()) }),
            kernel: None,
            message: message.to_owned(),
            detail: None,
            remedy: None,
        }
    }

    #[test]
    fn groups_the_same_problem_of_several_images() {
        let findings =
            [finding(0, "sm_90", "x"), finding(1, "sm_80", "y"), finding(2, "sm_100", "x"), finding(3, "sm_90", "x")];
        let groups = group_findings(&findings);
        let texts: Vec<_> = groups.iter().map(|it| (it.finding.message.as_str(), it.place().unwrap())).collect();
        assert_eq!(texts, [("x", "each of 3 images (sm_90, sm_100)".to_owned()), ("y", "image 1 (sm_80)".to_owned())]);
    }

    #[test]
    fn keeps_findings_about_a_file_apart() {
        let about_the_file = Finding { image: None, ..finding(0, "sm_90", "x") };
        let findings = [finding(0, "sm_90", "x"), about_the_file];
        assert_eq!(
            group_findings(&findings).iter().map(FindingGroup::place).collect::<Vec<_>>(),
            [Some("image 0 (sm_90)".to_owned()), None]
        );
    }
}
