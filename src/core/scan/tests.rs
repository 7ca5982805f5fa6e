//! Tests of scans: standalone containers and images, compressed containers, archives and the search by magic.

use std::path::Path;

use super::*;
use crate::base::bytes::{Budget, Limits, View};
use crate::base::codec::{Codec, Compression};
use crate::base::content::Content;
use crate::base::io::{Input, MAPPED};
use crate::format::offload_binary::Version;
use crate::format::{
    ContainerType, FORMATS, bundle, ccob, cuda_fatbin, dx_container, hcf, kpack, metal_archive, metal_binary,
    metal_library, offload_binary, oxart, syclbin,
};
use crate::scan::cache::Charged;
use crate::scan::inventory::FileFormat;

pub fn offload_binary(image: &[u8]) -> Vec<u8> {
    let strings = [("arch", "gfx90a"), ("triple", "amdgcn-amd-amdhsa")];
    let member =
        offload_binary::OffloadBinaryImage { image_kind: 1, offload_kind: 1, flags: 0, strings: &strings, image };
    offload_binary::write(Version::One, &[member]).unwrap().content.to_vec()
}

fn bundle(image: &[u8]) -> Vec<u8> {
    let entries = [("host-x86_64-unknown-linux-gnu-", &b""[..]), ("hipv4-amdgcn-amd-amdhsa--gfx906", image)];
    bundle::write(&entries, 1).unwrap().to_vec()
}

pub fn scanned(bytes: &[u8]) -> File {
    scan(&View::new(bytes), Options::default()).unwrap()
}

fn offsets(bytes: &[u8]) -> Vec<(ContainerType, u64, u64)> {
    let file = scanned(bytes);
    assert_eq!(file.errors, []);
    file.containers.iter().map(|it| (it.container_type, it.offset.unwrap(), it.size)).collect()
}

#[test]
fn finds_containers_at_any_offset_between_other_bytes() {
    let binary = offload_binary(b"one");
    let bundle = bundle(b"two");
    let bytes = [b"odd".as_slice(), &binary, b"text between", &bundle, &[0x10, 0xff, 0x10]].concat();
    let bundle_at = (3 + binary.len() + 12) as u64;
    let expected = [
        (ContainerType::OffloadBinary, 3, binary.len() as u64),
        (ContainerType::Bundle, bundle_at, bundle.len() as u64),
    ];
    assert_eq!(offsets(&bytes), expected);
}

/// A bundle of cuda-oxide with PTX.
fn oxart_bundle() -> Vec<u8> {
    let ptx = oxart::OxartPayloadSpec {
        kind: oxart::payload_kind::PTX,
        name: "a.ptx",
        data: b".version 8.0\n.target sm_90\n",
    };
    let spec = oxart::OxartSpec { name: "test", target: "sm_90", options: 0, payloads: &[ptx], entries: &[] };
    oxart::write(&spec).unwrap().to_vec()
}

/// Returns a container of a type; `None` for types without a magic.
pub fn sample(container_type: ContainerType) -> Option<Vec<u8>> {
    match container_type {
        ContainerType::OffloadBinary => Some(offload_binary(b"one")),
        ContainerType::Bundle => Some(bundle(b"two")),
        ContainerType::Ccob => Some(ccob_of(&bundle(b"three"))),
        ContainerType::CudaFatbin => {
            let cubin =
                std::fs::read(format!("{}/../../fixtures/answer-sm_90.cubin", env!("CARGO_MANIFEST_DIR"))).unwrap();
            let member = cuda_fatbin::FatbinImage::new(View::new(&cubin), None).unwrap();
            Some(cuda_fatbin::write(&[member]).unwrap().to_vec())
        }
        ContainerType::Kpack => {
            let properties = kpack::KpackProperties { group_name: "test", family: "gfx90a", arches: &["gfx90a"] };
            let member = kpack::KpackMember { key: "lib/libtest.so#0", arch: "gfx90a", image: b"four" };
            Some(kpack::write(&properties, &[member], None).unwrap().to_vec())
        }
        ContainerType::Oxart => Some(oxart_bundle()),
        ContainerType::MetalLibrary => Some(metal_library::tests::library(&[("add", 2, b"BC\xc0\xde")])),
        ContainerType::SyclBin => Some(syclbin::tests::file(&[("spir64", "", b"\x03\x02\x23\x07five")])),
        ContainerType::DxContainer => Some(dx_container::tests::container_of(&[(b"DXIL", b"six")])),
        ContainerType::Hcf => Some(hcf::tests::file(&[("llvm-ir.global", b"seven")])),
        ContainerType::MetalArchive => {
            let code = metal_binary::tests::binary(0x212, b"code");
            Some(metal_archive::tests::archive(&[(0x0100_0013, 0x212, &code)]))
        }
        ContainerType::MetalBinary
        | ContainerType::OclocArchive
        | ContainerType::SyclImage
        | ContainerType::BundleSection
        | ContainerType::DeviceElf
        | ContainerType::Ptx
        | ContainerType::Bitcode
        | ContainerType::SpirV
        | ContainerType::LtoIr
        | ContainerType::OptixIr
        | ContainerType::TileIr
        | ContainerType::PatchTokens
        | ContainerType::Embedded => None,
    }
}

#[test]
fn finds_every_format_with_a_magic_at_any_offset() {
    for format in FORMATS {
        let sample = sample(format.container_type).expect("a sample");
        for before in [1, 8, 4095] {
            let bytes = [&vec![0; before][..], &sample, b"text after it"].concat();
            assert_eq!(offsets(&bytes), [(format.container_type, before as u64, sample.len() as u64)]);
        }
    }
}

#[test]
fn lists_containers_that_are_an_image_and_ignores_magics_inside_an_image() {
    let inner = [offload_binary(b"one"), offload_binary(b"two")].concat();
    let bytes = offload_binary(&offload_binary(&inner));
    let file = scanned(&bytes);
    let sizes: Vec<_> = file.device_images().map(|image| image.size).collect();
    assert_eq!(sizes, [Some(3), Some(3)]);
    let offset = file.device_images().next().unwrap().offset.unwrap() as usize;
    assert_eq!(&bytes[offset..offset + 3], b"one");

    let image = [b"code that has a container in its data", &inner[..]].concat();
    let bytes = offload_binary(&image);
    assert_eq!(offsets(&bytes), [(ContainerType::OffloadBinary, 0, bytes.len() as u64)]);
    assert_eq!(scanned(&bytes).device_images().count(), 1);
}

/// A compressed binary of version 3.
fn compressed(images: &[&[u8]]) -> Vec<u8> {
    let strings = [("arch", "gfx90a"), ("triple", "amdgcn-amd-amdhsa")];
    let members: Vec<_> = images
        .iter()
        .map(|image| offload_binary::OffloadBinaryImage {
            image_kind: 1,
            offload_kind: 1,
            flags: 0,
            strings: &strings,
            image,
        })
        .collect();
    let plain = offload_binary::write(Version::Three, &members).unwrap().content;
    let mut stream = Vec::new();
    let (front, padding) = offload_binary::compress(&plain, Compression::new(Codec::Zstd), &mut stream).unwrap();
    [front, stream, padding].concat()
}

#[test]
fn compressed_images_have_no_offsets_and_can_be_read_again() {
    let bytes = [b"odd".as_slice(), &compressed(&[b"first image", &offload_binary(b"nested")])].concat();
    let file = scanned(&bytes);
    assert_eq!((file.errors.len(), file.containers.len()), (0, 1));
    assert_eq!((file.containers[0].offset, file.containers[0].codec), (Some(3), Some(Codec::Zstd)));
    let images: Vec<_> = file.device_images().map(|image| (image.offset, image.size, image.full_size)).collect();
    assert_eq!(images, [(None, None, Some(11)), (None, None, Some(6))]);

    let scan = Scan::new(View::new(&bytes)).unwrap();
    let read = |image: ImageRef<'_>| image.bytes().unwrap().to_vec();
    assert_eq!(scan.images().map(read).collect::<Vec<_>>(), [b"first image".to_vec(), b"nested".to_vec()]);
    // In any order, and one without the other.
    assert_eq!(scan.images().skip(1).map(read).collect::<Vec<_>>(), [b"nested"]);
}

/// Any bytes in a compressed bundle of version 3.
fn ccob_of(bytes: &[u8]) -> Vec<u8> {
    let content = Content::from(bytes);
    let how = Compression::new(Codec::Zstd);
    let mut stream = Vec::new();
    let written = ccob::compress(&content, how, ccob::Version::Three, &mut stream, &mut |_| ()).unwrap();
    [written.header, stream].concat()
}

#[test]
fn a_decompressed_container_is_kept_within_the_budget_until_its_images_are_read() {
    let bytes = ccob_of(&bundle(b"image"));
    for budget in [None, Some(CacheBudget::new(10)), Some(CacheBudget::default())] {
        let scan = Scan::with_options(View::new(&bytes), Options::default(), budget.as_ref()).unwrap();
        let (source, file, cache) = scan.into_parts();
        let is_kept = budget.as_ref().is_some_and(|budget| budget.left() > 10);
        let kept = if is_kept { Charged::Kept(bundle(b"image").into()) } else { Charged::NotKept };
        assert_eq!(cache.take(0), budget.is_some().then_some(kept));
        // Different bytes in the cache show that images are read from it, and only once.
        cache.put(0, bundle(b"other"));
        let scan = Scan::from_parts(source, file, cache);
        let read = || scan.images().map(|image| image.bytes().unwrap().to_vec()).collect::<Vec<_>>();
        assert_eq!(read(), if is_kept { [b"other"] } else { [b"image"] });
        assert_eq!(read(), [b"image"]);
    }
}

#[test]
fn images_of_one_stream_are_decompressed_once() {
    let bytes = [ccob_of(&bundle(b"one")), ccob_of(&bundle(b"two"))].concat();
    let scan = Scan::with_options(View::new(&bytes), Options::default(), None).unwrap();
    let images: Vec<ImageRef<'_>> = scan.images().collect();
    let read = |index: usize| images[index].bytes().unwrap();
    let one = read(0);
    let again = read(0);
    assert_eq!((&*one, one.as_ptr()), (&b"one"[..], again.as_ptr()));
    // Bytes that are held stay unchanged when another image is read.
    assert_eq!((&*read(1), &*one), (&b"two"[..], &b"one"[..]));
}

#[test]
fn errors_in_an_image_state_its_offset_in_the_file() {
    let bytes = [b"odd".as_slice(), &offload_binary(b"an image")].concat();
    let scan = Scan::new(View::new(&bytes)).unwrap();
    let image = scan.images().next().unwrap();
    let bytes = image.bytes().unwrap();
    let stored = image.stored_bytes().unwrap();
    assert_eq!((&*bytes, bytes.view()), (&b"an image"[..], stored.view()));
    assert_eq!(Some(bytes.view().start()), image.offset);
}

#[test]
fn reports_containers_that_cannot_be_decompressed_at_the_invalid_field() {
    let good = compressed(&[b"an image"]);
    let mut cut = good.clone();
    let last = cut.len() - 9;
    cut[last] ^= 0xff;
    let file = scanned(&[cut, good.clone()].concat());
    assert_eq!((file.containers.len(), file.device_images().count()), (2, 1));
    assert_eq!(file.errors.len(), 1);
    assert_eq!(file.errors[0].offset, 40, "after the header");

    let mut other_hash = ccob_of(&bundle(b"an image"));
    other_hash[24] ^= 1;
    let file = scanned(&[b"odd", &good[..], &other_hash].concat());
    assert_eq!((file.containers.len(), file.device_images().count(), file.errors.len()), (2, 1, 1));
    assert_eq!(file.errors[0].offset, 3 + good.len() as u64 + 24, "offset of the hash");

    let no_bundle = ccob_of(b"something else, of more than sixteen bytes");
    let file = scanned(&no_bundle);
    assert_eq!(file.errors[0].offset, 32, "errors in decompressed bytes have the offset of their stream");

    let budget = Budget::new(Limits { decompressed: Some(10), factor: 1 }, 0);
    let file = scan(&View::with_budget(&good, &budget), Options::default()).unwrap();
    let error = file.errors[0].to_string();
    assert!(error.contains("exceeds the limit for this file (10 of 10 bytes left)"), "{error}");
}

/// A COFF object for x86-64 with one section, whose long name is in the string table (PE format, section table).
fn coff(name: &str, content: &[u8]) -> Vec<u8> {
    let symbols_at = (60 + content.len()) as u32;
    let mut bytes = b"\x64\x86\x01\0\0\0\0\0".to_vec();
    bytes.extend(symbols_at.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(b"/4\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    bytes.extend([(content.len() as u32).to_le_bytes(), 60u32.to_le_bytes()].concat());
    bytes.extend([0; 16]);
    bytes.extend(content);
    bytes.extend((name.len() as u32 + 5).to_le_bytes());
    bytes.extend([name.as_bytes(), b"\0"].concat());
    bytes
}

#[test]
fn walks_a_coff_section_with_a_long_name() {
    let mut broken = offload_binary(b"image");
    broken[4] = 99;
    let file = scanned(&coff(".llvm.offloading", &offload_binary(b"image")));
    assert_eq!((file.format, file.containers.len()), (Some(FileFormat::Coff), 1));
    assert_eq!(file.containers[0].section_name(), Some(".llvm.offloading"));
    // Only the walk of a section reports a broken container; the search by magic ignores it.
    let file = scanned(&coff(".llvm.offloading", &broken));
    assert_eq!((file.containers.len(), file.errors.len()), (0, 1));
}

#[test]
fn lists_a_bare_device_image_and_no_host_program() {
    let fixture = |name| std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let cases = [
        ("answer-gfx90a.hsaco", FileFormat::Elf, Some((ContainerType::DeviceElf, Some("gfx90a")))),
        ("answer-sm_90.cubin", FileFormat::Elf, Some((ContainerType::DeviceElf, Some("sm_90")))),
        ("answer-sm_80.ptx", FileFormat::Raw, Some((ContainerType::Ptx, Some("sm_80")))),
        ("answer-x86_64.so", FileFormat::Elf, None),
    ];
    for (name, format, expected) in cases {
        let bytes = fixture(name);
        let file = scanned(&bytes);
        assert_eq!((file.format, file.errors.len()), (Some(format), 0), "{name}");
        let found = file.containers.first().map(|it| (it.container_type, it.images[0].arch.as_deref()));
        assert_eq!(found, expected, "{name}");
    }
    for magic in [b"BC\xc0\xde\x35\x14\0\0", b"\xde\xc0\x17\x0b\0\0\0\0"] {
        let file = scanned(magic);
        assert_eq!(file.format, Some(FileFormat::Bitcode));
        // Nothing states that it is device code.
        assert_eq!((file.containers.len(), file.errors.len()), (0, 1));
    }
}

#[test]
fn members_of_archives_are_separate_files() {
    let directory = tempfile::tempdir().unwrap();
    let [archive, outer, thin] = ["lib.a", "outer.a", "thin.a"].map(|name| directory.path().join(name));
    let binary = offload_binary(b"image");
    let write = |path: &Path, members: &[(&str, &[u8])]| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        crate::base::archive::write(members.iter().map(|&(name, bytes)| (name.to_owned(), bytes)), &mut bytes).unwrap();
        std::fs::write(path, bytes.into_inner()).unwrap();
    };
    write(&archive, &[("text", b"nothing"), ("odd.bin", &binary)]);
    write(&outer, &[("lib.a", &std::fs::read(&archive).unwrap())]);
    let header = |name: &str| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, 9);
    std::fs::write(&thin, ["!<thin>\n", &header("lib.a/"), &header("missing.o/")].concat()).unwrap();

    let listed = |path: &Path| -> Vec<_> {
        let mut parts = Vec::new();
        let options = OpenOptions::new(MAPPED);
        inputs::each_input(path, options, &mut |part| parts.push(part)).unwrap();
        parts
            .into_iter()
            .map(|part| {
                let part = part.map_err(|error| error.to_string())?;
                let file = scan(&part, Options::default()).unwrap();
                let name = file.path.printed().file_name().unwrap().to_str().unwrap().to_owned();
                Ok((name, file.device_images().map(|image| image.offset.unwrap()).next()))
            })
            .collect::<Vec<Result<_, String>>>()
    };
    let offset = scanned(&binary).device_images().next().unwrap().offset;
    assert_eq!(listed(&archive), [Ok(("lib.a!text".into(), None)), Ok(("lib.a!odd.bin".into(), offset))]);
    assert_eq!(listed(&outer)[1], Ok(("outer.a!lib.a!odd.bin".into(), offset)));
    let through_thin = listed(&thin);
    assert_eq!(through_thin[1], Ok(("thin.a!lib.a!odd.bin".into(), offset)));
    assert!(through_thin[2].as_ref().unwrap_err().contains("missing.o: cannot open"), "{through_thin:?}");
}

#[test]
fn ignores_magics_without_a_container() {
    let mut bytes = Vec::new();
    bytes.extend(b"odd");
    for tail in [&[0; 64][..], &[0xff; 64], b"__START__ host-x86_64\n", &[1, 0, 0, 0, 0, 0, 0, 0]] {
        bytes.extend(offload_binary::MAGIC);
        bytes.extend(tail);
        bytes.extend(bundle::MAGIC);
        bytes.extend(tail);
    }
    let file = scanned(&bytes);
    assert_eq!((file.containers.len(), file.errors.len()), (0, 0));
}

#[test]
fn a_magic_right_before_a_container_does_not_hide_it() {
    let bytes = [b"odd", &offload_binary::MAGIC[..], &offload_binary(b"image")].concat();
    assert_eq!(offsets(&bytes).len(), 1);
    // The bundle's magic begins and ends with two underscores.
    for cut in [20, 22, 24] {
        let bytes = [b"odd", &bundle::MAGIC[..cut], &bundle(b"image")].concat();
        assert_eq!(offsets(&bytes).len(), 1, "{cut}");
    }
}

#[test]
fn finds_a_container_that_overlaps_two_blocks_once() {
    let container = bundle(&[7; 1000]);
    for before in [(256 << 10) - 30, (256 << 10) - 24, (256 << 10) - 1, 256 << 10, (512 << 10) + 11] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [vec![1; before], container.clone(), vec![2; 300_000]].concat()).unwrap();
        let input = Input::open(file.path(), MAPPED).unwrap();
        let found = scan(&input, Options::default()).unwrap();
        let offsets: Vec<_> = found.containers.iter().map(|container| container.offset).collect();
        assert_eq!(offsets, [Some(before as u64)]);
    }
}

#[test]
fn finds_a_container_that_overlaps_the_parts_of_two_threads_once_without_those_inside_it() {
    let part = 4 << 20;
    let inner = bundle(&[7; 1000]);
    // The container inside the other starts in the next part, and must not be listed separately.
    let outer = bundle(&[vec![0; 3000], inner.clone()].concat());
    for before in [part - 2000, part - 24, part - 1, part, 2 * part - 5] {
        let bytes = [vec![1; before], outer.clone(), vec![2; 5 << 20], inner.clone()].concat();
        let found = scanned(&bytes);
        let offsets: Vec<_> = found.containers.iter().map(|container| container.offset).collect();
        assert_eq!(offsets, [Some(before as u64), Some((bytes.len() - inner.len()) as u64)], "{before}");
    }
}

#[test]
fn searches_by_block_and_in_memory_agree_with_a_naive_search() {
    // A deterministic jumble of magics, containers and noise.
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    let mut bytes = b"odd".to_vec();
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
    let found = scan(&Input::open(file.path(), MAPPED).unwrap(), Options::default()).unwrap();
    assert_eq!(found.containers, scanned(&bytes).containers);
}

#[test]
fn reports_a_broken_container_in_a_section_and_finds_those_around_it() {
    let good = offload_binary(b"good");
    let mut broken = offload_binary(b"broken");
    broken[4] = 99;
    let section = [good.clone(), broken, good.clone()].concat();
    let file = scanned(&section);
    assert_eq!(file.containers.len(), 2, "also the one after the broken one");
    let errors: Vec<_> = file.errors.iter().map(|error| error.offset).collect();
    assert_eq!(errors, [good.len() as u64 + 4]);
}

#[test]
fn an_elf_image_of_stated_size_zero_does_not_stop_the_walk() {
    // The walk once trusted the size of the header that the header states; with 0 it never advanced.
    let mut image = vec![0; 64];
    image[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xe0\0");
    let binary = coff(".llvm.offloading", &image);
    let file = scanned(&binary);
    assert!(file.containers.iter().all(|container| container.size >= 64));
}

#[test]
fn empty_files_and_text_have_no_containers() {
    for bytes in [&b""[..], b"\n", b"#!/bin/sh\nexit 0\n"] {
        let file = scanned(bytes);
        assert_eq!((file.format, file.containers.len(), file.errors.len()), (Some(FileFormat::Raw), 0, 0));
    }
}
