//! Symbols of device code that several objects define: module IDs, and names of wrappers.

use std::collections::BTreeMap;

use super::inputs::LinkedFile;
use super::object_file::Definition;
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;
use fatbin_core::base::range::offset_from;

/// Prefixes of symbols that end in a module ID: clang's for HIP and CUDA, nvcc's for relocatable code. Sources: clang
/// 22, `CGCUDANV.cpp`; objects of nvcc 13.5.
const MODULE_SYMBOLS: [&str; 4] = ["__hip_cuid_", "__cuda_cuid_", "__fatbinwrap_", "__cudaRegisterLinkedBinary_"];

/// Finds the symbols that several of the linked objects with device code define.
pub fn find(objects: &[LinkedFile], resolution: &Resolution) -> Vec<Problem> {
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
