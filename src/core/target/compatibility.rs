//! Documented rules as pure functions: which code serves which target, and which target IDs exclude each other in a
//! bundle.
//!
//! Source: Clang Offload Bundler document, Compatibility Rules for Bundle Entry ID and for Target ID, and Bundled Code
//! Object Composition; AMDGPU usage guide, Generic Processor ABI. Every answer includes its reason, so that choices can
//! be traced.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::subarch::legacy_triple;
use super::target_id::{Feature, InvalidTargetId, TargetId, cut};
use super::triple::Triple;
use super::{BundleEntryId, OffloadKind};

/// How well code serves a target; smaller is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Built for exactly this target.
    Exact,
    /// Leaves open what the target sets, or has another name of the same kind.
    Compatible,
    /// Built for a generic processor that includes the target's processor.
    Generic,
}

/// Reason why code does not serve a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetMismatch {
    /// The offload kinds differ.
    #[error("its offload kind is {found}, not {requested}")]
    Kind {
        /// Value of the code.
        found: String,
        /// Value of the target.
        requested: String,
    },
    /// The triples differ.
    #[error("its triple is {found}, not {requested}")]
    Triple {
        /// Value of the code.
        found: String,
        /// Value of the target.
        requested: String,
    },
    /// One of the target IDs is invalid.
    #[error("{0}")]
    Invalid(#[from] InvalidTargetId),
    /// The processors differ.
    #[error("it is for {}, not for {}", or_any(.found), or_any(.requested))]
    Processor {
        /// Value of the code.
        found: String,
        /// Value of the target.
        requested: String,
    },
    /// The code sets more features than the target.
    #[error("it requires {found} features, the target sets {requested}")]
    MoreFeatures {
        /// Number of features that the code sets.
        found: usize,
        /// Number of features that the target sets.
        requested: usize,
    },
    /// The code sets a feature that the target leaves open.
    #[error("it requires {feature}, which the target leaves open")]
    Open {
        /// The feature with its setting.
        feature: String,
    },
    /// The code and the target set a feature differently.
    #[error("it requires {found}, not {requested}")]
    Feature {
        /// Value of the code.
        found: String,
        /// Value of the target.
        requested: String,
    },
}

fn or_any(processor: &str) -> &str {
    if processor.is_empty() { "any processor" } else { processor }
}

/// Returns whether code for one target ID serves another, which may be the target ID of a device or a requested one.
/// Code for a generic processor serves its members. Features that the code sets must match; features that it leaves
/// open may have any setting.
pub fn serves(image_target_id: &str, requested: &str) -> Result<Fit, TargetMismatch> {
    if image_target_id == requested {
        return Ok(Fit::Exact);
    }
    let image = TargetId::parse(image_target_id)?;
    let requested = TargetId::parse(requested)?;
    let member = super::processors::Processor::named(requested.processor());
    let is_generic = member.is_some_and(|member| member.generic() == Some(image.processor()));
    if image.processor() != requested.processor() && !is_generic {
        let found = image.processor().to_owned();
        let requested = requested.processor().to_owned();
        return Err(TargetMismatch::Processor { found, requested });
    }
    let found = image.features().len();
    let asked = requested.features().len();
    if found > asked {
        return Err(TargetMismatch::MoreFeatures { found, requested: asked });
    }
    for feature in image.features() {
        match requested.feature(feature.name) {
            None => return Err(TargetMismatch::Open { feature: feature.to_string() }),
            Some(on) if on != feature.on => {
                let requested = Feature { on, ..*feature }.to_string();
                return Err(TargetMismatch::Feature { found: feature.to_string(), requested });
            }
            Some(_) => {}
        }
    }
    match (is_generic, image == requested) {
        (true, _) => Ok(Fit::Generic),
        (false, true) => Ok(Fit::Exact),
        (false, false) => Ok(Fit::Compatible),
    }
}

/// An ID that HIP looks up for the generic processor of a device, and that no entry of a bundle has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("looks for {id}, and {cause}")]
pub struct UnknownGenericId {
    /// The ID.
    pub id: String,
    /// Reason why the ID is invalid.
    pub cause: InvalidTargetId,
}

/// Returns the ID that HIP looks up in bundles for the generic processor of a device. HIP keeps the features of the
/// device, and COMGR finds nothing for a generic processor that lacks one of them. Source: ROCm 7, clr,
/// `hipamd/src/hip_fatbin.cpp`, `TargetToGeneric`; clang-offload-bundler 22 finds no entry either. `None` for a device
/// without a generic processor.
pub fn generic_id_of_hip(device: &str) -> Option<Result<String, UnknownGenericId>> {
    let processor = cut(device).0;
    let generic = super::processors::Processor::named(processor)?.generic()?;
    let id = format!("{generic}{}", device.strip_prefix(processor)?);
    let parsed = TargetId::parse(&id).map(|id| id.to_string());
    Some(parsed.map_err(|cause| UnknownGenericId { id, cause }))
}

/// Rules for the equivalence of offload kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindRules {
    /// HIP and OpenMP are interchangeable.
    pub hip_openmp: bool,
}

impl KindRules {
    fn allow(self, found: OffloadKind, requested: OffloadKind) -> bool {
        use OffloadKind::{Hip, OpenMp};
        found == requested || self.hip_openmp && matches!((found, requested), (Hip, OpenMp) | (OpenMp, Hip))
    }
}

impl BundleEntryId<'_> {
    /// Returns whether the code object with this ID serves the requested ID. Processors must be equal: unbundling
    /// mirrors bundling, and does not consider what a device could also run.
    pub fn serves(&self, requested: &BundleEntryId, rules: KindRules) -> Result<Fit, TargetMismatch> {
        if !rules.allow(self.kind, requested.kind) {
            let found = self.kind_name.to_owned();
            let requested = requested.kind_name.to_owned();
            return Err(TargetMismatch::Kind { found, requested });
        }
        let found = Triple::normalize(self.triple);
        let asked = Triple::normalize(requested.triple);
        if !found.is_compatible_with(&asked) {
            return Err(TargetMismatch::Triple { found: found.to_string(), requested: asked.to_string() });
        }
        let same_kind = if self.kind_name == requested.kind_name { Fit::Exact } else { Fit::Compatible };
        let processor = |id: Option<&str>| cut(id.unwrap_or_default()).0.to_owned();
        let mismatch = || TargetMismatch::Processor {
            found: processor(self.stated_target_id()),
            requested: processor(requested.stated_target_id()),
        };
        let fit = match (self.stated_target_id(), requested.stated_target_id()) {
            (None, None) => Fit::Exact,
            (Some(found), Some(requested)) => serves(found, requested)?,
            _ => return Err(mismatch()),
        };
        if fit == Fit::Generic { Err(mismatch()) } else { Ok(fit.max(same_kind)) }
    }
}

/// Returns the first two target IDs of one processor that exclude each other in a bundle. A feature must be set by all
/// IDs of a processor or by none, otherwise two of them would serve the same device. Texts that are not target IDs are
/// split without being checked.
pub fn conflict<'text>(target_ids: impl IntoIterator<Item = &'text str>) -> Option<(&'text str, &'text str)> {
    let mut ids: Vec<&str> = target_ids.into_iter().collect();
    ids.sort_unstable();
    let names = |id: &'text str| {
        let mut names: Vec<&str> = cut(id).1.map(|feature| feature.trim_end_matches(['+', '-'])).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    // Comparing with the first ID of a processor is enough: all before this one agree with it.
    let mut first_of = HashMap::new();
    ids.into_iter().find_map(|id| {
        let first = *first_of.entry(cut(id).0).or_insert(id);
        (names(first) != names(id)).then_some((first, id))
    })
}

/// Rule that conflicting IDs violate, for errors.
pub const FEATURE_RULE: &str = "all entries for a processor must set the same features";

/// Returns the first two IDs that exclude each other in a bundle, because one sets a feature that the other leaves
/// open. Everything that writes bundles calls this.
pub fn conflicting_entries(ids: &[&str]) -> Option<(String, String)> {
    let mut by_kind_and_triple: BTreeMap<(&str, Cow<'_, str>), Vec<BundleEntryId>> = BTreeMap::new();
    for id in ids.iter().filter_map(|id| BundleEntryId::parse(id)) {
        by_kind_and_triple.entry((id.kind_name, legacy_triple(id.triple))).or_default().push(id);
    }
    by_kind_and_triple.into_values().find_map(|ids| {
        let (one, other) = conflict(ids.iter().filter_map(BundleEntryId::stated_target_id))?;
        Some((ids[0].with_target_id(one), ids[0].with_target_id(other)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_serves_its_own_target_and_targets_that_set_more() {
        let cases = [
            ("gfx906", "gfx906", Ok(Fit::Exact)),
            ("gfx906", "gfx906:xnack+", Ok(Fit::Compatible)),
            ("gfx906:xnack+", "gfx906:sramecc-:xnack+", Ok(Fit::Compatible)),
            ("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-", Ok(Fit::Exact)),
            ("fiji", "gfx803", Ok(Fit::Exact)),
            ("gfx9-generic", "gfx906", Ok(Fit::Generic)),
            ("gfx9-4-generic:xnack-", "gfx942:sramecc+:xnack-", Ok(Fit::Generic)),
            ("sm_90a", "sm_90a", Ok(Fit::Exact)),
            ("whatever", "whatever", Ok(Fit::Exact)),
            ("gfx906", "gfx908", Err("it is for gfx906, not for gfx908")),
            ("gfx88", "gfx90a", Err("unknown processor \"gfx88\"")),
            ("gfx77", "gfx1100", Err("unknown processor \"gfx77\"")),
            ("gfx906", "gfx9-generic", Err("it is for gfx906, not for gfx9-generic")),
            ("gfx9-generic", "gfx908", Err("it is for gfx9-generic, not for gfx908")),
            ("gfx906:xnack+", "gfx906", Err("it requires 1 features, the target sets 0")),
            ("gfx906:xnack+", "gfx906:sramecc+", Err("it requires xnack+, which the target leaves open")),
            ("gfx906:xnack+", "gfx906:xnack-", Err("it requires xnack+, not xnack-")),
            ("gfx9-4-generic:xnack-", "gfx942:xnack+", Err("it requires xnack-, not xnack+")),
            (
                "gfx906:bogus+",
                "gfx906:xnack+",
                Err("gfx906 does not support feature \"bogus\" (supported: sramecc, xnack)"),
            ),
        ];
        for (image, requested, expected) in cases {
            let found = serves(image, requested).map_err(|reason| reason.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{image} for {requested}");
        }
    }

    #[test]
    fn hip_finds_no_generic_code_for_devices_with_more_features() {
        let mut without = Vec::new();
        for processor in &super::super::processors::PROCESSORS {
            let Ok(devices) = super::super::Device::parse(&processor.name) else { continue };
            let ids: Vec<_> = devices.iter().filter_map(|device| generic_id_of_hip(&device.to_string())).collect();
            assert_eq!(ids.is_empty(), processor.generic().is_none(), "{}", &*processor.name);
            let invalid = ids.iter().filter(|id| id.is_err()).count();
            assert!(invalid == 0 || invalid == devices.len(), "{}", &*processor.name);
            if invalid > 0 {
                without.push(&*processor.name);
            }
        }
        assert_eq!(without, ["gfx906"]);
        let asked = |device| generic_id_of_hip(device).unwrap().map_err(|error| error.to_string());
        assert_eq!(asked("gfx900:xnack-"), Ok("gfx9-generic:xnack-".to_owned()));
        assert_eq!(asked("gfx950:sramecc+:xnack-"), Ok("gfx9-4-generic:sramecc+:xnack-".to_owned()));
        assert_eq!(asked("gfx1100"), Ok("gfx11-generic".to_owned()));
        assert_eq!(
            asked("gfx906:sramecc-:xnack-"),
            Err("looks for gfx9-generic:sramecc-:xnack-, and gfx9-generic does not support feature \"sramecc\" \
                 (supported: xnack)"
                .to_owned())
        );
    }

    #[test]
    fn ids_match_by_kind_triple_and_target_id() {
        let strict = KindRules::default();
        let loose = KindRules { hip_openmp: true };
        #[rustfmt::skip]
        let cases = [
            ("hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx906", strict, Ok(Fit::Exact)),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa--gfx906", strict, Ok(Fit::Exact)),
            ("hipv4-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx906", strict, Ok(Fit::Compatible)),
            ("hip-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx906:xnack+", strict, Ok(Fit::Compatible)),
            ("host-x86_64-unknown-linux-gnu", "host-x86_64--linux-gnu-", strict, Ok(Fit::Exact)),
            ("hipv4-amdgcn-amd-amdhsa--", "hip-amdgcn-amd-amdhsa--", strict, Ok(Fit::Compatible)),
            ("openmp-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx906", loose, Ok(Fit::Compatible)),
            ("hipv4-amdgcn-amd-amdhsa--gfx906", "openmp-amdgcn-amd-amdhsa--gfx906", loose, Ok(Fit::Compatible)),
            ("openmp-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx906", strict, Err("its offload kind is openmp, not hip")),
            ("host-x86_64-unknown-linux-gnu-", "openmp-x86_64-unknown-linux-gnu-", loose, Err("its offload kind is host, not openmp")),
            ("openmp-amdgcn-amd-amdhsa--gfx906", "openmp-nvptx64-nvidia-cuda--sm_70", strict, Err("its triple is amdgcn-amd-amdhsa-, not nvptx64-nvidia-cuda-unknown")),
            ("hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx908", strict, Err("it is for gfx906, not for gfx908")),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa-gfx908", strict, Err("it is for gfx906, not for gfx908")),
            ("hip-amdgcn-amd-amdhsa--gfx9-generic", "hip-amdgcn-amd-amdhsa--gfx906", strict, Err("it is for gfx9-generic, not for gfx906")),
            ("hip-amdgcn-amd-amdhsa--", "hip-amdgcn-amd-amdhsa--gfx906", strict, Err("it is for any processor, not for gfx906")),
            ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", "hip-amdgcn-amd-amdhsa--gfx906:xnack-", strict, Err("it requires xnack+, not xnack-")),
            ("hip-amdgpu9.0a-amd-amdhsa--gfx90a", "hip-amdgcn-amd-amdhsa--gfx90a", strict, Ok(Fit::Exact)),
            ("hip-amdgpu9.0a-amd-amdhsa--", "hip-amdgcn-amd-amdhsa--gfx90a", strict, Ok(Fit::Exact)),
            ("hip-amdgpu-amd-amdhsa--gfx90a", "hip-amdgpu9.0a-amd-amdhsa--", strict, Ok(Fit::Exact)),
            ("hip-amdgcn-amd-amdhsa--gfx90a", "hip-amdgpu9.0a-amd-amdhsa--gfx90a:xnack+", strict, Ok(Fit::Compatible)),
            ("hip-amdgpu9.4-amd-amdhsa--", "hip-amdgcn-amd-amdhsa--gfx9-4-generic", strict, Ok(Fit::Exact)),
            ("hip-amdgpu9.4-amd-amdhsa--gfx942", "hip-amdgpu9.42-amd-amdhsa--generic", strict, Ok(Fit::Exact)),
            ("hip-amdgpu9.42-amd-amdhsa--", "hip-amdgpu9.50-amd-amdhsa--", strict, Err("its triple is amdgpu9.42-amd-amdhsa-, not amdgpu9.50-amd-amdhsa-")),
            ("hip-amdgpu9.4-amd-amdhsa--", "hip-amdgpu9.42-amd-amdhsa--", strict, Err("it is for gfx9-4-generic, not for gfx942")),
            ("hip-amdgpu9.0a-amd-amdpal--gfx90a", "hip-amdgcn-amd-amdhsa--gfx90a", strict, Err("its triple is amdgpu9.0a-amd-amdpal-unknown, not amdgcn-amd-amdhsa-")),
        ];
        for (found, requested, rules, expected) in cases {
            let [a, b] = [found, requested].map(|id| BundleEntryId::parse(id).unwrap());
            let verdict = a.serves(&b, rules).map_err(|reason| reason.to_string());
            assert_eq!(verdict, expected.map_err(str::to_owned), "{found} for {requested}");
        }
    }

    #[test]
    fn a_feature_is_set_by_all_ids_of_a_processor_or_by_none() {
        let cases = [
            ("gfx906:xnack+ gfx906:xnack-", None),
            ("gfx906 gfx908:xnack+", None),
            ("gfx906:xnack+:sramecc- gfx906:sramecc+:xnack+", None),
            ("sm_70 sm_80", None),
            ("gfx906:xnack+ gfx906", Some(("gfx906", "gfx906:xnack+"))),
            ("gfx906:xnack+ gfx906:sramecc+", Some(("gfx906:sramecc+", "gfx906:xnack+"))),
            ("gfx906:xnack+ gfx906:xnack-:sramecc+", Some(("gfx906:xnack+", "gfx906:xnack-:sramecc+"))),
            ("gfx90a gfx906:xnack+ gfx906:xnack- gfx906", Some(("gfx906", "gfx906:xnack+"))),
        ];
        for (ids, expected) in cases {
            assert_eq!(conflict(ids.split(' ')), expected, "{ids}");
        }
    }
}
