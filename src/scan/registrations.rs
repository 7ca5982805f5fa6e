//! From the wrappers of a host file to the containers that they register.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::pointers::PointerTarget;
use super::structure::Structure;
use crate::bytes::{Resource, View, record_memory};
use crate::format;
use crate::inventory::{Container, Wrapper, WrapperTarget};

/// Returns the wrappers of a file with their destinations. A container that is not in a section for containers is added to
/// the findings.
pub fn follow(view: View<'_>, structure: &Structure, findings: &mut Findings) -> Vec<Wrapper> {
    let known = findings.containers.iter().filter_map(Container::range);
    let mut containers: BTreeMap<u64, u64> = known.map(|range| (range.start, range.end)).collect();
    // A hostile file may have many wrappers for one place that takes long to read: each place is read once.
    let mut tried = BTreeMap::new();
    let mut wrappers = Vec::new();
    for found in &structure.wrappers {
        let name = if let PointerTarget::Symbol(name) = found.target { name.len() } else { 0 };
        let size = record_memory(size_of::<Wrapper>(), [found.section.name.len(), name]);
        if let Err(error) = view.charge("wrapper", Resource::Memory, size) {
            findings.errors.push(error);
            break;
        }
        let target = match found.target {
            PointerTarget::Nothing => WrapperTarget::Nothing,
            PointerTarget::Symbol(name) => WrapperTarget::Symbol(name.to_owned()),
            PointerTarget::Offset(offset) => {
                let is_container = match tried.get(&offset) {
                    Some(&is_container) => is_container,
                    None => begins_container(view.from(offset), structure, &mut containers, findings),
                };
                tried.insert(offset, is_container);
                if is_container { WrapperTarget::Container(offset) } else { WrapperTarget::Bytes(offset) }
            }
        };
        let (kind, section, offset) = (found.kind, found.section.clone(), found.offset);
        wrappers.push(Wrapper { kind, section, offset, target });
    }
    wrappers
}

/// Returns whether a container begins at the view's first byte, and not in the middle of another.
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
