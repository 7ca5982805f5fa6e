//! Devices that kernels must run on, judged container by container ([`crate::analyze::coverage`]).

use std::collections::HashMap;

use super::findings::{RuleFinding, RuleFindings, undecided, violated};
use super::kernels::is_selected;
use crate::analyze::coverage::{Absence, Coverage, CoverageCell, Gap, InspectedImages};
use crate::analyze::select::NamedDevice;
use crate::check::facts::FileFacts;
use crate::check::policy::{KernelTargets, Requirements};
use crate::check::target::PolicyTarget;
use fatbin_core::base::error::Error;
use fatbin_core::target::nvptx;
use fatbin_core::target::runs_on::LoadMethod;

/// Checks that kernels run on the required devices.
pub fn kernels(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    for requirement in requirements.kernels.iter().flatten() {
        let Some(devices) = &requirement.devices else { continue };
        let listed: Vec<NamedDevice> = match devices {
            KernelTargets::All => Vec::new(),
            KernelTargets::Listed(targets) => targets.iter().filter_map(device).collect(),
        };
        let coverage = match Coverage::new(&[InspectedImages::from(facts.survey)], &listed) {
            Ok(coverage) => coverage,
            Err(error) => {
                findings.add_matched_line(requirement.line);
                findings.add(undecided(match error {
                    Error::Malformed { malformed, .. } => malformed.to_string(),
                    error => error.to_string(),
                }));
                continue;
            }
        };
        let mut served: HashMap<&str, Vec<bool>> = HashMap::new();
        for kernel in &coverage.kernels {
            let served = served.entry(kernel.name).or_insert_with(|| vec![false; coverage.devices.len()]);
            for (is_known, cell) in served.iter_mut().zip(coverage.cells(kernel)) {
                *is_known |= cell != CoverageCell::OtherPlatform;
            }
        }
        for kernel in &coverage.kernels {
            let demangled = coverage.names.demangle(kernel.name);
            if !is_selected(requirement, kernel.name, demangled.as_deref()) {
                continue;
            }
            findings.add_matched_line(requirement.line);
            for (column, (device, cell)) in coverage.devices.iter().zip(coverage.cells(kernel)).enumerate() {
                let finding = match (devices, cell) {
                    // Another module has the kernel for this platform.
                    (_, CoverageCell::OtherPlatform) if served[kernel.name][column] => None,
                    (_, CoverageCell::Gap(_)) => Some(gap_finding(coverage.gap(kernel, column).as_ref(), device)),
                    (KernelTargets::All, _) => None,
                    (KernelTargets::Listed(_), cell) => not_served(requirements, cell, device),
                };
                if let Some(finding) = finding {
                    let archs = kernel.archs.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                    let finding = finding.detail(format!("its code is for {archs}"));
                    findings.add(finding.kernel(demangled.as_deref().unwrap_or(kernel.name)));
                }
            }
        }
    }
}

/// Returns the device that a policy names.
pub fn device(target: &PolicyTarget) -> Option<NamedDevice> {
    match target {
        PolicyTarget::Native(name) => NamedDevice::of_arch(name).into_iter().next(),
        PolicyTarget::Triple(name) if target.system().is_some() => NamedDevice::parse(name).ok(),
        PolicyTarget::Ptx(_) | PolicyTarget::AnyPtx | PolicyTarget::LtoIr(_) | PolicyTarget::Triple(_) => None,
    }
}

fn gap_finding(gap: Option<&Gap<'_>>, device: &str) -> RuleFinding {
    match gap {
        Some(Gap { selected, absence: Absence::Absent, holder, .. }) => violated(format!(
            "fails on {device}: image {selected} is selected there and lacks it; image {holder} has it"
        )),
        Some(Gap { selected, absence: Absence::Stub(stub), holder, .. }) => violated(format!(
            "{} on {device}: image {selected} is selected there and has no body; image {holder} has one",
            stub.verb()
        )),
        None => violated(format!("fails on {device}: the image that is selected there lacks it")),
    }
}

/// Returns the finding for a listed device if a kernel does not run on it. PTX counts if the policy accepts it.
fn not_served(requirements: &Requirements, cell: CoverageCell<'_>, device: &str) -> Option<RuleFinding> {
    match cell {
        CoverageCell::Runs { method: LoadMethod::FromPtx, arch } => {
            let arch = arch.and_then(nvptx::Arch::parse);
            let is_accepted = match (&requirements.ptx_fallback, arch) {
                (Some(PolicyTarget::Ptx(least)), Some(arch)) => arch.number >= least.number,
                _ => false,
            };
            (!is_accepted).then(|| violated(format!("no machine code that runs on {device} (only PTX)")))
        }
        CoverageCell::Runs { .. } => None,
        CoverageCell::Unknown => Some(undecided(format!("cannot determine whether it runs on {device}"))),
        CoverageCell::Unlinked => Some(violated(format!("must be linked before it runs on {device}"))),
        CoverageCell::None | CoverageCell::OtherPlatform | CoverageCell::Gap(_) => {
            Some(violated(format!("does not run on {device}")))
        }
    }
}
