//! Architectures that the build was asked for: each must be in each file, built for exactly it.

use super::archs::{has_code, missing};
use super::findings::RuleFindings;
use super::kpack;
use crate::check::coverage::runs_on;
use crate::check::facts::FileFacts;
use crate::check::policy::Requirements;
use crate::check::target::PolicyTarget;
use crate::target::nvcc_names::NvccForm;
use crate::target::nvptx::Arch;

/// Checks that a file has code for each entry of the list.
pub fn asked(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let Some(asked) = &requirements.asked else { return };
    for (entry, target) in asked.targets() {
        let name = target.to_string();
        let code =
            if entry.text == name { format!("code for {name}") } else { format!("code for {name} ({})", entry.text) };
        kpack::required(facts, target, &code, findings);
        if !facts.images.is_empty() && !has_code(facts, target) {
            let finding = missing(facts, target, code);
            findings.add(finding.detail(format!("{}; {}", instead(facts, target), facts.available())));
        }
    }
}

/// Returns what devices of an architecture run instead, as a clause.
fn instead(facts: &FileFacts<'_>, target: &PolicyTarget) -> String {
    let device = match target {
        PolicyTarget::Native(id) => id.clone(),
        PolicyTarget::Ptx(arch) | PolicyTarget::LtoIr(arch) => arch.to_string(),
        PolicyTarget::AnyPtx | PolicyTarget::Triple(_) => return "nothing instead".to_owned(),
    };
    let native = facts.native_targets().into_iter().find(|code| runs_on(code, &device));
    if let Some(code) = native
        && matches!(target, PolicyTarget::Native(_))
    {
        return format!("{code} runs there");
    }
    let compiled = |ptx: &Arch| Arch::parse(&device).is_some_and(|device| ptx.runs_on(device, true));
    match (facts.ptx().filter(compiled).max(), target) {
        (Some(ptx), PolicyTarget::Native(_)) => {
            format!("the driver compiles {} there", NvccForm::Ptx.name(ptx))
        }
        (Some(ptx), _) => format!("the newest PTX for later devices is {}", NvccForm::Ptx.name(ptx)),
        (None, PolicyTarget::Native(_)) => "nothing runs there".to_owned(),
        (None, _) => "no PTX for later devices".to_owned(),
    }
}
