//! Layout: one header in three versions, which differ in the width of the sizes and in whether the total size is
//! stated.
//!
//! | version | fields after magic, u16 version and u16 method | size |
//! |---|---|---|
//! | 1 | u32 uncompressed size, u64 hash | 20 |
//! | 2 | u32 total size with the header, u32 uncompressed size, u64 hash | 24 |
//! | 3 | u64 total size with the header, u64 uncompressed size, u64 hash | 32 |

use crate::base::bytes::View;
use crate::base::codec::Codec;
use crate::base::error::{Cause, Malformed};
use crate::format::magic::check_magic;

pub use crate::format::container_type::CCOB_MAGIC as MAGIC;

/// Versions of the format. LLVM 18 wrote the first, 19 to 21 the second, 22 the third.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Version 1, without the total size.
    One,
    /// Version 2, with sizes of 32 bits.
    Two,
    /// Version 3, with sizes of 64 bits.
    Three,
}

/// Numbers of the methods.
const METHODS: [(u16, Codec); 2] = [(0, Codec::Zlib), (1, Codec::Zstd)];

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Version of the format.
    pub version: Version,
    /// Codec of the stream.
    pub codec: Codec,
    /// Size including the header; version 1 does not state it.
    pub total_size: Option<u64>,
    /// Size of the uncompressed bytes.
    pub full_size: u64,
    /// First eight bytes of the MD5 of the uncompressed bytes.
    pub hash: u64,
}

impl Version {
    /// Returns the number of the version.
    pub fn number(self) -> u16 {
        match self {
            Version::One => 1,
            Version::Two => 2,
            Version::Three => 3,
        }
    }

    /// Returns the version with this number.
    pub fn from_number(number: u64) -> Option<Version> {
        [Version::One, Version::Two, Version::Three].into_iter().find(|version| u64::from(version.number()) == number)
    }

    /// Returns the size of the header in bytes.
    pub fn header_size(self) -> u64 {
        match self {
            Version::One => 20,
            Version::Two => 24,
            Version::Three => 32,
        }
    }

    /// Returns the largest size that the fields can state.
    pub fn largest_size(self) -> u64 {
        if self == Version::Three { u64::MAX } else { u32::MAX.into() }
    }

    fn full_size_offset(self) -> u64 {
        match self {
            Version::One => 8,
            Version::Two => 12,
            Version::Three => 16,
        }
    }

    /// Returns the offset of the hash.
    pub fn hash_offset(self) -> u64 {
        match self {
            Version::One => 12,
            Version::Two => 16,
            Version::Three => 24,
        }
    }
}

impl Header {
    /// Reads the header at the start of a view.
    pub fn read(view: View) -> Result<Self, Malformed> {
        check_magic(view, MAGIC, "compressed bundle magic", "CCOB")?;
        let number = view.u16("compressed bundle version", 4)?.into();
        let Some(version) = Version::from_number(number) else {
            let cause = Cause::UnsupportedVersion { value: number, supported: "1, 2 and 3" };
            return Err(view.malformed("compressed bundle version", 4, cause));
        };
        let method = view.u16("compressed bundle method", 6)?;
        let Some((_, codec)) = METHODS.into_iter().find(|(number, _)| *number == method) else {
            let cause = Cause::Unexpected { value: method.into(), expected: "0 (zlib) or 1 (zstd)" };
            return Err(view.malformed("compressed bundle method", 6, cause));
        };
        let size = |field, at| match version {
            Version::Three => view.u64(field, at),
            _ => view.u32(field, at).map(u64::from),
        };
        Ok(Header {
            version,
            codec,
            total_size: match version {
                Version::One => None,
                _ => Some(size("compressed bundle total size", TOTAL_SIZE_OFFSET)?),
            },
            full_size: size("compressed bundle uncompressed size", version.full_size_offset())?,
            hash: view.u64("compressed bundle hash", version.hash_offset())?,
        })
    }

    /// Returns the header's bytes.
    ///
    /// # Panics
    ///
    /// Panics if a size does not fit into the version's fields, or if the codec has no number.
    pub fn to_bytes(self) -> Vec<u8> {
        let (method, _) = METHODS.into_iter().find(|(_, codec)| *codec == self.codec).expect("zlib or zstd");
        let mut bytes = Vec::from(MAGIC);
        bytes.extend(self.version.number().to_le_bytes());
        bytes.extend(method.to_le_bytes());
        for size in self.total_size.into_iter().chain([self.full_size]) {
            assert!(size <= self.version.largest_size(), "{size} bytes in version {:?}", self.version);
            let width = if self.version == Version::Three { 8 } else { 4 };
            bytes.extend(size.to_le_bytes().into_iter().take(width));
        }
        bytes.extend(self.hash.to_le_bytes());
        bytes
    }
}

/// Offset of the total size, in the versions that have it.
pub const TOTAL_SIZE_OFFSET: u64 = 8;
