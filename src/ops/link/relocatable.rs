//! Objects that contain linked device code (`-r`). A later link does not take their device code again, and does not mix
//! their entries with the entries of other objects.
//!
//! The section with device code of the inputs is removed. The hash of the object is added to the name of the section of
//! entries, and to the names of the symbols at its start and end. Linkers define these symbols. Source:
//! clang-linker-wrapper 22.1.8.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::Result;
use fatbin_core::base::bytes::View;
use fatbin_core::base::content::Content;
use fatbin_core::base::error::Malformed;
use fatbin_core::base::io::{Access, FileSet, Input, Output, Sink};
use fatbin_core::format::stored_hash;
use fatbin_core::host::rewrite;

/// Section with device code that is not linked yet.
const OFFLOADING: &[u8] = b".llvm.offloading";

/// Prefixes of names that contain the name of a section: its relocations, and the symbols at its start and end.
const PREFIXES: [&str; 5] = ["", ".rela", ".rel", "__start_", "__stop_"];

/// Hash of an object, or of no bytes.
pub fn hash(object: Option<&Path>, access: Access) -> Result<u64> {
    let input = object.map(|path| Input::open_file(path.to_owned(), access)).transpose()?;
    Ok(stored_hash::hash(input.iter().map(|input| input.view().data())))
}

/// Removes the section with device code. Adds the hash to the names of the sections of entries, and to the names of the
/// symbols at their starts and ends.
pub fn isolate(path: &Path, entry_sections: &BTreeSet<&str>, hash: u64, access: Access) -> Result<()> {
    let rename = |name: &[u8]| {
        let is_of_entries = |section: &&str| {
            PREFIXES.iter().any(|prefix| name.strip_prefix(prefix.as_bytes()) == Some(section.as_bytes()))
        };
        entry_sections.iter().find(|section| is_of_entries(section))?;
        Some([name, format!("_{hash:x}").as_bytes()].concat())
    };
    rewrite_file(path, access, |object| rewrite::without_section(object, OFFLOADING))?;
    rewrite_file(path, access, |object| rewrite::renamed(object, &rename))
}

fn rewrite_file(
    path: &Path,
    access: Access,
    rewrite: impl FnOnce(View<'_>) -> std::result::Result<Content<'_>, Malformed>,
) -> Result<()> {
    let input = Input::open_file(path.to_owned(), access)?;
    let content = rewrite(input.view()).map_err(|malformed| malformed.in_file(path))?;
    let mut sink = Sink::new([&input]);
    content.runs().for_each(|run| sink.push(run));
    let mut output = Output::create(FileSet::new().replacement(path)?)?;
    sink.write_to(&mut output)?;
    Ok(output.commit([&input])?)
}
