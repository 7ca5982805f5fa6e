//! Tar files.

use std::io::{self, Cursor};

use tar::Archive;

use super::{Member, MemberContent, Members};
use crate::bytes::View;
use crate::error::{Cause, Malformed};

/// Reads the files, without directories, links and devices.
pub fn members(view: View<'_>) -> Members<'_> {
    let mut archive = Archive::new(Cursor::new(view.data()));
    let mut members = Vec::new();
    let mut end = 0;
    // With seeking, only headers are read.
    for entry in archive.entries_with_seek().map_err(|error| malformed(view, end, &error))? {
        let entry = entry.map_err(|error| malformed(view, end, &error))?;
        let (start, size) = (entry.raw_file_position(), entry.size());
        end = start.saturating_add(size);
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let content = MemberContent::Here(view.part("tar member size", start, start, size)?);
        members.push(Member { name: Some(name), content });
    }
    Ok(members)
}

fn malformed(view: View<'_>, at: u64, error: &io::Error) -> Malformed {
    view.malformed("tar file", at, Cause::Described(error.to_string()))
}
