//! Contradictions in a zip file: some readers use its central directory, and others its local headers. If these differ,
//! or if the directory names a file twice, two readers find different files.
//!
//! Bytes between members are no contradiction: signatures of packages for Android, alignment, programs in front of an
//! archive.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::LazyLock;

use super::decode_name;
use super::directory::{Directory, END_SIZE};
use super::entry::{
    CENTRAL_RECORD, ENCRYPTED, Entry, Fields, HAS_DESCRIPTOR, LOCAL, LOCAL_RECORD, LocalHeader, STORED, unicode_name,
};
use super::magic::Magic;
use super::number::ZIP64_MARK;
use crate::base::bytes::{Resource, View, size_of_range, total};
use crate::base::error::{Cause, Malformed};

/// Number of bytes that are compared in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// First bytes of a file that readers of local headers take for a zip file.
const START: &[u8] = b"PK";

/// Maximum number of contradictions that are described. The others are counted.
const MOST_DESCRIBED: usize = 100;

/// Contradictions that were found.
pub struct Contradictions<'data> {
    file: View<'data>,
    found: Vec<Malformed>,
    /// Number of contradictions that are not described.
    omitted: u64,
}

/// Bytes of a member with its local header and data descriptor, or of the directory.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Extent {
    start: u64,
    end: u64,
    /// Index of the directory entry; `None` for the directory.
    entry: Option<usize>,
}

/// Memory for an entry while the file is compared: its extent, and the hash of its name.
const ENTRY_MEMORY: usize = size_of::<Extent>() + size_of::<u64>();

impl<'data> Contradictions<'data> {
    /// Compares the directory with the local headers. Calls `read` with the number of bytes that are mapped for each.
    pub fn find(file: View<'data>, directory: &Directory<'data>, read: &dyn Fn(u64)) -> Result<Self, Malformed> {
        let mut contradictions = Contradictions { file, found: directory.contradictions(file)?, omitted: 0 };
        let state = RandomState::new();
        let mut names = Vec::new();
        let mut last_start = 0;
        let mut extents = vec![Extent { start: directory.start, end: directory.entries_end, entry: None }];
        for (index, entry) in directory.entries.iter().enumerate() {
            let entry = entry?;
            file.charge(CENTRAL_RECORD, Resource::Memory, ENTRY_MEMORY as u64)?;
            read(entry.size);
            if entry.is_directory() {
                contradictions.check_directory(&entry);
            } else {
                names.push(state.hash_one(normalized(entry.name)));
            }
            if let Some(Range { start, end }) = contradictions.member(&entry)? {
                // Reading a header maps the bytes around it.
                read(start.abs_diff(last_start));
                last_start = start;
                extents.push(Extent { start, end, entry: Some(index) });
            }
        }
        contradictions.names(directory, names, &state)?;
        contradictions.layout(directory, extents)?;
        Ok(contradictions)
    }

    /// Adds a contradiction in the record at an offset.
    pub fn add(&mut self, record: &'static str, at: u64, cause: String) {
        self.push(self.file.malformed(record, at, Cause::Described(cause)));
    }

    /// Adds a contradiction.
    pub fn push(&mut self, contradiction: Malformed) {
        if self.found.len() < MOST_DESCRIBED {
            self.found.push(contradiction);
        } else {
            self.omitted = total([self.omitted, 1]);
        }
    }

    /// Returns the contradictions, with the number of those that are not described.
    pub fn finish(mut self) -> Vec<Malformed> {
        if self.omitted > 0 {
            let cause = format!("{} more contradictions between its records", self.omitted);
            self.found.push(self.file.malformed("zip file", 0, Cause::Described(cause)));
        }
        self.found
    }

    /// Readers ignore the data of a directory.
    fn check_directory(&mut self, entry: &Entry<'_>) {
        let size = entry.fields.size.value;
        if size > 0 {
            let name = decode_name(entry.name);
            self.add(CENTRAL_RECORD, entry.header, format!("{name} has the name of a directory, and {size} bytes"));
        }
    }

    /// Compares an entry with its local header. Returns the bytes of the member; `None` if its header cannot be read,
    /// which is an error of opening it.
    fn member(&mut self, entry: &Entry<'data>) -> Result<Option<Range<u64>>, Malformed> {
        let Ok(header) = entry.local_header() else { return Ok(None) };
        let Ok(fields) = header.fields(self.file) else { return Ok(None) };
        self.names_of_member(entry, &header)?;
        self.numbers_of_member(entry, &header, &fields);
        let start = header.whole.range_in(self.file).start;
        let Ok(data) = header.rest.prefix("zip member size", entry.fields.compressed.value) else {
            return Ok(Some(start..self.file.size()));
        };
        let end = data.range_in(self.file).end;
        if fields.flags & HAS_DESCRIPTOR == 0 {
            return Ok(Some(start..end));
        }
        Ok(Some(match entry.local_member(self.file) {
            Ok(member) => start..member.end,
            Err(error) => {
                self.add("zip data descriptor", end, format!("{}: {}", decode_name(entry.name), error.cause));
                start..end
            }
        }))
    }

    fn names_of_member(&mut self, entry: &Entry<'_>, header: &LocalHeader<'_>) -> Result<(), Malformed> {
        if header.name != entry.name {
            let [central, local] = [entry.name, header.name].map(decode_name);
            let at = header.whole.range_in(self.file).start;
            self.add(LOCAL_RECORD, at, format!("{central} has the name {local} here"));
        }
        for (name, extra) in [(entry.name, entry.extra), (header.name, header.extra)] {
            // The field replaces names in other code pages.
            if let Some(other) = unicode_name(name, extra)?.filter(|other| name.is_ascii() && *other != name) {
                let cause = format!("{} has the name {} for some readers", decode_name(name), decode_name(other));
                self.add("zip extra field", extra.range_in(self.file).start, cause);
            }
        }
        Ok(())
    }

    fn numbers_of_member(&mut self, entry: &Entry<'_>, header: &LocalHeader<'_>, local: &Fields) {
        let at = header.whole.range_in(self.file).start;
        let central = &entry.fields;
        let name = decode_name(entry.name);
        if local.method != central.method || (local.flags ^ central.flags) & ENCRYPTED != 0 {
            self.add(LOCAL_RECORD, at, format!("{name} has another compression method here, or another encryption"));
        }
        let is_streamed = local.flags & HAS_DESCRIPTOR != 0;
        let is_left_out = |number: u64| is_streamed && (number == 0 || number == ZIP64_MARK);
        let numbers = local.numbers().into_iter().zip(central.numbers());
        for (field, (local, central)) in ["checksum", "compressed size", "size"].into_iter().zip(numbers) {
            if local != central && !is_left_out(local) {
                let cause = format!("{name} has the {field} {local} here, and {central} in the central directory");
                self.add(LOCAL_RECORD, at, cause);
            }
        }
        let is_plain = central.method == STORED && central.flags & ENCRYPTED == 0;
        if is_plain && central.compressed.value != central.size.value {
            self.add(CENTRAL_RECORD, entry.header, format!("{name} is not compressed, and has two sizes"));
        }
    }

    /// Finds names of several files. Files with the same stored bytes are equal for all readers.
    fn names(
        &mut self,
        directory: &Directory<'data>,
        mut names: Vec<u64>,
        state: &RandomState,
    ) -> Result<(), Malformed> {
        names.sort_unstable();
        let neighbors = names.iter().zip(names.iter().skip(1));
        let repeated: HashSet<u64> =
            neighbors.filter(|(first, second)| first == second).map(|(hash, _)| *hash).collect();
        if repeated.is_empty() {
            return Ok(());
        }
        let mut files: HashMap<Cow<'_, [u8]>, Vec<Entry<'_>>> = HashMap::new();
        for entry in directory.entries.iter() {
            let entry = entry?;
            let name = normalized(entry.name);
            if !entry.is_directory() && repeated.contains(&state.hash_one(&name)) {
                self.file.charge(CENTRAL_RECORD, Resource::Memory, size_of::<Entry<'_>>() as u64)?;
                files.entry(name).or_default().push(entry);
            }
        }
        let mut files: Vec<_> = files.into_iter().filter(|(_, entries)| entries.len() > 1).collect();
        files.sort_unstable_by_key(|(_, entries)| entries.first().map(|entry| entry.header));
        for (name, entries) in files {
            if let Some(other) = self.other_file(&entries)? {
                let count = entries.len();
                let name = decode_name(&name);
                let cause =
                    format!("{count} members have the name {name}, and differ; readers take the first or the last");
                self.add(CENTRAL_RECORD, other, cause);
            }
        }
        Ok(())
    }

    /// Returns the offset of the first entry whose stored bytes are not those of the last entry.
    fn other_file(&self, entries: &[Entry<'data>]) -> Result<Option<u64>, Malformed> {
        let Some((last, others)) = entries.split_last() else { return Ok(None) };
        let last_data = last.local_member(self.file).map(|member| member.data);
        for other in others {
            let is_stated_equal = other.fields.method == last.fields.method
                && other.fields.numbers() == last.fields.numbers()
                && other.fields.flags & ENCRYPTED == last.fields.flags & ENCRYPTED;
            let data = other.local_member(self.file).map(|member| member.data);
            let (true, Ok(data), Ok(last_data)) = (is_stated_equal, data, &last_data) else {
                return Ok(Some(other.header));
            };
            data.charge("zip member", Resource::Work, data.size() / BYTES_PER_STEP)?;
            if data.data() != last_data.data() {
                return Ok(Some(other.header));
            }
        }
        Ok(None)
    }

    /// Finds members that overlap, and local headers between members.
    fn layout(&mut self, directory: &Directory<'data>, mut extents: Vec<Extent>) -> Result<(), Malformed> {
        extents.sort_unstable();
        extents.push(Extent { start: directory.end, end: directory.end, entry: None });
        let mut end = 0;
        for extent in extents {
            if extent.start < end {
                let name = match extent.entry {
                    Some(entry) => decode_name(directory.entries.get(entry)?.name),
                    None => Cow::Borrowed("the central directory"),
                };
                self.add("zip member", extent.start, format!("{name} overlaps the member before it"));
            } else if end > 0 || self.file.starts_with(START) {
                self.gap(directory, end..extent.start)?;
            }
            end = end.max(extent.end);
        }
        Ok(())
    }

    /// Finds records of members that the directory lacks. Readers of local headers search for the next one.
    fn gap(&mut self, directory: &Directory<'data>, gap: Range<u64>) -> Result<(), Malformed> {
        static MAGIC: LazyLock<Magic> = LazyLock::new(|| Magic::new(LOCAL));
        if size_of_range(&gap) < END_SIZE {
            return Ok(());
        }
        let view = self.file.between("zip file", gap)?;
        if let Some(end) = directory.other_end(self.file, view)? {
            self.push(end);
        }
        let mut first = None;
        let mut others = 0_u64;
        for at in MAGIC.offsets(view, view)? {
            // Android's build tools fill the room of removed members with headers that have neither names nor data.
            let Some(header) = LocalHeader::read(view.from(at)).ok().filter(|header| !header.name.is_empty()) else {
                continue;
            };
            if first.is_some() {
                others = total([others, 1]);
            }
            first = first.or(Some(header));
        }
        let Some(header) = first else { return Ok(()) };
        let name = decode_name(header.name);
        let cause = match others {
            0 => format!("{name} is not in the central directory"),
            others => format!("{name} and {others} more are not in the central directory"),
        };
        self.add(LOCAL_RECORD, header.whole.range_in(self.file).start, cause);
        Ok(())
    }
}

/// Returns a name as readers write it to a directory.
fn normalized(name: &[u8]) -> Cow<'_, [u8]> {
    let is_separator = |&byte: &u8| byte == b'/' || byte == b'\\';
    let is_kept = |part: &&[u8]| !part.is_empty() && *part != b".";
    if !name.contains(&b'\\') && name.split(is_separator).all(|part| is_kept(&part)) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.split(is_separator).filter(is_kept).collect::<Vec<_>>().join(&b'/'))
}
