//! Comparison of all members of a wheel with its `RECORD`.

use std::io::{self, Write};

use super::Result;
use fatbin_core::base::archive::zip::reader::{RecordUse, ZipReader};
use fatbin_core::base::archive::{ArchiveFormat, Member, MemberContent, RowComparison};
use fatbin_core::base::bytes::{Resource, View};
use fatbin_core::base::error::{Cause, Malformed};

/// Result of comparing a wheel with its record.
#[derive(Debug, Default)]
pub struct RecordCheck {
    /// Number of members.
    pub members: usize,
    /// Members that differ from their rows or have none, rows without a member, and contradictions of the zip file.
    pub problems: Vec<Malformed>,
}

/// Compares all members of a wheel with its record. Returns `None` for a file that is no zip file with a record.
pub fn check_record(archive: View<'_>, name: &str) -> Result<Option<RecordCheck>> {
    if !ArchiveFormat::of(archive).is_some_and(ArchiveFormat::is_zip) {
        return Ok(None);
    }
    let zip = ZipReader::read(archive, name, RecordUse::Bytes, &|_| {})?;
    if zip.record()?.is_none() {
        return Ok(None);
    }
    let entries = &zip.directory.entries;
    let files = entries.files(&|_| {})?;
    let mut check = RecordCheck { members: files.len(), problems: zip.contradictions(&|_| {})? };
    for index in files {
        let entry = entries.get(index)?;
        let member = zip.member(archive, &entry, &|_| {})?;
        let name = member.name.clone().unwrap_or_default();
        let unread = |why| Cause::Described(format!("{name} cannot be compared with RECORD: {why}"));
        match compared(archive, member) {
            Ok(contradiction) => check.problems.extend(contradiction),
            Err(why) => check.problems.push(archive.malformed("wheel", entry.header, unread(why))),
        }
    }
    Ok(Some(check))
}

/// Compares a member without keeping its bytes.
fn compared(archive: View<'_>, member: Member<'_>) -> Result<Option<Malformed>, String> {
    let Some(mut comparison) = member.comparison else { return Ok(None) };
    match member.content {
        MemberContent::Here(view) => {
            view.charge("zip member", Resource::Decompressed, view.size()).map_err(|error| error.cause.to_string())?;
            comparison.add(view.data());
        }
        MemberContent::Packed(unpack) => {
            let mut reading = Comparing { archive, comparison: &mut comparison };
            unpack(&mut reading).map_err(|error| error.to_string())?;
        }
        MemberContent::Unreadable(why) => return Err(why),
        MemberContent::Elsewhere(_) => return Err("is not in the archive".to_owned()),
    }
    Ok(comparison.finish())
}

/// Compares what is written, within the budget of the archive.
struct Comparing<'a, 'c> {
    archive: View<'a>,
    comparison: &'a mut RowComparison<'c>,
}

impl Write for Comparing<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let charged = self.archive.charge("zip member", Resource::Decompressed, bytes.len() as u64);
        charged.map_err(|error| io::Error::other(error.cause.to_string()))?;
        self.comparison.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
