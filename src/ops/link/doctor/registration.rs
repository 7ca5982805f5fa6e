//! Containers that no wrapper registers, wrappers without a container, and images that are registered twice.
//!
//! Several objects may hold the same image, each registered by its own wrapper: two source files that instantiate one
//! template do.

use std::collections::BTreeMap;

use super::inputs::{Inputs, LinkedFile};
use super::line::LinkLine;
use super::object_file::InputSection;
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;
use super::shared_entries;
use fatbin_core::format::ContainerType;
use fatbin_core::format::fat_binary_wrapper::{CUDA, HIP};
use fatbin_core::scan::inventory::{Container, Wrapper, WrapperKind, WrapperTarget};

/// Section for images of relocatable CUDA code. nvlink links them.
const CUDA_RELOCATABLE: &str = "__nv_relfatbin";

/// Place in an object: its number, and the offset in the file.
type Place = (usize, u64);

/// Finds the problems of the registration of images.
pub fn find(inputs: &Inputs, resolution: &Resolution, line: &LinkLine) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut registered: BTreeMap<Place, Vec<Place>> = BTreeMap::new();
    for number in resolution.linked() {
        let file = &inputs.objects[number];
        // Descriptors of OpenMP's images are not followed. Every image in a section that stays has one.
        let described = file.inventory.containers.iter().filter(|it| it.container_type == ContainerType::OffloadBinary);
        for offset in described.filter_map(|container| container.offset) {
            if file.object.section_at(offset).is_some_and(InputSection::is_loaded) {
                registered.insert((number, offset), vec![(number, offset)]);
            }
        }
        for wrapper in &file.inventory.wrappers {
            match destination(wrapper, number, &inputs.objects, resolution) {
                Some(place) => registered.entry(place).or_default().push((number, wrapper.offset)),
                None if line.links_device_code || wrapper.kind == WrapperKind::HipSplitByKpack => {}
                None => problems.push(missing_image(file, wrapper)),
            }
        }
    }
    if !line.links_device_code {
        for number in resolution.linked() {
            problems.extend(unregistered(number, &inputs.objects[number], resolution, &registered));
        }
    }
    problems.extend(registered.iter().filter(|(_, wrappers)| wrappers.len() > 1).map(|(&place, wrappers)| {
        let message = format!("the image at {:#x} is registered by {} wrappers", place.1, wrappers.len());
        twice(inputs, place, wrappers, message, remedy::LINK_ONE_WRAPPER)
    }));
    problems.extend(shared_entries::find(inputs, resolution));
    problems.sort_by_cached_key(|problem| problem.kind);
    problems
}

/// Container that a wrapper points to.
fn destination(wrapper: &Wrapper, number: usize, objects: &[LinkedFile], resolution: &Resolution) -> Option<Place> {
    match &wrapper.target {
        WrapperTarget::Container(offset) => Some((number, *offset)),
        WrapperTarget::Symbol(name) => {
            let (object, definition) = resolution.definition(name)?;
            let section = objects[object].object.section(definition.section?)?;
            Some((object, section.offset.checked_add(definition.value)?))
        }
        // Unread bytes, for example a compressed image of unknown format, may still be a container.
        WrapperTarget::Bytes(offset) => Some((number, *offset)),
        WrapperTarget::Nothing => None,
    }
}

fn missing_image(file: &LinkedFile, wrapper: &Wrapper) -> Problem {
    let symbol = if let WrapperTarget::Symbol(name) = &wrapper.target { Some(name.clone()) } else { None };
    let what = symbol.as_ref().map_or("a null pointer".to_owned(), |name| format!("{name}, which no input defines"));
    let dropped = file.inventory.containers.iter().filter(|container| is_dropped(file, container));
    let remedy = dropped.filter_map(remedy::of_dropped).next();
    let remedy = remedy.map_or_else(|| remedy::of_missing(wrapper.kind, symbol.as_deref()), str::to_owned);
    Problem {
        kind: ProblemKind::MissingImage,
        effect: if symbol.is_some() { Effect::LinkFails } else { Effect::BrokenOutput },
        path: file.path.clone(),
        section: Some(wrapper.section.name.clone()),
        offset: Some(wrapper.offset),
        symbol,
        count: 1,
        message: format!("the {} wrapper registers {what}", wrapper.kind.name()),
        remedy,
    }
}

/// Containers of an object that no wrapper registers, one problem for each section.
fn unregistered(
    number: usize,
    file: &LinkedFile,
    resolution: &Resolution,
    registered: &BTreeMap<Place, Vec<Place>>,
) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for container in &file.inventory.containers {
        let Some((place, remedy, cause)) = reason(number, file, container, resolution, registered) else { continue };
        let section = container.section.as_ref().map(|section| section.name.clone());
        match problems.iter_mut().find(|problem| problem.section == section) {
            Some(problem) => problem.count += 1,
            None => problems.push(Problem {
                kind: ProblemKind::Unregistered,
                effect: Effect::BrokenOutput,
                path: file.path.clone(),
                section,
                offset: Some(place),
                symbol: None,
                count: 1,
                message: format!("no wrapper registers the {}: {cause}", container.container_type.name()),
                remedy: remedy.to_owned(),
            }),
        }
    }
    problems
}

/// Offset of an unregistered container, the remedy and the cause; `None` for a container that is or may be registered.
fn reason(
    number: usize,
    file: &LinkedFile,
    container: &Container,
    resolution: &Resolution,
    registered: &BTreeMap<Place, Vec<Place>>,
) -> Option<(u64, &'static str, &'static str)> {
    let offset = container.offset?;
    let name = container.section.as_ref()?.name.as_str();
    if let Some(remedy) = remedy::of_dropped(container)
        && is_dropped(file, container)
    {
        return Some((offset, remedy, "the linker drops the section"));
    }
    if name == CUDA_RELOCATABLE {
        // The wrapper is passed to a function of the object that nvcc -dlink writes.
        let symbols = file.object.symbols.iter();
        let mut needed = symbols.filter(|symbol| symbol.name.starts_with(LINKED_BINARY));
        let is_missing = needed.any(|symbol| resolution.definition(&symbol.name).is_none());
        return is_missing.then_some((offset, remedy::LINK_CUDA, "its device code is not linked"));
    }
    // Programs load containers in other sections themselves.
    if ![CUDA.container_section, HIP.container_section].contains(&name) || registered.contains_key(&(number, offset)) {
        return None;
    }
    Some((offset, remedy::WRAP, "no structure points to it"))
}

/// True if the linker drops the container's section.
fn is_dropped(file: &LinkedFile, container: &Container) -> bool {
    container.offset.and_then(|offset| file.object.section_at(offset)).is_some_and(InputSection::is_excluded)
}

/// Prefix of functions that the object of `nvcc -dlink` defines to register the objects of the program.
const LINKED_BINARY: &str = "__cudaRegisterLinkedBinary_";

fn twice(inputs: &Inputs, place: Place, wrappers: &[Place], message: String, remedy: &str) -> Problem {
    let file = &inputs.objects[place.0];
    let names: Vec<String> =
        wrappers.iter().map(|&(number, offset)| format!("{} at {offset:#x}", inputs.objects[number].path)).collect();
    Problem {
        kind: ProblemKind::RegisteredTwice,
        effect: Effect::BrokenOutput,
        path: file.path.clone(),
        section: file.object.section_at(place.1).map(|section| section.name.clone()),
        offset: Some(place.1),
        symbol: None,
        count: wrappers.len(),
        message: format!("{message}: {}", names.join(", ")),
        remedy: remedy.to_owned(),
    }
}
