//! `select --json` on several devices or a machine: one document of schema `fatbin.select-set/1`. Later versions of fatbin
//! only add fields.

use super::set::title;
use crate::report::write_not_judged;
use fatbin_core::base::json::{JsonWriter, json_document};
use fatbin_core::target::gfx_override::{GfxOverride, VARIABLE};
use fatbin_ops::analyze::select::{
    FileAnswer, Library, OverrideEffect, PackageAnswer, RequestedDevice, Service, SetSelection,
};
use fatbin_ops::analyze::vendored::VendoredLibrary;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.select-set/1";

/// Returns the document, with a final newline.
pub fn set_json(set: &SetSelection<'_>, driver: Option<&str>, not_judged: &[VendoredLibrary]) -> String {
    json_document(SCHEMA, |json| {
        json.optional("driver", driver);
        json.objects("devices", set.devices.iter().enumerate(), |json, (index, it)| device(json, set, index, it));
        json.objects("packages", set.packages(), |json, package| write_package(json, set, &package));
        json.objects("libraries", &set.libraries, |json, it| library(json, set, it));
        write_not_judged(json, not_judged.iter());
    })
}

fn device(json: &mut JsonWriter, set: &SetSelection<'_>, index: usize, requested: &RequestedDevice) {
    json.field("device", &requested.device.name);
    json.optional("gpu", requested.device.gpu);
    json.optional("count", requested.count);
    json.field("title", title(requested));
    let counts = set.counts(index);
    json.object("libraries", |json| {
        for service in Service::ALL {
            json.optional(service.name(), counts.get(&service));
        }
    });
    json.objects("missing", set.missing(index), |json, it| {
        json.field("library", it.name.key());
        json.field("archs", it.archs());
        json.optional("member", it.member_for(&requested.device).as_deref());
    });
    if let Some(effect) = set.effect_of_override(index) {
        json.object("override", |json| write_override(json, effect));
    }
}

fn write_override(json: &mut JsonWriter, effect: OverrideEffect) {
    let value = |json: &mut JsonWriter, value: GfxOverride| {
        json.field("variable", VARIABLE);
        json.field("value", value.version);
        json.field("arch", value.processor);
    };
    match effect {
        OverrideEffect::Helps { value: it, libraries } => {
            value(json, it);
            json.field("libraries", libraries);
        }
        OverrideEffect::NoCode(it) => {
            value(json, it);
            json.field("libraries", 0);
        }
        OverrideEffect::Fails(reason) => json.field("reason", reason),
        OverrideEffect::Unknown => json.field("reason", "none is known"),
    }
}

fn write_package(json: &mut JsonWriter, set: &SetSelection<'_>, package: &PackageAnswer) {
    json.field("path", &package.path);
    json.field("files", package.members);
    let answers = set.devices.iter().zip(package.devices.iter().zip(&package.is_for_others));
    json.objects("answers", answers, |json, (requested, (counts, is_for_others))| {
        json.field("device", &requested.device.name);
        json.objects("files", counts, |json, ((service, arch), count)| {
            json.field("answer", service.name());
            json.optional("arch", arch.as_ref());
            json.field("count", count);
        });
        // Another package of the set has the code.
        json.optional("elsewhere", is_for_others.then_some(true));
    });
}

fn library(json: &mut JsonWriter, set: &SetSelection<'_>, library: &Library<'_>) {
    json.field("name", library.name.key());
    json.objects("files", &library.members, |json, member| {
        json.field("path", member.file.path.as_str());
        json.field("package", &member.package);
        let answers = set.devices.iter().zip(&member.answers).filter_map(|(it, answer)| Some((it, answer.as_ref()?)));
        json.objects("answers", answers, |json, (requested, answer)| write_answer(json, requested, answer));
    });
}

fn write_answer(json: &mut JsonWriter, requested: &RequestedDevice, answer: &FileAnswer) {
    json.field("device", &requested.device.name);
    json.field("answer", answer.service.name());
    json.optional("arch", answer.arch.as_ref());
    json.object("choices", |json| {
        for (service, count) in &answer.choices {
            json.field(service.name(), count);
        }
    });
}
