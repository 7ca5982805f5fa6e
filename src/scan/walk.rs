//! Walking a section that is there for containers: one after the other, by their sizes and never by the next magic.
//!
//! The bytes of a magic do occur inside images, and compressed ones are full of coincidences; tools that looked for the
//! next magic cut images in half.

use super::Findings;
use crate::bytes::View;
use crate::format;
use crate::inventory::Container;

/// Reads containers from the start of `section` on, with zeros between them as padding. It ends at the first bytes
/// that begin no container, which are left to the search; a container that cannot be read is an error, because here
/// one was to be expected.
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
            None => match format::device_elf(rest) {
                Some(container) => container,
                None => return,
            },
        };
        // No reader accepts a container of no size, so this always goes on.
        rest = rest.from(container.view.size());
        findings.containers.push(Container::new(&container, name));
    }
}
