//! The device link of nvcc: architectures that an object lacks, and symbols that no object defines.
//!
//! nvcc links device code for the architectures of its own options, by default one. nvlink warns of an object without code
//! for it, and succeeds. It takes members of archives for device symbols. Source: nvlink 13.5.

use std::collections::{BTreeMap, BTreeSet};

use super::device_object::DeviceObject;
use super::inputs::{Inputs, LinkedFile};
use super::line::LinkLine;
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use fatbin_core::target::nvptx;

/// Finds the problems of the device links of nvcc.
pub fn find(inputs: &Inputs, line: &LinkLine) -> Vec<Problem> {
    let parse = |arch: &String| Some(nvptx::Arch::parse(arch)?.number);
    let archs: BTreeSet<u32> = line.nvlink_archs.iter().filter_map(parse).collect();
    let mut problems = Vec::new();
    for file in inputs.objects.iter().filter(|file| !file.is_lazy && !archs.is_empty()) {
        let is_linked = |object: &DeviceObject| archs.iter().any(|arch| object.serves(*arch));
        if !file.device_objects.is_empty() && !file.device_objects.iter().any(is_linked) {
            problems.push(missing_arch(file, &line.nvlink_archs));
        }
    }
    if problems.is_empty() {
        for arch in archs {
            problems.extend(undefined(&inputs.objects, arch));
        }
    }
    problems
}

fn missing_arch(file: &LinkedFile, archs: &[String]) -> Problem {
    let own: BTreeSet<u32> = file.device_objects.iter().map(|object| object.arch).collect();
    let own: Vec<String> = own.iter().map(|arch| format!("sm_{arch}")).collect();
    let message =
        format!("the device link for {} has no code of the object, which has {}", archs.join(", "), own.join(", "));
    problem(file, ProblemKind::MissingArch, Effect::BrokenOutput, None, message, remedy::LINK_ARCH)
}

/// The symbols that no object defines for an architecture. Nothing is known if the code of an object is compiled later.
fn undefined(objects: &[LinkedFile], arch: u32) -> Vec<Problem> {
    let code = |file: &LinkedFile| {
        file.device_objects.iter().filter(|object| object.arch == arch).cloned().collect::<Vec<_>>()
    };
    let is_unknown = |file: &LinkedFile| {
        let mut served = file.device_objects.iter().filter(|object| object.serves(arch)).peekable();
        served.peek().is_some() && served.all(|object| object.is_intermediate)
    };
    if objects.iter().any(is_unknown) {
        return Vec::new();
    }
    let mut definitions: BTreeMap<String, usize> = BTreeMap::new();
    for (number, file) in objects.iter().enumerate() {
        for name in code(file).into_iter().flat_map(|object| object.defined) {
            definitions.entry(name).or_insert(number);
        }
    }
    let mut pending: Vec<usize> = (0..objects.len()).filter(|number| !objects[*number].is_lazy).collect();
    let mut linked: BTreeSet<usize> = pending.iter().copied().collect();
    let mut missing: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(number) = pending.pop() {
        for name in code(&objects[number]).into_iter().flat_map(|object| object.undefined) {
            match definitions.get(&name) {
                Some(definition) if linked.insert(*definition) => pending.push(*definition),
                Some(_) => {}
                None => {
                    missing.entry(name).or_insert(number);
                }
            }
        }
    }
    let problem = |(name, number): (String, usize)| {
        let message = format!("no input defines {name} on sm_{arch}");
        let kind = ProblemKind::UndefinedDeviceSymbol;
        problem(&objects[number], kind, Effect::LinkFails, Some(name), message, remedy::COMPILE_ARCH)
    };
    missing.into_iter().map(problem).collect()
}

fn problem(
    file: &LinkedFile,
    kind: ProblemKind,
    effect: Effect,
    symbol: Option<String>,
    message: String,
    remedy: &str,
) -> Problem {
    let section = file.inventory.containers.iter().find_map(|container| container.section.clone());
    Problem {
        kind,
        effect,
        path: file.path.clone(),
        offset: section.as_ref().map(|section| section.offset),
        section: section.map(|section| section.name),
        symbol,
        count: 1,
        message,
        remedy: remedy.to_owned(),
    }
}
