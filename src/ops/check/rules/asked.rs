//! Architectures that the build was asked for: each must be in each file with code for its platform, built for exactly it.
//! A wheel may have libraries for CUDA and for HIP.

use super::archs::{has_code, missing};
use super::findings::{RuleFinding, RuleFindings, violated};
use super::kpack;
use super::sums::Sums;
use crate::check::asked::{Asked, AskedEntry};
use crate::check::coverage::runs_on;
use crate::check::facts::{FileFacts, ImageFacts};
use crate::check::policy::Requirements;
use crate::check::target::PolicyTarget;
use fatbin_core::target::Platform;
use fatbin_core::target::nvcc_names::NvccForm;
use fatbin_core::target::nvptx::Arch;

/// Checks that a file has code for each entry of the list.
pub fn asked(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let Some(asked) = &requirements.asked else { return };
    for (entry, target) in asked.targets().filter(|(_, target)| concerns(target, facts)) {
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

/// Returns whether a file has code for the platform of an architecture. Code of an unknown platform may be.
fn concerns(target: &PolicyTarget, facts: &FileFacts<'_>) -> bool {
    let platform = platform(target);
    let is_of = |image: &ImageFacts<'_>| {
        Platform::of(image.image.triple.as_deref(), image.image.arch.as_deref()).is_none_or(|it| Some(it) == platform)
    };
    facts.images.iter().any(is_of) || (platform == Some(Platform::Amd) && !facts.survey.file.kpack.is_empty())
}

fn platform(target: &PolicyTarget) -> Option<Platform> {
    match target {
        PolicyTarget::Native(id) => Platform::of(None, Some(id)),
        PolicyTarget::Ptx(_) | PolicyTarget::AnyPtx | PolicyTarget::LtoIr(_) => Some(Platform::Nvidia),
        PolicyTarget::Triple(triple) => Platform::of(Some(triple), None),
    }
}

/// Returns the finding for a list if it has entries for a platform that no file has code for.
pub fn unmatched(asked: &Asked, sums: &Sums) -> Option<RuleFinding> {
    let is_unmatched = |target: &PolicyTarget| !sums.platforms.iter().any(|it| it.is_none() || *it == platform(target));
    let (_, first) = asked.targets().find(|(_, target)| is_unmatched(target))?;
    let platform = platform(first);
    let is_of = |entry: &&AskedEntry| entry.targets.iter().any(|target| self::platform(target) == platform);
    let entries: Vec<&str> = asked.entries.iter().filter(is_of).map(|entry| entry.text.as_str()).collect();
    let name = platform.map_or("such", Platform::name);
    Some(violated(format!("no file has code for {name} devices, and the build was asked for {}", entries.join(", "))))
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
        (None, _) => match facts.ptx().min() {
            Some(ptx) => format!("the oldest PTX is {}", NvccForm::Ptx.name(ptx)),
            None => "no PTX for later devices".to_owned(),
        },
    }
}
