//! Matching of code with the architectures of a policy: exact code, code that runs on a device, entries of lists.

use super::target::PolicyTarget;
use fatbin_core::target::compatibility::{Fit, serves};
use fatbin_core::target::{TargetId, intel, nvptx};

/// Returns whether an entry of a list covers code for `target`. A processor covers all settings of its features, and
/// `ptx` all PTX.
pub fn allows(listed: &PolicyTarget, target: &PolicyTarget) -> bool {
    match (listed, target) {
        (PolicyTarget::AnyPtx, PolicyTarget::Ptx(_)) => true,
        (PolicyTarget::Native(listed), PolicyTarget::Native(id)) => {
            listed == id
                || intel::can_be(listed, id)
                || nvptx::Arch::parse(id).is_none() && serves(listed, id).is_ok_and(|fit| fit != Fit::Generic)
        }
        _ => listed == target,
    }
}

/// Returns whether a device with this name may run code for `code`.
pub fn may_run_on(code: &PolicyTarget, device: &PolicyTarget, with_ptx: bool) -> bool {
    let PolicyTarget::Native(device) = device else {
        // Metal compiles all of its code when it is loaded.
        return device.system().is_some() && code == device;
    };
    match code {
        PolicyTarget::Native(code) => {
            runs_on(code, device) || serves(device, code).is_ok() || intel::can_be(device, code)
        }
        PolicyTarget::Ptx(arch) => {
            with_ptx && nvptx::Arch::parse(device).is_some_and(|device| arch.runs_on(device, true))
        }
        PolicyTarget::AnyPtx => with_ptx && nvptx::Arch::parse(device).is_some(),
        PolicyTarget::LtoIr(_) | PolicyTarget::Triple(_) => false,
    }
}

/// Returns whether machine code runs on a device. Features that the code does not set may have any setting.
pub fn runs_on(code: &str, device: &str) -> bool {
    match (nvptx::Arch::parse(code), nvptx::Arch::parse(device)) {
        (Some(code), Some(device)) => code.runs_on(device, false),
        (None, None) if intel::is_name(device) => intel::serves(code, device),
        (None, None) => serves(code, device).is_ok(),
        _ => false,
    }
}

/// Returns whether `codes` contain code built for exactly this architecture. Features of a processor that `wanted`
/// leaves open must be covered in every setting: gfx90a:xnack+ and gfx90a:xnack- together cover gfx90a.
pub fn has_exact_code(codes: &[&str], wanted: &str) -> bool {
    match nvptx::Arch::parse(wanted) {
        Some(arch) => codes.iter().any(|code| nvptx::Arch::parse(code) == Some(arch)),
        None if intel::is_name(wanted) => {
            codes.iter().any(|code| intel::is_same(code, wanted) || intel::is_for(code, wanted))
        }
        None => covers_all_settings(codes, wanted, &|code, wanted| {
            serves(code, wanted).is_ok_and(|fit| fit != Fit::Generic)
        }),
    }
}

/// Returns whether `codes` run on a device, in every setting of the features that its name leaves open.
pub fn runs_on_device(codes: &[&str], device: &str) -> bool {
    match nvptx::Arch::parse(device) {
        Some(_) => codes.iter().any(|code| runs_on(code, device)),
        None if intel::is_name(device) => intel::are_served(codes, device),
        None => covers_all_settings(codes, device, &runs_on),
    }
}

/// Returns whether for every setting of the features that `wanted` leaves open, `matches` holds for one of `codes`.
fn covers_all_settings(codes: &[&str], wanted: &str, matches: &dyn Fn(&str, &str) -> bool) -> bool {
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
    // A processor has at most two features.
    (0..1_u32 << open.len()).all(|setting| {
        let mut device = wanted.to_owned();
        for (bit, feature) in open.iter().enumerate() {
            device += &format!(":{feature}{}", if setting >> bit & 1 == 1 { '+' } else { '-' });
        }
        codes.iter().any(|code| matches(code, &device))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_a_processor_by_every_setting_of_its_features() {
        assert!(has_exact_code(&["gfx90a"], "gfx90a"));
        assert!(has_exact_code(&["gfx90a:xnack+", "gfx90a:xnack-"], "gfx90a"));
        assert!(!has_exact_code(&["gfx90a:xnack-"], "gfx90a"));
        assert!(has_exact_code(&["gfx90a"], "gfx90a:xnack+"));
        assert!(!has_exact_code(&["gfx9-4-generic"], "gfx942"));
        assert!(runs_on_device(&["gfx9-4-generic"], "gfx942"));
        assert!(runs_on_device(&["gfx90a:xnack-"], "gfx90a:sramecc+:xnack-"));
        assert!(!runs_on_device(&["gfx90a:xnack-"], "gfx90a"));
        assert!(!has_exact_code(&["gfx90"], "gfx90a"));
    }

    #[test]
    fn nvidia_code_is_exact_by_name_and_runs_by_compute_capability() {
        assert!(!has_exact_code(&["sm_80"], "sm_86"));
        assert!(runs_on_device(&["sm_80"], "sm_86"));
        assert!(!has_exact_code(&["sm_90a"], "sm_90"));
        assert!(runs_on_device(&["sm_90a"], "sm_90"));
        assert!(!runs_on_device(&["sm_80"], "sm_90"));
    }

    #[test]
    fn code_for_intel_runs_on_the_models_of_its_family() {
        assert!(runs_on_device(&["dg2"], "intel_gpu_dg2_g10") && has_exact_code(&["dg2"], "intel_gpu_acm_g10"));
        assert!(runs_on_device(&["acm_g10", "acm_g11", "acm_g12"], "intel_gpu_dg2"));
        assert!(!runs_on_device(&["acm_g10"], "intel_gpu_dg2") && !runs_on_device(&["pvc"], "intel_gpu_dg2_g10"));
        assert!(runs_on_device(&["bmg"], "intel_gpu_lnl_m") && !has_exact_code(&["bmg"], "intel_gpu_lnl_m"));
    }

    #[test]
    fn list_entries_cover_all_settings_of_features() {
        let allows = |listed: &str, code: &str| {
            allows(&PolicyTarget::parse(listed).unwrap(), &PolicyTarget::parse(code).unwrap())
        };
        assert!(allows("gfx90a", "gfx90a:xnack+"));
        assert!(!allows("gfx90a:xnack-", "gfx90a:xnack+"));
        assert!(!allows("gfx90a:xnack-", "gfx90a"));
        assert!(!allows("gfx9-4-generic", "gfx942"));
        assert!(allows("intel_gpu_dg2", "acm_g11") && allows("dg2_g10", "acm_g10") && !allows("acm_g11", "dg2"));
        assert!(allows("ptx", "compute_80"));
        assert!(!allows("sm_80", "compute_80"));
        assert!(!allows("sm_90", "sm_90a"));
    }
}
