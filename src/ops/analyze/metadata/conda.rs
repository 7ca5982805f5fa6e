//! Metadata of conda packages about NVIDIA devices: the virtual packages `__cuda` and `__cuda_arch`.
//!
//! `__cuda` is the newest CUDA version that the driver supports. `__cuda_arch` is the compute capability of the device;
//! the plugin nvidia-virtual-packages provides it, and conda alone does not. It belongs in `constrains`, not in
//! `depends`: `constrains` has no effect if the virtual package is missing. Sources: conda/ceps, CEP 30 and pull
//! request 157.

use serde_json::{Value, json};

use super::claim::{Claim, Meaning};
use super::device_code::DeviceCode;
use super::version_spec::VersionSpec;

/// Name of the file in a package.
pub const FILE_NAME: &str = "index.json";

/// Directory of the file.
pub const DIRECTORY: &str = "info";

/// Name of the virtual package of the compute capability.
const CUDA_ARCH: &str = "__cuda_arch";

/// Returns the keys `depends` and `constrains`. `cuda` is the oldest CUDA version of a driver that loads the code.
pub fn document(code: &DeviceCode, cuda: Option<&str>) -> Value {
    let mut document = json!({ "constrains": [format!("{CUDA_ARCH} {}", VersionSpec::of(code))] });
    if let (Some(version), Value::Object(members)) = (cuda, &mut document) {
        members.insert("depends".to_owned(), json!([format!("__cuda >={version}")]));
    }
    document
}

/// Returns the claims about architectures; `None` if the document is not an `index.json`.
pub fn claims(document: &Value) -> Option<Vec<Claim>> {
    let document = document.as_object()?;
    document.get("name")?.as_str()?;
    let mut claims = Vec::new();
    for key in ["depends", "constrains"] {
        let list = document.get(key).and_then(Value::as_array);
        for spec in list.into_iter().flatten().filter_map(Value::as_str) {
            let (name, version) = spec.split_at(spec.find(|c: char| " <>=!~".contains(c)).unwrap_or(spec.len()));
            if name != CUDA_ARCH || version.trim().is_empty() || version.trim() == "*" {
                continue;
            }
            let meaning = VersionSpec::parse(version.trim()).map_or(
                Meaning::Void("it is not a range of compute capabilities such as >=8.0,<10.0"),
                Meaning::Capabilities,
            );
            claims.push(Claim { text: format!("{key}: {spec}"), meaning });
        }
    }
    Some(claims)
}

#[cfg(test)]
mod tests {
    use super::super::device_code::tests::code;
    use super::*;

    #[test]
    fn claims_are_read_from_both_lists() {
        let document = json!({ "name": "x", "depends": ["__cuda >=12.8", "__cuda_arch>=9.0", "python"],
            "constrains": ["__cuda_arch >=8.0,<9.0", "__cuda_arch", "__cuda_arch ~=8"] });
        let claims = claims(&document).unwrap();
        let texts: Vec<&str> = claims.iter().map(|claim| claim.text.as_str()).collect();
        let expected =
            ["depends: __cuda_arch>=9.0", "constrains: __cuda_arch >=8.0,<9.0", "constrains: __cuda_arch ~=8"];
        assert_eq!(texts, expected);
        assert!(matches!(claims[2].meaning, Meaning::Void(_)));
        assert_eq!(super::claims(&json!({ "depends": [] })), None);
    }

    #[test]
    fn writes_the_driver_only_if_it_is_specified() {
        let code = code("sm_90");
        assert_eq!(document(&code, None), json!({ "constrains": ["__cuda_arch >=9.0,<10.0"] }));
        let expected = json!({ "constrains": ["__cuda_arch >=9.0,<10.0"], "depends": ["__cuda >=12.8"] });
        assert_eq!(document(&code, Some("12.8")), expected);
    }
}
