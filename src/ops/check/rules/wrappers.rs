//! Registration of containers by host code: every container once, and nothing else, in a file that loaders accept.

use std::collections::BTreeMap;

use super::findings::{RuleFindings, undecided, violated};
use crate::check::facts::FileFacts;
use crate::check::policy::Requirements;
use fatbin_core::scan::inventory::{File, Wrapper, WrapperTarget};

/// Checks that wrappers register every container once, and that the host half fits.
pub fn registered(facts: &FileFacts<'_>, _: &Requirements, findings: &mut RuleFindings) {
    let file = &facts.survey.file;
    check_wrappers(file, findings);
    for defect in &file.host_defects {
        findings.add(violated(defect.to_string()));
    }
    for container in file.unreferenced() {
        let at = container.offset.unwrap_or_default();
        findings.add(violated(format!("no wrapper registers the {} at {at:#x}", container.container_type.name())));
    }
    let has_registered_type = file.containers.iter().any(|it| it.container_type.descriptor().registered_with.is_some());
    if file.wrappers.is_empty() && has_registered_type {
        findings.add(undecided("no wrapper registers the containers; they may be loaded in other ways"));
    }
}

/// Checks that each wrapper points to a container, and that at most one points to each container.
fn check_wrappers(file: &File, findings: &mut RuleFindings) {
    let mut registered: BTreeMap<u64, Vec<&Wrapper>> = BTreeMap::new();
    for wrapper in &file.wrappers {
        let name = format!("the {} wrapper at {:#x}", wrapper.kind.name(), wrapper.offset);
        match &wrapper.target {
            WrapperTarget::Container(offset) => registered.entry(*offset).or_default().push(wrapper),
            WrapperTarget::Symbol(symbol) => {
                findings.add(undecided(format!("{name} registers {symbol}, which another file defines")));
            }
            WrapperTarget::Bytes(_) | WrapperTarget::Nothing => {
                if let Some(defect) = wrapper.defect() {
                    findings.add(violated(format!("{name} {defect}")));
                }
            }
        }
    }
    for (offset, wrappers) in registered {
        if wrappers.len() > 1 {
            let offsets: Vec<String> = wrappers.iter().map(|wrapper| format!("{:#x}", wrapper.offset)).collect();
            let message = format!("the container at {offset:#x} is registered {} times", wrappers.len());
            findings.add(violated(message).detail(format!("by the wrappers at {}", offsets.join(", "))));
        }
    }
}
