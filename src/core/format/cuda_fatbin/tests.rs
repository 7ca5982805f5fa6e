//! Round trips, output of NVIDIA's own tool, comparison with a naive reader, and a table of defects.

use super::raw::Header;
use super::*;
use crate::base::codec::{Codec, Compression, compress};
use crate::format::ImageKind;
use crate::target::nvptx::Suffix;

const PTX: &[u8] = b".version 8.8\n.target sm_100f\n.address_size 64\n";

fn cubin() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-sm_90.cubin")).unwrap()
}

fn put(bytes: &mut [u8], at: usize, value: u64, size: usize) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// Returns the cubin with another ABI version and flags: `(7, 0x5a0d5a)` is `sm_90a` as written by CUDA 12.
fn cubin_with(abi_version: u8, e_flags: u32) -> Vec<u8> {
    let mut bytes = cubin();
    (bytes[7], bytes[8]) = (if abi_version == 7 { 0x33 } else { 0x41 }, abi_version);
    put(&mut bytes, 48, e_flags.into(), 4);
    bytes
}

/// Writes a container of these images with the properties in their headers.
fn written(images: &[&[u8]]) -> Vec<u8> {
    let members: Vec<_> = images.iter().map(|image| FatbinImage::new(View::new(image), None).unwrap()).collect();
    write(&members).unwrap().to_vec()
}

/// Writes a container of one entry, as an unknown writer might.
fn container_of(header: EntryHeader, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { version: 1, size: EntryHeader::SIZE + payload.len() as u64 }.write(&mut bytes);
    header.write(&mut bytes);
    bytes.extend(payload);
    bytes
}

/// Returns the header of an entry without identifier and options.
fn plain(kind: u16, flags: u64, stored_size: u64) -> EntryHeader {
    EntryHeader {
        kind,
        header_size: 64,
        stored_size,
        compressed_size: 0,
        options_offset: 0,
        code_version: (8, 8),
        arch_number: 100,
        name_offset: 0,
        name_size: 0,
        flags,
        reserved: 0,
        full_size: 0,
    }
}

/// Reads the payloads as with a hex editor, without checks and including their padding.
fn naive_payloads(bytes: &[u8]) -> Vec<&[u8]> {
    let field = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
    };
    let mut at = 16;
    let mut payloads = Vec::new();
    while at < 16 + field(8, 8) {
        let start = at + field(at + 4, 4);
        at = start + field(at + 8, 8);
        payloads.push(&bytes[start..at]);
    }
    payloads
}

fn images(bytes: &[u8]) -> Vec<ImageView<'_>> {
    container(View::new(bytes)).unwrap().images().to_vec()
}

#[test]
fn containers_round_trip() {
    let cubin = cubin();
    for padding in 0..9 {
        let ptx = [PTX, &vec![b'\n'; padding]].concat();
        let bytes = written(&[&ptx, &cubin, &ptx]);
        let fatbin = CudaFatbin::read(View::new(&bytes)).unwrap();
        assert_eq!(fatbin.view.size(), bytes.len() as u64);
        let images: Vec<_> = fatbin.entries.iter().map(|entry| entry.image.data()).collect();
        assert_eq!(images, [&ptx, &cubin, &ptx]);
        for (image, payload) in images.iter().zip(naive_payloads(&bytes)) {
            assert!(payload.starts_with(image) && payload.len() % 8 == 0);
            assert!(payload[image.len()..].iter().all(|&byte| byte == 0));
        }
        assert!(naive_payloads(&bytes)[0].ends_with(b"\0"), "PTX is a C string");
        assert!(fatbin.entries.iter().all(|entry| entry.image.start() % 8 == 0));
    }
}

#[test]
fn output_equals_that_of_fatbinary_13_5() {
    // fatbinary --compress-mode=none --create=out --image3=kind=elf,sm=90,file=… …ptx,sm=100f …elf,sm=100a …elf,sm=90a
    let plain = cubin();
    let mut mercury = cubin_with(8, 0x600_6402);
    let attribute = mercury.windows(6).position(|it| it == b"\x02\x09\0\0\x02\x0c").unwrap();
    mercury[attribute + 2] = 1;
    let old = cubin_with(7, 0x5a_0d5a);
    let expected = [
        b"P\xedU\xba\x01\0\x10\0@(\0\0\0\0\0\0",
        b"\x02\0\x01\x01@\0\0\0\xf0\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\x01\0Z\0\0\0".as_slice(),
        b"\0\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        &plain,
        b"\x01\0\x01\x01P\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0@\0\0\0\x08\0\x08\0d\0\0\0",
        b"\0\0\0\0\0\0\0\0\x11\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"H\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b".version\x208.8\x0a.target\x20sm_100f\x0a.address_size\x2064\x0a\0\0",
        b"\x02\0\x01\x01p\0\0\0\xf0\x0c\0\0\0\0\0\0\0\0\0\0@\0\0\0\x08\0\x01\0d\0\0\0",
        b"\0\0\0\0\0\0\0\0\x11\0\x10\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"H\0\0\0$\0\0\0\0\x02\x09\x01\0\x02\x0c\0\0\x02\x02\x01\0\x03\x0d\x01\x01\x02\x03\0\0\x04\x0b\x08",
        b"\0\0\0\0\0\0\0\0\0\x03\x0e@\x04\0\0\0",
        &mercury,
        b"\x02\0\x01\x01@\0\0\0\xf0\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07\0\x01\0Z\0\0\0",
        b"\0\0\0\0\0\0\0\0\x11\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        &old,
    ]
    .concat();
    let bytes = written(&[&plain, PTX, &mercury, &old]);
    assert!(bytes == expected);
    // nvcc 13.5 states specific cubins without their suffix, or with the family's suffix, if they are compiled from Tile IR.
    let mut unmarked = bytes.clone();
    let flags = 16 + 64 + plain.len().next_multiple_of(8) + 80 + 48 + 42;
    assert_eq!(unmarked[flags], 0x10, "the flag of the suffix");
    unmarked[flags] = 0;
    assert_eq!(images(&unmarked)[2].arch.as_deref(), Some("sm_100a"), "without a suffix");
    unmarked[flags] = 0x20;
    assert_eq!(images(&unmarked)[2].arch.as_deref(), Some("sm_100a"), "with the suffix f");
    let archs = images(&bytes).into_iter().map(|image| image.arch.unwrap());
    assert_eq!(archs.collect::<Vec<_>>(), ["sm_90", "sm_100f", "sm_100a", "sm_90a"]);
}

/// `fatbinary --compress-mode=speed --compress-all -ident=a.cu --cmdline=-O3 --create=out --image3=kind=ptx,sm=100f,…`
/// 13.5.
pub const SPEED: &[u8] = b"P\xedU\xba\x01\0\x10\0\x90\0\0\0\0\0\0\0\x01\0\x01\x01X\0\0\0\x38\0\0\0\0\0\0\0\
    1\0\0\0H\0\0\0\x08\0\x08\0d\0\0\0@\0\0\0\x04\0\0\0\x11\x20\x20\0\0\0\0\0\
    \0\0\0\0\0\0\0\0/\0\0\0\0\0\0\0a.cu\0\0\0\0P\0\0\0\x03\0\0\0\
    -O3\0\0\0\0\0\xf0\x20.version\x208.8\x0a.target\x20s\
    m_100f\x0a.address_size\x2064\x0a\0\0\0\0\0\0\0\0";

#[test]
fn entries_state_codec_and_compiler_options() {
    let entry = CudaFatbin::read(View::new(SPEED)).unwrap().entries[0];
    assert_eq!(entry.identifier.unwrap().data(), b"a.cu");
    assert_eq!(entry.options.unwrap().data(), b"-O3");
    assert_eq!(entry.header.code_version, (8, 8));
    let image = &images(SPEED)[0];
    assert_eq!((image.image_kind, image.arch.as_deref()), (ImageKind::Ptx, Some("sm_100f")));
    assert_eq!((image.codec, image.full_size), (Some(Codec::Lz4), Some(PTX.len() as u64 + 1)), "including its NUL");
    assert_eq!((image.view.start(), image.view.size()), (104, 49));
}

#[test]
fn unknown_entries_are_reported_and_do_not_hide_others() {
    let known = written(&[PTX]);
    // kind, flags, compressed size, decompressed size: expected properties
    let cases = [
        (kind::NVVM, flag::OPAQUE, 5, 100, (ImageKind::Nvvm, Codec::Opaque, Some(100), Some("sm_100"))),
        (kind::NVVM, 0, 0, 0, (ImageKind::Nvvm, Codec::None, None, Some("sm_100"))),
        (kind::GROUP, flag::ZSTD, 5, 100, (ImageKind::Unknown, Codec::Opaque, Some(100), Some("sm_100"))),
        (kind::ELF, flag::ZSTD | flag::LZ4, 5, 100, (ImageKind::Elf, Codec::Opaque, Some(100), Some("sm_100"))),
        (kind::ELF, 1 << 40, 5, 100, (ImageKind::Elf, Codec::Opaque, Some(100), Some("sm_100"))),
        (kind::ELF, flag::SPECIFIC | flag::FAMILY, 0, 0, (ImageKind::Elf, Codec::None, None, None)),
        (kind::TILE_IR, 0, 0, 0, (ImageKind::TileIr, Codec::None, None, Some("sm_100"))),
        (77, 1 << 63, 0, 0, (ImageKind::Unknown, Codec::None, None, Some("sm_100"))),
        (kind::RELOCATABLE_PTX, 0, 0, 0, (ImageKind::Ptx, Codec::None, None, Some("sm_100"))),
        // cuobjdump 13.5 has names for these: cubin, an index.
        (kind::CUBIN, 0, 0, 0, (ImageKind::Unknown, Codec::None, None, Some("sm_100"))),
        (kind::INDEX, 0, 0, 0, (ImageKind::Unknown, Codec::None, None, Some("sm_100"))),
    ];
    for (kind, flags, compressed_size, full_size, (image_kind, codec, listed_size, arch)) in cases {
        // The option block of a known kind must be in place; for others the field's meaning is unknown.
        let is_unknown = [kind::CUBIN, kind::INDEX, 77].contains(&kind);
        let has_options = !is_unknown && kind != kind::GROUP;
        let options_offset = if has_options { 0 } else { 1 << 31 };
        let header = EntryHeader { compressed_size, full_size, options_offset, ..plain(kind, flags, 8) };
        let mut bytes = container_of(header, b"\x7fpayload");
        bytes.extend(&known[16..]);
        let size = bytes.len() as u64 - 16;
        put(&mut bytes, 8, size, 8);
        let images = images(&bytes);
        let image = &images[0];
        let listed = (image.image_kind, image.codec, image.full_size, image.arch.as_deref());
        assert_eq!(listed, (image_kind, Some(codec), listed_size, arch), "kind {kind} flags {flags:#x}");
        let unknown: Vec<_> = image.unknown.iter().map(|it| (it.field, it.value)).collect();
        let expected = if is_unknown { vec![(UnknownValue::KIND, u64::from(kind))] } else { Vec::new() };
        assert_eq!(unknown, expected, "kind {kind}");
        assert_eq!(image.view.size(), if compressed_size == 0 { 8 } else { 5 });
        assert_eq!(images[1].view.data(), PTX);
    }
}

/// An image of a group, as its row in the table describes it.
struct GroupImage {
    image: &'static [u8],
    arch_number: u32,
    identifier: &'static [u8],
    attributes: &'static [u8],
}

impl GroupImage {
    const fn new(image: &'static [u8], arch_number: u32) -> Self {
        GroupImage { image, arch_number, identifier: b"", attributes: b"" }
    }

    /// Writes the row of an image at `offset`.
    fn write(&self, offset: usize, table: &mut Vec<u8>) {
        let end = |at: usize, size: usize| if size == 0 { at } else { (at + size + 1).next_multiple_of(8) };
        let options_offset = end(64, self.identifier.len());
        let given = |offset: usize, value: &[u8]| if value.is_empty() { 0 } else { offset as u32 };
        let header = EntryHeader {
            header_size: offset as u32,
            stored_size: self.image.len() as u64,
            options_offset: given(options_offset, self.attributes),
            code_version: (1, 8),
            arch_number: self.arch_number,
            name_offset: given(64, self.identifier),
            name_size: self.identifier.len() as u32,
            ..plain(kind::ELF, 0x11, 8)
        };
        let start = table.len();
        header.write(table);
        table.extend(self.identifier);
        table.resize(start + options_offset, 0);
        if !self.attributes.is_empty() {
            table.extend((options_offset as u32 + 8).to_le_bytes());
            table.extend((self.attributes.len() as u32).to_le_bytes());
            table.push(0);
            table.extend(self.attributes);
            table.resize(start + end(options_offset + 8, self.attributes.len()), 0);
        }
    }
}

/// Returns a container in the form of `fatbinary --concat --compress-all` 13.5: one stream, and a table of its
/// contents.
fn group(images: &[GroupImage]) -> Vec<u8> {
    let whole: Vec<u8> = images.iter().flat_map(|image| image.image).copied().collect();
    let size = whole.len() as u64;
    let stream = compress([&whole[..]].into_iter(), size, Compression::new(Codec::Zstd), Vec::new()).unwrap();
    let mut rows = Vec::new();
    let mut offset = 0;
    for image in images {
        image.write(offset, &mut rows);
        offset += image.image.len();
    }
    let table = [(images.len() as u32).to_le_bytes(), (8 + rows.len() as u32).to_le_bytes()].concat();
    let payload = [stream.clone(), vec![0; stream.len().next_multiple_of(8) - stream.len()]].concat();
    let header = EntryHeader {
        header_size: 64 + (table.len() + rows.len()) as u32,
        stored_size: payload.len() as u64,
        compressed_size: stream.len() as u32,
        full_size: size,
        options_offset: 64,
        arch_number: 0,
        ..plain(kind::GROUP, flag::ZSTD, 8)
    };
    let mut bytes = Vec::new();
    Header { version: 1, size: u64::from(header.header_size) + header.stored_size }.write(&mut bytes);
    header.write(&mut bytes);
    [bytes, table, rows, payload].concat()
}

const TWO: [GroupImage; 2] = [GroupImage::new(b"the first image", 90), GroupImage::new(b"and the second", 91)];

/// Attributes of a cubin for `sm_100`, as ptxas 13.5 writes them.
const ATTRIBUTES: &[u8] = b"\x02\x09\0\0\x02\x0c\0\0\x02\x02\x01\0\x03\x0d\x01\x01\x03\x07\x01\x01\x02\x03\0\0\
    \x04\x0b\x08\0\x09\0\0\0\0\0\0\0\x03\x0e\x40\x04";

#[test]
fn reads_images_that_are_compressed_as_one() {
    let bytes = group(&TWO);
    let found = images(&bytes);
    let listed: Vec<_> = found.iter().map(|image| (image.arch.as_deref(), image.codec, image.full_size)).collect();
    assert_eq!(listed, [(Some("sm_90"), Some(Codec::Zstd), Some(15)), (Some("sm_91"), Some(Codec::Zstd), Some(14))]);
    let contents: Vec<_> = found.iter().map(|image| image.bytes().unwrap().into_owned()).collect();
    assert_eq!(contents, [b"the first image".to_vec(), b"and the second".to_vec()]);
}

#[test]
fn rows_of_a_group_have_identifiers_and_options() {
    let first = GroupImage { identifier: b"hello.cu", ..GroupImage::new(b"the first image", 90) };
    let second = GroupImage { attributes: ATTRIBUTES, ..GroupImage::new(b"and the second", 100) };
    let third = GroupImage { identifier: b"a.cu", attributes: &ATTRIBUTES[..7], ..GroupImage::new(b"third", 103) };
    // In the output of fatbinary 13.5, the identifier takes 16 bytes and the options of such a cubin 56.
    let mut row = Vec::new();
    first.write(0, &mut row);
    assert_eq!(row.len(), 64 + 16);
    second.write(0, &mut row);
    assert_eq!(row.len(), 64 + 16 + 64 + 56);
    let bytes = group(&[first, second, third]);
    let entries = CudaFatbin::read(View::new(&bytes)).unwrap().entries;
    let text = |view: Option<View<'_>>| view.map(|view| view.data().to_vec());
    let read: Vec<_> = entries.iter().map(|entry| (text(entry.identifier), text(entry.options))).collect();
    let expected = [
        (Some(b"hello.cu".to_vec()), None),
        (None, Some(ATTRIBUTES.to_vec())),
        (Some(b"a.cu".to_vec()), Some(ATTRIBUTES[..7].to_vec())),
    ];
    assert_eq!(read, expected);
    let found = images(&bytes);
    let archs: Vec<_> = found.iter().map(|image| image.arch.as_deref().unwrap()).collect();
    assert_eq!(archs, ["sm_90", "sm_100", "sm_103"]);
    assert_eq!(*found[2].bytes().unwrap(), *b"third");
}

#[test]
fn a_group_with_an_invalid_table_is_one_opaque_image() {
    let row = GroupImage { identifier: b"a.cu", attributes: ATTRIBUTES, ..GroupImage::new(b"and the second", 100) };
    let good = group(&[GroupImage::new(b"the first image", 90), row]);
    assert_eq!(images(&good).len(), 2);
    let first = 88;
    let second = 88 + 64;
    let options = second + 64 + 8;
    #[rustfmt::skip]
    let defects = [
        ("one row more", 80, 3), ("one row less", 80, 1), ("no row", 80, 0), ("many rows", 80, u32::MAX),
        ("size 0", 84, 0), ("a row cut", 84, 192), ("bytes after the rows", 84, 208), ("endless table", 84, u32::MAX),
        ("marker", first, 2), ("offset outside", first + 4, 30), ("offset wraps", first + 4, u32::MAX),
        ("size outside", first + 8, 16 << 20), ("first row with an identifier", first + 32, 64),
        ("identifier outside", second + 32, u32::MAX), ("long identifier", second + 36, 200),
        ("options outside", second + 20, 300), ("options wrap", second + 20, u32::MAX),
        ("option string outside", options, 300), ("long options", options + 4, 48), ("endless options", options + 4, u32::MAX),
    ];
    for (name, at, value) in defects {
        let mut bytes = good.clone();
        put(&mut bytes, at, u64::from(value), 4);
        let found = images(&bytes);
        assert_eq!((found.len(), found[0].codec), (1, Some(Codec::Opaque)), "{name}");
        assert_eq!(found[0].arch, None, "{name}");
        found[0].bytes().unwrap_err();
    }
}

#[test]
fn an_empty_container_is_valid() {
    // fatbinary --create=out
    let bytes = b"P\xedU\xba\x01\0\x10\0\0\0\0\0\0\0\0\0";
    assert_eq!(container(View::new(bytes)).unwrap().view.size(), 16);
    assert_eq!(write(&[]).unwrap().to_vec(), bytes);
}

#[test]
fn bytes_after_the_container_are_not_part_of_it() {
    let mut bytes = written(&[PTX]);
    let size = bytes.len() as u64;
    bytes.extend(written(&[PTX]));
    let container = container(View::new(&bytes)).unwrap();
    assert_eq!((container.view.size(), container.images().len()), (size, 1));
}

#[test]
fn the_magic_in_code_is_not_a_container() {
    for tail in [&[0; 64][..], &[0xff; 64], b"\x01\0\x10\0\x40\0\0\0\0\0\0\0", b"\x74\x0a\x48\x8b\x45\xf8\xc9\xc3", b""]
    {
        let bytes = [&MAGIC[..], tail].concat();
        CudaFatbin::read(View::new(&bytes)).unwrap_err();
    }
}

#[test]
fn rejects_every_truncation() {
    let bytes = written(&[PTX, &cubin()]);
    for end in 0..bytes.len() {
        CudaFatbin::read(View::new(&bytes[..end])).unwrap_err();
    }
}

#[test]
fn extreme_field_values_do_not_panic() {
    let good = written(&[PTX, &cubin()]);
    let second = good.len() - cubin().len() - 64;
    let size = good.len() as u64;
    let values = [0, 1, 2, 8, 63, 65, size - 16, size, size + 1, 1 << 31, 1 << 63, u64::MAX - 7, u64::MAX];
    let offsets = (0..96).step_by(4).chain((second..second + 64).step_by(4));
    for (at, value) in offsets.flat_map(|at| values.map(|value| (at, value))) {
        for width in [2, 4, 8] {
            let mut bytes = good.clone();
            put(&mut bytes, at, value, width);
            let Ok(fatbin) = CudaFatbin::read(View::new(&bytes)) else { continue };
            assert!(fatbin.view.size() <= size);
            let payloads = naive_payloads(&bytes);
            assert_eq!(fatbin.entries.len(), payloads.len(), "offset {at} value {value:#x}");
            for (entry, payload) in fatbin.entries.iter().zip(payloads) {
                assert!(payload.starts_with(entry.image.data()), "offset {at} value {value:#x}");
            }
        }
    }
}

#[test]
fn errors_state_field_offset_and_value() {
    let good = written(&[PTX]);
    #[rustfmt::skip]
    let defects: [(&str, usize, u64, usize, &str); 15] = [
        ("another magic",       0, 0x1234, 4, "CUDA fatbin magic at 0x0: invalid value 0x1234, expected 50 ED 55 BA"),
        ("version 2",           4, 2, 2, "CUDA fatbin version at 0x4: unsupported version 2 (supported: 1)"),
        ("header size",         6, 24, 2, "CUDA fatbin header size at 0x6: invalid value 0x18, expected 16"),
        ("size too large",      8, 137, 8, "CUDA fatbin size at 0x8: offset 16 with size 137 is out of bounds (144 bytes available)"),
        ("size too small",      8, 120, 8, "CUDA fatbin payload size at 0x18: offset 80 with size 48 is out of bounds (120 bytes available)"),
        ("size of half a header", 8, 40, 8, "CUDA fatbin flags at 0x38: truncated: need 8 bytes, 0 available"),
        ("size wraps",          8, u64::MAX, 8, "CUDA fatbin size at 0x8: offset 16 with size 18446744073709551615 is out of bounds (144 bytes available)"),
        ("marker",             18, 0x0102, 2, "CUDA fatbin entry marker at 0x12: invalid value 0x102, expected 0x101"),
        ("entry header small", 20, 63, 4, "CUDA fatbin entry header size at 0x14: invalid value 0x3f, expected at least 64"),
        ("entry header large", 20, 1 << 31, 4, "CUDA fatbin entry header size at 0x14: offset 0 with size 2147483648 is out of bounds (128 bytes available)"),
        ("payload wraps",      24, u64::MAX - 8, 8, "CUDA fatbin payload size at 0x18: offset 80 with size 18446744073709551607 is out of bounds (128 bytes available)"),
        ("compressed size",    32, 49, 4, "CUDA fatbin compressed size at 0x20: offset 80 with size 49 is out of bounds (128 bytes available)"),
        ("options outside",    36, 73, 4, "CUDA fatbin options offset at 0x24: offset 73 with size 8 is out of bounds (80 bytes available)"),
        ("identifier outside", 48, 81, 4, "CUDA fatbin identifier offset at 0x30: offset 81 with size 0 is out of bounds (80 bytes available)"),
        ("option string",      84, 9, 4, "CUDA fatbin option string offset at 0x50: offset 72 with size 9 is out of bounds (80 bytes available)"),
    ];
    for (name, at, value, size, message) in defects {
        let mut bytes = good.clone();
        put(&mut bytes, at, value, size);
        let error = CudaFatbin::read(View::new(&bytes)).expect_err(name);
        assert_eq!(error.to_string(), message, "{name}");
    }
}

#[test]
fn a_cubin_accepts_the_suffix_that_the_user_specifies() {
    let mercury = cubin_with(8, 0x600_6402);
    let member = FatbinImage::new(View::new(&mercury), Some(Suffix::Family)).unwrap();
    let bytes = write(&[member]).unwrap().to_vec();
    assert_eq!(images(&bytes)[0].arch.as_deref(), Some("sm_100f"));
}

#[test]
fn rejects_members_that_are_neither_cubin_nor_ptx() {
    let host = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-x86_64.so")).unwrap();
    let newer = cubin_with(9, 0);
    let cut = &cubin()[..3000];
    let cases: [(&[u8], &str); 6] = [
        (b"hi", "CUDA image at 0x0: truncated: need 4 bytes, 2 available"),
        (b"int main(void) { return 0; }\n", "CUDA image at 0x0: invalid value 0x20746e69, expected a cubin or PTX"),
        (&host, "ELF machine at 0x12: invalid value 0x3e, expected 0xbe, CUDA"),
        (&newer, "cubin ABI version at 0x8: unsupported version 9 (supported: up to 8)"),
        (cut, "ELF program header offset at 0x20: offset 3032 with size 280 is out of bounds (3000 bytes available)"),
        (b".version 8.8\n.target sm_next\n", "PTX target at 0x0: not a printable UTF-8 string"),
    ];
    for (image, message) in cases {
        assert_eq!(FatbinImage::new(View::new(image), None).unwrap_err().to_string(), message);
    }
}
