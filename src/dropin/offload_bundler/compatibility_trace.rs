//! The trace of `-debug-only=CodeObjectCompatibility`: one line per comparison of an entry with a target, with the
//! reason for the result.
//!
//! Release builds of LLVM 22 refuse the option. The lines match a build with assertions.

use fatbin_core::target::compatibility::{Fit, TargetMismatch};

/// Line for one comparison.
pub fn line(found: &str, requested: &str, verdict: &Result<Fit, TargetMismatch>) -> String {
    format!("{}\t[CodeObject: {found}]\t:\t[Target: {requested}]\n", describe(verdict))
}

fn describe(verdict: &Result<Fit, TargetMismatch>) -> &'static str {
    match verdict {
        Ok(Fit::Exact) => "Compatible: Exact match: ",
        Ok(Fit::Compatible | Fit::Generic) => "Compatible: Target IDs are compatible ",
        Err(TargetMismatch::Kind { .. } | TargetMismatch::Triple { .. }) => "Incompatible: Kind/Triple mismatch ",
        Err(TargetMismatch::Invalid(_) | TargetMismatch::Processor { .. }) => "Incompatible: Processor mismatch ",
        Err(TargetMismatch::MoreFeatures { .. }) => "Incompatible: CodeObject has more features than target ",
        Err(TargetMismatch::Open { .. }) => {
            "Incompatible: Value of CodeObject's non-ANY feature is not matching with Target feature's ANY value "
        }
        Err(TargetMismatch::Feature { .. }) => {
            "Incompatible: Value of CodeObject's non-ANY feature is not matching with Target feature's non-ANY value "
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::target::BundleEntryId;
    use fatbin_core::target::compatibility::KindRules;

    #[test]
    fn prints_the_reason_of_each_comparison() {
        let cases = [
            ("gfx906", "gfx906", "Compatible: Exact match: "),
            ("gfx906", "gfx906:xnack+", "Compatible: Target IDs are compatible "),
            ("gfx908", "gfx906", "Incompatible: Processor mismatch "),
            ("gfx906:xnack+", "gfx906", "Incompatible: CodeObject has more features than target "),
            (
                "gfx906:xnack+",
                "gfx906:sramecc+",
                "Incompatible: Value of CodeObject's non-ANY feature is not matching with Target feature's ANY value ",
            ),
            (
                "gfx906:xnack+",
                "gfx906:xnack-",
                "Incompatible: Value of CodeObject's non-ANY feature is not matching with Target feature's non-ANY value ",
            ),
        ];
        for (found, requested, reason) in cases {
            let [found, requested] = [found, requested].map(|id| format!("hip-amdgcn-amd-amdhsa--{id}"));
            let [a, b] = [&found, &requested].map(|id| BundleEntryId::parse(id).unwrap());
            let expected = format!("{reason}\t[CodeObject: {found}]\t:\t[Target: {requested}]\n");
            assert_eq!(line(&found, &requested, &a.serves(&b, KindRules::default())), expected);
        }
        let [host, device] = ["host-x86_64-unknown-linux-gnu-", "hip-amdgcn-amd-amdhsa--gfx906"];
        let [a, b] = [host, device].map(|id| BundleEntryId::parse(id).unwrap());
        let printed = line(host, device, &a.serves(&b, KindRules::default()));
        assert!(printed.starts_with("Incompatible: Kind/Triple mismatch \t[CodeObject: host-"), "{printed}");
    }
}
