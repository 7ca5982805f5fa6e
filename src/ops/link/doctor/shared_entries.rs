//! Tables of offload entries that several wrappers register.
//!
//! A wrapper of LLVM's form passes all entries of its section to the runtime, with its own images. libomptarget keeps
//! one image per device and table, so a second wrapper replaces the first. CUDA and HIP keep the first wrapper of each
//! kernel, and do not find the kernels of the others in it. Sources: LLVM 22, `offload/libomptarget/PluginManager.cpp`;
//! measured with libomptarget 22 and HIP 5.2.3.

use std::collections::{BTreeMap, BTreeSet};

use object::elf;

use super::inputs::{Inputs, LinkedFile};
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;
use crate::embed::llvm::RELEASES;
use fatbin_core::target::OffloadKind;

/// Functions that wrappers of LLVM's form call.
const REGISTRATIONS: [(OffloadKind, &str); 3] = [
    (OffloadKind::OpenMp, "__tgt_register_lib"),
    (OffloadKind::Cuda, "__cudaRegisterFatBinary"),
    (OffloadKind::Hip, "__hipRegisterFatBinary"),
];

/// Triple and processor of an image.
type Device<'a> = (Option<&'a str>, Option<&'a str>);

/// Finds the tables of entries that several wrappers register for one device.
pub fn find(inputs: &Inputs, resolution: &Resolution) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (kind, function) in REGISTRATIONS {
        let sections: BTreeSet<&str> = RELEASES.iter().map(|release| release.wrapper.entry_section(kind)).collect();
        for section in sections {
            let start = format!("__start_{section}");
            let is_wrapper = |number: &usize| {
                let object = &inputs.objects[*number].object;
                object.needs(&start) && object.needs(function)
            };
            let wrappers = resolution.linked().filter(is_wrapper);
            for wrappers in by_device(wrappers, kind, inputs).into_values().filter(|wrappers| wrappers.len() > 1) {
                problems.push(problem(&wrappers, section, inputs));
            }
        }
    }
    problems.dedup();
    problems
}

/// Groups wrappers by the devices of their images. CUDA and HIP choose a wrapper before its image, so the devices of
/// their images do not matter.
fn by_device(
    wrappers: impl Iterator<Item = usize>,
    kind: OffloadKind,
    inputs: &Inputs,
) -> BTreeMap<Option<Device<'_>>, Vec<usize>> {
    let mut groups: BTreeMap<Option<Device<'_>>, Vec<usize>> = BTreeMap::new();
    for number in wrappers {
        let images = inputs.objects[number].inventory.device_images();
        let devices: BTreeSet<Option<Device<'_>>> = match kind {
            OffloadKind::OpenMp => images.map(|image| Some((image.loaded_triple(), image.loaded_arch()))).collect(),
            _ => BTreeSet::from([None]),
        };
        for device in devices {
            groups.entry(device).or_default().push(number);
        }
    }
    groups
}

fn problem(wrappers: &[usize], section: &str, inputs: &Inputs) -> Problem {
    let file = &inputs.objects[wrappers[0]];
    let paths: Vec<&str> = wrappers.iter().map(|&number| inputs.objects[number].path.as_str()).collect();
    let own = file.object.sections.iter().find(|own| own.name == section && own.has(elf::SHF_ALLOC.0));
    let LinkedFile { path, .. } = file;
    Problem {
        kind: ProblemKind::RegisteredTwice,
        effect: Effect::BrokenOutput,
        path: path.clone(),
        section: own.map(|own| own.name.clone()),
        offset: own.map(|own| own.offset),
        symbol: Some(format!("__start_{section}")),
        count: wrappers.len(),
        message: format!("{} wrappers register all entries in {section}: {}", wrappers.len(), paths.join(", ")),
        remedy: remedy::LINK_EACH_ALONE.to_owned(),
    }
}
