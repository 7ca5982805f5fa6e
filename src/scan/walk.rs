//! Walking a section that is there for containers: one after the other, by their sizes and never by the next magic.
//!
//! The bytes of a magic do occur inside images, and compressed ones are full of coincidences; tools that looked for the
//! next magic cut images in half.

use super::Findings;
use crate::bytes::View;
use crate::error::{Cause, Malformed};
use crate::format;
use crate::inventory::Container;

/// Reads containers from the start of `section` on, with zeros between them as padding. It ends at the first bytes
/// that begin no container or one that cannot be read, and that is an error: here one was to be expected, and to say
/// nothing would be to say that there is nothing. What follows is left to the search.
pub fn walk(section: View, name: Option<&str>, findings: &mut Findings) {
    let mut rest = section;
    loop {
        let Some(padding) = rest.data().iter().position(|&byte| byte != 0) else { return };
        rest = rest.from(padding as u64);
        let container = match format::of_magic(rest) {
            Some(format) => match (format.read)(rest) {
                Ok(container) => container,
                Err(error) => return findings.errors.push(error),
            },
            None => match format::bare_image(rest) {
                Some(container) => container,
                None => return findings.errors.push(unknown(rest)),
            },
        };
        // No reader accepts a container of no size, so this always goes on.
        rest = rest.from(container.view.size());
        findings.containers.push(Container::new(&container, name));
    }
}

/// How many bytes are shown of what is not known.
const SHOWN: usize = 8;

fn unknown(rest: View) -> Malformed {
    let first: Vec<String> = rest.data().iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    rest.malformed("section for device images", 0, Cause::NotAContainer { first: first.join(" ") })
}
