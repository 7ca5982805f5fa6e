//! Zip files, the format of wheels: members get new bytes, and all other members keep their stored bytes.
//!
//! Only the headers of changed members and the central directory are written again; names, order, timestamps, modes,
//! extra fields and comments are not touched. A changed member keeps its compression method. In a wheel, `RECORD` gets
//! the hashes and sizes of the changed members.

mod check_record;
mod packed;
mod record;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;

pub use check_record::{RecordCheck, check_record};
pub use packed::{PackedMembers, Packing, Properties};
use record::{RecordedFile, with_files};

use super::super::Result;
use super::super::patch::{Patch, PatchLayout, Patches};
use fatbin_core::base::archive::Members;
use fatbin_core::base::archive::zip::decode_name;
use fatbin_core::base::archive::zip::entry::{DEFLATED, ENCRYPTED, Entry, Fields, HAS_DESCRIPTOR, LEVELS, STORED};
use fatbin_core::base::archive::zip::number::set;
use fatbin_core::base::archive::zip::reader::{RecordUse, ZipReader};
use fatbin_core::base::archive::zip::record::{is_record, metadata_directory};
use fatbin_core::base::bytes::{Resource, View};
use fatbin_core::base::content::Content;
use fatbin_core::base::error::{Cause, Malformed};

/// A zip file whose members get new bytes.
#[derive(Debug)]
pub struct ZipFile<'data> {
    archive: View<'data>,
    zip: ZipReader<'data>,
    /// Index in the directory for each of [`fatbin_core::base::archive::members`]. Members exclude directories.
    members: Vec<usize>,
}

/// A changed entry of the directory.
struct Change<'data> {
    entry: usize,
    stored: Content<'data>,
    properties: Properties,
}

impl<'data> ZipFile<'data> {
    /// Reads the central directory, and the record of a wheel. `name` is the name of the file. A file that contradicts
    /// itself is an error; the bytes of its members are compared while they are read.
    pub fn read(archive: View<'data>, name: &str) -> Result<Self> {
        let zip = ZipReader::read(archive, name, RecordUse::Bytes, &|_| {})?;
        zip.directory.check_editable(archive)?;
        if let Some(contradiction) = zip.contradictions(&|_| {})?.into_iter().next() {
            return Err(contradiction.into());
        }
        let members = zip.directory.entries.files(&|_| {})?;
        let entries = zip.directory.entries.iter();
        let is_file: Vec<bool> = entries.map(|entry| Ok(!entry?.is_directory())).collect::<Result<_, Malformed>>()?;
        if is_file.iter().filter(|is_file| **is_file).count() > members.len() {
            // Equal members of one name would differ after an edit.
            let cause = Cause::Described("several members have one name".to_owned());
            return Err(archive.malformed("zip file", 0, cause).into());
        }
        Ok(ZipFile { archive, zip, members })
    }

    /// Returns the members, with their comparisons.
    pub fn members(&self) -> Members<'_> {
        let mut members = Members::default();
        for &index in &self.members {
            let entry = self.zip.directory.entries.get(index);
            match entry.and_then(|entry| self.zip.member(self.archive, &entry, &|_| {})) {
                Ok(member) => members.members.push(member),
                Err(defect) => return Members { defect: Some(defect), ..members },
            }
        }
        members
    }

    /// Offset of the central directory.
    pub fn directory_start(&self) -> u64 {
        self.zip.directory.start
    }

    /// Compresses the new bytes of a member with its old method. `member` is an index of
    /// [`fatbin_core::base::archive::members`], and `name` the member's name in errors.
    pub fn pack(
        &self,
        member: usize,
        name: &Path,
        packing: &mut Packing,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let entry = self.entry(member)?;
        self.check_row(&entry)?;
        Ok(packing.add(member, entry.fields.method, name, write)?)
    }

    /// Returns the patches of the zip file for members with new bytes.
    pub fn with_members<'a>(&self, packed: &'a PackedMembers) -> Result<Patches<'a>>
    where
        'data: 'a,
    {
        let mut changes = Vec::new();
        for member in &packed.members {
            let entry = self.entry_index(member.index)?;
            let stored = Content::from(packed.bytes(member));
            changes.push(Change { entry, stored, properties: member.properties });
        }
        if changes.is_empty() {
            return Ok(Patches::default());
        }
        changes.extend(self.record(&changes)?);
        changes.sort_by_cached_key(|change| change.entry);
        let mut patches = Vec::new();
        for change in &changes {
            self.local_patches(change, &mut patches)?;
        }
        patches.push(self.directory_patch(&changes, &patches)?);
        let overlap = || self.archive.malformed("zip member", 0, Cause::Described("members overlap".to_owned()));
        Ok(Patches::new(patches).ok_or_else(overlap)?)
    }

    /// Returns the metadata directory of a wheel without a record.
    pub fn directory_without_record(&self) -> Option<String> {
        let names = || self.zip.directory.entries.names(&|_| {});
        if names().any(is_record) {
            return None;
        }
        names().find_map(metadata_directory).map(|name| String::from_utf8_lossy(name).into_owned())
    }

    fn entry_index(&self, member: usize) -> Result<usize, Malformed> {
        let cause = || Cause::Described(format!("no member {member}"));
        self.members.get(member).copied().ok_or_else(|| self.archive.malformed("zip file", 0, cause()))
    }

    /// Returns the entry of a member. An entry that cannot be written is an error.
    fn entry(&self, member: usize) -> Result<Entry<'data>, Malformed> {
        let entry = self.zip.directory.entries.get(self.entry_index(member)?)?;
        self.check_writable(&entry).map(|()| entry)
    }

    /// Checks that the record can get the hash of a changed member.
    fn check_row(&self, entry: &Entry<'_>) -> Result<(), Malformed> {
        let Some((_, record)) = self.zip.record()? else { return Ok(()) };
        let name = decode_name(entry.name);
        let Some(problem) = record.problem_of_member(name.as_bytes()) else { return Ok(()) };
        let cause = Cause::Described(format!("{name} {problem}"));
        Err(self.archive.malformed("wheel", entry.header, cause))
    }

    fn check_writable(&self, entry: &Entry<'_>) -> Result<(), Malformed> {
        let unsupported = |cause: &str| {
            Err(self.archive.malformed("zip directory entry", entry.header, Cause::Described(cause.to_owned())))
        };
        match entry.fields {
            Fields { flags, .. } if flags & ENCRYPTED != 0 => unsupported("is encrypted"),
            Fields { method: STORED | DEFLATED, .. } => Ok(()),
            Fields { method, .. } => unsupported(&format!("unsupported compression method ({method})")),
        }
    }

    /// Returns the change of the record if the file is a wheel.
    fn record<'a>(&self, changes: &[Change<'_>]) -> Result<Option<Change<'a>>> {
        let Some((entry, record)) = self.zip.record()? else { return Ok(None) };
        let entries = &self.zip.directory.entries;
        let file = |change: &Change<'_>| {
            let Properties { size, sha256, .. } = change.properties;
            Ok((decode_name(entries.get(change.entry)?.name).into_owned(), RecordedFile { sha256, size }))
        };
        let files = changes.iter().map(file).collect::<Result<_, Malformed>>()?;
        let new = with_files(record.text(), &files);
        if new == record.text() {
            return Ok(None);
        }
        let of_record = entries.get(entry)?;
        self.check_writable(&of_record)?;
        let mut stored = Vec::new();
        let method = of_record.fields.method;
        let properties = packed::pack(method, &mut stored, |to| to.write_all(&new)).expect("memory can be written");
        Ok(Some(Change { entry, stored: Content::from(stored), properties }))
    }

    /// Adds the patch of a member's local header and data.
    fn local_patches<'a>(&self, change: &Change<'a>, patches: &mut Vec<Patch<'a>>) -> Result<(), Malformed> {
        let entry = self.zip.directory.entries.get(change.entry)?;
        let local = entry.local_member(self.archive)?;
        let start = local.header.range_in(self.archive).start;
        let mut header = local.header.data().to_vec();
        self.set_fields(&mut header, start, &local.fields, change)?;
        let mut content = Content::from(header);
        content.append(change.stored.clone());
        patches.push(Patch::resizing(start..local.end, content));
        Ok(())
    }

    /// Returns the patch of everything from the central directory on.
    fn directory_patch<'a>(&self, changes: &[Change<'_>], patches: &[Patch<'_>]) -> Result<Patch<'a>, Malformed> {
        let archive = self.archive;
        let start = self.zip.directory.start;
        let rest = archive.from(start);
        archive.charge("zip directory", Resource::Memory, rest.size())?;
        let mut bytes = rest.data().to_vec();
        for change in changes {
            let entry = self.zip.directory.entries.get(change.entry)?;
            self.set_fields(&mut bytes, start, &entry.fields, change)?;
        }
        let layout = PatchLayout::of(patches);
        let mut changed = changes.iter().map(|change| change.entry).peekable();
        for (index, entry) in self.zip.directory.entries.iter().enumerate() {
            let entry = entry?;
            let overlaps = || Cause::Described("member overlaps a changed one".to_owned());
            let new = if changed.next_if_eq(&index).is_some() {
                Some(layout.new_offset(entry.local.value))
            } else {
                layout.new_offset_outside(entry.local.value)
            };
            let new = new.ok_or_else(|| archive.malformed("zip local header offset", entry.local.at, overlaps()))?;
            entry.local.set(archive, &mut bytes, start, new)?;
        }
        for number in &self.zip.directory.offsets {
            let overlaps = || Cause::Described("directory overlaps a changed member".to_owned());
            let new = layout.new_offset_outside(number.value);
            let new = new.ok_or_else(|| archive.malformed("zip end of central directory", number.at, overlaps()))?;
            number.set(archive, &mut bytes, start, new)?;
        }
        Ok(Patch::resizing(start..archive.size(), Content::from(bytes)))
    }

    /// Sets flags, checksum and sizes in a header; `bytes` begin at `start` in the file.
    fn set_fields(&self, bytes: &mut [u8], start: u64, fields: &Fields, change: &Change<'_>) -> Result<(), Malformed> {
        // The sizes are known, so no descriptor follows the data.
        let flags = fields.flags & !(HAS_DESCRIPTOR | LEVELS);
        set(bytes, start, fields.flags_at, &flags.to_le_bytes());
        set(bytes, start, fields.crc32.at, &change.properties.crc32.to_le_bytes());
        fields.size.set(self.archive, bytes, start, change.properties.size)?;
        fields.compressed.set(self.archive, bytes, start, change.stored.size())
    }
}
