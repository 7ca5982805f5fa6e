//! Objects whose host half is incomplete, stubs of kernels that nothing defines, and bytecode that GCC does not compile.

use std::collections::BTreeMap;

use super::inputs::{Inputs, LinkedFile};
use super::line::{LinkLine, OutputType};
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;
use fatbin_core::scan::host_half::STUB;

/// Start of the names of the sections with GCC's bytecode for devices.
const BYTECODE: &str = ".gnu.offload_lto_";

/// Finds the problems of the host halves of the linked objects.
pub fn find(inputs: &Inputs, resolution: &Resolution, line: &LinkLine) -> Vec<Problem> {
    let mut problems = Vec::new();
    for number in resolution.linked() {
        let file = &inputs.objects[number];
        problems.extend(damaged(file));
        if !line.compiles_gimple && line.placement.output_type != OutputType::Relocatable {
            problems.extend(not_compiled(file, line));
        }
    }
    if line.placement.output_type != OutputType::Relocatable {
        problems.extend(undefined_stubs(inputs, resolution, line));
    }
    problems
}

fn damaged(file: &LinkedFile) -> Option<Problem> {
    let defects = &file.inventory.host_defects;
    let first = defects.first()?;
    Some(Problem {
        kind: ProblemKind::DamagedObject,
        effect: Effect::BrokenOutput,
        path: file.path.clone(),
        section: file.object.section_at(first.offset).map(|section| section.name.clone()),
        offset: Some(first.offset),
        symbol: None,
        count: defects.len(),
        message: first.cause.to_string(),
        remedy: remedy::BUILD_AGAIN.to_owned(),
    })
}

/// Bytecode that GCC compiles to images when its plugin is called.
fn not_compiled(file: &LinkedFile, line: &LinkLine) -> Option<Problem> {
    let mut sections = file.object.sections.iter().filter(|section| section.name.starts_with(BYTECODE));
    let section = sections.next().filter(|_| file.inventory.has_gimple)?;
    let linker = line.placement.linker.title();
    Some(Problem {
        kind: ProblemKind::Unregistered,
        effect: Effect::BrokenOutput,
        path: file.path.clone(),
        section: Some(section.name.clone()),
        offset: Some(section.offset),
        symbol: None,
        count: 1,
        message: format!(
            "no wrapper registers its target regions: {linker} compiles no images from GCC's bytecode here"
        ),
        remedy: remedy::LINK_GCC.to_owned(),
    })
}

/// Stubs that no object and no shared library of the line defines. A library of its own may be loaded before.
fn undefined_stubs(inputs: &Inputs, resolution: &Resolution, line: &LinkLine) -> Vec<Problem> {
    let mut undefined: BTreeMap<&str, usize> = BTreeMap::new();
    for number in resolution.linked() {
        for symbol in &inputs.objects[number].object.symbols {
            let is_needed = symbol.definition.is_none() && !symbol.is_weak && symbol.name.contains(STUB);
            if is_needed && resolution.definition(&symbol.name).is_none() && !inputs.exports.contains_key(&symbol.name)
            {
                undefined.entry(&symbol.name).or_insert(number);
            }
        }
    }
    // The loader refuses a library with undefined symbols, not its linker.
    let is_library = line.placement.output_type == OutputType::Shared;
    let effect = if is_library { Effect::BrokenOutput } else { Effect::LinkFails };
    let problem = |(name, number): (&str, usize)| Problem {
        kind: ProblemKind::UndefinedStub,
        effect,
        path: inputs.objects[number].path.clone(),
        section: None,
        offset: None,
        symbol: Some(name.to_owned()),
        count: 1,
        message: format!("the kernel of {name} is launched, and no input defines it"),
        remedy: remedy::DEFINE_KERNEL.to_owned(),
    };
    undefined.into_iter().map(problem).collect()
}
