//! `variant.json` of wheel variants: properties of the devices that a wheel is for.
//!
//! Source: PEP 825 and `variantlib` 0.2.2 on PyPI (`constants.py`, `models/variant.py`); the features `sm_arch` of
//! wheelnext/nvidia-variant-provider and `gfx_arch` of `rocm-bootstrap` 0.3.0.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::claim::{Claim, ClaimedCode, Meaning};
use super::device_code::{Backend, DeviceCode};
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::target::nvptx::{self, Suffix};

/// Name of the file in a wheel's directory of metadata, `NAME-VERSION.dist-info`.
pub const FILE_NAME: &str = "variant.json";

const SCHEMA: &str = "https://variants-schema.wheelnext.dev/v0.2.0.json";

/// Number of characters of a label that is derived from the properties.
const LABEL_SIZE: usize = 8;

/// A property: namespace, feature and value. Sorts like labels.
pub type Property = (&'static str, &'static str, String);

/// Returns the properties of the code. `cuda` is the oldest CUDA version of a driver that loads it. The code alone does
/// not determine this version.
pub fn properties(code: &DeviceCode, cuda: Option<&str>) -> BTreeSet<Property> {
    let arch = |arch: &nvptx::Arch, form: &str| {
        ("nvidia", "sm_arch", format!("{}{}_{form}", arch.number, Suffix::letter(arch.suffix)))
    };
    let real = code.cubins.iter().map(|it| arch(it, "real"));
    let from_ptx = code.ptx.iter().map(|it| arch(it, "virtual"));
    let amd = code.amd_processors().into_iter().map(|name| ("amd", "gfx_arch", name.to_owned()));
    let mut properties: BTreeSet<Property> = real.chain(from_ptx).chain(amd).collect();
    if let Some(version) = cuda
        && code.has(Backend::Cuda)
    {
        properties.insert(("nvidia", "cuda_version_lower_bound", version.to_owned()));
    }
    properties
}

/// Returns the label that is derived from properties: the start of their SHA-256.
pub fn label(properties: &BTreeSet<Property>) -> String {
    let lines = properties.iter().map(|(namespace, feature, value)| format!("{namespace} :: {feature} :: {value}\n"));
    let mut label = hexadecimal(&Sha256::digest(lines.collect::<String>()));
    label.truncate(LABEL_SIZE);
    label
}

/// Returns `variant.json` for a wheel with this label.
pub fn document(properties: &BTreeSet<Property>, label: &str) -> Value {
    let mut features: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for (namespace, feature, value) in properties {
        features.entry(namespace).or_default().entry(feature).or_default().push(value);
    }
    // NVIDIA's first: no device has both.
    let namespaces: Vec<&str> = features.keys().rev().copied().collect();
    let providers: BTreeMap<&str, Value> = namespaces.iter().map(|name| (*name, provider(name))).collect();
    json!({
        "$schema": SCHEMA,
        "default-priorities": { "namespace": namespaces },
        "providers": providers,
        "variants": { label: features },
    })
}

/// The plugin that evaluates the properties of a namespace on a machine.
fn provider(namespace: &str) -> Value {
    match namespace {
        "amd" => {
            json!({ "plugin-api": "rocm_bootstrap.variant_provider:AMDVariantPlugin", "requires": ["rocm-bootstrap"] })
        }
        _ => json!({
            "plugin-api": "nvidia_variant_provider.plugin:NvidiaVariantPlugin",
            "requires": ["nvidia-variant-provider>=0.0.1,<1.0.0"],
        }),
    }
}

/// Returns the claims about architectures; `None` if the document is not a `variant.json`.
pub fn claims(document: &Value) -> Option<Vec<Claim>> {
    let variants = document.get("variants")?.as_object()?;
    let mut claims = Vec::new();
    for (namespace, features) in variants.values().filter_map(Value::as_object).flatten() {
        for (feature, values) in features.as_object().into_iter().flatten() {
            for value in values.as_array().into_iter().flatten().filter_map(Value::as_str) {
                let meaning = match (namespace.as_str(), feature.as_str()) {
                    ("nvidia", "sm_arch") => nvidia(value),
                    ("amd", "gfx_arch") => Meaning::Amd { processor: value.to_owned() },
                    _ => continue,
                };
                claims.push(Claim { text: format!("{namespace} :: {feature} :: {value}"), meaning });
            }
        }
    }
    Some(claims)
}

fn nvidia(value: &str) -> Meaning {
    let form = |suffix: &str| value.strip_suffix(suffix).and_then(|name| nvptx::Arch::parse(&format!("sm_{name}")));
    match (form("_real"), form("_virtual")) {
        (Some(arch), _) => Meaning::Nvidia { arch, code: ClaimedCode::Machine },
        (_, Some(arch)) => Meaning::Nvidia { arch, code: ClaimedCode::Ptx },
        _ => Meaning::Void("it is not an architecture such as 90_real, 90a_real or 90_virtual"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::device_code::tests::code;
    use super::*;

    fn property(namespace: &'static str, feature: &'static str, value: &str) -> Property {
        (namespace, feature, value.to_owned())
    }

    /// Labels that `variantlib make-variant` 0.2.2 has written.
    #[test]
    fn labels_are_those_of_variantlib() {
        let one = BTreeSet::from([property("nvidia", "sm_arch", "90_real")]);
        assert_eq!(label(&one), "033d5a19");
        let three = BTreeSet::from([
            property("nvidia", "sm_arch", "90_real"),
            property("nvidia", "sm_arch", "120_virtual"),
            property("nvidia", "cuda_version_lower_bound", "12.8"),
        ]);
        assert_eq!(label(&three), "5b9d1f85");
    }

    #[test]
    fn writes_properties_of_all_code() {
        let code = code("sm_90a sm_120 compute_120 gfx90a:xnack+ gfx12-generic");
        let written = document(&properties(&code, Some("12.8")), "x");
        let expected = json!({
            "amd": { "gfx_arch": ["gfx1200", "gfx1201", "gfx90a"] },
            "nvidia": { "cuda_version_lower_bound": ["12.8"], "sm_arch": ["120_real", "120_virtual", "90a_real"] },
        });
        assert_eq!(written["variants"]["x"], expected);
        assert_eq!(written["default-priorities"]["namespace"], json!(["nvidia", "amd"]));
        for claim in claims(&written).unwrap() {
            assert_eq!(claim.meaning.contradiction(&code), None, "{}", claim.text);
        }
    }

    #[test]
    fn a_driver_is_claimed_for_nvidia_code_only() {
        assert_eq!(properties(&code("gfx90a"), Some("12.8")), BTreeSet::from([property("amd", "gfx_arch", "gfx90a")]));
    }

    #[test]
    fn other_values_are_void_and_other_features_are_left_alone() {
        let document = json!({ "variants": { "x": {
            "nvidia": { "sm_arch": ["90", "sm_90", "90-real"] }, "x86_64": { "level": ["v3"] } } } });
        let claims = claims(&document).unwrap();
        assert_eq!(claims.len(), 3);
        assert!(claims.iter().all(|claim| matches!(claim.meaning, Meaning::Void(_))));
        assert_eq!(super::claims(&json!({})), None);
    }
}
