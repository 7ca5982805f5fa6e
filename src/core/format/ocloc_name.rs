//! Member names of ocloc's archives. They distinguish the archives from static libraries.

use std::ops::Range;

use crate::base::bytes::View;

/// First bytes of an archive.
pub const MAGIC: &[u8; 8] = b"!<arch>\n";

/// Range of the name in the header of a member (ar).
pub const NAME: Range<usize> = 0..16;

/// Names of members: the prefix of padding, the name of SPIR-V, and the prefixes of code, which are pointer sizes in
/// bits.
pub const PADDING: &str = "pad_";
pub const GENERIC: &str = "generic_ir";
pub const POINTERS: [&str; 2] = ["64.", "32."];

/// Returns whether an image is an archive of ocloc. Static libraries have the same magic, but other names of members.
pub fn is_archive(view: View<'_>) -> bool {
    if !view.starts_with(MAGIC) {
        return false;
    }
    let name = view.from(MAGIC.len() as u64).data().get(NAME).and_then(name_of);
    name.is_some_and(|name| {
        name.starts_with(PADDING) || name == GENERIC || POINTERS.iter().any(|it| name.starts_with(it))
    })
}

/// Returns the name in a header without the slash and the spaces at its end.
pub fn name_of(field: &[u8]) -> Option<&str> {
    let name = str::from_utf8(field.trim_ascii_end()).ok()?;
    Some(name.strip_suffix('/').unwrap_or(name))
}
