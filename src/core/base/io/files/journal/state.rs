//! States of files in records.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use flate2::Crc;

/// Number of bytes that are summed at a time.
const WINDOW: usize = 256 << 10;

/// Identity, size and time of the last change of the bytes of a file, and the CRC-32 of its bytes if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedState {
    /// Device and number.
    pub id: (u64, u64),
    pub size: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, i64),
    pub sum: Option<u32>,
}

impl RecordedState {
    /// Returns the state of a file with this metadata, without the sum.
    pub fn of_metadata(metadata: &Metadata) -> Self {
        RecordedState {
            id: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            sum: None,
        }
    }

    /// Returns the state of an open file with the sum of its bytes.
    pub fn of_file(file: &File) -> io::Result<Self> {
        let sum = Some(sum(file)?);
        Ok(RecordedState { sum, ..Self::of_metadata(&file.metadata()?) })
    }

    /// Returns whether this is the file of `other`, with the same size and time.
    pub fn is_like(&self, other: &RecordedState) -> bool {
        (self.id, self.size, self.modified) == (other.id, other.size, other.modified)
    }

    /// Returns whether the files have the same bytes. A sum that is not known equals none.
    pub fn has_bytes_of(&self, other: &RecordedState) -> bool {
        self.size == other.size && self.sum.is_some() && self.sum == other.sum
    }

    /// The state as text.
    pub fn to_text(&self) -> String {
        let RecordedState { id: (device, number), size, modified: (seconds, nanoseconds), sum } = self;
        let sum = sum.map(|sum| format!("{sum:08x}")).unwrap_or_default();
        format!("{device} {number} {size} {seconds} {nanoseconds} {sum}")
    }

    /// Parses [`Self::to_text`].
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(' ');
        let id = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let size = fields.next()?.parse().ok()?;
        let modified = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let sum = match fields.next()? {
            "" => None,
            digits => Some(u32::from_str_radix(digits, 16).ok()?),
        };
        Some(RecordedState { id, size, modified, sum })
    }
}

/// Returns the CRC-32 of the bytes of a file.
pub fn sum(file: &File) -> io::Result<u32> {
    let mut sum = Crc::new();
    let mut buffer = vec![0; WINDOW];
    let mut offset = 0;
    loop {
        let size = file.read_at(&mut buffer, offset)?;
        let read = buffer.get(..size).unwrap_or_default();
        if read.is_empty() {
            return Ok(sum.sum());
        }
        sum.update(read);
        offset += size as u64;
    }
}
