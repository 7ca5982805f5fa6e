//! Offload entries without kernels, and kernels without offload entries.

use std::collections::{BTreeMap, BTreeSet};

use super::inputs::{Inputs, LinkedFile};
use super::line::{LinkLine, OutputType};
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;
use super::tile_kernels::{TileKernels, WRAPPER_SECTION};
use fatbin_core::scan::inventory::WrapperTarget;
use fatbin_core::target::OffloadKind;

/// A kernel: the object whose image has it, and the offset of the image.
type Origin = (usize, Option<u64>);

/// Kernels that runtimes launch by themselves, for constructors and destructors on the device. Source: LLVM 22,
/// `AMDGPUCtorDtorLowering.cpp` and `NVPTXCtorDtorLowering.cpp`.
const OF_THE_RUNTIME: [&str; 4] =
    ["amdgcn.device.init", "amdgcn.device.fini", "nvptx$device$init", "nvptx$device$fini"];

/// Differences between the offload entries and the kernels of the linked images.
pub fn find(inputs: &Inputs, resolution: &Resolution, line: &LinkLine) -> Vec<Problem> {
    let mut entries: BTreeMap<OffloadKind, BTreeMap<&str, usize>> = BTreeMap::new();
    for number in resolution.linked() {
        for entry in inputs.objects[number].entries.iter().filter(|entry| entry.is_kernel) {
            entries.entry(entry.kind).or_default().entry(&entry.name).or_insert(number);
        }
    }
    let mut problems: Vec<Problem> =
        resolution.linked().filter_map(|number| tiles_without_code(&inputs.objects[number])).collect();
    for (kind, entries) in entries {
        if !has_images(kind, &inputs.objects, resolution) {
            // Images may follow in the link of a relocatable output.
            if line.placement.output_type != OutputType::Relocatable {
                problems.extend(without_images(kind, &entries, inputs));
            }
            continue;
        }
        let Some(kernels) = kernels(kind, &inputs.objects, resolution) else { continue };
        let host_functions = host_functions(kind, &inputs.objects, resolution);
        let is_missing = |name: &str| !kernels.contains_key(name) && !host_functions.contains(name);
        for (&name, &number) in entries.iter().filter(|(name, _)| is_missing(name)) {
            let message = format!("no {} image has kernel {name}; its launch fails", kind.name());
            let kind = ProblemKind::EntryWithoutKernel;
            let object = &inputs.objects[number];
            problems.push(problem(kind, object, None, name, message, remedy::LINK_DEVICE_CODE));
        }
        let is_known = |name: &str| entries.contains_key(name) || OF_THE_RUNTIME.contains(&name);
        for (name, &(number, offset)) in kernels.iter().filter(|(name, _)| !is_known(name)) {
            let message = format!("no {} entry names kernel {name}, which cannot be launched", kind.name());
            let kind = ProblemKind::KernelWithoutEntry;
            let object = &inputs.objects[number];
            problems.push(problem(kind, object, offset, name, message, remedy::LINK_HOST_OBJECT));
        }
    }
    problems
}

/// Returns whether a linked object has images of a kind: its own, those of a wrapper elsewhere, or GCC's bytecode.
fn has_images(kind: OffloadKind, objects: &[LinkedFile], resolution: &Resolution) -> bool {
    resolution.linked().any(|number| {
        let LinkedFile { kernels, inventory, .. } = &objects[number];
        let has_others =
            if kind == OffloadKind::OpenMp { inventory.has_gimple } else { !inventory.wrappers.is_empty() };
        has_others || kernels.iter().any(|image| image.kind == kind)
    })
}

/// Returns the problem of the entries of a kind that has no images.
fn without_images(kind: OffloadKind, entries: &BTreeMap<&str, usize>, inputs: &Inputs) -> Option<Problem> {
    let (&name, &number) = entries.first_key_value()?;
    let message = format!("no {} image is linked, and the launch of kernel {name} fails", kind.name());
    let kind = ProblemKind::EntryWithoutKernel;
    let own = problem(kind, &inputs.objects[number], None, name, message, remedy::LINK_IMAGES);
    Some(Problem { count: entries.len(), ..own })
}

/// Kernels in the images of a kind; `None` if the kernels of one are unknown.
fn kernels(kind: OffloadKind, objects: &[LinkedFile], resolution: &Resolution) -> Option<BTreeMap<String, Origin>> {
    let mut kernels = BTreeMap::new();
    for number in resolution.linked() {
        for image in objects[number].kernels.iter().filter(|image| image.kind == kind) {
            for name in image.names.as_ref()? {
                kernels.entry(name.clone()).or_insert((number, image.offset));
            }
        }
    }
    Some(kernels)
}

fn host_functions<'a>(kind: OffloadKind, objects: &'a [LinkedFile], resolution: &Resolution) -> BTreeSet<&'a str> {
    let images = resolution.linked().flat_map(|number| &objects[number].kernels);
    let functions = images.filter(|image| image.kind == kind).flat_map(|image| &image.host_functions);
    functions.map(String::as_str).collect()
}

fn problem(
    kind: ProblemKind,
    file: &LinkedFile,
    offset: Option<u64>,
    name: &str,
    message: String,
    remedy: &str,
) -> Problem {
    Problem {
        kind,
        effect: Effect::BrokenOutput,
        path: file.path.clone(),
        section: offset.and_then(|offset| file.object.section_at(offset)).map(|section| section.name.clone()),
        offset,
        symbol: Some(name.to_owned()),
        count: 1,
        message,
        remedy: remedy.to_owned(),
    }
}

/// Returns the problem of an object whose tile kernels have no code.
fn tiles_without_code(file: &LinkedFile) -> Option<Problem> {
    let TileKernels { count, first } = &file.object.tile_kernels;
    let wrapper = file.inventory.wrappers.iter().find(|wrapper| wrapper.section.name == WRAPPER_SECTION)?;
    let WrapperTarget::Container(offset) = wrapper.target else { return None };
    let is_empty = file.inventory.container_at(offset)?.images.is_empty();
    let kernels = if *count == 1 { "1 tile kernel is".to_owned() } else { format!("{count} tile kernels are") };
    (is_empty && *count > 0).then(|| Problem {
        kind: ProblemKind::EntryWithoutKernel,
        effect: Effect::BrokenOutput,
        path: file.path.clone(),
        section: Some(wrapper.section.name.clone()),
        offset: Some(wrapper.offset),
        symbol: first.clone(),
        count: *count,
        message: format!("{kernels} registered with a fat binary without images; a launch fails"),
        remedy: remedy::COMPILE_TILES.to_owned(),
    })
}
