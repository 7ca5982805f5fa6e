//! Files of every format cut at every byte, and intact files that look like cut ones.

use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, SectionKind, SymbolFlags, SymbolKind, SymbolScope};

use super::*;

fn message(bytes: &[u8]) -> Option<String> {
    defect(FileKind::parse(bytes).ok(), View::new(bytes)).map(|defect| defect.to_string())
}

fn library() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-x86_64.so")).unwrap()
}

fn field(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

fn set(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Builds an object with two sections, without relocations, and with a symbol that has a long name.
fn object(format: BinaryFormat, architecture: Architecture, endianness: object::Endianness) -> Vec<u8> {
    let mut object = Object::new(format, architecture, endianness);
    for (name, content) in [("__text", &b"code"[..]), ("__const", &[7; 100])] {
        let section = object.add_section(b"__DATA".into(), name.into(), SectionKind::Data);
        object.append_section_data(section, content, 8);
        object.add_symbol(Symbol {
            name: b"a_symbol_with_a_long_name".into(),
            value: 0,
            size: 4,
            kind: SymbolKind::Data,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    object.write().unwrap()
}

/// Cuts a file at every byte, and requires a defect for at least `identified` bytes. Fewer bytes do not identify the
/// format.
fn every_cut_is_a_defect(bytes: &[u8], identified: usize) {
    assert_eq!(message(bytes), None);
    assert_eq!(message(&[bytes, b"appended data"].concat()), None);
    for end in identified..bytes.len() {
        let message = message(&bytes[..end]);
        assert!(message.as_ref().is_some_and(|message| message.contains(": truncated: need ")), "{end}: {message:?}");
    }
}

#[test]
fn every_cut_of_an_elf_file_is_a_defect() {
    let bytes = library();
    every_cut_is_a_defect(&bytes, 4);
    let offset = field(&bytes, 40);
    let needed = usize::from(bytes[60]) * 64;
    assert_eq!(offset + needed, bytes.len(), "the headers end the file");
    for end in 16..bytes.len() {
        let expected = match end {
            ..64 => format!("ELF header at 0x0: truncated: need 64 bytes, {end} available"),
            _ => {
                let available = end.saturating_sub(offset);
                format!("section headers at {offset:#x}: truncated: need {needed} bytes, {available} available")
            }
        };
        assert_eq!(message(&bytes[..end]), Some(expected), "{end}");
    }
}

/// A library whose section headers precede its contents, so that a cut removes sections but no headers.
fn library_with_headers_first() -> Vec<u8> {
    let bytes = library();
    let old = field(&bytes, 40);
    let size = usize::from(bytes[60]) * 64;
    let moved = 1 << 16;
    let mut new = bytes.clone();
    set(&mut new, 40, moved as u64);
    new.resize(moved, 0);
    new.extend(&bytes[old..old + size]);
    let last = new.len() - 64;
    // The last section is moved after the headers.
    let contents = field(&new, last + 24);
    let length = field(&new, last + 32);
    let end = new.len() as u64;
    set(&mut new, last + 24, end);
    new.extend_from_within(contents..contents + length);
    new
}

#[test]
fn cuts_of_sections_and_segments_are_defects_without_cuts_of_headers() {
    let bytes = library_with_headers_first();
    assert_eq!(message(&bytes), None);
    assert!(message(&bytes[..bytes.len() - 1]).unwrap().starts_with("ELF section at "));

    // Without section headers, only segments are left.
    let mut stripped = library();
    set(&mut stripped, 40, 0);
    stripped[60..64].fill(0);
    let segments = field(&stripped, 32);
    let ends = (0..usize::from(stripped[56]))
        .map(|index| segments + index * 56)
        .map(|at| field(&stripped, at + 8) + field(&stripped, at + 32));
    let end = ends.max().unwrap();
    assert_eq!(message(&stripped[..end]), None, "no header refers to the rest");
    for cut in 4..end {
        assert!(message(&stripped[..cut]).is_some(), "{cut}");
    }
    assert!(message(&stripped[..end - 1]).unwrap().starts_with("ELF segment at "));
    assert_eq!(
        message(&stripped[..100]).unwrap(),
        format!("program headers at 0x40: truncated: need {} bytes, 36 available", usize::from(stripped[56]) * 56)
    );
}

#[test]
fn a_split_debug_file_whose_segments_are_elsewhere_is_intact() {
    // As `eu-strip -f` writes it: sections in memory without bytes, except for notes, and the segments of the library.
    let mut bytes = library();
    let headers = field(&bytes, 40);
    let count = usize::from(bytes[60]);
    let segments = field(&bytes, 32);
    set(&mut bytes, segments + 32, 1 << 40);
    assert!(message(&bytes).unwrap().starts_with("ELF segment at "), "a library");
    for header in (0..count).map(|index| headers + index * 64) {
        if bytes[header + 8] & 2 != 0 {
            bytes[header + 4..header + 8].copy_from_slice(&[8, 0, 0, 0]);
            set(&mut bytes, header + 32, 1 << 40);
        }
    }
    assert_eq!(message(&bytes), None);
}

#[test]
fn reads_headers_of_32_bits_in_big_endian_order() {
    let mut bytes = [0; 92];
    bytes[..7].copy_from_slice(b"\x7fELF\x01\x02\x01");
    bytes[32..36].copy_from_slice(&52_u32.to_be_bytes());
    bytes[48..50].copy_from_slice(&1_u16.to_be_bytes());
    assert_eq!(message(&bytes), None);
    let expected = "section headers at 0x34: truncated: need 40 bytes, 39 available";
    assert_eq!(message(&bytes[..91]).as_deref(), Some(expected));
}

#[test]
fn every_cut_of_an_object_is_a_defect() {
    use object::Endianness::{Big, Little};
    let elf = object(BinaryFormat::Elf, Architecture::X86_64, Little);
    every_cut_is_a_defect(&elf, 4);
    every_cut_is_a_defect(&object(BinaryFormat::Elf, Architecture::PowerPc, Big), 4);
    // The magic is two bytes; the first section header shows that it is an object.
    every_cut_is_a_defect(&object(BinaryFormat::Coff, Architecture::X86_64, Little), 60);
    every_cut_is_a_defect(&object(BinaryFormat::Coff, Architecture::Aarch64, Little), 60);
    every_cut_is_a_defect(&object(BinaryFormat::MachO, Architecture::X86_64, Little), 16);
    every_cut_is_a_defect(&object(BinaryFormat::MachO, Architecture::Arm, Little), 16);
    every_cut_is_a_defect(&object(BinaryFormat::MachO, Architecture::PowerPc64, Big), 16);
}

#[test]
fn files_that_begin_like_an_object_are_not_checked() {
    for start in [&b"\x64\x86"[..], b"\x64\x86\x01\0", b"\x4c\x01\x02\0\0\0\0\0\xff\xff\xff\x7f\x09\0\0\0"] {
        for rest in [0, 1, b'x', 0xff] {
            assert_eq!(message(&[start, &[rest; 400]].concat()), None, "{start:x?} {rest}");
        }
    }
}

/// A universal file (mach-o/fat.h: numbers are big-endian).
fn universal(slices: &[&[u8]]) -> Vec<u8> {
    let mut bytes = [0xcafe_babe_u32, slices.len() as u32].map(u32::to_be_bytes).concat();
    let mut offset = 128;
    for slice in slices {
        bytes.extend([0x0100_0007, 3, offset, slice.len() as u32, 3].map(u32::to_be_bytes).concat());
        offset += slice.len() as u32;
    }
    bytes.resize(128, 0);
    bytes.extend(slices.concat());
    bytes
}

#[test]
fn every_cut_of_a_universal_file_is_a_defect() {
    let slice = object(BinaryFormat::MachO, Architecture::X86_64, object::Endianness::Little);
    every_cut_is_a_defect(&universal(&[&slice, &slice]), 16);
    let cut = message(&universal(&[&slice[..slice.len() - 1], &slice])).unwrap();
    assert!(cut.starts_with("string table at "), "a cut slice in a complete file: {cut}");
    // CAFEBABE, minor version 0, major version 61: Java 17.
    assert_eq!(message(&[b"\xca\xfe\xba\xbe\0\0\0\x3d".as_slice(), &[7; 300]].concat()), None);
}

/// Offset of the PE header, size of all headers, and offset of the directory of certificates.
const PE_AT: usize = 0x40;
const HEADERS: usize = 512;
const CERTIFICATES: usize = PE_AT + 24 + 112 + 4 * 8;

/// A PE library with a section of 64 bytes, a symbol and a string table, and certificates of 32 bytes at the end.
fn pe(optional_magic: u16) -> Vec<u8> {
    let mut bytes = b"MZ".to_vec();
    bytes.resize(PE_AT, 0);
    bytes[0x18] = 0x40;
    bytes[0x3c] = PE_AT as u8;
    let symbols_at = HEADERS as u32 + 64;
    bytes.extend(b"PE\0\0\x64\x86\x01\0\0\0\0\0");
    bytes.extend([symbols_at, 1].map(u32::to_le_bytes).concat());
    bytes.extend([240_u16, 0x2022, optional_magic].map(u16::to_le_bytes).concat());
    let pe64_shift = if optional_magic == 0x20b { 0 } else { 16 };
    bytes.resize(PE_AT + 24 + 240, 0);
    bytes[PE_AT + 24 + 108 - pe64_shift] = 16;
    bytes.extend(b".hip_fat");
    bytes.extend([64_u32, 0x1000, 64, HEADERS as u32].map(u32::to_le_bytes).concat());
    bytes.extend([0; 16]);
    bytes.resize(HEADERS, 0);
    bytes.extend([7; 64]);
    bytes.extend([b"a symbol".as_slice(), &[0; 10], &8_u32.to_le_bytes(), b"abc\0"].concat());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let certificates = [bytes.len() as u32, 32].map(u32::to_le_bytes).concat();
    bytes[CERTIFICATES - pe64_shift..][..8].copy_from_slice(&certificates);
    bytes.extend([9; 32]);
    bytes
}

#[test]
fn every_cut_of_a_pe_file_is_a_defect() {
    for optional_magic in [0x20b, 0x10b] {
        let bytes = pe(optional_magic);
        // Before the offset of the PE header, it is an MS-DOS program.
        every_cut_is_a_defect(&bytes, 0x40);
        let size = bytes.len();
        let cuts = [
            (size - 1, "PE certificates"),
            (size - 33, "PE certificates"),
            (HEADERS + 63, "section"),
            (HEADERS + 70, "symbol table"),
        ];
        for (cut, field) in cuts {
            assert!(message(&bytes[..cut]).unwrap().starts_with(&format!("{field} at 0x")), "{cut}");
        }
    }
}

#[test]
fn a_program_for_ms_dos_is_intact() {
    let mut bytes = pe(0x20b)[..0x80].to_vec();
    assert!(message(&bytes).is_some());
    // Its relocations begin at 28, and cover the field.
    bytes[0x18] = 28;
    bytes[0x3c..0x40].fill(0x77);
    assert_eq!(message(&bytes), None);
}
