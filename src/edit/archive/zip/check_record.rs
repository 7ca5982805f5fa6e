//! Comparison of all members of a wheel with its `RECORD`.

use std::collections::HashSet;
use std::io::{self, Write};

use sha2::{Digest, Sha256};

use super::record::{Record, RecordedFile, is_record};
use super::{Result, ZipFile};
use crate::base::archive::{ArchiveFormat, MemberContent};
use crate::base::bytes::{Resource, View, total};
use crate::base::error::{Cause, Malformed};

/// Result of comparing a wheel with its record.
#[derive(Debug, Default)]
pub struct RecordCheck {
    /// Number of members.
    pub members: usize,
    /// Members that differ from their rows or have none, and rows without a member.
    pub problems: Vec<Malformed>,
}

/// Compares all members of a wheel with its record. Returns `None` for a file that is no zip file with a record.
pub fn check_record(archive: View<'_>) -> Result<Option<RecordCheck>> {
    let Some(format) = ArchiveFormat::of(archive).filter(|format| format.is_zip()) else { return Ok(None) };
    let zip = ZipFile::read(archive)?;
    let Some(entry) = zip.directory.entries.iter().find(|entry| is_record(entry.name)) else { return Ok(None) };
    let record = Record::read(&zip.unpacked(&entry)?);
    let row = |cause| archive.malformed("wheel", entry.header, Cause::Described(cause));
    let members = format.members(archive);
    let mut check = RecordCheck { members: members.members.len(), problems: members.defect.into_iter().collect() };
    let mut names = HashSet::new();
    for (index, member) in members.members.into_iter().enumerate() {
        let Some(entry) = zip.directory.entries.get(zip.entry_index(index)?) else { continue };
        names.insert(entry.name);
        let why = match hashed(archive, member.content) {
            Ok(file) => record.contradiction_of_member(entry.name, file),
            Err(why) => Some(format!("cannot be compared with RECORD: {why}")),
        };
        let cause = |why| Cause::Described(format!("{} {why}", String::from_utf8_lossy(entry.name)));
        check.problems.extend(why.map(|why| archive.malformed("wheel", entry.header, cause(why))));
    }
    let missing = record.without_member(&names).into_iter();
    check.problems.extend(missing.map(|path| row(format!("{path} has a row in RECORD and is missing"))));
    Ok(Some(check))
}

/// Hashes a member without keeping its bytes.
fn hashed(archive: View<'_>, content: MemberContent<'_>) -> Result<RecordedFile, String> {
    match content {
        MemberContent::Here(view) => {
            view.charge("zip member", Resource::Decompressed, view.size()).map_err(|error| error.cause.to_string())?;
            Ok(RecordedFile::of(view.data()))
        }
        MemberContent::Packed(unpack) => {
            let mut hasher = Hasher { archive, sha256: Sha256::new(), size: 0 };
            unpack(&mut hasher).map_err(|error| error.to_string())?;
            Ok(RecordedFile { sha256: hasher.sha256.finalize().into(), size: hasher.size })
        }
        MemberContent::Unreadable(why) => Err(why),
        MemberContent::Elsewhere(_) => Err("is not in the archive".to_owned()),
    }
}

/// Hashes what is written, within the budget of the archive.
struct Hasher<'a> {
    archive: View<'a>,
    sha256: Sha256,
    size: u64,
}

impl Write for Hasher<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = bytes.len() as u64;
        let charged = self.archive.charge("zip member", Resource::Decompressed, size);
        charged.map_err(|error| io::Error::other(error.cause.to_string()))?;
        self.sha256.update(bytes);
        self.size = total([self.size, size]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
