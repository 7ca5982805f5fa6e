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
//!   "files": [ { "path": "a.whl!lib/x.so", "answer": "native", "modules": { "native": 2, "nothing": 1 },
//!     "choices": [ { "type": "bundle", "section": ".hip_fatbin", "offset": 4096,
//!       "runtime": { "name": "HIP", "release": "ROCm 7", "order": "..." },
//!       "concerned": true, "without_kernels": true,
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
//!     "errors": [] } ],
//!   "not_judged": [ "libcuda-0a1b2c3d.so.1" ] }
//! ```

use super::gaps::{KernelGap, write_gap};
use super::kpack::write_reference;
use crate::report::json::{errors, identity};
use crate::report::write_not_judged;
use fatbin_core::base::json::{JsonWriter, json_document};
use fatbin_core::target::Device;
use fatbin_ops::analyze::select::{
    AnsweredFile, AnsweredSet, Candidate, CandidateSet, CandidateVerdict, FileAnswer, Selection,
};
use fatbin_ops::analyze::vendored::VendoredLibrary;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.select/1";

/// Returns the document, with a final newline. Each file has its gaps.
pub fn selection_json(
    device: &str,
    driver: Option<&str>,
    devices: &[Device],
    files: &[(AnsweredFile<'_>, Vec<KernelGap<'_>>)],
    not_judged: &[VendoredLibrary],
) -> String {
    json_document(SCHEMA, |json| {
        // Name as specified by the user.
        json.field("device", device);
        // The NVIDIA driver, if the user specified one.
        json.optional("driver", driver);
        json.list("devices", devices.iter().map(ToString::to_string));
        json.objects("files", files, |json, (answered, gaps)| {
            json.field("path", answered.file.path.as_str());
            if let Some(answer) = FileAnswer::of(answered) {
                json.field("answer", answer.service.name());
                json.object("modules", |json| {
                    for (service, count) in &answer.choices {
                        json.field(service.name(), count);
                    }
                });
            }
            json.objects("choices", &answered.sets, choice);
            json.objects_if_any("kpack", &answered.kpack, write_reference);
            // Images without a container for the platform of the devices. The program may select them, by its own rules.
            json.objects_if_any("selected_by_program", &answered.selected_by_program, |json, it| {
                identity(json, it.number, it.image);
                json.optional("symbol", it.image.symbol.as_ref());
            });
            // Choices where nothing is selected.
            json.objects_if_any("gaps", gaps, write_gap);
            errors(json, answered.file);
        });
        write_not_judged(json, not_judged.iter());
    })
}

fn choice(json: &mut JsonWriter, answered: &AnsweredSet<'_>) {
    let set = &answered.set;
    json.field("type", set.container.container_type.name());
    json.optional("section", set.container.section_name());
    json.optional("offset", set.container.offset);
    json.object("runtime", |json| {
        json.field("name", set.runtime.name);
        json.field("release", set.runtime.release);
        json.field("order", set.runtime.order);
    });
    // It has code for the platform of the devices.
    json.field("concerned", answered.is_relevant);
    // No device needs it: its images hold no kernel.
    json.optional("without_kernels", (!set.has_kernels()).then_some(true));
    json.objects("answers", &answered.answers, |json, it| {
        json.list("devices", it.devices.iter().map(ToString::to_string));
        answer(json, set, &it.selection);
        // The driver links all chosen images when it loads them.
        json.optional("linked", it.selection.is_link().then_some(true));
        // Selection of earlier releases of the runtime.
        if let Some((runtime, selection)) = &it.earlier {
            json.object("earlier", |json| {
                json.field("release", runtime.release);
                json.field("order", runtime.order);
                answer(json, set, selection);
            });
        }
        json.objects("images", it.selection.verdicts(), |json, (index, verdict, reason)| {
            let Candidate { number, image, .. } = set.candidates[index];
            identity(json, number, image);
            json.optional("id", image.id.as_ref());
            json.field("chosen", verdict == CandidateVerdict::Selected);
            json.field("reason", reason);
        });
    });
}

fn answer(json: &mut JsonWriter, set: &CandidateSet<'_>, selection: &Selection) {
    if selection.is_undecided() {
        return json.field("answer", "undecided");
    }
    json.field("answer", selection.selected.map_or("nothing", |(_, way)| way.name()));
    json.optional("chosen", selection.selected.map(|(index, _)| set.candidates[index].number));
}
