//! Zip files and wheels whose bytes the tests choose.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// A stored member, as its local header and the directory state it.
#[derive(Clone)]
pub struct Entry {
    pub name: String,
    pub bytes: Vec<u8>,
    /// Name in the local header.
    pub local_name: String,
    /// Extra fields of the directory entry.
    pub extra: Vec<u8>,
    /// Flags in both headers.
    pub flags: u16,
    /// Bytes after the data, such as a data descriptor.
    pub after: Vec<u8>,
    /// The directory has an entry for it.
    pub is_listed: bool,
    /// Changes bytes of the local header.
    pub local: fn(&mut [u8]),
}

pub fn entry(name: &str, bytes: impl Into<Vec<u8>>) -> Entry {
    Entry {
        name: name.to_owned(),
        bytes: bytes.into(),
        local_name: name.to_owned(),
        extra: Vec::new(),
        flags: 0,
        after: Vec::new(),
        is_listed: true,
        local: |_| (),
    }
}

pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

impl Entry {
    /// Fields that both headers have, from the version to the size of the name.
    fn fields(&self, name: &str) -> Vec<u8> {
        let size = (self.bytes.len() as u32).to_le_bytes();
        let mut fields = [&[20, 0][..], &self.flags.to_le_bytes(), &[0, 0, 0, 0, 0x21, 0]].concat();
        fields
            .extend([&crc32(&self.bytes).to_le_bytes()[..], &size, &size, &(name.len() as u16).to_le_bytes()].concat());
        fields
    }

    pub fn local(&self) -> Vec<u8> {
        let mut header = [&b"PK\x03\x04"[..], &self.fields(&self.local_name), &[0, 0]].concat();
        (self.local)(&mut header);
        [&header, self.local_name.as_bytes(), &self.bytes, &self.after].concat()
    }

    pub fn central(&self, offset: usize) -> Vec<u8> {
        let mut header = [&b"PK\x01\x02\x14\0"[..], &self.fields(&self.name)].concat();
        header.extend([&(self.extra.len() as u16).to_le_bytes()[..], &[0; 10]].concat());
        header.extend((offset as u32).to_le_bytes());
        [&header, self.name.as_bytes(), &self.extra].concat()
    }
}

/// Returns the parts of a zip file: members, directory and end record.
pub fn zip_parts(entries: &[Entry]) -> [Vec<u8>; 3] {
    let (mut members, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        if entry.is_listed {
            directory.extend(entry.central(members.len()));
        }
        members.extend(entry.local());
    }
    let count = entries.iter().filter(|entry| entry.is_listed).count();
    let end = end_of(&members, &directory, count);
    [members, directory, end]
}

/// Returns the end record of a directory that follows the members.
fn end_of(members: &[u8], directory: &[u8], count: usize) -> Vec<u8> {
    let count = (count as u16).to_le_bytes();
    let [size, offset] = [directory.len(), members.len()].map(|number| (number as u32).to_le_bytes());
    [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &offset, &[0, 0]].concat()
}

pub fn zip_with_directory(members: &[u8], directory: &[u8], count: usize) -> Vec<u8> {
    [members, directory, &end_of(members, directory, count)].concat()
}

pub fn zip_of(entries: &[Entry]) -> Vec<u8> {
    zip_parts(entries).concat()
}

/// Name of the record of the wheels.
pub const RECORD: &str = "demo-1.0.dist-info/RECORD";

/// Returns the row of a file.
pub fn row(name: &str, algorithm: &str, bytes: &[u8]) -> String {
    let hash = match algorithm {
        "sha256" => Sha256::digest(bytes).to_vec(),
        "sha384" => Sha384::digest(bytes).to_vec(),
        "sha512" => Sha512::digest(bytes).to_vec(),
        _ => panic!("{algorithm}"),
    };
    format!("{name},{algorithm}={},{}\n", base64(&hash), bytes.len())
}

/// Returns the rows of all files, and the row of the record.
pub fn rows(files: &[Entry]) -> String {
    files.iter().map(|file| row(&file.name, "sha256", &file.bytes)).collect::<String>() + &format!("{RECORD},,\n")
}

/// Returns a wheel with these files and records.
pub fn wheel_of(files: &[Entry], records: &[&str]) -> Vec<u8> {
    let records = records.iter().map(|record| entry(RECORD, *record));
    zip_of(&files.iter().cloned().chain(records).collect::<Vec<Entry>>())
}

fn base64(bytes: &[u8]) -> String {
    let digits: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_']).collect();
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let groups = bits.as_bytes().chunks(6).map(|group| format!("{:0<6}", String::from_utf8_lossy(group)));
    groups.map(|group| digits[usize::from_str_radix(&group, 2).unwrap()]).collect()
}
