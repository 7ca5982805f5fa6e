//! The walk of a section for containers. It follows their sizes, never the next magic.
//!
//! Images can contain the bytes of a magic, and compressed images often do by chance. Tools that search for the next
//! magic cut images in half.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::findings::Findings;
use crate::base::bytes::{View, size_of_range};
use crate::format::kpack::KpackMarker;
use crate::format::{self, bundle_section};
use crate::scan::inventory::{SectionRef, WrapperKind};
use crate::scan::source::Source;
use crate::scan::structure::pointers::PointerTarget;
use crate::scan::structure::{Section, Structure};

/// Reads containers from the start of `section`, separated by padding of zeros, and returns the number of bytes of
/// padding. The walk ends with an error at the first bytes that are not a valid container: the section is for
/// containers, so its contents must not be ignored silently. The search by magic covers the remaining bytes.
///
/// `images` holds sizes by offset, from a table, for sections that do not record sizes otherwise. `markers` holds the
/// offsets of markers that replace containers. The markers count as padding.
pub fn walk(
    source: &dyn Source,
    section: &Section,
    images: &BTreeMap<u64, u64>,
    markers: &BTreeSet<u64>,
    findings: &mut Findings,
) -> u64 {
    let name = section.name;
    if let Some(error) = &section.compressed {
        findings.errors.push(error.clone());
        return 0;
    }
    let place = name.map(|name| SectionRef { name: name.to_owned(), offset: section.view.start() });
    let images = images.range(section.view.range());
    let has_bare_images = name.and_then(bundle_section::entry_id).is_some();
    let images: BTreeMap<u64, u64> =
        if has_bare_images { images.map(|(&offset, &size)| (offset, size)).collect() } else { BTreeMap::new() };
    let mut rest = section.view;
    let mut paddings = Vec::new();
    loop {
        let padding = padding(source, rest);
        paddings.push(padding);
        rest = rest.from(padding);
        if rest.size() == 0 {
            break;
        }
        if markers.contains(&rest.start())
            && let Ok((_, size)) = KpackMarker::read_sized(rest)
        {
            paddings.push(size);
            rest = rest.from(size);
            continue;
        }
        match format::read_in_section(name, first_image(rest, &images)) {
            Some(Ok(container)) => {
                findings.prefetch.fill(name, &container.contents, rest);
                findings.add(&container, place.as_ref());
                // No reader accepts a container of size 0, so the walk always advances.
                rest = rest.from(container.view.size());
            }
            Some(Err(error)) => {
                findings.errors.push(error);
                break;
            }
            None => {
                findings.errors.push(format::not_a_container("section for device images", rest));
                break;
            }
        }
    }
    paddings.into_iter().sum()
}

/// Offsets of the markers of rocm-kpack.
pub fn markers(structure: &Structure) -> BTreeSet<u64> {
    let split = structure.wrappers.iter().filter(|wrapper| wrapper.kind == WrapperKind::HipSplitByKpack);
    split.filter_map(|wrapper| if let PointerTarget::Offset(at) = wrapper.target { Some(at) } else { None }).collect()
}

/// Number of zeros that are read before the file system is asked for the end of a hole.
const MIN_HOLE: u64 = 4096;

/// Number of zeros at the start of a view. Holes are not read.
fn padding(source: &dyn Source, view: View<'_>) -> u64 {
    let mut rest = view;
    let mut step = MIN_HOLE;
    while rest.size() > 0 {
        let block = rest.data().get(..step as usize).unwrap_or(rest.data());
        if let Some(first) = block.iter().position(|&byte| byte != 0) {
            return rest.from(first as u64).range_in(view).start;
        }
        rest = rest.from(block.len() as u64);
        rest = rest.from(size_of_range(&(rest.start()..source.next_data(rest.start()))));
        // No more than the rest is read.
        step = step.saturating_mul(2);
    }
    view.size()
}

/// Returns the image at the start of the view. Its size is in the table, or else it ends at the next image in the
/// table. If the table has neither, the image is all of the view.
fn first_image<'data>(rest: View<'data>, images: &BTreeMap<u64, u64>) -> View<'data> {
    let stated = images.get(&rest.start()).copied();
    let after_start = (Bound::Excluded(rest.start()), Bound::Unbounded);
    let next = images.range(after_start).next().and_then(|(next, _)| next.checked_sub(rest.start()));
    let size = stated.or(next);
    size.and_then(|size| rest.prefix("image", size).ok()).unwrap_or(rest)
}
