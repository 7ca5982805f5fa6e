//! Walking a section that is there for containers: one after the other, by their sizes and never by the next magic.
//!
//! The bytes of a magic do occur inside images, and compressed ones are full of coincidences; tools that looked for the
//! next magic cut images in half.

use super::Findings;
use crate::bytes::View;
use crate::error::Result;
use crate::format;
use crate::inventory::InSection;

/// Reads containers from the start of `section` on, with zeros between them as padding. It ends at the first bytes
/// that begin no container or one that cannot be read, and that is an error: here one was to be expected, and to say
/// nothing would be to say that there is nothing. What follows is left to the search. Returns the bytes of padding.
pub fn walk<'data>(section: View<'data>, name: Option<&'data str>, findings: &mut Findings) -> Result<u64> {
    let place = name.map(|name| InSection { name: name.to_owned(), offset: section.start() });
    let mut rest = section;
    let mut all_padding = 0;
    loop {
        let padding = rest.data().iter().position(|&byte| byte != 0).map_or(rest.size(), |at| at as u64);
        all_padding += padding;
        rest = rest.from(padding);
        if rest.size() == 0 {
            break;
        }
        match format::read_in_section(name, rest) {
            Some(Ok(container)) => {
                findings.add(&container, place.as_ref())?;
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
    Ok(all_padding)
}
