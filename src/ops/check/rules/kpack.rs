//! Architectures of the code that a host file has in its kpack archives. Each code object must be in them for each
//! architecture: the loader looks nowhere else.

use super::findings::{RuleFindings, violated};
use crate::analyze::select::kpack::KpackLoader;
use crate::check::coverage::has_exact_code;
use crate::check::facts::FileFacts;
use crate::check::policy::Requirements;
use crate::check::target::PolicyTarget;
use fatbin_core::scan::inventory::KpackReference;
use fatbin_core::target::Device;
use fatbin_core::target::natural_order;

/// Requires every code object for exactly this architecture; `code` names the code in messages.
pub fn required(facts: &FileFacts<'_>, target: &PolicyTarget, code: &str, findings: &mut RuleFindings) {
    for reference in &facts.survey.file.kpack {
        let has_code = |index: u32| match target {
            PolicyTarget::Native(id) => has_exact_code(&reference.archs_of(index).collect::<Vec<_>>(), id),
            _ => false,
        };
        let missing: Vec<u32> = reference.indices.iter().copied().filter(|index| !has_code(*index)).collect();
        if let Some(objects) = list(&missing, reference) {
            findings.add(violated(format!("no {code} in kpack archives: {objects}")).detail(available(reference)));
        }
    }
}

/// Requires that the loaders of all releases find every code object on these devices.
pub fn devices(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    for reference in &facts.survey.file.kpack {
        for target in requirements.devices.iter().flatten() {
            let devices = match target {
                PolicyTarget::Native(name) => Device::parse(name).unwrap_or_default(),
                _ => Vec::new(),
            };
            for loader in KpackLoader::ALL {
                let is_found = |index: u32| {
                    !devices.is_empty()
                        && devices.iter().all(|device| loader.load(reference, &device.to_string(), index).is_ok())
                };
                let missing: Vec<u32> = reference.indices.iter().copied().filter(|index| !is_found(*index)).collect();
                if let Some(objects) = list(&missing, reference) {
                    let message =
                        format!("{} finds no code for {target} in kpack archives: {objects}", loader.releases());
                    findings.add(violated(message).detail(available(reference)));
                }
            }
        }
    }
}

/// Reports code in archives for architectures that are not allowed; `why` ends the message.
pub fn allowed(
    facts: &FileFacts<'_>,
    is_allowed: &dyn Fn(&PolicyTarget) -> bool,
    why: &str,
    findings: &mut RuleFindings,
) {
    for archive in facts.survey.file.kpack.iter().flat_map(|reference| &reference.archives) {
        let mut archs: Vec<&str> = archive.code.iter().map(|(_, arch)| arch.as_str()).collect();
        archs.sort_by_cached_key(|arch| natural_order(arch));
        archs.dedup();
        for arch in archs {
            if !is_allowed(&PolicyTarget::Native(arch.to_owned())) {
                findings.add(violated(format!("code for {arch} in {} is {why}", archive.path)));
            }
        }
    }
}

/// Number of code objects that a message names.
const MAX_NAMED: usize = 5;

/// Names code objects; `None` for an empty list.
fn list(indices: &[u32], reference: &KpackReference) -> Option<String> {
    let named: Vec<String> = indices.iter().take(MAX_NAMED).map(|index| format!("#{index}")).collect();
    let more = match indices.iter().skip(MAX_NAMED).count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!indices.is_empty()).then(|| format!("{}{more} of {}", named.join(", "), reference.kernel_name))
}

/// Lists the target IDs in archives, as a clause.
fn available(reference: &KpackReference) -> String {
    let mut archs: Vec<&str> =
        reference.archives.iter().flat_map(|archive| &archive.code).map(|(_, arch)| arch.as_str()).collect();
    archs.sort_by_cached_key(|arch| natural_order(arch));
    archs.dedup();
    if archs.is_empty() { "no device code".to_owned() } else { format!("available: {}", archs.join(", ")) }
}
