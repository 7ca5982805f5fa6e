//! Tests of the names of Intel's GPUs.

use super::*;
use std::collections::BTreeSet;

#[test]
fn products_have_unique_numbers_in_order_and_unique_names() {
    assert!(PRODUCTS.is_sorted_by(|(one, _), (other, _)| one < other));
    let names: BTreeSet<_> = PRODUCTS.iter().map(|(_, name)| &**name).collect();
    assert_eq!(names.len(), PRODUCTS.len());
    assert_eq!((product_name(1271), product_name(1)), (Some("pvc"), None));
}

#[test]
fn versions_have_three_parts() {
    assert_eq!(ip_version(12 << 22 | 55 << 14 | 8), "12.55.8");
    assert_eq!(ip_version(20 << 22 | 1 << 14 | 4), "20.1.4");
}

#[test]
fn every_name_and_version_leads_to_one_model() {
    let mut seen = BTreeSet::new();
    for model in &MODELS {
        let names = [&*model.name, &*model.aliases, &*model.versions].join(" ");
        for name in names.split_ascii_whitespace() {
            assert!(seen.insert(name.to_owned()), "{name} twice");
            assert_eq!(Model::named(name), Some(model), "{name}");
            assert_eq!(Model::named(&name.replace('.', "_")), Some(model), "{name}");
        }
    }
    assert_eq!(Model::named("dg2"), None);
    assert_eq!(Model::all_named("dg2").len(), 3);
    assert_eq!(Model::all_named("dg3").len(), 0);
}

#[test]
fn names_of_ocloc_have_hyphens_and_capitals() {
    for (written, model) in [("arl-h", "arl_h"), ("PVC", "pvc"), ("dg2-g10", "acm_g10"), ("Lnl-M", "lnl_m")] {
        assert_eq!(Model::named(written).map(|model| &*model.name), Some(model), "{written}");
        assert_eq!(Model::named(&format!("{PREFIX}{written}")), None, "{written}");
        assert!(is_name(written) && is_name(&device_name(written)) && is_same(written, model), "{written}");
    }
    assert_eq!(
        (device_name("ARL-H"), device_name("intel_gpu_pvc")),
        ("intel_gpu_arl_h".into(), "intel_gpu_pvc".into())
    );
    assert_eq!(Model::named("12-74-4"), None);
    assert_eq!(Model::all_named("BMG").len(), 2);
    assert!(serves("bmg", "BMG-G31") && !is_name("arlh") && !is_name("arl.h"));
}

#[test]
fn code_runs_on_its_model_and_on_the_models_of_its_family() {
    #[rustfmt::skip]
    let rows = [
        ("acm_g10", "dg2_g10", Some(ModelFit::Exact)),
        ("12.55.8", "acm_g10", Some(ModelFit::Exact)),
        ("intel_gpu_dg2_g10", "acm_g10", Some(ModelFit::Exact)),
        ("acm_g11", "acm_g10", None),
        ("dg2", "acm_g10", Some(ModelFit::Exact)),
        ("dg2", "acm_g12", Some(ModelFit::Exact)),
        ("dg2", "pvc", None),
        ("20.1.0", "bmg_g21", Some(ModelFit::Exact)),
        ("bmg", "bmg_g31", Some(ModelFit::Exact)),
        ("bmg", "lnl_m", Some(ModelFit::Compatible)),
        ("bmg_g21", "lnl_m", None),
        ("lnl", "bmg_g21", None),
        ("pvc", "pvc", Some(ModelFit::Exact)),
        ("pvc", "pvc_vg", None),
        ("12.60.1", "pvc", None),
        ("cfl", "whl", Some(ModelFit::Exact)),
        ("unheard-of", "pvc", None),
        ("gen9", "whl", Some(ModelFit::Exact)),
        ("gen12lp", "dg1", Some(ModelFit::Exact)),
        ("gen12lp", "acm_g10", None),
        ("xe-hpg", "mtl_u", Some(ModelFit::Exact)),
        ("xe-hpg", "pvc", None),
    ];
    for (arch, device, expected) in rows {
        assert_eq!(Model::named(device).unwrap().fit(arch), expected, "{arch} on {device}");
    }
}

#[test]
fn notes_lead_to_the_family_or_to_another_model_of_it() {
    let rows = [
        (Some("dg2"), None, Some("dg2")),
        (Some("dg2"), Some("12.55.8"), Some("dg2")),
        (Some("dg2"), Some("12.57.0"), Some("acm_g12")),
        (Some("bmg"), Some("20.1.0"), Some("bmg")),
        (Some("bmg"), Some("20.2.0"), Some("bmg_g31")),
        (Some("pvc"), Some("12.60.1"), Some("12.60.1")),
        (None, Some("35.10.0"), Some("nvl_p")),
        (None, None, None),
    ];
    for (product, version, expected) in rows {
        assert_eq!(arch_of_notes(product, version).as_deref(), expected, "{product:?} {version:?}");
    }
}

#[test]
fn a_container_may_state_one_model_of_the_family_in_the_notes() {
    assert!(can_be("dg2", "acm_g11") && can_be("dg2", "dg2") && can_be("12.60.1", "12.60.1"));
    assert!(!can_be("acm_g11", "dg2") && !can_be("dg2", "pvc") && !can_be("12.60.1", "pvc"));
    assert!(can_be("gen9", "kbl") && can_be("xe_hpg", "dg2") && can_be("gen9", "gen9"));
    assert!(!can_be("gen9", "tgllp") && !can_be("kbl", "gen9"));
}

#[test]
fn a_core_family_has_the_models_that_ocloc_lists() {
    let count = |name| Model::all_named(name).len();
    assert_eq!(["gen8", "gen9", "gen11", "gen12lp", "xe-hpc"].map(count), [1, 8, 2, 6, 2]);
    assert_eq!((core_name(12), core_name(0xc08), core_name(17)), (Some("gen9"), Some("xe_hpc"), None));
    assert!(serves("gen9", "intel_gpu_kbl") && !serves("kbl", "gen9"));
}
