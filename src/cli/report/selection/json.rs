//! `select --json`: one document of schema `fatbin.select/1`. Later versions of fatbin only add fields.
//!
//! `index` of an image is its number among the device images of its file, as in `fatbin.inspect/1`; the fields `kind`
//! to `offset` are the same as in `fatbin.scan/1`. A choice has several answers where the name of the device is
//! ambiguous and the answers differ.
//!
//! ```text
//! { "schema": "fatbin.select/1",
//!   "device": "gfx90a",
//!   "driver": "driver 550.54.14",
//!   "devices": [ "gfx90a:sramecc+:xnack+", "gfx90a:sramecc+:xnack-" ],
//!   "files": [ { "path": "a.whl!lib/x.so",
//!     "choices": [ { "type": "bundle", "section": ".hip_fatbin", "offset": 4096,
//!       "runtime": { "name": "HIP", "release": "ROCm 7", "order": "..." },
//!       "concerned": true,
//!       "answers": [ { "devices": [ "gfx90a:sramecc+:xnack+" ],
//!         "answer": "native|compatible|generic|jit-link|jit-ptx|jit-spirv|jit-bitcode|nothing|undecided", "chosen": 1,
//!         "images": [ { "index": 0, "kind": "hip", "image": "elf", "triple": "amdgcn-amd-amdhsa", "arch": "gfx90a:xnack-",
//!           "offset": 4242, "id": "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
//!           "chosen": false, "reason": "it requires xnack-, not xnack+" } ] } ] } ],
//!     "kpack": [ { "kernel_name": "lib/x.so", "devices": [ { "device": "gfx90a:sramecc+:xnack-",
//!       "code": [ { "index": 0, "answers": [ { "release": "ROCm after 7.14", "archive": "../.kpack/x_gfx90a.kpack",
//!         "arch": "gfx90a" } ] } ] } ] } ],
//!     "selected_by_program": [ { "index": 3, "image": "elf", "arch": "sm_90", "offset": 4242, "symbol": "kernel" } ],
//!     "gaps": [ { "archs": [ "sm_90a" ], "choices": 2, "kernels": [ "ns::kernel(int)" ] } ],
//!     "errors": [] } ] }
//! ```

use serde::Serialize;

use super::gaps::{JsonGap, KernelGap};
use super::kpack::JsonReference;
use crate::analyze::select;
use crate::analyze::select::{AnsweredFile, AnsweredSet, Candidate, CandidateVerdict, Selection};
use crate::cli::report::json::{ImageIdentity, JsonError, is_false, to_pretty_json};
use crate::target::Device;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.select/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// Name as specified by the user.
    device: &'a str,
    /// The NVIDIA driver, if the user specified one.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<&'a str>,
    devices: Vec<String>,
    files: Vec<JsonFile<'a>>,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    path: &'a str,
    choices: Vec<JsonChoice<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kpack: Vec<JsonReference<'a>>,
    /// Images without a container for the platform of the devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    selected_by_program: Vec<JsonProgramImage<'a>>,
    /// Choices where nothing is selected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<JsonGap<'a>>,
    errors: Vec<JsonError>,
}

/// An image that the program may select, by its own rules.
#[derive(Serialize)]
struct JsonProgramImage<'a> {
    #[serde(flatten)]
    identity: ImageIdentity<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'a str>,
}

impl<'a> JsonProgramImage<'a> {
    fn new(&Candidate { number, image, .. }: &Candidate<'a>) -> Self {
        JsonProgramImage { identity: ImageIdentity::new(number, image), symbol: image.symbol.as_deref() }
    }
}

#[derive(Serialize)]
struct JsonChoice<'a> {
    #[serde(rename = "type")]
    container_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    runtime: JsonRuntime,
    /// True if it has code for the platform of the devices.
    concerned: bool,
    answers: Vec<JsonAnswer<'a>>,
}

#[derive(Serialize)]
struct JsonRuntime {
    name: &'static str,
    release: &'static str,
    order: &'static str,
}

#[derive(Serialize)]
struct JsonAnswer<'a> {
    devices: Vec<String>,
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<usize>,
    /// True if the driver links all chosen images when it loads them.
    #[serde(skip_serializing_if = "is_false")]
    linked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<JsonEarlier>,
    images: Vec<JsonImage<'a>>,
}

/// Selection of earlier releases of the runtime.
#[derive(Serialize)]
struct JsonEarlier {
    release: &'static str,
    order: &'static str,
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<usize>,
}

#[derive(Serialize)]
struct JsonImage<'a> {
    #[serde(flatten)]
    identity: ImageIdentity<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    chosen: bool,
    reason: String,
}

/// Returns the document, with a final newline. Each file has its gaps.
pub fn selection_json(
    device: &str,
    driver: Option<&str>,
    devices: &[Device],
    files: &[(AnsweredFile<'_>, Vec<KernelGap<'_>>)],
) -> String {
    let document = Document {
        schema: SCHEMA,
        device,
        driver,
        devices: devices.iter().map(ToString::to_string).collect(),
        files: files.iter().map(JsonFile::new).collect(),
    };
    to_pretty_json(&document)
}

impl<'a> JsonFile<'a> {
    fn new((answered, gaps): &'a (AnsweredFile<'a>, Vec<KernelGap<'a>>)) -> Self {
        JsonFile {
            path: &answered.file.path,
            choices: answered.sets.iter().map(JsonChoice::new).collect(),
            kpack: answered.kpack.iter().map(JsonReference::new).collect(),
            selected_by_program: answered.selected_by_program.iter().map(JsonProgramImage::new).collect(),
            gaps: gaps.iter().map(JsonGap::new).collect(),
            errors: JsonError::of_file(answered.file),
        }
    }
}

impl<'a> JsonChoice<'a> {
    fn new(answered: &'a AnsweredSet<'a>) -> Self {
        let set = &answered.set;
        let runtime = set.runtime;
        let known = |selection: &Selection| selection.selected.filter(|_| !selection.is_undecided());
        let name = |selection: &Selection| match known(selection) {
            _ if selection.is_undecided() => "undecided",
            Some((_, way)) => way.name(),
            None => "nothing",
        };
        let number = |selection: &Selection| known(selection).map(|(index, _)| set.candidates[index].number);
        let answer = |it: &'a select::DeviceAnswer<'a>| JsonAnswer {
            devices: it.devices.iter().map(ToString::to_string).collect(),
            answer: name(&it.selection),
            chosen: number(&it.selection),
            linked: it.selection.is_link(),
            earlier: it.earlier.as_ref().map(|(runtime, selection)| JsonEarlier {
                release: runtime.release,
                order: runtime.order,
                answer: name(selection),
                chosen: number(selection),
            }),
            images: images(&set.candidates, &it.selection),
        };
        JsonChoice {
            container_type: set.container.container_type.name(),
            section: set.container.section_name(),
            offset: set.container.offset,
            runtime: JsonRuntime { name: runtime.name, release: runtime.release, order: runtime.order },
            concerned: answered.is_relevant,
            answers: answered.answers.iter().map(answer).collect(),
        }
    }
}

fn images<'a>(candidates: &[Candidate<'a>], selection: &Selection) -> Vec<JsonImage<'a>> {
    let image = |(index, verdict, reason): (usize, CandidateVerdict, String)| {
        let chosen = verdict == CandidateVerdict::Selected;
        let Candidate { number, image, .. } = candidates[index];
        JsonImage { identity: ImageIdentity::new(number, image), id: image.id.as_deref(), chosen, reason }
    };
    selection.verdicts().into_iter().map(image).collect()
}
