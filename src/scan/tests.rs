//! What is found, what is not, and where.

use super::*;
use crate::format::{ContainerType, bundle, offload_binary};

fn offload_binary(image: &[u8]) -> Vec<u8> {
    let strings = [("arch", "gfx90a"), ("triple", "amdgcn-amd-amdhsa")];
    let member = offload_binary::Member { image_kind: 1, offload_kind: 1, flags: 0, strings: &strings, image };
    offload_binary::write(&member).unwrap().content.to_vec()
}

fn bundle(image: &[u8]) -> Vec<u8> {
    let entries = [("host-x86_64-unknown-linux-gnu-", &b""[..]), ("hipv4-amdgcn-amd-amdhsa--gfx906", image)];
    bundle::write(&entries, 1).unwrap().to_vec()
}

fn offsets(bytes: &[u8]) -> Vec<(ContainerType, u64, u64)> {
    let file = scan("file", &View::new(bytes)).unwrap();
    assert_eq!(file.errors, []);
    file.containers.iter().map(|it| (it.container_type, it.offset, it.size)).collect()
}

#[test]
fn containers_are_found_at_any_offset_between_other_bytes() {
    let (binary, bundle) = (offload_binary(b"one"), bundle(b"two"));
    let bytes = [b"odd".as_slice(), &binary, b"text between", &bundle, &[0x10, 0xff, 0x10]].concat();
    let bundle_at = (3 + binary.len() + 12) as u64;
    let expected = [
        (ContainerType::OffloadBinary, 3, binary.len() as u64),
        (ContainerType::Bundle, bundle_at, bundle.len() as u64),
    ];
    assert_eq!(offsets(&bytes), expected);
}

#[test]
fn a_container_inside_an_image_belongs_to_the_image() {
    let inner = bundle(b"inner");
    let bytes = offload_binary(&inner);
    assert_eq!(offsets(&bytes), [(ContainerType::OffloadBinary, 0, bytes.len() as u64)]);
}

#[test]
fn magics_without_a_container_behind_them_are_not_images() {
    let mut bytes = Vec::new();
    for tail in [&[0; 64][..], &[0xff; 64], b"__START__ host-x86_64\n", &[1, 0, 0, 0, 0, 0, 0, 0]] {
        bytes.extend(offload_binary::MAGIC);
        bytes.extend(tail);
        bytes.extend(bundle::MAGIC);
        bytes.extend(tail);
    }
    let file = scan("file", &View::new(&bytes)).unwrap();
    assert_eq!((file.containers.len(), file.errors.len()), (0, 0));
}

#[test]
fn a_magic_right_before_a_container_does_not_hide_it() {
    let bytes = [&offload_binary::MAGIC[..], &offload_binary(b"image")].concat();
    assert_eq!(offsets(&bytes).len(), 1);
    // The bundle's magic ends with the two underscores that it begins with.
    for cut in [20, 22, 24] {
        let bytes = [&bundle::MAGIC[..cut], &bundle(b"image")].concat();
        assert_eq!(offsets(&bytes).len(), 1, "{cut}");
    }
}

#[test]
fn a_container_that_lies_across_two_blocks_of_a_file_is_found_once() {
    let container = bundle(&[7; 1000]);
    for before in [(256 << 10) - 30, (256 << 10) - 24, (256 << 10) - 1, 256 << 10, (512 << 10) + 11] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [vec![1; before], container.clone(), vec![2; 300_000]].concat()).unwrap();
        let input = Input::open(file.path()).unwrap();
        let found = scan("file", &input).unwrap();
        let offsets: Vec<_> = found.containers.iter().map(|container| container.offset).collect();
        assert_eq!(offsets, [before as u64]);
    }
}

#[test]
fn searching_by_block_and_searching_in_memory_agree_with_a_naive_search() {
    // A deterministic jumble of magics, containers and noise.
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    let mut bytes = Vec::new();
    for _ in 0..400 {
        match random() % 5 {
            0 => bytes.extend(offload_binary(&vec![random() as u8; random() % 3000])),
            1 => bytes.extend(bundle(&vec![random() as u8; random() % 3000])),
            2 => bytes.extend(offload_binary::MAGIC),
            3 => bytes.extend(bundle::MAGIC),
            _ => bytes.extend((0..random() % 4000).map(|_| random() as u8)),
        }
    }
    let mut naive = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let view = View::new(&bytes).from(at as u64);
        let found = crate::format::FORMATS.iter().find_map(|format| (format.read)(view).ok());
        at += found.as_ref().map_or(1, |container| container.view.size() as usize);
        naive.extend(found.map(|container| (container.container_type, container.view.start(), container.view.size())));
    }
    assert!(naive.len() > 100);
    assert_eq!(offsets(&bytes), naive);

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let found = scan("file", &Input::open(file.path()).unwrap()).unwrap();
    assert_eq!(found.containers, scan("file", &View::new(&bytes)).unwrap().containers);
}

#[test]
fn a_broken_container_in_its_own_section_is_an_error_and_its_neighbours_are_still_found() {
    let good = offload_binary(b"good");
    let mut broken = offload_binary(b"broken");
    broken[4] = 99;
    let section = [good.clone(), broken, good.clone()].concat();
    let mut findings = Findings::default();
    walk::walk(View::new(&section), Some(".llvm.offloading"), &mut findings);
    assert_eq!(findings.containers.len(), 1);
    assert_eq!(findings.errors.len(), 1);
    assert_eq!(findings.errors[0].offset, good.len() as u64 + 4);

    let ranges = findings.unexplained(section.len() as u64);
    let structure = structure::read(View::new(&section));
    for range in ranges {
        magic::search(&View::new(&section), range, &structure, &mut findings).unwrap();
    }
    assert_eq!(findings.containers.len(), 2, "the one behind the broken one");
}

#[test]
fn an_elf_image_that_states_no_size_at_all_does_not_stop_the_walk() {
    // The size of its header was once believed to be what the header said; with 0 the walk never got on.
    let mut image = vec![0; 64];
    image[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xe0\0");
    let mut findings = Findings::default();
    walk::walk(View::new(&image), Some(".llvm.offloading"), &mut findings);
    assert!(findings.containers.iter().all(|container| container.size >= 64));
}

#[test]
fn an_empty_file_and_a_text_have_nothing() {
    for bytes in [&b""[..], b"\n", b"#!/bin/sh\nexit 0\n"] {
        let file = scan("file", &View::new(bytes)).unwrap();
        assert_eq!((file.format, file.containers.len(), file.errors.len()), (Some(FileFormat::Raw), 0, 0));
    }
}
