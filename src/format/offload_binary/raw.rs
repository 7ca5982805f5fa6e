//! Layout of version 1, each structure with its reader and writer side by side.

use object::elf;

use crate::bytes::View;
use crate::error::{Cause, Malformed};

/// The first bytes of every version.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// The section type of offload binaries, `SHT_LLVM_OFFLOADING` (`llvm/BinaryFormat/ELF.h`), whatever the section is called.
pub const SECTION_TYPE: elf::SectionType = elf::SectionType(0x6fff_4c0b);

/// The only version that is read and written.
pub const VERSION: u32 = 1;

/// Values of an entry's `image kind` (`llvm::object::ImageKind`).
pub mod image_kind {
    pub const NONE: u16 = 0;
    pub const OBJECT: u16 = 1;
    pub const BITCODE: u16 = 2;
    pub const CUBIN: u16 = 3;
    pub const FATBINARY: u16 = 4;
    pub const PTX: u16 = 5;
}

/// The first 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// +4: format version.
    pub version: u32,
    /// +8: size of the whole binary in bytes, padding included.
    pub size: u64,
    /// +16: offset of the entry.
    pub entry_offset: u64,
    /// +24: size of the entry, 40.
    pub entry_size: u64,
}

impl Header {
    pub const SIZE: u64 = 32;

    pub fn read(view: View) -> Result<Self, Malformed> {
        let magic = view.u32("offload binary magic", 0)?;
        if magic != u32::from_le_bytes(MAGIC) {
            let cause = Cause::Unexpected { value: u64::from(magic), expected: "10 FF 10 AD" };
            return Err(view.malformed("offload binary magic", 0, cause));
        }
        let version = view.u32("offload binary version", 4)?;
        if version != VERSION {
            let cause = Cause::UnknownVersion { value: u64::from(version), known: "1" };
            return Err(view.malformed("offload binary version", 4, cause));
        }
        Ok(Header {
            version,
            size: view.u64("offload binary size", 8)?,
            entry_offset: view.u64("offload binary entry offset", 16)?,
            entry_size: view.u64("offload binary entry size", 24)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(MAGIC);
        to.extend(self.version.to_le_bytes());
        to.extend(self.size.to_le_bytes());
        to.extend(self.entry_offset.to_le_bytes());
        to.extend(self.entry_size.to_le_bytes());
    }
}

/// The 40 bytes that describe the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// +0: form of the image, see [`image_kind`].
    pub image_kind: u16,
    /// +2: offload kind, a bit of [`crate::target::OffloadKind::bit`].
    pub offload_kind: u16,
    /// +4: flags; none are defined in version 1.
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

    /// Reads the entry at `at`.
    pub fn read(view: View, at: u64) -> Result<Self, Malformed> {
        Ok(Entry {
            image_kind: view.u16("offload binary image kind", at)?,
            offload_kind: view.u16("offload binary offload kind", at + 2)?,
            flags: view.u32("offload binary flags", at + 4)?,
            string_offset: view.u64("offload binary string offset", at + 8)?,
            string_count: view.u64("offload binary string count", at + 16)?,
            image_offset: view.u64("offload binary image offset", at + 24)?,
            image_size: view.u64("offload binary image size", at + 32)?,
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

/// A key and a value: offsets of two NUL-terminated strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StringEntry {
    /// +0: offset of the key.
    pub key_offset: u64,
    /// +8: offset of the value.
    pub value_offset: u64,
}

impl StringEntry {
    pub const SIZE: u64 = 16;

    /// Reads the entry at `at`.
    pub fn read(view: View, at: u64) -> Result<Self, Malformed> {
        Ok(StringEntry {
            key_offset: view.u64("offload binary key offset", at)?,
            value_offset: view.u64("offload binary value offset", at + 8)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.key_offset.to_le_bytes());
        to.extend(self.value_offset.to_le_bytes());
    }
}
