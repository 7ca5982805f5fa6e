//! Layout of version 1, each structure with its reader and writer side by side.

use crate::base::bytes::View;
use crate::base::codec::Codec;
use crate::base::error::{Cause, Malformed};
use crate::format::ImageKind;
use crate::format::magic::check_magic;
use crate::target::nvptx::{Arch, Suffix};
use crate::target::triple;

pub use crate::format::container_type::CUDA_FATBIN_MAGIC as MAGIC;

/// Alignment of everything in the container, in bytes.
pub const ALIGNMENT: u64 = 8;

/// The only known version.
pub const VERSION: u16 = 1;

/// Values of an entry's `kind`.
pub mod kind {
    /// PTX text.
    pub const PTX: u16 = 1;
    /// A cubin.
    pub const ELF: u16 = 2;
    /// Named `cubin` by cuobjdump 13.5, which does not list such entries.
    pub const CUBIN: u16 = 4;
    /// LTO-IR, intermediate representation for link-time optimization.
    pub const NVVM: u16 = 8;
    /// Named `index` by cuobjdump 13.5, which does not list such entries.
    pub const INDEX: u16 = 0x20;
    /// PTX of a linked object. The driver links it again (`nvcc --relocatable-ptx`).
    pub const RELOCATABLE_PTX: u16 = 0x40;
    /// Tile IR bytecode.
    pub const TILE_IR: u16 = 0x80;
    /// Several images compressed as one (`fatbinary --concat`); a table of them follows the entry's header.
    pub const GROUP: u16 = 0x100;

    /// Returns whether entries of a kind are PTX.
    pub const fn is_ptx(kind: u16) -> bool {
        matches!(kind, PTX | RELOCATABLE_PTX)
    }
}

/// Bits of an entry's `flags`.
pub mod flag {
    /// The code has 64-bit addresses.
    pub const BITS_64: u64 = 0x1;
    /// The code has debug information.
    pub const DEBUG: u64 = 0x2;
    /// The code is CUDA (`fatbinary --cuda`, which is deprecated).
    pub const CUDA: u64 = 0x4;
    /// The code is OpenCL (`fatbinary --opencl`, which is deprecated).
    pub const OPENCL: u64 = 0x8;
    /// The host is Linux.
    pub const LINUX: u64 = 0x10;
    /// The host is macOS.
    pub const MAC: u64 = 0x20;
    /// The host is Windows.
    pub const WINDOWS: u64 = 0x40;
    /// The payload is an LZ4 block.
    pub const LZ4: u64 = 0x2000;
    /// The payload is a Zstandard stream.
    pub const ZSTD: u64 = 0x8000;
    /// The payload is LTO-IR that fatbinary has scrambled after compressing it.
    pub const OPAQUE: u64 = 0x1_0000;
    /// The architecture has the suffix `a`.
    pub const SPECIFIC: u64 = 0x10_0000;
    /// The architecture has the suffix `f`.
    pub const FAMILY: u64 = 0x20_0000;
    /// The cubin contains Mercury code, see [`crate::target::nvptx::Cubin::has_mercury`].
    pub const MERCURY: u64 = 0x100_0000;
}

/// The first 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// +4: format version.
    pub version: u16,
    /// +8: size of all entries in bytes, without this header.
    pub size: u64,
}

impl Header {
    pub const SIZE: u64 = 16;

    pub fn read(view: View) -> Result<Self, Malformed> {
        check_magic(view, MAGIC, "CUDA fatbin magic", "50 ED 55 BA")?;
        let version = view.u16("CUDA fatbin version", 4)?;
        if version != VERSION {
            let cause = Cause::UnsupportedVersion { value: u64::from(version), supported: "1" };
            return Err(view.malformed("CUDA fatbin version", 4, cause));
        }
        let header_size = u64::from(view.u16("CUDA fatbin header size", 6)?);
        if header_size != Self::SIZE {
            let cause = Cause::Unexpected { value: header_size, expected: "16" };
            return Err(view.malformed("CUDA fatbin header size", 6, cause));
        }
        Ok(Header { version, size: view.u64("CUDA fatbin size", 8)? })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(MAGIC);
        to.extend(self.version.to_le_bytes());
        to.extend((Self::SIZE as u16).to_le_bytes());
        to.extend(self.size.to_le_bytes());
    }
}

/// First 64 bytes of an entry; its identifier and its options follow them, then its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryHeader {
    /// +0: form of the image, see [`kind`]. +2 is always [`EntryHeader::MARKER`].
    pub kind: u16,
    /// +4: size of this header, identifier and options.
    pub header_size: u32,
    /// +8: size of the payload in bytes, padding included.
    pub stored_size: u64,
    /// +16: size of a compressed payload without its padding, otherwise 0.
    pub compressed_size: u32,
    /// +20: offset of the option block from the entry's first byte, 0 if there is none.
    pub options_offset: u32,
    /// +24: version of the code, minor part first: the ISA version of PTX; 1 and the ABI version for a cubin.
    pub code_version: (u16, u16),
    /// +28: number of the architecture; its suffix is in the flags.
    pub arch_number: u32,
    /// +32: offset of the identifier from the entry's first byte, 0 if there is none.
    pub name_offset: u32,
    /// +36: length of the identifier, which a NUL follows.
    pub name_size: u32,
    /// +40: see [`flag`].
    pub flags: u64,
    /// +48: 0, except for scrambled LTO-IR. There it is a word of the LTO-IR, from the offset that the LTO-IR states at
    /// +16: +40, or +44 for architecture-specific code (fatbinary 13.5).
    pub reserved: u64,
    /// +56: decompressed size of a compressed payload, otherwise 0.
    pub full_size: u64,
}

impl EntryHeader {
    /// Size in bytes.
    pub const SIZE: u64 = 64;
    /// Value of the field at +2.
    pub const MARKER: u16 = 0x0101;

    /// Reads the header at the view's start.
    pub fn read(view: View) -> Result<Self, Malformed> {
        let marker = view.u16("CUDA fatbin entry marker", 2)?;
        if marker != Self::MARKER {
            let cause = Cause::Unexpected { value: u64::from(marker), expected: "0x101" };
            return Err(view.malformed("CUDA fatbin entry marker", 2, cause));
        }
        let minor = view.u16("CUDA fatbin code version", 24)?;
        let major = view.u16("CUDA fatbin code version", 26)?;
        Ok(EntryHeader {
            kind: view.u16("CUDA fatbin entry kind", 0)?,
            header_size: view.u32("CUDA fatbin entry header size", 4)?,
            stored_size: view.u64("CUDA fatbin payload size", 8)?,
            compressed_size: view.u32("CUDA fatbin compressed size", 16)?,
            options_offset: view.u32("CUDA fatbin options offset", 20)?,
            code_version: (major, minor),
            arch_number: view.u32("CUDA fatbin architecture", 28)?,
            name_offset: view.u32("CUDA fatbin identifier offset", 32)?,
            name_size: view.u32("CUDA fatbin identifier size", 36)?,
            flags: view.u64("CUDA fatbin flags", 40)?,
            reserved: view.u64("CUDA fatbin reserved field", 48)?,
            full_size: view.u64("CUDA fatbin decompressed size", 56)?,
        })
    }

    /// Appends the header to `to`.
    pub fn write(&self, to: &mut Vec<u8>) {
        let (major, minor) = self.code_version;
        to.extend(self.kind.to_le_bytes());
        to.extend(Self::MARKER.to_le_bytes());
        to.extend(self.header_size.to_le_bytes());
        to.extend(self.stored_size.to_le_bytes());
        to.extend(self.compressed_size.to_le_bytes());
        to.extend(self.options_offset.to_le_bytes());
        to.extend(minor.to_le_bytes());
        to.extend(major.to_le_bytes());
        to.extend(self.arch_number.to_le_bytes());
        to.extend(self.name_offset.to_le_bytes());
        to.extend(self.name_size.to_le_bytes());
        to.extend(self.flags.to_le_bytes());
        to.extend(self.reserved.to_le_bytes());
        to.extend(self.full_size.to_le_bytes());
    }

    /// Returns the kind of the image.
    pub fn image_kind(&self) -> ImageKind {
        match self.kind {
            kind::PTX | kind::RELOCATABLE_PTX => ImageKind::Ptx,
            kind::ELF => ImageKind::Elf,
            kind::NVVM => ImageKind::Nvvm,
            kind::TILE_IR => ImageKind::TileIr,
            _ => ImageKind::Unknown,
        }
    }

    /// Returns the triple of the code.
    pub fn triple(&self) -> &'static str {
        if self.flags & flag::BITS_64 == 0 { triple::NVPTX } else { triple::NVPTX64 }
    }

    /// Returns the codec of the payload: [`Codec::Opaque`] for flags that contradict each other, and for compressed
    /// sizes without a flag.
    pub fn codec(&self) -> Codec {
        match self.flags & (flag::LZ4 | flag::ZSTD | flag::OPAQUE) {
            0 if self.compressed_size == 0 && self.full_size == 0 => Codec::None,
            flag::LZ4 => Codec::Lz4,
            flag::ZSTD => Codec::Zstd,
            _ => Codec::Opaque,
        }
    }

    /// Returns the architecture; `None` if there is none, as for a group, or if two suffixes contradict each other.
    pub fn arch(&self) -> Option<Arch> {
        let suffix = match self.flags & (flag::SPECIFIC | flag::FAMILY) {
            0 => None,
            flag::SPECIFIC => Some(Suffix::Specific),
            flag::FAMILY => Some(Suffix::Family),
            _ => return None,
        };
        Some(Arch { number: self.arch_number, suffix }).filter(|arch| arch.number != 0)
    }
}

/// Returns the flag of a codec that entries can have.
pub fn codec_flag(codec: Codec) -> u64 {
    match codec {
        Codec::Lz4 => flag::LZ4,
        Codec::Zstd => flag::ZSTD,
        Codec::None | Codec::Zlib | Codec::Opaque => 0,
    }
}

/// Table of a group's images, which follows the group's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupTable {
    /// +0: number of images. A row for each follows the table's own eight bytes: an entry's header, identifier and
    /// option block, each padded to 8 bytes. The row's header size is the offset of the image in the group's
    /// decompressed payload. Its payload size is the size of the image there. A row does not state its own size.
    pub count: u32,
    /// +4: size of the table in bytes, these eight and all rows included.
    pub size: u32,
}

impl GroupTable {
    pub const SIZE: u64 = 8;

    /// Reads the table at the start of a view.
    pub fn read(view: View) -> Result<Self, Malformed> {
        Ok(GroupTable {
            count: view.u32("CUDA fatbin group count", 0)?,
            size: view.u32("CUDA fatbin group table size", 4)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.count.to_le_bytes());
        to.extend(self.size.to_le_bytes());
    }
}

/// Start of the option block. A NUL follows a string of options. A NUL precedes a cubin's attributes, as if they
/// followed an empty string; it is counted neither in the offset nor in the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionBlock {
    /// +0: offset of the string from the entry's first byte.
    pub offset: u32,
    /// +4: size of the string or of the attributes in bytes.
    pub size: u32,
}

impl OptionBlock {
    pub const SIZE: u64 = 8;

    /// Reads the block at the start of a view.
    pub fn read(view: View) -> Result<Self, Malformed> {
        Ok(OptionBlock {
            offset: view.u32("CUDA fatbin option string offset", 0)?,
            size: view.u32("CUDA fatbin option string size", 4)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.offset.to_le_bytes());
        to.extend(self.size.to_le_bytes());
    }
}
