//! Pointers of objects: relocations.

use std::collections::BTreeMap;

use object::read::{Object, ObjectSection};
use object::{ObjectKind, SectionKind};

use super::{Containers, Fixed};
use fatbin_core::base::bytes::{ObjectBytes, View};
use fatbin_core::scan::structure::pointers::{HostFile, PointerTarget, Pointers};

/// Kinds of sections that may have tables.
const DATA: [SectionKind; 3] = [SectionKind::Data, SectionKind::ReadOnlyData, SectionKind::ReadOnlyDataWithRel];

/// Returns the containers to remove that a pointer in data leads to.
pub fn fixed(view: View<'_>, containers: &Containers) -> BTreeMap<u64, Fixed> {
    let Ok(file) = HostFile::parse(ObjectBytes(view)) else { return BTreeMap::new() };
    if file.kind() != ObjectKind::Relocatable {
        return BTreeMap::new();
    }
    let sections: Vec<_> = file.sections().filter(|section| DATA.contains(&section.kind())).collect();
    let pointers = Pointers::read(&file, view, sections.iter());
    let mut fixed = BTreeMap::new();
    for (place, target) in pointers.relocated() {
        let PointerTarget::Offset(offset) = target else { continue };
        if let Some(start) = containers.starts.get(offset).filter(|start| containers.removed.contains(*start)) {
            let first = fixed.entry(*start).or_insert(place);
            *first = place.min(*first);
        }
    }
    fixed.into_iter().map(|(start, place)| (start, Fixed::Relocation(place))).collect()
}
