//! Layout of versions 1 and 2, each structure with its reader and writer side by side.

use crate::base::bytes::{Extent, Table, View};
use crate::base::error::{Cause, Malformed};

pub use crate::format::container_type::OXART_MAGIC as MAGIC;

/// Section of the bundles.
pub const SECTION: &str = ".oxart";

/// Alignment of names, data and symbols, in bytes.
pub const ALIGNMENT: u32 = 8;

/// Versions: the first for default options, the second for others.
pub const VERSIONS: [u16; 2] = [1, 2];

/// Values of a payload's `kind`.
pub mod payload_kind {
    /// PTX text.
    pub const PTX: u16 = 0x100;
    /// NVVM IR, as text or bitcode.
    pub const NVVM_IR: u16 = 0x110;
    /// LTO-IR.
    pub const LTO_IR: u16 = 0x120;
    /// A cubin.
    pub const CUBIN: u16 = 0x200;

    /// Returns the name of a kind; `None` for an unknown one.
    pub fn name(kind: u16) -> Option<&'static str> {
        match kind {
            PTX => Some("ptx"),
            NVVM_IR => Some("nvvm-ir"),
            LTO_IR => Some("lto-ir"),
            CUBIN => Some("cubin"),
            _ => None,
        }
    }
}

/// Values of an entry's `kind`.
pub mod entry_kind {
    /// A kernel.
    pub const KERNEL: u16 = 1;
    /// A function for other device code.
    pub const DEVICE_FUNCTION: u16 = 2;
}

/// The first 32 bytes; name and target follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// +8: format version.
    pub version: u16,
    /// +12: size of the bundle in bytes.
    pub size: u32,
    /// +16, +18: sizes of the name and of the target.
    pub name_size: u16,
    pub target_size: u16,
    /// +20, +22: numbers of payloads and entries.
    pub payload_count: u16,
    pub entry_count: u16,
    /// +24: compile options: 1 without contraction of multiplications and additions, 2 with line tables, 4 with full
    /// debug information. Zero in version 1.
    pub options: u64,
}

impl Header {
    pub const SIZE: u64 = 32;

    pub fn read(view: View<'_>) -> Result<Self, Malformed> {
        if !view.starts_with(&MAGIC) {
            let value = view.u64("oxart magic", 0)?;
            return Err(view.malformed("oxart magic", 0, Cause::Unexpected { value, expected: "OXIDEART" }));
        }
        let version = view.u16("oxart version", 8)?;
        if !VERSIONS.contains(&version) {
            let cause = Cause::UnsupportedVersion { value: version.into(), supported: "1 and 2" };
            return Err(view.malformed("oxart version", 8, cause));
        }
        let header_size = u64::from(view.u16("oxart header size", 10)?);
        if header_size != Self::SIZE {
            let cause = Cause::Unexpected { value: header_size, expected: "32" };
            return Err(view.malformed("oxart header size", 10, cause));
        }
        Ok(Header {
            version,
            size: view.u32("oxart size", 12)?,
            name_size: view.u16("oxart name size", 16)?,
            target_size: view.u16("oxart target size", 18)?,
            payload_count: view.u16("oxart payload count", 20)?,
            entry_count: view.u16("oxart entry count", 22)?,
            options: view.u64("oxart compile options", 24)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(MAGIC);
        to.extend(self.version.to_le_bytes());
        to.extend((Self::SIZE as u16).to_le_bytes());
        to.extend(self.size.to_le_bytes());
        to.extend(self.name_size.to_le_bytes());
        to.extend(self.target_size.to_le_bytes());
        to.extend(self.payload_count.to_le_bytes());
        to.extend(self.entry_count.to_le_bytes());
        to.extend(self.options.to_le_bytes());
    }
}

#[expect(clippy::arithmetic_side_effects, reason = "sums and products of numbers of 16 bits")]
impl Header {
    /// Name, after the header.
    pub fn name(&self) -> Extent {
        Extent { offset: Self::SIZE, size: self.name_size.into() }
    }

    /// Target, after the name.
    pub fn target(&self) -> Extent {
        Extent { offset: Self::SIZE + u64::from(self.name_size), size: self.target_size.into() }
    }

    /// Payload records, after the target.
    pub fn payloads(&self) -> Table {
        let offset = Self::SIZE + u64::from(self.name_size) + u64::from(self.target_size);
        Table { offset, count: self.payload_count.into(), entry_size: PayloadRecord::SIZE }
    }

    /// Entry records, after the payload records.
    pub fn entries(&self) -> Table {
        let offset = self.payloads().offset + self.payloads().extent().size;
        Table { offset, count: self.entry_count.into(), entry_size: EntryRecord::SIZE }
    }

    /// Returns the end of the last entry record.
    pub fn tables_end(&self) -> u64 {
        self.entries().offset + self.entries().extent().size
    }
}

/// Description of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadRecord {
    /// +0: form of the code, see [`payload_kind`].
    pub kind: u16,
    /// +4, +8: offset and size of the data.
    pub data_offset: u32,
    pub data_size: u32,
    /// +12, +16: offset and size of the name.
    pub name_offset: u32,
    pub name_size: u16,
}

impl PayloadRecord {
    pub const SIZE: u64 = 24;

    /// Reads the record at the view's start.
    pub fn read(view: View<'_>) -> Result<Self, Malformed> {
        Ok(PayloadRecord {
            kind: view.u16("oxart payload kind", 0)?,
            data_offset: view.u32("oxart payload offset", 4)?,
            data_size: view.u32("oxart payload size", 8)?,
            name_offset: view.u32("oxart payload name offset", 12)?,
            name_size: view.u16("oxart payload name size", 16)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.kind.to_le_bytes());
        to.extend([0; 2]);
        to.extend(self.data_offset.to_le_bytes());
        to.extend(self.data_size.to_le_bytes());
        to.extend(self.name_offset.to_le_bytes());
        to.extend(self.name_size.to_le_bytes());
        to.extend([0; 6]);
    }
}

/// Description of a kernel or function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRecord {
    /// +0: see [`entry_kind`].
    pub kind: u16,
    /// +4: a number for the program, if bit 0 of the flags at +2 is set.
    pub metadata: Option<u64>,
    /// +12, +16: offset and size of the symbol.
    pub symbol_offset: u32,
    pub symbol_size: u16,
}

impl EntryRecord {
    pub const SIZE: u64 = 24;

    /// Reads the record at the view's start.
    pub fn read(view: View<'_>) -> Result<Self, Malformed> {
        let has_metadata = view.u16("oxart entry flags", 2)? & 1 != 0;
        Ok(EntryRecord {
            kind: view.u16("oxart entry kind", 0)?,
            metadata: if has_metadata { Some(view.u64("oxart entry metadata", 4)?) } else { None },
            symbol_offset: view.u32("oxart entry symbol offset", 12)?,
            symbol_size: view.u16("oxart entry symbol size", 16)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.kind.to_le_bytes());
        to.extend(u16::from(self.metadata.is_some()).to_le_bytes());
        to.extend(self.metadata.unwrap_or_default().to_le_bytes());
        to.extend(self.symbol_offset.to_le_bytes());
        to.extend(self.symbol_size.to_le_bytes());
        to.extend([0; 6]);
    }
}
