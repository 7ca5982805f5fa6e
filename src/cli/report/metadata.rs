//! `metadata`: the part of a package's metadata that its device code determines, in the formats of other programs, and
//! as a document of schema `fatbin.metadata/1`.

use std::collections::BTreeSet;

use fatbin_core::base::json::{JsonWriter, json_document, to_indented_json, to_pretty_json};
use fatbin_core::target::nvptx::{self, Suffix};
use fatbin_ops::analyze::metadata::{Backend, DeviceCode, VersionSpec, conda, hugging_face, wheel_variant};

/// Name and version of the schema.
const SCHEMA: &str = "fatbin.metadata/1";

/// Device code of a file.
#[derive(Debug)]
pub struct FileCode {
    /// Path as in its inventory.
    pub path: String,
    /// The code.
    pub code: DeviceCode,
}

/// Returns the document of schema `fatbin.metadata/1` about a package with these files. `cuda` is the oldest CUDA
/// version of a driver that loads its code, if it is known.
pub fn metadata_json(package: &DeviceCode, files: &[FileCode], cuda: Option<&str>) -> String {
    json_document(SCHEMA, |json| {
        json.objects("backends", package.backends(), |json, it| backend(json, package, it, cuda));
        json.objects("files", files, |json, file| {
            json.field("path", &file.path);
            json.field("code", file.code.names());
        });
        json.objects("undetermined", &package.undetermined, |json, it| {
            json.field("path", &it.path);
            json.field("image", it.number);
            json.field("reason", it.reason);
        });
    })
}

fn backend(json: &mut JsonWriter, code: &DeviceCode, backend: Backend, cuda: Option<&str>) {
    let machine_code: BTreeSet<&str> = code.amd.iter().map(|code| code.id.as_str()).collect();
    let machine_code: Vec<&str> = machine_code.into_iter().collect();
    match backend {
        Backend::Cuda => {
            json.field("type", "cuda");
            json.list("machine_code", code.cubins.iter().map(ToString::to_string));
            json.list("ptx", code.ptx.iter().map(|arch| arch.to_string().replacen("sm_", "compute_", 1)));
            // PTX runs on every later device.
            json.field("forward_compatible", code.is_forward_compatible());
            json.optional("oldest_driver_cuda", cuda);
            json.field("torch_cuda_arch_list", hugging_face::capabilities(code).join(";"));
            json.field("cmake_architectures", cmake_architectures(code).join(";"));
            json.field("conda_cuda_arch", VersionSpec::of(code).to_string());
        }
        Backend::Rocm => {
            json.field("type", "rocm");
            json.field("machine_code", &machine_code);
            json.field("spirv", code.has_amd_spirv);
            // Processors that the machine code runs on.
            json.field("processors", code.amd_processors());
            json.field("cmake_architectures", machine_code.join(";"));
        }
        Backend::Xpu => json.field("type", "xpu"),
    }
}

/// Uses the names of `CMAKE_CUDA_ARCHITECTURES`.
fn cmake_architectures(code: &DeviceCode) -> Vec<String> {
    let name = |arch: &nvptx::Arch, form| format!("{}{}-{form}", arch.number, Suffix::letter(arch.suffix));
    let real = code.cubins.iter().map(|arch| name(arch, "real"));
    real.chain(code.ptx.iter().map(|arch| name(arch, "virtual"))).collect()
}

/// Returns the part of `metadata.json` of a Hugging Face kernel.
pub fn hugging_face_json(code: &DeviceCode, backend: Backend) -> String {
    to_pretty_json(&hugging_face::document(code, backend))
}

/// Returns `variant.json` of a wheel with this label. Without a label, the label is derived from the properties.
pub fn wheel_variant_json(code: &DeviceCode, cuda: Option<&str>, label: Option<&str>) -> String {
    let properties = wheel_variant::properties(code, cuda);
    let label = label.map_or_else(|| wheel_variant::label(&properties), str::to_owned);
    // The indentation of variantlib.
    to_indented_json(&wheel_variant::document(&properties, &label), "    ")
}

/// Returns the part of a conda package's `info/index.json`.
pub fn conda_json(code: &DeviceCode, cuda: Option<&str>) -> String {
    to_pretty_json(&conda::document(code, cuda))
}
