//! Walking a section that is there for containers: one after the other, by their sizes and never by the next magic.
//!
//! The bytes of a magic do occur inside images, and compressed ones are full of coincidences; tools that looked for the
//! next magic cut images in half.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::structure::Section;
use crate::bytes::View;
use crate::format::{self, bundle_section};
use crate::inventory::SectionRef;

/// Reads containers from the start of `section` on, with zeros between them as padding. It ends at the first bytes
/// that begin no container or one that cannot be read, and that is an error: here one was to be expected, and to say
/// nothing would be to say that there is nothing. What follows is left to the search. Returns the bytes of padding.
///
/// `images` are sizes by offsets, from a table, for sections where nothing else says them.
pub fn walk(section: &Section, images: &BTreeMap<u64, u64>, findings: &mut Findings) -> u64 {
    let name = section.name;
    let place = name.map(|name| SectionRef { name: name.to_owned(), offset: section.view.start() });
    let images = images.range(section.view.start()..section.view.start() + section.view.size());
    let images = images.filter(|_| name.and_then(bundle_section::entry_id).is_some());
    let images: BTreeMap<u64, u64> = images.map(|(&offset, &size)| (offset, size)).collect();
    let mut rest = section.view;
    let mut all_padding = 0;
    loop {
        let padding = rest.data().iter().position(|&byte| byte != 0).map_or(rest.size(), |at| at as u64);
        all_padding += padding;
        rest = rest.from(padding);
        if rest.size() == 0 {
            break;
        }
        match format::read_in_section(name, first_image(rest, &images)) {
            Some(Ok(container)) => {
                findings.prefetch.fill(name, &container.contents, rest, findings.options.limit);
                findings.add(&container, place.as_ref());
                // No reader accepts a container of no size, so this always goes on.
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
    all_padding
}

/// The image that begins at the view's first byte, where the table says how large it is, or what stands in front of the
/// next; else all of the view.
fn first_image<'data>(rest: View<'data>, images: &BTreeMap<u64, u64>) -> View<'data> {
    let stated = images.get(&rest.start()).copied();
    let next = images.range(rest.start() + 1..).next().map(|(next, _)| next - rest.start());
    let size = stated.or(next);
    size.and_then(|size| rest.part("image", 0, 0, size).ok()).unwrap_or(rest)
}
