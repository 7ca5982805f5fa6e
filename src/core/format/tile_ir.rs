//! Tile IR bytecode, the portable form of CUDA Tile kernels. The driver or tileiras compiles it.
//!
//! Layout: magic, version, sections, end marker. A section is its number, its size, its alignment if bit 7 of the
//! number is set, padding to the alignment and its contents. Offsets count from the start of the file. Sizes, counts
//! and indexes are variable-width integers of seven bits per byte, the lowest first. Source: NVIDIA, Tile IR (CUDA
//! 13.4), section Binary Format; NVIDIA/cuda-tile, lib/Bytecode; for the table of functions of version 13.5 the output
//! of nvcc 13.5 and of cuda-tile 1.7.0.

use crate::base::bytes::{Cursor, Resource, View};
use crate::base::error::{Cause, Malformed};

/// First bytes of a file.
pub const MAGIC: [u8; 8] = *b"\x7fTileIR\0";

/// +8: major and minor version of one byte each, and a tag of two bytes.
pub const VERSION_OFFSET: u64 = 8;

/// +12: the first section.
const SECTIONS_OFFSET: u64 = 12;

/// Bit of a section's number: an alignment follows the size.
const HAS_ALIGNMENT: u8 = 0x80;

/// Numbers of sections.
pub mod section {
    /// End of the file, one byte.
    pub const END: u8 = 0;
    /// Strings; all other sections refer to them by index.
    pub const STRINGS: u8 = 1;
    /// Functions and their code.
    pub const FUNCTIONS: u8 = 2;
}

/// Version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TileIrVersion {
    pub major: u8,
    pub minor: u8,
    /// Not 0 for files with features of a preview.
    pub tag: u16,
}

impl TileIrVersion {
    /// Reads the version of a file that begins with [`MAGIC`].
    pub fn read(view: View<'_>) -> Result<Self, Malformed> {
        let [major, minor] = view.u16("Tile IR version", VERSION_OFFSET)?.to_le_bytes();
        Ok(TileIrVersion { major, minor, tag: view.u16("Tile IR version tag", VERSION_OFFSET + 2)? })
    }
}

/// A section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileIrSection<'data> {
    /// Number, see [`section`].
    pub number: u8,
    /// Contents.
    pub contents: View<'data>,
}

/// A file whose sections have been walked up to the end marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileIr<'data> {
    /// Version of the format.
    pub version: TileIrVersion,
    /// Sections in the order of the file.
    pub sections: Vec<TileIrSection<'data>>,
    /// Size of the file in bytes.
    pub size: u64,
}

impl<'data> TileIr<'data> {
    /// Reads the file at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        if !view.starts_with(&MAGIC) {
            let value = u64::from(view.u32("Tile IR magic", 0)?);
            return Err(view.malformed("Tile IR magic", 0, Cause::Unexpected { value, expected: "7F TileIR" }));
        }
        let version = TileIrVersion::read(view)?;
        let mut cursor = Cursor::new(view);
        cursor.take("Tile IR header", SECTIONS_OFFSET)?;
        let mut sections = Vec::new();
        loop {
            let number = cursor.u8("Tile IR section")?;
            if number == section::END {
                return Ok(TileIr { version, sections, size: cursor.at() });
            }
            let size_field = cursor.field("Tile IR section size");
            let size = integer(&mut cursor, "Tile IR section size")?;
            if number & HAS_ALIGNMENT != 0 {
                align(&mut cursor)?;
            }
            let contents = cursor.take_stated(size_field, size)?;
            view.charge("Tile IR section", Resource::Memory, size_of::<TileIrSection<'_>>() as u64)?;
            sections.push(TileIrSection { number: number & !HAS_ALIGNMENT, contents });
        }
    }

    /// Returns the contents of the first section with a number.
    pub fn section(&self, number: u8) -> Option<View<'data>> {
        self.sections.iter().find(|section| section.number == number).map(|section| section.contents)
    }
}

/// Reads an integer of variable width.
pub fn integer(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u64, Malformed> {
    let start = *cursor;
    let mut value = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = cursor.u8(field)?;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has one bit.
        if bits.leading_zeros() < shift {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(start.malformed(field, Cause::Described("more than 64 bits".to_owned())))
}

/// Reads an alignment and skips the padding up to it.
fn align(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
    let start = *cursor;
    let alignment = integer(cursor, "Tile IR section alignment")?;
    if !alignment.is_power_of_two() {
        let cause = Cause::Unexpected { value: alignment, expected: "a power of two" };
        return Err(start.malformed("Tile IR section alignment", cause));
    }
    cursor.align(alignment);
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// `nvcc -arch=sm_100 --enable-tile -tilebc` 13.5 for `__tile_global__ void tk(int *p) {}` and `tk2(float *p, int
    /// n) {}`, with shorter debug information.
    pub const BYTES: &[u8] = b"\x7fTileIR\0\x0d\x05\0\0\
        \x82\x20\x08\xcb\x02\0\x03\x02\x01\x0b\0\x06\0\x03\x5c\0\0\x01\x08\x02\x02\x0b\0\x06\0\x03\x5c\0\0\
        \xcb\xcb\xcb\xcb\xcb\xcb\xcb\
        \x81\x1c\x04\xcb\x02\xcb\xcb\xcb\0\0\0\0\x07\0\0\0_Z2tkPi_Z3tk2Pfi\0";

    /// Walks the sections as with a hex editor, without checks.
    fn naive(bytes: &[u8]) -> (Vec<(u8, &[u8])>, usize) {
        let integer = |at: &mut usize| {
            let mut value = 0;
            let mut shift = 0;
            loop {
                let byte = bytes[*at];
                *at += 1;
                value += usize::from(byte % 128) << shift;
                shift += 7;
                if byte < 128 {
                    return value;
                }
            }
        };
        let mut sections = Vec::new();
        let mut at = 12;
        while bytes[at] != 0 {
            let number = bytes[at];
            at += 1;
            let size = integer(&mut at);
            if number >= 128 {
                let alignment = integer(&mut at);
                while at % alignment != 0 {
                    at += 1;
                }
            }
            sections.push((number % 128, &bytes[at..at + size]));
            at += size;
        }
        (sections, at + 1)
    }

    #[test]
    fn walks_the_sections_up_to_the_end_marker() {
        let (expected, size) = naive(BYTES);
        let bytes = [BYTES, b"something else"].concat();
        let file = TileIr::read(View::new(&bytes)).unwrap();
        let sections: Vec<_> = file.sections.iter().map(|it| (it.number, it.contents.data())).collect();
        assert_eq!((sections, file.size), (expected, size as u64));
        assert_eq!((size, file.version), (BYTES.len(), TileIrVersion { major: 13, minor: 5, tag: 0 }));
        assert_eq!(file.section(section::STRINGS).unwrap().data()[12..], b"_Z2tkPi_Z3tk2Pfi"[..]);
    }

    #[test]
    fn every_truncated_file_is_an_error() {
        for end in 0..BYTES.len() {
            assert!(TileIr::read(View::new(&BYTES[..end])).is_err(), "{end}");
        }
    }

    #[test]
    fn reports_the_offset_and_the_cause_of_defects() {
        let cases: [(usize, &[u8], &str); 6] = [
            (0, b"\x7fELF", "Tile IR magic at 0x0: invalid value 0x464c457f, expected 7F TileIR"),
            (13, b"\x7f", "Tile IR section size at 0xd: offset 16 with size 127 is out of bounds (81 bytes available)"),
            (14, b"\x03", "Tile IR section alignment at 0xe: invalid value 0x3, expected a power of two"),
            (14, b"\x00", "Tile IR section alignment at 0xe: invalid value 0x0, expected a power of two"),
            (13, &[0xff; 12], "Tile IR section size at 0xd: more than 64 bits"),
            (14, &[0x80; 60], "Tile IR section alignment at 0xe: more than 64 bits"),
        ];
        for (at, new, expected) in cases {
            let mut bytes = BYTES.to_vec();
            bytes[at..at + new.len()].copy_from_slice(new);
            assert_eq!(TileIr::read(View::new(&bytes)).unwrap_err().to_string(), expected, "{at}");
        }
    }
}
