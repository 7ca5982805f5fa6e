//! `select --json`: one document with a stated schema, `fatbin.select/1`, to which fields are only ever added.
//!
//! `index` of an image is its number among the device images of its file, as in `fatbin.inspect/1`; `kind` to `offset` are
//! those of `fatbin.scan/1`. A choice has several answers where the name of the device leaves something open and it matters.
//!
//! ```text
//! { "schema": "fatbin.select/1",
//!   "device": "gfx90a",
//!   "devices": [ "gfx90a:sramecc+:xnack+", "gfx90a:sramecc+:xnack-" ],
//!   "files": [ { "path": "a.whl!lib/x.so",
//!     "choices": [ { "type": "bundle", "section": ".hip_fatbin", "offset": 4096,
//!       "runtime": { "name": "HIP", "release": "ROCm 7", "order": "..." },
//!       "concerned": true,
//!       "answers": [ { "devices": [ "gfx90a:sramecc+:xnack+" ],
//!         "answer": "native|compatible|generic|jit-ptx|jit-spirv|jit-bitcode|nothing", "chosen": 1,
//!         "images": [ { "index": 0, "kind": "hip", "image": "elf", "triple": "amdgcn-amd-amdhsa", "arch": "gfx90a:xnack-",
//!           "offset": 4242, "id": "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
//!           "chosen": false, "reason": "it needs xnack-, not xnack+" } ] } ] } ],
//!     "errors": [] } ] }
//! ```

use serde::Serialize;

use crate::report::json::{ImageIdentity, JsonError};
use crate::select::{self, Answered, AnsweredFile, Candidate, Choice};
use crate::target::Device;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.select/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// As the user named it.
    device: &'a str,
    devices: Vec<String>,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    choices: Vec<Entry<'a>>,
    errors: Vec<JsonError>,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(rename = "type")]
    container_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    runtime: Runtime,
    /// Whether it holds code for such devices at all.
    concerned: bool,
    answers: Vec<Answer<'a>>,
}

#[derive(Serialize)]
struct Runtime {
    name: &'static str,
    release: &'static str,
    order: &'static str,
}

#[derive(Serialize)]
struct Answer<'a> {
    devices: Vec<String>,
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Earlier>,
    images: Vec<Image<'a>>,
}

/// What earlier releases of the runtime take.
#[derive(Serialize)]
struct Earlier {
    release: &'static str,
    order: &'static str,
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<usize>,
}

#[derive(Serialize)]
struct Image<'a> {
    #[serde(flatten)]
    identity: ImageIdentity<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    chosen: bool,
    reason: String,
}

/// The document, with a final newline.
pub fn selection_json(device: &str, devices: &[Device], files: &[AnsweredFile<'_>]) -> String {
    let document = Document {
        schema: SCHEMA,
        device,
        devices: devices.iter().map(ToString::to_string).collect(),
        files: files.iter().map(File::new).collect(),
    };
    serde_json::to_string_pretty(&document).expect("strings and numbers always serialise") + "\n"
}

impl<'a> File<'a> {
    fn new(answered: &'a AnsweredFile<'a>) -> Self {
        File {
            path: &answered.file.path,
            choices: answered.choices.iter().map(Entry::new).collect(),
            errors: JsonError::of_file(answered.file),
        }
    }
}

impl<'a> Entry<'a> {
    fn new(answered: &'a Answered<'a>) -> Self {
        let choices = &answered.choices;
        let runtime = choices.runtime;
        let name = |choice: &Choice| choice.chosen.map_or("nothing", |(_, way)| way.name());
        let number = |choice: &Choice| choice.chosen.map(|(index, _)| choices.candidates[index].number);
        let answer = |it: &'a select::Answer<'a>| Answer {
            devices: it.devices.iter().map(ToString::to_string).collect(),
            answer: name(&it.choice),
            chosen: number(&it.choice),
            earlier: it.earlier.as_ref().map(|(runtime, choice)| Earlier {
                release: runtime.release,
                order: runtime.order,
                answer: name(choice),
                chosen: number(choice),
            }),
            images: images(&choices.candidates, &it.choice),
        };
        Entry {
            container_type: choices.container.container_type.name(),
            section: choices.container.section_name(),
            offset: choices.container.offset,
            runtime: Runtime { name: runtime.name, release: runtime.release, order: runtime.order },
            concerned: answered.is_concerned,
            answers: answered.answers.iter().map(answer).collect(),
        }
    }
}

fn images<'a>(candidates: &[Candidate<'a>], choice: &Choice) -> Vec<Image<'a>> {
    let image = |(index, chosen, reason): (usize, bool, String)| {
        let Candidate { number, image } = candidates[index];
        Image { identity: ImageIdentity::new(number, image), id: image.id.as_deref(), chosen, reason }
    };
    choice.verdicts().into_iter().map(image).collect()
}
