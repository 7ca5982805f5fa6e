//! Static libraries: `ar` archives in the dialects of GNU and BSD, and thin ones, which only name their members.

use std::path::PathBuf;

use object::read::archive::ArchiveFile;

use super::{Member, MemberContent, Members};
use crate::bytes::View;
use crate::error::Cause;

/// The members without the symbol table and the table of long names.
pub fn members(view: View<'_>) -> Members<'_> {
    let broken = |at, error: object::Error| view.malformed("archive", at, Cause::HostFile(error.to_string()));
    let archive = ArchiveFile::parse(view.data()).map_err(|error| broken(0, error))?;
    let mut members = Vec::new();
    let mut end = 0;
    for member in archive.members() {
        let member = member.map_err(|error| broken(end, error))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let (offset, size) = member.file_range();
        let content = if member.is_thin() {
            MemberContent::Elsewhere(PathBuf::from(&name))
        } else {
            // The range was checked by the library; if that was wrong, this is an error and not a panic.
            end = offset.saturating_add(size);
            MemberContent::Here(view.part("archive member size", offset, offset, size)?)
        };
        members.push(Member { name: Some(name), content });
    }
    Ok(members)
}
