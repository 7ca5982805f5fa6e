//! Symbols of device code that several objects define: module IDs, and names of wrappers.

use std::collections::BTreeMap;

use super::inputs::{Inputs, LinkedFile};
use super::line::{LinkLine, OutputType};
use super::object_file::Definition;
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;
use fatbin_core::base::range::offset_from;
use fatbin_core::scan::host_half::LINKED_BINARY;

/// Prefixes of symbols that end in a module ID: clang's for HIP and CUDA, nvcc's for relocatable code. Sources: clang
/// 22, `CGCUDANV.cpp`; objects of nvcc 13.5.
const MODULE_SYMBOLS: [&str; 4] = ["__hip_cuid_", "__cuda_cuid_", "__fatbinwrap_", "__cudaRegisterLinkedBinary_"];

/// Finds the symbols that several of the linked objects with device code define, and the modules of a device link that a
/// shared library registers, too.
pub fn find(inputs: &Inputs, resolution: &Resolution, line: &LinkLine) -> Vec<Problem> {
    let mut problems = in_objects(&inputs.objects, resolution);
    if line.placement.output_type != OutputType::Relocatable {
        problems.extend(in_libraries(inputs, resolution, line));
    }
    problems
}

/// The loader binds the functions that register modules to the first library with their names, and the device link of
/// the other is never complete.
fn in_libraries(inputs: &Inputs, resolution: &Resolution, line: &LinkLine) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, libraries) in &inputs.exports {
        let Some(id) = name.strip_prefix(LINKED_BINARY) else { continue };
        let object = resolution.definition(name).filter(|_| !line.binds_symbols);
        let object = object.map(|(number, _)| inputs.objects[number].path.as_str());
        // The first library finds its own functions.
        let others = libraries.iter().skip(usize::from(object.is_none()));
        let mut others = others.filter(|library| object.is_some() || !library.binds_symbols);
        let (Some(other), Some(first)) = (others.next(), object.or_else(|| Some(libraries.first()?.path.as_str())))
        else {
            continue;
        };
        problems.push(Problem {
            kind: ProblemKind::DuplicateModuleId,
            effect: Effect::BrokenOutput,
            path: first.to_owned(),
            section: None,
            offset: None,
            symbol: Some(name.clone()),
            count: 1,
            message: format!("module {id} of its device link is also in {}, and one of them is registered", other.path),
            remedy: remedy::BIND_MODULES.to_owned(),
        });
    }
    problems
}

fn in_objects(objects: &[LinkedFile], resolution: &Resolution) -> Vec<Problem> {
    let mut definitions: BTreeMap<&str, Vec<(usize, Definition)>> = BTreeMap::new();
    for number in resolution.linked() {
        for symbol in objects[number].object.symbols.iter().filter(|symbol| !symbol.is_weak) {
            // Common symbols are merged.
            if let Some(definition @ Definition { section: Some(section), .. }) = symbol.definition
                && !resolution.is_dropped(number, section)
            {
                definitions.entry(&symbol.name).or_default().push((number, definition));
            }
        }
    }
    let several = definitions.into_iter().filter(|(_, places)| places.len() > 1);
    several.filter_map(|(name, places)| problem(name, &places, objects)).collect()
}

fn problem(name: &str, places: &[(usize, Definition)], objects: &[LinkedFile]) -> Option<Problem> {
    let id = MODULE_SYMBOLS.iter().find_map(|start| name.strip_prefix(start));
    let has_device_code = |&(number, _): &(usize, Definition)| {
        let LinkedFile { inventory, entries, .. } = &objects[number];
        inventory.has_device_code() || !inventory.wrappers.is_empty() || !entries.is_empty()
    };
    if id.is_none() && !places.iter().any(has_device_code) {
        return None;
    }
    let (&(number, definition), others) = places.split_first()?;
    let file = &objects[number];
    let section = definition.section.and_then(|index| file.object.section(index));
    let paths: Vec<&str> = others.iter().map(|&(number, _)| objects[number].path.as_str()).collect();
    let (kind, message, remedy) = match id {
        Some(id) => (
            ProblemKind::DuplicateModuleId,
            format!("module ID {id} is also that of {}", paths.join(", ")),
            remedy::COMPILE_WITH_ID,
        ),
        None => (
            ProblemKind::SymbolCollision,
            format!("symbol {name} is also defined by {}", paths.join(", ")),
            remedy::RENAME,
        ),
    };
    Some(Problem {
        kind,
        effect: Effect::LinkFails,
        path: file.path.clone(),
        section: section.map(|section| section.name.clone()),
        offset: section.map(|section| offset_from(section.offset, definition.value)),
        symbol: Some(name.to_owned()),
        count: places.len(),
        message,
        remedy: remedy.to_owned(),
    })
}
