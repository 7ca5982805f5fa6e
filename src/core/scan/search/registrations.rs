//! Follows the wrappers of a host file to the containers that they register.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::Findings;
use crate::base::bytes::{Resource, View, record_memory};
use crate::base::error::Malformed;
use crate::format;
use crate::format::kpack::KpackMarker;
use crate::scan::inventory::{Container, KpackReference, Wrapper, WrapperKind, WrapperTarget};
use crate::scan::structure::Structure;
use crate::scan::structure::pointers::PointerTarget;

/// Returns the wrappers of a file with their destinations, and its references to kpack archives. A container outside
/// the sections for containers is added to the findings.
pub fn follow(view: View<'_>, structure: &Structure, findings: &mut Findings) -> (Vec<Wrapper>, Vec<KpackReference>) {
    let known = findings.containers.iter().filter_map(Container::range);
    let mut containers: BTreeMap<u64, u64> = known.map(|range| (range.start, range.end)).collect();
    // A hostile file may have many wrappers for one place that takes long to read. Each place is read once.
    let mut tried = BTreeMap::new();
    let mut wrappers = Vec::new();
    let mut references = References::default();
    for found in &structure.wrappers {
        let name = if let PointerTarget::Symbol(name) = found.target { name.len() } else { 0 };
        let module = found.module.map_or(0, str::len);
        let size = record_memory(size_of::<Wrapper>(), [found.section.name.len(), name, module]);
        if let Err(error) = view.charge("wrapper", Resource::Memory, size) {
            findings.errors.push(error);
            break;
        }
        let target = match found.target {
            PointerTarget::Nothing => WrapperTarget::Nothing,
            PointerTarget::Symbol(name) => WrapperTarget::Symbol(name.to_owned()),
            PointerTarget::Offset(offset) if found.kind == WrapperKind::HipSplitByKpack => {
                add_reference(view.from(offset), found.index, &mut references, findings);
                WrapperTarget::Bytes(offset)
            }
            PointerTarget::Offset(offset) => {
                let is_container = match tried.get(&offset) {
                    Some(&is_container) => is_container,
                    None => begins_container(view.from(offset), structure, &mut containers, findings),
                };
                tried.insert(offset, is_container);
                if is_container { WrapperTarget::Container(offset) } else { WrapperTarget::Bytes(offset) }
            }
        };
        wrappers.push(Wrapper {
            kind: found.kind,
            section: found.section.clone(),
            offset: found.offset,
            target,
            index: found.index,
            version: found.version,
            link: found.link,
            module: found.module.map(str::to_owned),
        });
    }
    let references = references.by_contents.into_values().map(sorted);
    (wrappers, references.collect())
}

/// References to kpack archives that were found so far.
#[derive(Default)]
struct References {
    /// References by the contents of their markers, because each wrapper may have a separate marker.
    by_contents: BTreeMap<(String, Vec<String>), KpackReference>,
    /// Offsets of markers that cannot be read.
    unreadable: BTreeSet<u64>,
}

/// Reads the marker at the view's first byte and adds the index of a wrapper that points to it.
fn add_reference(view: View<'_>, index: Option<u32>, references: &mut References, findings: &mut Findings) {
    if references.unreadable.contains(&view.start()) {
        return;
    }
    match reference(view) {
        Ok(new) => {
            let contents = (new.kernel_name.clone(), new.search_paths.clone());
            references.by_contents.entry(contents).or_insert(new).indices.extend(index);
        }
        Err(error) => {
            references.unreadable.insert(view.start());
            findings.errors.push(error);
        }
    }
}

fn reference(view: View<'_>) -> Result<KpackReference, Malformed> {
    let KpackMarker { search_paths, kernel_name } = KpackMarker::read(view)?;
    let lengths = search_paths.iter().chain([&kernel_name]).map(|text| text.len());
    view.charge("kpack marker", Resource::Memory, record_memory(size_of::<KpackReference>(), lengths))?;
    Ok(KpackReference {
        offset: view.start(),
        kernel_name: kernel_name.to_owned(),
        search_paths: search_paths.into_iter().map(str::to_owned).collect(),
        indices: Vec::new(),
        archives: Vec::new(),
    })
}

/// Sorts the indices of a reference.
fn sorted(mut reference: KpackReference) -> KpackReference {
    reference.indices.sort_unstable();
    reference.indices.dedup();
    reference
}

/// True if a container begins at the view's first byte, and not in the middle of another.
fn begins_container(
    view: View<'_>,
    structure: &Structure,
    containers: &mut BTreeMap<u64, u64>,
    findings: &mut Findings,
) -> bool {
    let start = view.start();
    match containers.range(..=start).next_back() {
        Some((&known, _)) if known == start => return true,
        Some((_, &end)) if end > start => return false,
        _ => {}
    }
    let Some(format) = format::of_magic(view) else { return false };
    match (format.read)(view) {
        Ok(container) => {
            let range = container.view.range();
            if containers.range(range.clone()).next().is_some() {
                return false;
            }
            containers.insert(range.start, range.end);
            findings.add(&container, structure.section_at(start).as_ref());
            true
        }
        Err(error) => {
            findings.errors.push(error);
            false
        }
    }
}
