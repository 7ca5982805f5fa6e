//! How much room device code takes in files, as it is stored.
//!
//! Images that are compressed together have no sizes of their own. A budget is then decided by bounds: it is kept if all of
//! them at their largest fit, and broken if those of known size do not.

use super::findings::{Findings, undecided, violated};
use crate::check::coverage::allows;
use crate::check::facts::{FileFacts, ImageCode};
use crate::check::policy::{Requirements, Size};

/// The device code of a file.
pub fn file(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    let Some(most) = requirements.file_size else { return };
    let size = Size(facts.stored());
    if size > most {
        findings.add(violated(format!("{size} of device code, at most {most} allowed")).there(largest(facts)));
    }
}

/// The code of a file for an architecture.
pub fn archs(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    for (target, most) in requirements.arch_sizes.iter().flatten() {
        let mut bounds = (0_u64, 0_u64);
        for image in &facts.images {
            if matches!(&image.code, ImageCode::For(own) if allows(target, own)) {
                bounds = (bounds.0.saturating_add(image.stored.0), bounds.1.saturating_add(image.stored.1));
            }
        }
        let (least, at_most) = (Size(bounds.0), Size(bounds.1));
        if least > *most {
            findings
                .add(violated(format!("{least} of code for {target}, at most {most} allowed")).there(largest(facts)));
        } else if at_most > *most {
            let message = format!(
                "cannot tell how much room code for {target} takes, {at_most} at most: it is compressed together with \
                 other code; at most {most} allowed"
            );
            findings.add(undecided(message));
        }
    }
}

/// What takes most of the room.
fn largest(facts: &FileFacts<'_>) -> String {
    let mut sizes: Vec<(u64, String)> = Vec::new();
    for image in &facts.images {
        let Some(label) = image.code.label() else { continue };
        match sizes.iter_mut().find(|(_, known)| *known == label) {
            Some((size, _)) => *size = size.saturating_add(image.stored.1),
            None => sizes.push((image.stored.1, label)),
        }
    }
    sizes.sort_by(|a, b| b.cmp(a));
    let told = sizes.iter().take(3).map(|(size, label)| format!("{} for {label}", Size(*size)));
    told.collect::<Vec<_>>().join(", ")
}
