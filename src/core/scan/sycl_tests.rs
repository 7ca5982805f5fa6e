//! Property sets of SYCL images, in both versions of the table and damaged.

use super::*;
use crate::scan::inventory::PropertyValue;

/// Returns the property sets of the image in an object, as texts. `change` modifies the bytes of the table. The pointer
/// to the image is at the offset `at` of the table.
fn property_sets(version: u16, at: u64, change: impl FnOnce(&mut Vec<u8>)) -> Vec<String> {
    let mut host = Host::elf();
    let images = host.section("", "__CLANG_OFFLOAD_BUNDLE__sycl-spir64", &[SPIRV, b"more"].concat());
    let size = SPIRV.len() as u64;
    let table: Vec<u8> = [0, size, 0, 4].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    let table = host.section("", ".tgtimg", &table);
    host.points(table, 0, images, 0).points(table, 16, images, size);
    let names = host.section("", ".rodata", b"SYCL/misc properties\0optLevel\0SYCL/device globals\0global\0");
    // The properties, a number and bytes, then the sets, then the image.
    let first = 0;
    let sets = 64;
    let image = 64 + 48;
    let mut bytes = vec![0; image as usize + 104];
    bytes[16] = 1;
    bytes[24] = 3;
    bytes[32 + 16] = 2;
    bytes[32 + 24] = 17;
    bytes[image as usize..image as usize + 2].copy_from_slice(&version.to_le_bytes());
    bytes[image as usize + 2] = 4;
    change(&mut bytes);
    let data = host.section("", ".data.rel.ro", &bytes);
    host.points(data, first, names, 21).points(data, first + 32, names, 50);
    host.points(data, sets, names, 0).points(data, sets + 8, data, first).points(data, sets + 16, data, first + 32);
    host.points(data, sets + 24, names, 30).points(data, sets + 32, data, first + 32).points(data, sets + 40, data, 64);
    host.points(data, image + at, images, 0).points(data, image + at + 8, images, size);
    host.points(data, image + at + 32, data, sets).points(data, image + at + 40, data, image);
    let file = host.scan();
    let image = file.device_images().next().unwrap();
    let text = |set: &crate::scan::inventory::PropertySet| {
        let property = |it: &crate::scan::inventory::Property| match it.value {
            PropertyValue::Number(value) => format!("{}={value}", it.name),
            PropertyValue::Bytes(size) => format!("{} {size} bytes", it.name),
        };
        format!("{}: {}", set.name, set.properties.iter().map(property).collect::<Vec<_>>().join(", "))
    };
    image.property_sets.iter().map(text).collect()
}

#[test]
fn tables_of_both_versions_lead_to_property_sets() {
    let expected = ["SYCL/misc properties: optLevel=3", "SYCL/device globals: global 17 bytes"];
    assert_eq!(property_sets(3, 32, |_| {}), expected);
    assert_eq!(property_sets(2, 48, |_| {}), expected);
}

#[test]
fn other_tables_state_no_property_sets() {
    for (version, at) in [(2, 32), (3, 48), (4, 32), (0, 32)] {
        assert_eq!(property_sets(version, at, |_| {}), [""; 0], "version {version}, pointer at {at}");
    }
    assert_eq!(property_sets(3, 32, |bytes| bytes[64 + 48 + 2] = 1), [""; 0], "of OpenMP");
}

/// Returns an archive of ocloc with a binary for DG2 and SPIR-V.
fn archive() -> Vec<u8> {
    let zebin = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-dg2.zebin")).unwrap();
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in [("64.12.55.8", &zebin[..]), ("64.12.60.7", b"code for PVC"), ("generic_ir", SPIRV)] {
        let name = format!("{name}/");
        let size = data.len();
        bytes.extend(format!("{name:<16}0           0     0     644     {size:<10}`\n").bytes());
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// Scans an object with two images in a section, and a table of the images.
fn scan_section(section: &str, images: [&[u8]; 2]) -> crate::scan::inventory::File {
    let mut host = Host::elf();
    let size = images[0].len().next_multiple_of(16);
    let mut bytes = images[0].to_vec();
    bytes.resize(size, 0);
    bytes.extend_from_slice(images[1]);
    let data = host.section("", section, &bytes);
    let words = [0, images[0].len() as u64, 0, images[1].len() as u64];
    let table: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let table = host.section("", ".tgtimg", &table);
    host.points(table, 0, data, 0).points(table, 16, data, size as u64);
    host.scan()
}

/// Returns triple, arch and kind of each device image.
fn targets(file: &crate::scan::inventory::File) -> Vec<String> {
    assert_eq!(file.errors, []);
    let image = |image: &crate::scan::inventory::Image| {
        assert_eq!(image.kind, Some(crate::target::OffloadKind::Sycl));
        let [triple, arch] = [&image.triple, &image.arch].map(|it| it.as_deref().unwrap_or("-"));
        format!("{triple} {arch} {}", image.image_kind.name())
    };
    file.device_images().map(image).collect()
}

const MEMBERS: [&str; 3] = ["spir64_gen acm_g10 elf", "spir64_gen pvc unknown", "spir64_gen - spirv"];

#[test]
fn archives_of_ocloc_are_read_in_the_sections_of_both_offload_models() {
    let archive = archive();
    for section in ["__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen", "OFFLOAD_DEVICE_CODE"] {
        let file = scan_section(section, [&archive, &archive]);
        assert_eq!(targets(&file), [MEMBERS, MEMBERS].concat(), "{section}");
        assert_eq!(file.containers.len(), 2);
        assert_eq!(file.sections[0].unexplained, 0);
    }
}

#[test]
fn archives_in_zstd_are_read() {
    let archive = archive();
    let frame = |bytes: &[u8]| {
        let how = crate::base::codec::Compression::new(crate::base::codec::Codec::Zstd);
        crate::base::codec::compress([bytes].into_iter(), bytes.len() as u64, how, Vec::new()).unwrap()
    };
    let one = frame(&archive);
    let other = frame(SPIRV);
    let file = scan_section("__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen", [&one, &other]);
    assert_eq!(targets(&file), [&MEMBERS[..], &["spir64_gen - spirv"]].concat());
    let compressed = crate::format::compressed_container(ContainerType::SyclImage, View::new(&one)).unwrap();
    assert_eq!(compressed.decompress().unwrap(), archive);
    assert_eq!(file.containers[0].codec, Some(crate::base::codec::Codec::Zstd));
    // A frame that decoders skip is padding.
    let mut padded = one.clone();
    crate::base::codec::pad_with_skippable_frame(&mut padded, one.len() as u64 + 100);
    assert_eq!(padded.len(), one.len() + 100);
    let file = scan_section("OFFLOAD_DEVICE_CODE", [&padded, &one]);
    assert_eq!(targets(&file), [MEMBERS, MEMBERS].concat());
}

#[test]
fn the_description_of_an_image_states_the_target_where_the_section_does_not() {
    let mut host = Host::elf();
    let images = host.section("", "OFFLOAD_DEVICE_CODE", SPIRV);
    let table: Vec<u8> = [0, SPIRV.len() as u64].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    let table = host.section("", ".tgtimg", &table);
    host.points(table, 0, images, 0);
    let text = host.section("", ".rodata", b"spir64_x86_64\0");
    let mut bytes = vec![0; 80];
    bytes[0] = 3;
    bytes[2] = 4;
    let data = host.section("", ".data.rel.ro", &bytes);
    host.points(data, 8, text, 0).points(data, 32, images, 0).points(data, 40, images, SPIRV.len() as u64);
    assert_eq!(targets(&host.scan()), ["spir64_x86_64 - spirv"]);
}

#[test]
fn a_damaged_archive_is_an_image_that_does_not_pass_a_check() {
    let mut damaged = archive();
    let end_of_header = damaged.windows(2).rposition(|bytes| bytes == b"`\n").unwrap();
    damaged[end_of_header] = b'x';
    let file = scan_section("OFFLOAD_DEVICE_CODE", [&archive(), &damaged]);
    let kinds: Vec<_> = file.device_images().map(|image| image.image_kind).collect();
    assert_eq!(kinds[MEMBERS.len()..], [crate::format::ImageKind::OclocArchive]);
    assert!(crate::format::check_image(kinds[MEMBERS.len()], View::new(&damaged)).is_err());
}
