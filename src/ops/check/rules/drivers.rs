//! The drivers that must load the code.

use super::findings::{RuleFinding, RuleFindings, undecided, violated};
use crate::analyze::requires::Driver;
use crate::analyze::select::{FileFloors, NamedDevice, Need};
use crate::check::facts::FileFacts;
use crate::check::policy::Requirements;
use fatbin_core::format::readers::Product;
use fatbin_core::target::Device;

/// Checks that each required driver loads an image wherever one runs, on every device that the driver supports.
pub fn loadable_by(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let floors = FileFloors::new(&facts.survey.file, &facts.survey.cuda_codes());
    let (devices, omitted) = match &requirements.devices {
        Some(devices) => (devices.iter().flat_map(|it| NamedDevice::of_arch(&it.to_string())).collect(), 0),
        None => floors.devices(),
    };
    if omitted > 0 {
        findings.add(undecided(format!("code for more devices than are checked, {omitted} more")));
    }
    let needs: Vec<(String, &Device, Need)> = devices.iter().flat_map(|it| of_device(&floors, it)).collect();
    for driver in requirements.loadable_by.iter().flatten() {
        let supported = needs.iter().filter(|(_, device, _)| driver.supports(device) != Some(false));
        let mut count = 0;
        for (name, _, need) in supported {
            count += 1;
            add(findings, facts, finding(driver, need, &format!("code for {name}")), need);
        }
        if count == 0 && !needs.is_empty() {
            findings.add(violated(format!("{driver} supports no device that the code runs on")));
        }
        for (device, need) in floors.program_needs(Product::Cuda) {
            if device.is_none_or(|device| driver.supports(&device) != Some(false)) {
                add(findings, facts, finding(driver, &need, "an image that the program selects"), &need);
            }
        }
    }
}

/// Returns what an NVIDIA device needs to run the code, with its name; nothing if no code runs on it.
fn of_device<'d>(floors: &FileFloors<'_>, device: &'d NamedDevice) -> Option<(String, &'d Device, Need)> {
    let [only @ Device::Nvidia(_)] = device.devices.as_slice() else { return None };
    let need = floors.on(only).into_iter().find(|need| need.product == Product::Cuda)?;
    Some((device.name.clone(), only, need.some))
}

fn finding(driver: &Driver, need: &Need, code: &str) -> Option<RuleFinding> {
    let finding = match driver.loads(need.floor) {
        Some(true) => return None,
        Some(false) => violated(format!("{driver} does not load {code}")),
        None => undecided(format!("cannot determine whether {driver} loads {code}")),
    };
    let causes: Vec<String> = need.causes.iter().map(|cause| cause.requirement.to_string()).collect();
    Some(finding.detail(format!("{}; oldest release: {}", causes.join("; "), need.floor)))
}

/// Adds a finding, at the first image that causes it.
fn add(findings: &mut RuleFindings, facts: &FileFacts<'_>, finding: Option<RuleFinding>, need: &Need) {
    let Some(finding) = finding else { return };
    let image = need.causes.iter().find_map(|cause| cause.images.first());
    let image = image.and_then(|&number| facts.images.get(number));
    findings.add(match image {
        Some(image) => finding.image(image),
        None => finding,
    });
}
