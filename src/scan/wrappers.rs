//! The structures that host code hands to the CUDA and HIP runtimes, each with a pointer to a container.
//!
//! Linkers put the structures of all objects into one section; [`fat_binary_wrapper`] has their layout. They are not walked
//! by their size: the address sanitizer puts red zones between them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Findings;
use super::pointers::{Pointers, Target};
use super::structure::Structure;
use crate::bytes::View;
use crate::error::Result;
use crate::format;
use crate::format::fat_binary_wrapper::{self, CONTAINER_OFFSET, CUDA, HIP, HIP_KPACK_MAGIC};
use crate::inventory::{InSection, PointsTo, Wrapper, WrapperKind};

/// Sections of the structures.
pub const SECTIONS: [&str; 2] = [CUDA.section, HIP.section];
/// Sections of the structures in Mach-O files: segment and section.
pub const MACH_O_SECTIONS: [(&str, &str); 2] = [CUDA.mach_o_section, HIP.mach_o_section];

/// First words of the structures.
const MAGICS: [(u32, WrapperKind); 3] =
    [(CUDA.magic, WrapperKind::Cuda), (HIP.magic, WrapperKind::Hip), (HIP_KPACK_MAGIC, WrapperKind::HipSplitByKpack)];

/// More than any real file has, which are some thousands; a bound for hostile ones.
pub const MOST: usize = 1 << 16;

/// A wrapper as it stands in the file.
pub struct Found<'data> {
    kind: WrapperKind,
    section: InSection,
    offset: u64,
    target: Target<'data>,
}

/// All wrappers in a section, which has this range in its host file, and that begins at `base` of the file.
pub fn read<'a, 'data>(
    section: InSection,
    range: Range<u64>,
    base: u64,
    pointers: &'a Pointers<'_, 'data>,
) -> impl Iterator<Item = Found<'data>> + 'a {
    let places = range.clone().step_by(pointers.size() as usize);
    places.filter_map(move |place| {
        let kind = kind_at(place, pointers).filter(|_| place + CONTAINER_OFFSET + pointers.size() <= range.end)?;
        let target = match pointers.at(place + CONTAINER_OFFSET) {
            Target::Offset(offset) => Target::Offset(base.checked_add(offset)?),
            elsewhere => elsewhere,
        };
        Some(Found { kind, section: section.clone(), offset: base + place, target })
    })
}

fn kind_at(place: u64, pointers: &Pointers) -> Option<WrapperKind> {
    let magic = pointers.number(place, 4)?;
    let &(_, kind) = MAGICS.iter().find(|(known, _)| u64::from(*known) == magic)?;
    let version = pointers.number(place + 4, 4)?;
    fat_binary_wrapper::VERSIONS.iter().any(|known| u64::from(*known) == version).then_some(kind)
}

/// What the wrappers of a file point to. A container that no section has led to yet is added to the findings.
pub fn follow(view: View<'_>, structure: &Structure, findings: &mut Findings) -> Result<Vec<Wrapper>> {
    let known = findings.containers.iter().filter_map(|it| Some((it.offset?, it.offset? + it.size)));
    let mut containers: BTreeMap<u64, u64> = known.collect();
    // A hostile file has many wrappers for one place that takes long to read.
    let mut tried = BTreeMap::new();
    let mut wrappers = Vec::new();
    for found in &structure.wrappers {
        let points_to = match found.target {
            Target::Nothing => PointsTo::Nothing,
            Target::Symbol(name) => PointsTo::Symbol(name.to_owned()),
            Target::Offset(offset) => {
                let is_container = match tried.get(&offset) {
                    Some(&is_container) => is_container,
                    None => begins_container(view.from(offset), structure, &mut containers, findings)?,
                };
                tried.insert(offset, is_container);
                if is_container { PointsTo::Container(offset) } else { PointsTo::Bytes(offset) }
            }
        };
        let &Found { kind, ref section, offset, .. } = found;
        wrappers.push(Wrapper { kind, section: section.clone(), offset, points_to });
    }
    Ok(wrappers)
}

/// Whether a container begins at the view's first byte, and not in the middle of another.
fn begins_container(
    view: View<'_>,
    structure: &Structure,
    containers: &mut BTreeMap<u64, u64>,
    findings: &mut Findings,
) -> Result<bool> {
    let start = view.start();
    match containers.range(..=start).next_back() {
        Some((&known, _)) if known == start => return Ok(true),
        Some((_, &end)) if end > start => return Ok(false),
        _ => {}
    }
    let Some(format) = format::of_magic(view) else { return Ok(false) };
    match (format.read)(view) {
        Ok(container) => {
            let end = start + container.view.size();
            if containers.range(start..end).next().is_some() {
                return Ok(false);
            }
            containers.insert(start, end);
            findings.add(&container, structure.section_at(start).as_ref())?;
            Ok(true)
        }
        Err(error) => {
            findings.errors.push(error);
            Ok(false)
        }
    }
}
