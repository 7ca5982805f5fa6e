//! `metadata.json` of Hugging Face kernels: the backend and the architectures of a build.
//!
//! Source: `kernels` 0.17.2 on PyPI (`archs.py`, and the reader `Metadata` in Rust) and huggingface/kernels, commit
//! 8ac69fc5. The builder writes the architectures that its user requested. The loader refuses all devices that they
//! exclude.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::claim::{Claim, ClaimedCode, Meaning};
use super::device_code::{Backend, DeviceCode};
use fatbin_core::target::nvptx::{self, Suffix};
use fatbin_core::target::{processors::Processor, target_id::cut};

/// Name of the file.
pub const FILE_NAME: &str = "metadata.json";

/// Returns the key `backend`. Architectures are left out if the code runs on devices that no list of architectures
/// covers.
pub fn document(code: &DeviceCode, backend: Backend) -> Value {
    let mut members = json!({ "type": backend.name() });
    if let (Some(archs), Value::Object(members)) = (archs(code, backend), &mut members) {
        members.insert("archs".to_owned(), archs.into());
    }
    json!({ "backend": members })
}

/// Returns the architectures in the order of the builder. It sorts them as text.
fn archs(code: &DeviceCode, backend: Backend) -> Option<Vec<String>> {
    match backend {
        Backend::Cuda => {
            let mut archs: Vec<String> = capabilities(code);
            archs.sort();
            Some(archs)
        }
        // AMD's SPIR-V runs on every processor.
        Backend::Rocm if code.has_amd_spirv => None,
        Backend::Rocm => Some(code.amd_processors().into_iter().map(str::to_owned).collect()),
        Backend::Xpu => None,
    }
}

/// Returns the compute capabilities of NVIDIA code as `TORCH_CUDA_ARCH_LIST` names them, in order: `8.0`, `9.0a`,
/// `12.0+PTX`.
pub fn capabilities(code: &DeviceCode) -> Vec<String> {
    let mut archs: BTreeMap<nvptx::Arch, bool> = code.cubins.iter().map(|arch| (*arch, false)).collect();
    archs.extend(code.ptx.iter().map(|arch| (*arch, true)));
    let name = |(arch, has_ptx): (nvptx::Arch, bool)| {
        let ptx = if has_ptx { "+PTX" } else { "" };
        format!("{}{}{ptx}", nvptx::Capability(arch.number), Suffix::letter(arch.suffix))
    };
    archs.into_iter().map(name).collect()
}

/// Returns the claims; `None` for another file of this name.
pub fn claims(document: &Value) -> Option<Vec<Claim>> {
    let backend = document.get("backend")?.as_object()?;
    let name = backend.get("type")?.as_str()?;
    let mut claims = vec![Claim { text: format!("backend.type: {name}"), meaning: Meaning::Backend(name.to_owned()) }];
    for arch in backend.get("archs").and_then(Value::as_array).into_iter().flatten() {
        let text = arch.as_str().map_or_else(|| arch.to_string(), str::to_owned);
        let meaning = match name {
            "cuda" => nvidia(&text),
            "rocm" => amd(&text),
            _ => Meaning::Void("only builds for cuda and rocm have architectures"),
        };
        claims.push(Claim { text: format!("backend.archs: {text}"), meaning });
    }
    Some(claims)
}

fn nvidia(text: &str) -> Meaning {
    let (name, code) = match text.strip_suffix("+PTX") {
        Some(name) => (name, ClaimedCode::WithPtx),
        None => (text, ClaimedCode::Any),
    };
    match parse_capability(name) {
        Some(arch) => Meaning::Nvidia { arch, code },
        None => Meaning::Void("it is not a compute capability such as 9.0, 9.0a or 9.0+PTX"),
    }
}

fn parse_capability(name: &str) -> Option<nvptx::Arch> {
    let (major, minor) = name.split_once('.')?;
    let is_digit = minor.starts_with(|first: char| first.is_ascii_digit());
    // Every minor version has one digit.
    let has_one = minor.trim_end_matches(['a', 'f']).len() == 1;
    if !is_digit || !has_one || major.is_empty() {
        return None;
    }
    nvptx::Arch::parse(&format!("sm_{major}{minor}"))
}

fn amd(text: &str) -> Meaning {
    let (processor, mut features) = cut(text);
    match Processor::named(processor) {
        // The loader removes the features from the name of the device, and compares the rest.
        _ if features.next().is_some() => {
            Meaning::Void("the loader compares names of processors without features, so no device has this name")
        }
        Some(known) if known.name.ends_with("generic") => {
            Meaning::Void("the loader compares names of processors, and no device has that of a generic one")
        }
        _ => Meaning::Amd { processor: processor.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::device_code::tests::code;
    use super::*;

    #[test]
    fn writes_backend_and_architectures() {
        let cases = [
            ("sm_80 sm_86 sm_100 sm_90 compute_90", r#"{"archs":["10.0","8.0","8.6","9.0+PTX"],"type":"cuda"}"#),
            ("sm_90a sm_100f compute_120", r#"{"archs":["10.0f","12.0+PTX","9.0a"],"type":"cuda"}"#),
            ("gfx90a:xnack+ gfx90a:xnack- gfx942", r#"{"archs":["gfx90a","gfx942"],"type":"rocm"}"#),
            ("gfx12-generic", r#"{"archs":["gfx1200","gfx1201"],"type":"rocm"}"#),
            ("gfx90a amdgcnspirv", r#"{"type":"rocm"}"#),
            ("spirv", r#"{"type":"xpu"}"#),
        ];
        for (names, expected) in cases {
            let code = code(names);
            let document = document(&code, code.backends()[0]);
            assert_eq!(document["backend"].to_string(), expected, "{names}");
        }
    }

    #[test]
    fn claims_of_what_was_written_hold() {
        for names in ["sm_80 sm_90a compute_90", "gfx90a:xnack+ gfx11-generic", "spirv"] {
            let code = code(names);
            let claims = claims(&document(&code, code.backends()[0])).unwrap();
            for claim in claims {
                assert_eq!(claim.meaning.contradiction(&code), None, "{names}: {}", claim.text);
            }
        }
    }

    #[test]
    fn entries_that_no_loader_understands_are_void() {
        let archs = json!(["9", "sm_90", "9.0b", "90", "9.00", ".0", 9.0]);
        let document = json!({ "backend": { "type": "cuda", "archs": archs } });
        let claims = claims(&document).unwrap();
        let void = claims.iter().filter(|claim| matches!(claim.meaning, Meaning::Void(_)));
        assert_eq!(void.count(), 6);
        let document = json!({ "backend": { "type": "rocm", "archs": ["gfx90a:xnack+", "gfx9-4-generic", "gfx942"] } });
        let claims = super::claims(&document).unwrap();
        let void: Vec<bool> = claims.iter().map(|claim| matches!(claim.meaning, Meaning::Void(_))).collect();
        assert_eq!(void, [false, true, true, false]);
    }

    #[test]
    fn other_files_of_the_name_have_no_claims() {
        for document in [json!(null), json!([]), json!({ "backend": "cuda" }), json!({ "backend": {} })] {
            assert_eq!(claims(&document), None, "{document}");
        }
    }
}
