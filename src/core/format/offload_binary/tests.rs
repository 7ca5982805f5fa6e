//! Round trips, comparison with a naive reader, and a table of defects.

use super::*;
use crate::base::bytes::{Budget, Limits};
use crate::base::codec::{Codec, Compression};
use crate::base::error::Cause;

const STRINGS: [(&str, &str); 2] = [("arch", "gfx90a:xnack+"), ("triple", "amdgcn-amd-amdhsa")];

fn member(image: &[u8]) -> OffloadBinaryImage<'static, '_> {
    OffloadBinaryImage { image_kind: image_kind::OBJECT, offload_kind: 1, flags: 0, strings: &STRINGS, image }
}

fn written(version: Version, members: &[OffloadBinaryImage]) -> Vec<u8> {
    write(version, members).unwrap().content.to_vec()
}

fn sample(version: Version, image: &[u8]) -> Vec<u8> {
    written(version, &[member(image)])
}

fn put(bytes: &mut [u8], at: usize, value: u64, size: usize) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// Reads the first image as with a hex editor, without checks.
fn naive_image(bytes: &[u8]) -> &[u8] {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let entry = word(16);
    &bytes[word(entry + 24)..word(entry + 24) + word(entry + 32)]
}

#[test]
fn binaries_round_trip() {
    for (version, size) in
        Version::ALL.into_iter().flat_map(|version| [0, 1, 7, 8, 9, 4096].map(|size| (version, size)))
    {
        let image = vec![0xa5; size];
        let bytes = sample(version, &image);
        assert_eq!(bytes.len() % 8, 0);
        let binary = OffloadBinary::read(View::new(&bytes)).unwrap();
        let [entry] = binary.entries() else { panic!("one entry") };
        assert_eq!(entry.image.data(), image);
        assert_eq!(entry.image.start() % 8, 0);
        assert_eq!(entry.image.data(), naive_image(&bytes));
        assert_eq!(entry.strings, STRINGS.map(|(key, value)| (key, value.as_bytes())));
        assert_eq!(binary.version, version);
        assert_eq!(binary.view.size(), bytes.len() as u64);
        assert_eq!((entry.image_kind, entry.offload_kind, entry.flags), (image_kind::OBJECT, 1, 0));
    }
}

#[test]
fn version_1_writes_one_binary_per_image_and_later_versions_one_for_all() {
    let images = [&b"first"[..], b"", b"the third"];
    for version in Version::ALL {
        let OffloadBinaryOutput { content, images: places } = write(version, &images.map(member)).unwrap();
        let bytes = content.to_vec();
        let mut found = Vec::new();
        let mut rest = View::new(&bytes);
        let mut binaries = 0;
        while rest.size() > 0 {
            let binary = OffloadBinary::read(rest).unwrap();
            found.extend(binary.entries().iter().map(|entry| entry.image));
            rest = rest.from(binary.view.size());
            binaries += 1;
        }
        assert_eq!(binaries, if version == Version::One { 3 } else { 1 });
        assert_eq!(found.iter().map(View::data).collect::<Vec<_>>(), images);
        let stated: Vec<_> = found.iter().map(|view| view.start()..view.start() + view.size()).collect();
        assert_eq!(places, stated);
        assert!(places.iter().all(|place| place.start % ALIGNMENT == 0));
    }
}

#[test]
fn values_may_contain_nul_from_version_2_on() {
    let strings = [("symbols", "one\0two\0"), ("triple", "spirv64")];
    for version in [Version::Two, Version::Three] {
        let bytes = written(version, &[OffloadBinaryImage { strings: &strings, ..member(b"x") }]);
        let binary = OffloadBinary::read(View::new(&bytes)).unwrap();
        assert_eq!(binary.entries()[0].string("symbols"), Some("one\0two\0"));
        assert_eq!(binary.entries()[0].symbols(), ["one", "two"]);
    }
}

#[test]
fn an_image_of_sycl_may_be_a_zstd_frame() {
    let spirv = b"\x03\x02\x23\x07 and the words of a module".repeat(9);
    let how = Compression::new(Codec::Zstd);
    let stored = crate::base::codec::compress([&spirv[..]].into_iter(), spirv.len() as u64, how, Vec::new()).unwrap();
    for (offload_kind, image_kind, expected) in [(8, ImageKind::SpirV, &spirv), (1, ImageKind::Unknown, &stored)] {
        let bytes = written(Version::Two, &[OffloadBinaryImage { offload_kind, ..member(&stored) }]);
        let image = &container(View::new(&bytes)).unwrap().images()[0].clone();
        assert_eq!((image.image_kind, &*image.bytes().unwrap()), (image_kind, &expected[..]));
    }
    let cut = &stored[..stored.len() - 4];
    let bytes = written(Version::Two, &[OffloadBinaryImage { offload_kind: 8, ..member(cut) }]);
    container(View::new(&bytes)).unwrap_err();
}

/// A table of LLVM 23 has offsets, which are not text.
#[test]
fn a_table_of_symbols_is_read_and_written_back() {
    let table = b"\x02\0\0\0\x0c\0\0\0\x90\0\0\0".iter().copied().chain([b'k'; 131]).chain(*b"\0two\0");
    let table: Vec<u8> = table.collect();
    let strings = [("symbols", table.as_slice()), ("triple", b"spirv64".as_slice())];
    let member =
        OffloadBinaryImage { image_kind: image_kind::SPIRV, offload_kind: 8, flags: 0, strings: &strings, image: b"x" };
    for version in [Version::Two, Version::Three] {
        let members = std::slice::from_ref(&member);
        assert_eq!(check(version, members), Ok(()));
        let bytes = write(version, members).unwrap().content.to_vec();
        let binary = OffloadBinary::read(View::new(&bytes)).unwrap();
        let entry = &binary.entries()[0];
        assert_eq!((entry.strings.as_slice(), entry.string("symbols")), (&strings[..], None));
        let image = &container(View::new(&bytes)).unwrap().images()[0].clone();
        let long = "k".repeat(131);
        assert_eq!(image.strings, [("kernel", long.as_str()), ("kernel", "two"), ("triple", "spirv64")]);
        let again = OffloadBinaryImage { strings: &entry.strings, ..member.clone() };
        assert_eq!(write(version, &[again]).unwrap().content.to_vec(), bytes);
    }
}

#[test]
fn versions_2_and_3_have_the_specified_layout() {
    // Header of 32 or 40 bytes, two entries of 40, three string entries of 24, string table, images.
    let strings: [(&str, &str); 2] = [("arch", "a"), ("triple", "t")];
    let members = [
        OffloadBinaryImage { strings: &strings, ..member(b"12345678") },
        OffloadBinaryImage { strings: &strings[1..], ..member(b"x") },
    ];
    for (version, header) in [(Version::Two, 32), (Version::Three, 40)] {
        let bytes = written(version, &members);
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let entry = header;
        let string = header + 80;
        let table = header + 80 + 72;
        let words = [word(8), word(16), word(24)];
        assert_eq!(words, [bytes.len() as u64, entry as u64, 2]);
        assert_eq!(&bytes[..8], [&MAGIC[..], &[version as u8, 0, 0, 0]].concat());
        let images = (table + b"\0t\0triple\0arch\0a\0".len()).next_multiple_of(8) as u64;
        let expected = [(string, 2, images, 8), (string + 48, 1, images + 8, 1)];
        for (index, (string, count, image, size)) in expected.into_iter().enumerate() {
            let at = entry + 40 * index;
            assert_eq!(
                [word(at + 8), word(at + 16), word(at + 24), word(at + 32)],
                [string as u64, count, image, size]
            );
        }
        let text = |at: u64| bytes[at as usize..].split(|&byte| byte == 0).next().unwrap().to_vec();
        for (index, (key, value)) in [("arch", "a"), ("triple", "t"), ("triple", "t")].into_iter().enumerate() {
            let at = string + 24 * index;
            assert_eq!((text(word(at)), text(word(at + 8)), word(at + 16)), (key.into(), value.into(), 1));
        }
    }
    assert_eq!(written(Version::Three, &members)[32..40], [0; 8], "not compressed");
}

#[test]
fn compressed_binaries_round_trip() {
    let image = b"the same and the same and the same and ".repeat(200);
    let members = [member(&image), member(b"another")];
    let plain = write(Version::Three, &members).unwrap().content;
    for codec in [Codec::Zstd, Codec::Zlib] {
        let mut stream = Vec::new();
        let (header, padding) = compress(&plain, Compression::new(codec), &mut stream).unwrap();
        let bytes = [header, stream.clone(), padding].concat();
        assert_eq!(bytes.len() % 8, 0);
        // The header states 40 bytes and the stream; the padding of the binary is not counted.
        assert_eq!(bytes[8..16], (40 + stream.len() as u64).to_le_bytes());
        assert_eq!(bytes[32..40], plain.size().to_le_bytes());
        let binary = OffloadBinary::read(View::new(&bytes)).unwrap();
        let OffloadBinaryContents::Compressed(compressed) = binary.contents else { panic!("compressed") };
        assert_eq!((compressed.codec, compressed.full_size), (codec, plain.size() - 40));
        assert_eq!(compressed.decompress().unwrap(), plain.to_vec());
        let mut elsewhere = bytes.clone();
        put(&mut elsewhere, 16, 41, 8);
        let error = OffloadBinary::read(View::new(&elsewhere)).unwrap_err().to_string();
        assert_eq!(
            error,
            "offload binary entries offset at 0x10: invalid value 0x29, expected 40 in a compressed binary"
        );
    }
}

#[test]
fn entries_without_an_image_are_metadata() {
    let strings = [("triple", "t")];
    let metadata =
        OffloadBinaryImage { image_kind: 0, offload_kind: 1, flags: flag::METADATA, strings: &strings, image: b"" };
    let bytes = written(Version::Two, &[metadata, member(b"image")]);
    let images = images(&bytes);
    assert_eq!(
        images.iter().map(|image| image.image_kind).collect::<Vec<_>>(),
        [ImageKind::Metadata, ImageKind::Unknown]
    );
    assert!(images.iter().all(|image| image.unknown.is_empty()));
}

/// Image of an entry for SYCL.
fn sycl(version: Version, image_kind: u16, role: &str, image: &[u8]) -> Result<(ImageKind, Vec<u8>, bool), Malformed> {
    let strings = [("role", role), ("triple", "spir64-unknown-unknown")];
    let strings = if role.is_empty() { &strings[1..] } else { &strings };
    let bytes = written(version, &[OffloadBinaryImage { image_kind, offload_kind: 8, flags: 0, strings, image }]);
    let container = container(View::new(&bytes))?;
    let [image] = container.images() else { panic!("one image") };
    Ok((image.image_kind, image.view.data().to_vec(), image.unknown.is_empty()))
}

#[test]
fn syclbin_and_spirv_of_one_image_kind_are_told_apart_by_content() {
    let spirv = b"\x03\x02\x23\x07\0\x04\x01\0\x11\0\x08\0\x05\0\0\0\0\0\0\0";
    let cases: [(u16, &[u8], ImageKind, [bool; 2]); 6] = [
        (6, spirv, ImageKind::SpirV, [true, true]),
        (6, b"IBYS\x01\0\0\0", ImageKind::SyclBin, [true, true]),
        (7, b"IBYS\x01\0\0\0", ImageKind::SyclBin, [true, true]),
        (6, b"other", ImageKind::Unknown, [false, true]),
        (7, spirv, ImageKind::SpirV, [false, false]),
        (8, b"IBYS\x01\0\0\0", ImageKind::SyclBin, [false, false]),
    ];
    for (number, image, kind, is_known) in cases {
        for (version, is_known) in [Version::One, Version::Two].into_iter().zip(is_known) {
            assert_eq!(
                sycl(version, number, "", image).unwrap(),
                (kind, image.to_vec(), is_known),
                "{number} {version:?}"
            );
        }
    }
}

#[test]
fn code_of_syclbin_follows_its_properties() {
    let code = [&[3, 0, 0, 0, 0, 0, 0, 0][..], b"[p]", b"\x7fELF"].concat();
    for number in [6, 7] {
        for role in ["ir", "native"] {
            let found = sycl(Version::Two, number, role, &code).unwrap();
            assert_eq!(found, (ImageKind::Elf, b"\x7fELF".to_vec(), true), "{number} {role}");
        }
        for role in ["global_metadata", "am_metadata"] {
            let found = sycl(Version::Two, number, role, b"[p]").unwrap();
            assert_eq!(found, (ImageKind::Metadata, b"[p]".to_vec(), true), "{number} {role}");
        }
    }
    let error = sycl(Version::Two, 7, "ir", &[200, 0, 0, 0, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(
        (error.field, error.cause),
        ("SYCLBIN metadata size", Cause::OutOfBounds { offset: 8, size: 200, limit: 8 })
    );
}

fn images(bytes: &[u8]) -> Vec<ImageView<'_>> {
    container(View::new(bytes)).unwrap().images().to_vec()
}

#[test]
fn bytes_after_the_binary_are_not_part_of_it() {
    for version in Version::ALL {
        let mut bytes = sample(version, b"image");
        let size = bytes.len() as u64;
        bytes.extend([0xff; 100]);
        assert_eq!(OffloadBinary::read(View::new(&bytes)).unwrap().view.size(), size);
    }
}

#[test]
fn rejects_every_truncation() {
    for version in Version::ALL {
        let bytes = sample(version, b"some device image");
        for end in 0..bytes.len() {
            OffloadBinary::read(View::new(&bytes[..end])).unwrap_err();
        }
    }
}

#[test]
fn extreme_field_values_do_not_panic() {
    for version in Version::ALL {
        let good = written(version, &[member(b"some device image"), member(b"and another")]);
        let end = good.len() as u64;
        let header = version.header_size() as usize + 2 * 40 + 4 * 24;
        let values = [0, 1, 7, 31, 33, 39, 40, 41, end, end + 1, 1 << 31, 1 << 63, u64::MAX - 7, u64::MAX];
        for (at, value) in (0..header).step_by(4).flat_map(|at| values.map(|value| (at, value))) {
            for size in [2, 4, 8] {
                let mut bytes = good.clone();
                put(&mut bytes, at, value, size);
                let Ok(binary) = OffloadBinary::read(View::new(&bytes)) else { continue };
                assert!(binary.view.size() <= bytes.len() as u64);
                if let OffloadBinaryContents::Compressed(compressed) = &binary.contents {
                    compressed.decompress().unwrap_err();
                } else {
                    assert_eq!(binary.entries()[0].image.data(), naive_image(&bytes), "offset {at} value {value}");
                }
            }
        }
    }
}

#[test]
fn errors_state_field_offset_and_value() {
    let good = sample(Version::One, b"some device image");
    let end = good.len() as u64;
    #[rustfmt::skip]
    let defects: [(&str, usize, u64, usize, &str); 10] = [
        ("another magic",      0, 0x1234, 4, "offload binary magic at 0x0: invalid value 0x1234, expected 10 FF 10 AD"),
        ("version 0",          4, 0, 4, "offload binary version at 0x4: unsupported version 0 (supported: 1 to 3)"),
        ("version 99",         4, 99, 4, "offload binary version at 0x4: unsupported version 99 (supported: 1 to 3)"),
        ("size too large",     8, end + 8, 8, "offload binary size at 0x8: offset 0 with size 184 is out of bounds (176 bytes available)"),
        ("size too small",     8, 8, 8, "offload binary size at 0x8: invalid value 0x8, expected at least the size of the header"),
        ("entry wraps",       16, u64::MAX - 8, 8, "offload binary entries offset at 0x10: offset 18446744073709551607 with size 40 is out of bounds (176 bytes available)"),
        ("entry size",        24, 32, 8, "offload binary entry size at 0x18: invalid value 0x20, expected 40"),
        ("too many strings",  48, 1 << 40, 8, "offload binary string offset at 0x28: offset 72 with size 17592186044416 is out of bounds (176 bytes available)"),
        ("image wraps",       56, u64::MAX, 8, "offload binary image offset at 0x38: offset 18446744073709551615 with size 17 is out of bounds (176 bytes available)"),
        ("key outside",       72, end, 8, "offload binary key at 0x48: unterminated string"),
    ];
    assert_rejected(&good, &defects);
    let good = sample(Version::Three, b"some device image");
    #[rustfmt::skip]
    let defects: [(&str, usize, u64, usize, &str); 6] = [
        ("no entries",        24, 0, 8, "offload binary entry count at 0x18: invalid value 0x0, expected at least 1"),
        ("too many entries",  24, u64::MAX, 8, "offload binary entries offset at 0x10: offset 40 with size 18446744073709551615 is out of bounds (200 bytes available)"),
        ("more than fit",     24, 5, 8, "offload binary entries offset at 0x10: offset 40 with size 200 is out of bounds (200 bytes available)"),
        ("value wraps",       96, u64::MAX, 8, "offload binary value at 0x58: offset 159 with size 18446744073709551615 is out of bounds (200 bytes available)"),
        ("inflated too small", 32, 39, 8, "offload binary inflated size at 0x20: invalid value 0x27, expected at least 40"),
        ("entries elsewhere", 16, 48, 8, "offload binary string offset at 0x38: offset 2 with size 4224 is out of bounds (200 bytes available)"),
    ];
    assert_rejected(&good, &defects);
}

fn assert_rejected(good: &[u8], defects: &[(&str, usize, u64, usize, &str)]) {
    for &(name, at, value, size, message) in defects {
        let mut bytes = good.to_vec();
        put(&mut bytes, at, value, size);
        let error = OffloadBinary::read(View::new(&bytes)).expect_err(name);
        assert_eq!(error.to_string(), message, "{name}");
    }
}

#[test]
fn shared_bytes_cannot_make_a_small_file_expensive() {
    // Images that overlap: containers in containers would multiply.
    let mut bytes = written(Version::Two, &[member(b"some device image"), member(b"and another")]);
    let first = u64::from_le_bytes(bytes[56..64].try_into().unwrap());
    put(&mut bytes, 96, first + 16, 8);
    let error = OffloadBinary::read(View::new(&bytes)).unwrap_err().to_string();
    let message = format!(
        "offload binary image offset at 0x60: invalid value {:#x}, expected an offset after the preceding image",
        first + 16
    );
    assert_eq!(error, message);

    // A thousand values that are one megabyte of text each, all of it the same.
    let image = vec![b'x'; 1 << 20];
    let mut bytes =
        written(Version::Two, &[OffloadBinaryImage { strings: &[("key", "value"); 1000], ..member(&image) }]);
    let text = u64::from_le_bytes(bytes[56..64].try_into().unwrap());
    for entry in (72..).step_by(24).take(1000) {
        put(&mut bytes, entry + 8, text, 8);
        put(&mut bytes, entry + 16, image.len() as u64, 8);
    }
    let budget = Budget::new(Limits::default(), bytes.len() as u64);
    let error = OffloadBinary::read(View::with_budget(&bytes, &budget)).unwrap_err();
    assert!(matches!(error.cause, Cause::OverBudget { .. }), "{error}");
}

#[test]
fn rejects_a_key_that_is_not_utf8() {
    let mut bytes = sample(Version::One, b"x");
    let at = bytes.windows(4).position(|w| w == b"arch").unwrap();
    bytes[at] = 0xff;
    assert_eq!(OffloadBinary::read(View::new(&bytes)).unwrap_err().cause, Cause::Unreadable);
}

#[test]
fn unknown_values_are_kept_and_reported() {
    // Kinds are bits: 5 combines OpenMP and HIP.
    let mut bytes = sample(Version::One, b"x");
    put(&mut bytes, 32, 77, 2);
    put(&mut bytes, 34, 5, 2);
    put(&mut bytes, 36, 1, 4);
    let images = images(&bytes);
    assert_eq!(images[0].kind, None);
    let unknown = [("offload kind", 5), ("image kind", 77), ("flags", 1)];
    assert_eq!(images[0].unknown, unknown.map(|(field, value)| UnknownValue { field, value }));
}
