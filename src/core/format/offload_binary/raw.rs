//! Layout of each version, each structure with its reader and writer side by side.

use object::elf;

use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};
use crate::format::magic::check_magic;

pub use crate::format::container_type::OFFLOAD_BINARY_MAGIC as MAGIC;

/// Section type of offload binaries, `SHT_LLVM_OFFLOADING` (`llvm/BinaryFormat/ELF.h`). The section may have any name.
pub const SECTION_TYPE: elf::SectionType = elf::SectionType(0x6fff_4c0b);

/// Values of an entry's `image kind` (`llvm::object::ImageKind`).
pub mod image_kind {
    /// Unknown.
    pub const NONE: u16 = 0;
    /// An object file.
    pub const OBJECT: u16 = 1;
    /// LLVM bitcode.
    pub const BITCODE: u16 = 2;
    /// A cubin.
    pub const CUBIN: u16 = 3;
    /// A fat binary.
    pub const FATBINARY: u16 = 4;
    /// PTX text.
    pub const PTX: u16 = 5;
    /// SPIR-V, written by LLVM's main branch in versions 2 and 3. DPC++ writes it in version 1, too. Until 2025, it
    /// used this value for SYCLBIN.
    pub const SPIRV: u16 = 6;
    /// A SYCLBIN file, or an entry of one; DPC++ only.
    pub const SYCLBIN: u16 = 7;
}

/// Bits of an entry's `flags` (`llvm::object::OffloadEntryFlags`); there were none before version 2.
pub mod flag {
    /// The entry has strings and no image.
    pub const METADATA: u32 = 1;
}

/// A version of the format; all differences between versions are defined in this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// LLVM 14 to 22: one entry.
    One = 1,
    /// LLVM's main branch of 2026: several entries, and string values that may hold NUL.
    Two = 2,
    /// Like version 2, with a header that can declare everything after it compressed.
    Three = 3,
}

impl Version {
    /// Every version.
    pub const ALL: [Version; 3] = [Version::One, Version::Two, Version::Three];

    /// Returns the version with this number, as in the `version` field and on the command line.
    pub fn from_number(number: u32) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.number() == number)
    }

    /// Returns the number of the version.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Returns the size of the header in bytes.
    pub fn header_size(self) -> u64 {
        if self < Version::Three { 32 } else { 40 }
    }

    /// Returns the size of a string entry in bytes.
    pub fn string_entry_size(self) -> u64 {
        if self < Version::Two { 16 } else { 24 }
    }
}

/// The first 32 or 40 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// +4: format version.
    pub version: Version,
    /// +8: stored size of the whole binary in bytes, including padding.
    pub size: u64,
    /// +16: offset of the entries.
    pub entries_offset: u64,
    /// +24: number of entries. In version 1 the field is the size of its only entry, 40.
    pub entries_count: u64,
    /// +32, from version 3 on: 0, or the decompressed size of a compressed binary, including this header. Everything
    /// after the header is then one zstd or zlib stream.
    pub inflated_size: u64,
}

impl Header {
    pub fn read(view: View) -> Result<Self, Malformed> {
        check_magic(view, MAGIC, "offload binary magic", "10 FF 10 AD")?;
        let number = view.u32("offload binary version", 4)?;
        let version = Version::from_number(number).ok_or_else(|| {
            let cause = Cause::UnsupportedVersion { value: u64::from(number), supported: "1 to 3" };
            view.malformed("offload binary version", 4, cause)
        })?;
        let last = view.u64("offload binary entry count", 24)?;
        if version == Version::One && last != Entry::SIZE {
            let cause = Cause::Unexpected { value: last, expected: "40" };
            return Err(view.malformed("offload binary entry size", 24, cause));
        }
        Ok(Header {
            version,
            size: view.u64("offload binary size", 8)?,
            entries_offset: view.u64("offload binary entries offset", 16)?,
            entries_count: if version == Version::One { 1 } else { last },
            inflated_size: if version < Version::Three { 0 } else { view.u64("offload binary inflated size", 32)? },
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(MAGIC);
        to.extend(self.version.number().to_le_bytes());
        to.extend(self.size.to_le_bytes());
        to.extend(self.entries_offset.to_le_bytes());
        let last = if self.version == Version::One { Entry::SIZE } else { self.entries_count };
        to.extend(last.to_le_bytes());
        if self.version >= Version::Three {
            to.extend(self.inflated_size.to_le_bytes());
        }
    }
}

/// The 40 bytes that describe an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// +0: form of the image, see [`image_kind`].
    pub image_kind: u16,
    /// +2: offload kind, a bit of [`crate::target::OffloadKind::bit`].
    pub offload_kind: u16,
    /// +4: see [`flag`].
    pub flags: u32,
    /// +8: offset of the string entries.
    pub string_offset: u64,
    /// +16: number of string entries.
    pub string_count: u64,
    /// +24: offset of the image.
    pub image_offset: u64,
    /// +32: size of the image in bytes.
    pub image_size: u64,
}

impl Entry {
    pub const SIZE: u64 = 40;

    /// Offsets of the fields that errors refer to.
    pub const STRING_OFFSET: u64 = 8;
    pub const IMAGE_OFFSET: u64 = 24;

    /// Reads the entry at the start of a view.
    pub fn read(view: View) -> Result<Self, Malformed> {
        Ok(Entry {
            image_kind: view.u16("offload binary image kind", 0)?,
            offload_kind: view.u16("offload binary offload kind", 2)?,
            flags: view.u32("offload binary flags", 4)?,
            string_offset: view.u64("offload binary string offset", Self::STRING_OFFSET)?,
            string_count: view.u64("offload binary string count", 16)?,
            image_offset: view.u64("offload binary image offset", Self::IMAGE_OFFSET)?,
            image_size: view.u64("offload binary image size", 32)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.image_kind.to_le_bytes());
        to.extend(self.offload_kind.to_le_bytes());
        to.extend(self.flags.to_le_bytes());
        to.extend(self.string_offset.to_le_bytes());
        to.extend(self.string_count.to_le_bytes());
        to.extend(self.image_offset.to_le_bytes());
        to.extend(self.image_size.to_le_bytes());
    }
}

/// Offsets of the texts of a key and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StringEntry {
    /// +0: offset of the key, which is terminated by a NUL.
    pub key_offset: u64,
    /// +8: offset of the value.
    pub value_offset: u64,
    /// +16, from version 2 on: size of the value in bytes. In version 1 the value is terminated by a NUL.
    pub value_size: Option<u64>,
}

impl StringEntry {
    /// Offset of the field with the offset of the value.
    pub const VALUE_OFFSET: u64 = 8;

    /// Reads the entry at the start of a view.
    pub fn read(version: Version, view: View) -> Result<Self, Malformed> {
        Ok(StringEntry {
            key_offset: view.u64("offload binary key offset", 0)?,
            value_offset: view.u64("offload binary value offset", Self::VALUE_OFFSET)?,
            value_size: match version {
                Version::One => None,
                Version::Two | Version::Three => Some(view.u64("offload binary value size", 16)?),
            },
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.key_offset.to_le_bytes());
        to.extend(self.value_offset.to_le_bytes());
        to.extend(self.value_size.into_iter().flat_map(u64::to_le_bytes));
    }
}
