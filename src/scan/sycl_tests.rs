//! Property sets of SYCL images, in both versions of the table and damaged.

use super::*;
use crate::inventory::PropertyValue;

/// Returns the property sets of the image in an object, as texts. `change` changes the bytes of the table, in which the pointer to
/// the image has the offset `at`.
fn property_sets(version: u16, at: u64, change: impl FnOnce(&mut Vec<u8>)) -> Vec<String> {
    let mut host = Host::elf();
    let images = host.section("", "__CLANG_OFFLOAD_BUNDLE__sycl-spir64", &[SPIRV, b"more"].concat());
    let size = SPIRV.len() as u64;
    let table: Vec<u8> = [0, size, 0, 4].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    let table = host.section("", ".tgtimg", &table);
    host.points(table, 0, images, 0).points(table, 16, images, size);
    let names = host.section("", ".rodata", b"SYCL/misc properties\0optLevel\0SYCL/device globals\0global\0");
    // The properties, a number and bytes, then the sets, then the image.
    let (first, sets, image) = (0, 64, 64 + 48);
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
    let text = |set: &crate::inventory::PropertySet| {
        let property = |it: &crate::inventory::Property| match it.value {
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
