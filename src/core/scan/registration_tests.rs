//! Tests of registrations: registered and unregistered containers, and wrappers that lead to no device code.

use super::*;
use crate::scan::inventory::Registration;

fn registrations(file: &File) -> Vec<Registration> {
    file.containers.iter().map(|container| container.registration).collect()
}

fn defects(file: &File) -> Vec<String> {
    file.load_defects().map(|defect| defect.to_string()).collect()
}

/// Format of an object, and the names of its sections for containers and for wrappers: segment and section.
type HostCase = (BinaryFormat, (&'static str, &'static str), (&'static str, &'static str));

#[test]
fn a_container_is_unregistered_if_wrappers_register_only_others() {
    let cuda: [HostCase; 4] = [
        (BinaryFormat::Elf, ("", ".nv_fatbin"), ("", ".nvFatBinSegment")),
        (BinaryFormat::Elf, ("", "__nv_relfatbin"), ("", ".nvFatBinSegment")),
        (BinaryFormat::Coff, ("", ".nv_fatbin"), ("", ".nvFatBinSegment")),
        (BinaryFormat::MachO, ("__NV_CUDA", "__nv_fatbin"), ("__NV_CUDA", "__fatbin")),
    ];
    let hip: [HostCase; 3] = [
        (BinaryFormat::Elf, ("", ".hip_fatbin"), ("", ".hipFatBinSegment")),
        (BinaryFormat::Coff, ("", ".hip_fatbin"), ("", ".hipFatBinSegment")),
        (BinaryFormat::MachO, ("__HIP", "__hip_fatbin"), ("__HIP", "__fatbin")),
    ];
    let cuda = cuda.map(|host| (host, b"\xb1\x43\x62\x46", fat_binary()));
    let hip = hip.map(|host| (host, b"FPIH", bundle()));
    for ((format, code, wrappers), magic, container) in cuda.into_iter().chain(hip) {
        let mut host = Host(Object::new(format, Architecture::X86_64, Endianness::Little));
        let content = host.section(code.0, code.1, &[&container[..], &container].concat());
        let wrappers = host.section(wrappers.0, wrappers.1, &wrapper(magic));
        host.points(wrappers, 8, content, container.len() as u64);
        let file = host.scan();
        assert_eq!(registrations(&file), [Registration::Unregistered, Registration::Registered], "{format:?} {code:?}");
        assert_eq!(defects(&file), [""; 0], "{format:?} {code:?}");
    }
}

#[test]
fn an_array_that_the_program_loads_and_code_for_another_runtime_are_not_unregistered() {
    let mut host = Host::elf();
    let code = host.section("", ".nv_fatbin", &fat_binary());
    // cuBLASLt keeps the code that it loads by itself in such a section.
    host.section("", ".cask_resource", &fat_binary());
    host.section("", ".hip_fatbin", &bundle());
    let wrappers = host.section("", ".nvFatBinSegment", &wrapper(b"\xb1\x43\x62\x46"));
    host.points(wrappers, 8, code, 0);
    let bytes = host.0.write().unwrap();
    let file = scan(&View::new(&bytes), Options::default()).unwrap();
    let expected = [Registration::Registered, Registration::InOtherData, Registration::Unknown];
    assert_eq!(registrations(&file), expected);
    assert_eq!(file.unreferenced().map(|it| it.section_name().unwrap()).collect::<Vec<_>>(), [".cask_resource"]);
}

#[test]
fn a_wrapper_that_leads_to_no_container_is_a_defect_with_its_place() {
    for (code, wrappers, magic, name) in [
        (".nv_fatbin", ".nvFatBinSegment", b"\xb1\x43\x62\x46", "cuda"),
        (".hip_fatbin", ".hipFatBinSegment", b"FPIH", "hip"),
    ] {
        let container = if name == "cuda" { fat_binary() } else { bundle() };
        let mut host = Host::elf();
        let code = host.section("", code, &[&container[..], &[0; 64]].concat());
        let wrappers = host.section("", wrappers, &wrapper(magic).repeat(2));
        host.points(wrappers, 8, code, container.len() as u64 + 8);
        let file = host.scan();
        let at = file.wrappers[0].offset;
        let target = file.containers[0].offset.unwrap() + container.len() as u64 + 8;
        let expected = [
            format!("{name} wrapper at {at:#x}: registers {target:#x}, where no container begins"),
            format!("{name} wrapper at {:#x}: registers nothing", at + 24),
        ];
        assert_eq!(defects(&file), expected);
        assert_eq!(registrations(&file), [Registration::Unregistered]);
    }
}

#[test]
fn a_row_of_an_image_table_that_leads_to_no_image_is_a_defect() {
    let mut host = Host::elf();
    let images = host.section("", "__CLANG_OFFLOAD_BUNDLE__sycl-spir64", SPIRV);
    let text = host.section("", ".rodata", b"where the images were before");
    let row = [[0; 8], (SPIRV.len() as u64).to_le_bytes()].concat();
    let table = host.section("", ".tgtimg", &row.repeat(3));
    host.points(table, 0, images, 0).points(table, 16, text, 0);
    let file = host.scan();
    let found = defects(&file);
    assert!(found[0].contains("image table row at ") && found[0].contains(", where no image begins"), "{found:?}");
    assert!(found[1].ends_with(": registers nothing"), "{found:?}");
    assert_eq!((found.len(), file.errors.len()), (2, 0));
}

/// A library whose only load segment has this offset, address and alignment.
fn with_segment(offset: u64, address: u64, alignment: u64, machine: u16) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".to_vec();
    bytes.extend(machine.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend([0, 64, 0_u64].map(u64::to_le_bytes).concat());
    bytes.extend([0_u16, 0, 64, 56, 1, 64, 0, 0].map(u16::to_le_bytes).concat());
    bytes.extend([1_u32, 5].map(u32::to_le_bytes).concat());
    bytes.extend([offset, address, address, 64, 64, alignment].map(u64::to_le_bytes).concat());
    bytes.resize(0x3000, 0);
    bytes
}

#[test]
fn a_segment_that_cannot_be_mapped_is_a_defect_with_its_number_and_offset() {
    const X86_64: u16 = 62;
    const AMDGPU: u16 = 224;
    let unaligned = "ELF load segment at 0x1010: segment 0: address 0x2000 and offset 0x1010 are not page-aligned: \
                     they differ modulo the alignment 0x1000";
    let cases = [
        ((0x1010, 0x2010, 0x1000, X86_64), None),
        ((0x2010, 0x1010, 0x1000, X86_64), None),
        ((0x1010, 0x2000, 0, X86_64), None),
        ((0x1010, 0x2000, 1, X86_64), None),
        ((0x1010, 0x2000, 16, X86_64), None),
        ((0x1010, 0x2000, 0x1000, X86_64), Some(unaligned)),
        ((0x1010, 0x2000, 0xfff, X86_64), None),
        // Device code has different loaders.
        ((0x1010, 0x2000, 0x1000, AMDGPU), None),
    ];
    for ((offset, address, alignment, machine), expected) in cases {
        let file = structure_of(&with_segment(offset, address, alignment, machine));
        assert_eq!(defects(&file), Vec::from_iter(expected), "{offset:#x} {address:#x} {alignment:#x}");
    }
}
