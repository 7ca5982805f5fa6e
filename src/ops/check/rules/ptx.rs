//! PTX assembles for the devices that depend on it. ptxas is run by the caller.

use super::findings::{RuleFindings, undecided, violated};
use crate::check::facts::FileFacts;
use crate::check::policy::Requirements;
use crate::check::ptx_assembler::AssemblyResult;
use fatbin_core::base::code::Remedy;
use fatbin_core::format::ImageKind;

/// Requires that ptxas accepts the PTX.
pub fn assembles(facts: &FileFacts<'_>, _: &Requirements, findings: &mut RuleFindings) {
    let Some(assemblies) = facts.assemblies else {
        if facts.loadable().any(|image| image.image.image_kind == ImageKind::Ptx) {
            findings.add(undecided("the PTX was not assembled").remedy(Some(Remedy::SpecifyPtxas)));
        }
        return;
    };
    for assembly in assemblies {
        let Some(image) = facts.images.get(assembly.image) else { continue };
        let device = &assembly.device;
        match &assembly.result {
            AssemblyResult::Assembled => {}
            AssemblyResult::Failed { message, kernel } => {
                let finding = violated(format!("does not assemble for {device}: {message}")).image(image);
                findings.add(match kernel {
                    Some(kernel) => finding.kernel(kernel),
                    None => finding,
                });
            }
            AssemblyResult::Unknown(why) => {
                findings
                    .add(undecided(format!("cannot determine whether it assembles for {device}: {why}")).image(image));
            }
        }
    }
}
