//! What code a policy's architectures are about, and whether code that is there does for one that is asked for.

use super::policy::Target;
use crate::target::compatibility::{Fit, serves};
use crate::target::{TargetId, nvptx};

/// Whether code for `target` is among what an entry of a list allows or forbids. A processor stands for all settings of its
/// features, and `ptx` for all PTX.
pub fn allows(listed: &Target, target: &Target) -> bool {
    match (listed, target) {
        (Target::AnyPtx, Target::Ptx(_)) => true,
        (Target::Native(listed), Target::Native(id)) => {
            listed == id || nvptx::Arch::parse(id).is_none() && serves(listed, id).is_ok_and(|fit| fit != Fit::Generic)
        }
        _ => listed == target,
    }
}

/// Whether some device of this name could run code for `code`.
pub fn may_run_on(code: &Target, device: &Target, with_ptx: bool) -> bool {
    let Target::Native(device) = device else { return false };
    match code {
        Target::Native(code) => runs(code, device) || serves(device, code).is_ok(),
        Target::Ptx(arch) => with_ptx && nvptx::Arch::parse(device).is_some_and(|device| arch.runs_on(device, true)),
        Target::AnyPtx => with_ptx && nvptx::Arch::parse(device).is_some(),
        Target::Triple(_) => false,
    }
}

/// Whether machine code runs on a device, with the features that it leaves open.
pub fn runs(code: &str, device: &str) -> bool {
    match (nvptx::Arch::parse(code), nvptx::Arch::parse(device)) {
        (Some(code), Some(device)) => code.runs_on(device, false),
        (None, None) => serves(code, device).is_ok(),
        _ => false,
    }
}

/// Whether code for this very architecture is there. Of a processor's features, those that are left open have to be
/// covered in every setting: gfx90a:xnack+ and gfx90a:xnack- together do for gfx90a.
pub fn is_there(codes: &[&str], wanted: &str) -> bool {
    match nvptx::Arch::parse(wanted) {
        Some(arch) => codes.iter().any(|code| nvptx::Arch::parse(code) == Some(arch)),
        None => covered(codes, wanted, &|code, wanted| serves(code, wanted).is_ok_and(|fit| fit != Fit::Generic)),
    }
}

/// Whether machine code that runs on a device is there, in every setting of the features that its name leaves open.
pub fn is_served(codes: &[&str], device: &str) -> bool {
    match nvptx::Arch::parse(device) {
        Some(_) => codes.iter().any(|code| runs(code, device)),
        None => covered(codes, device, &runs),
    }
}

fn covered(codes: &[&str], wanted: &str, does: &dyn Fn(&str, &str) -> bool) -> bool {
    let Ok(id) = TargetId::parse(wanted) else { return codes.contains(&wanted) };
    let mut open: Vec<&str> = Vec::new();
    for code in codes.iter().filter_map(|code| TargetId::parse(code).ok()) {
        for feature in code.features() {
            if code.processor() == id.processor() && id.feature(feature.name).is_none() && !open.contains(&feature.name)
            {
                open.push(feature.name);
            }
        }
    }
    // A processor has two features at most.
    (0..1_u32 << open.len()).all(|setting| {
        let mut device = wanted.to_owned();
        for (bit, feature) in open.iter().enumerate() {
            device += &format!(":{feature}{}", if setting >> bit & 1 == 1 { '+' } else { '-' });
        }
        codes.iter().any(|code| does(code, &device))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_there_when_every_setting_of_its_features_is() {
        assert!(is_there(&["gfx90a"], "gfx90a"));
        assert!(is_there(&["gfx90a:xnack+", "gfx90a:xnack-"], "gfx90a"));
        assert!(!is_there(&["gfx90a:xnack-"], "gfx90a"));
        assert!(is_there(&["gfx90a"], "gfx90a:xnack+"));
        assert!(!is_there(&["gfx9-4-generic"], "gfx942"));
        assert!(is_served(&["gfx9-4-generic"], "gfx942"));
        assert!(is_served(&["gfx90a:xnack-"], "gfx90a:sramecc+:xnack-"));
        assert!(!is_served(&["gfx90a:xnack-"], "gfx90a"));
        assert!(!is_there(&["gfx90"], "gfx90a"));
    }

    #[test]
    fn an_architecture_of_nvidia_is_there_by_its_name_and_served_by_its_rules() {
        assert!(!is_there(&["sm_80"], "sm_86"));
        assert!(is_served(&["sm_80"], "sm_86"));
        assert!(!is_there(&["sm_90a"], "sm_90"));
        assert!(is_served(&["sm_90a"], "sm_90"));
        assert!(!is_served(&["sm_80"], "sm_90"));
    }

    #[test]
    fn an_entry_of_a_list_stands_for_all_settings_of_features() {
        let allows = |listed: &str, code: &str| allows(&Target::parse(listed).unwrap(), &Target::parse(code).unwrap());
        assert!(allows("gfx90a", "gfx90a:xnack+"));
        assert!(!allows("gfx90a:xnack-", "gfx90a:xnack+"));
        assert!(!allows("gfx90a:xnack-", "gfx90a"));
        assert!(!allows("gfx9-4-generic", "gfx942"));
        assert!(allows("ptx", "compute_80"));
        assert!(!allows("sm_80", "compute_80"));
        assert!(!allows("sm_90", "sm_90a"));
    }
}
