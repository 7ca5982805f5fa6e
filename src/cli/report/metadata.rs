//! `metadata`: the part of a package's metadata that its device code determines, in the formats of other programs, and
//! as a document of schema `fatbin.metadata/1`.

use serde::Serialize;

use super::json::{to_indented_json, to_pretty_json};
use crate::analyze::metadata::{Backend, DeviceCode, VersionSpec, conda, hugging_face, wheel_variant};
use crate::target::nvptx::{self, Suffix};

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

#[derive(Serialize)]
struct JsonDocument<'a> {
    schema: &'static str,
    backends: Vec<JsonBackend>,
    files: Vec<JsonFile<'a>>,
    undetermined: Vec<JsonUndetermined<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum JsonBackend {
    Cuda {
        machine_code: Vec<String>,
        ptx: Vec<String>,
        /// PTX runs on every later device.
        forward_compatible: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        oldest_driver_cuda: Option<String>,
        torch_cuda_arch_list: String,
        cmake_architectures: String,
        conda_cuda_arch: String,
    },
    Rocm {
        machine_code: Vec<String>,
        spirv: bool,
        /// Processors that the machine code runs on.
        processors: Vec<String>,
        cmake_architectures: String,
    },
    Xpu {},
}

#[derive(Serialize)]
struct JsonFile<'a> {
    path: &'a str,
    code: Vec<String>,
}

#[derive(Serialize)]
struct JsonUndetermined<'a> {
    path: &'a str,
    image: usize,
    reason: &'static str,
}

/// Returns the document of schema `fatbin.metadata/1` about a package with these files. `cuda` is the oldest CUDA
/// version of a driver that loads its code, if it is known.
pub fn metadata_json(package: &DeviceCode, files: &[FileCode], cuda: Option<&str>) -> String {
    let undetermined = package.undetermined.iter();
    to_pretty_json(&JsonDocument {
        schema: SCHEMA,
        backends: package.backends().into_iter().map(|backend| JsonBackend::new(package, backend, cuda)).collect(),
        files: files.iter().map(|file| JsonFile { path: &file.path, code: file.code.names() }).collect(),
        undetermined: undetermined
            .map(|it| JsonUndetermined { path: &it.path, image: it.number, reason: it.reason })
            .collect(),
    })
}

impl JsonBackend {
    fn new(code: &DeviceCode, backend: Backend, cuda: Option<&str>) -> JsonBackend {
        let joined = |list: &[String]| list.join(";");
        let machine_code: Vec<String> = code.amd.iter().cloned().collect();
        match backend {
            Backend::Cuda => JsonBackend::Cuda {
                machine_code: code.cubins.iter().map(ToString::to_string).collect(),
                ptx: code.ptx.iter().map(|arch| arch.to_string().replacen("sm_", "compute_", 1)).collect(),
                forward_compatible: code.is_forward_compatible(),
                oldest_driver_cuda: cuda.map(str::to_owned),
                torch_cuda_arch_list: joined(&hugging_face::capabilities(code)),
                cmake_architectures: joined(&cmake_architectures(code)),
                conda_cuda_arch: VersionSpec::of(code).to_string(),
            },
            Backend::Rocm => JsonBackend::Rocm {
                cmake_architectures: joined(&machine_code),
                machine_code,
                spirv: code.has_amd_spirv,
                processors: code.amd_processors().into_iter().map(str::to_owned).collect(),
            },
            Backend::Xpu => JsonBackend::Xpu {},
        }
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
