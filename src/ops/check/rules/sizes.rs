//! Limits of the stored size of device code in files.
//!
//! Images that are compressed together have no individual sizes, so bounds decide. A limit is met if all images fit at
//! their largest size. It is exceeded if the images of known size alone do not fit.

use super::findings::{RuleFindings, undecided, violated};
use crate::check::coverage::allows;
use crate::check::facts::{FileFacts, ImageCode};
use crate::check::policy::{Requirements, Size};
use fatbin_core::base::bytes::total;

/// Checks the size of all device code of a file.
pub fn file(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let Some(limit) = requirements.file_size else { return };
    let size = Size(facts.stored());
    if size > limit {
        findings.add(violated(format!("{size} of device code, at most {limit} allowed")).detail(largest(facts)));
    }
}

/// Checks the size of a file's code for each limited architecture.
pub fn archs(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    for (target, limit) in requirements.arch_sizes.iter().flatten() {
        let is_limited = |code: &ImageCode| matches!(code, ImageCode::For(own) if allows(target, own));
        let stored = facts.images.iter().filter(|image| is_limited(&image.code)).map(|image| image.stored);
        let least = Size(total(stored.clone().map(|(least, _)| least)));
        let most = Size(total(stored.map(|(_, most)| most)));
        if least > *limit {
            let message = format!("{least} of code for {target}, at most {limit} allowed");
            findings.add(violated(message).detail(largest(facts)));
        } else if most > *limit {
            let message = format!(
                "cannot determine the size of code for {target}, up to {most}: it is compressed together with other \
                 code; at most {limit} allowed"
            );
            findings.add(undecided(message));
        }
    }
}

/// Lists the three architectures whose code takes the most bytes.
fn largest(facts: &FileFacts<'_>) -> String {
    let mut sizes: Vec<(u64, String)> = Vec::new();
    for image in &facts.images {
        let Some(label) = image.code.label() else { continue };
        match sizes.iter_mut().find(|(_, known)| *known == label) {
            Some((size, _)) => *size = total([*size, image.stored.1]),
            None => sizes.push((image.stored.1, label)),
        }
    }
    sizes.sort_by(|a, b| b.cmp(a));
    let largest = sizes.iter().take(3).map(|(size, label)| format!("{} for {label}", Size(*size)));
    largest.collect::<Vec<_>>().join(", ")
}
