//! Archives of ocloc: read, written without members, and damaged.

use super::*;
use crate::base::content::Content;
use crate::format::Fate;
use crate::format::ocloc_name::GENERIC;
use crate::format::opencl_elf::{DEVICE_BINARY, SPIRV};

/// A zebin for DG2. ocloc states no version of this architecture.
fn zebin() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-dg2.zebin")).unwrap()
}

/// Returns an archive with these members, after the padding that aligns them.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for (index, (name, data)) in members.iter().enumerate() {
        let after =
            (bytes.len() + 2 * HEADER_SIZE as usize).next_multiple_of(8) - bytes.len() - 2 * HEADER_SIZE as usize;
        for (name, data) in [(format!("pad_{index}"), &[b' '; 8][..after]), ((*name).to_owned(), data)] {
            let name = format!("{name}/");
            let size = data.len();
            bytes.extend(format!("{name:<16}0           0     0     644     {size:<10}`\n").bytes());
            bytes.extend_from_slice(data);
            bytes.resize(bytes.len().next_multiple_of(2), b'\n');
        }
    }
    bytes
}

/// Returns SPIR-V in an ELF file of OpenCL, as ocloc writes it.
fn opencl_elf(section_type: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16..18].copy_from_slice(&0xff02_u16.to_le_bytes());
    bytes[20] = 1;
    bytes.extend_from_slice(data);
    let table = bytes.len() as u64;
    bytes[40..48].copy_from_slice(&table.to_le_bytes());
    bytes[52] = 64;
    bytes[58] = 64;
    bytes[60] = 2;
    let mut section = [0_u8; 128];
    section[64 + 4..64 + 8].copy_from_slice(&section_type.to_le_bytes());
    section[64 + 24..64 + 32].copy_from_slice(&64_u64.to_le_bytes());
    section[64 + 32..64 + 40].copy_from_slice(&(data.len() as u64).to_le_bytes());
    bytes.extend(section);
    bytes
}

const MODULE: &[u8] = b"\x03\x02\x23\x07 and the words of a module ";

fn read(bytes: &[u8]) -> Result<ContainerView<'_>, Malformed> {
    container(Some(OffloadKind::Sycl), None, View::new(bytes))
}

#[test]
fn members_are_images_with_the_targets_in_their_names() {
    let zebin = zebin();
    let spirv = opencl_elf(SPIRV, MODULE);
    let members = [("64.12.56.5", &zebin[..]), ("64.dg2", &zebin), ("64.99.1.0", b"code"), (GENERIC, &spirv)];
    let bytes = archive(&members);
    let container = read(&bytes).unwrap();
    assert_eq!(container.view.size(), bytes.len() as u64);
    let images: Vec<_> =
        container.images().iter().map(|it| (it.image_kind, it.arch.as_deref(), it.view.data())).collect();
    let expected = [
        (ImageKind::Elf, Some("acm_g11"), &zebin[..]),
        (ImageKind::Elf, Some("dg2"), &zebin),
        (ImageKind::Unknown, Some("99.1.0"), b"code"),
        (ImageKind::SpirV, None, MODULE),
    ];
    assert_eq!(images, expected);
    let targets = container.images().iter().map(|it| (it.kind, it.triple.as_deref()));
    assert!(targets.into_iter().all(|it| it == (Some(OffloadKind::Sycl), Some("spir64_gen"))));
    // Zeros after an archive are not a part of it.
    let padded = [&bytes[..], &[0; 24]].concat();
    assert_eq!(read(&padded).unwrap().view.size(), bytes.len() as u64);
}

#[test]
fn code_in_an_elf_file_of_opencl_precedes_spirv_in_it() {
    let zebin = zebin();
    let bytes = archive(&[("64.12.55.8", &opencl_elf(DEVICE_BINARY, &zebin))]);
    let container = read(&bytes).unwrap();
    assert_eq!(container.images()[0].view.data(), zebin);
}

#[test]
fn static_libraries_are_no_archives_of_ocloc() {
    let object = archive(&[("object.o", b"data")]);
    assert!(is_archive(View::new(&object)), "padding is ocloc's");
    let mut library = MAGIC.to_vec();
    library.extend_from_slice(&object[MAGIC.len() + HEADER_SIZE as usize + 8..]);
    assert!(!is_archive(View::new(&library)));
    assert!(read(&library).is_err());
}

#[test]
fn truncated_archives_are_errors() {
    let bytes = archive(&[("64.dg2", b"some code"), (GENERIC, MODULE)]);
    let members_of = |bytes| members(View::new(bytes)).map(|(members, _)| members);
    let all = members_of(&bytes).unwrap();
    // The byte that pads a last member may be missing.
    let is_end = |end: u64| all.iter().any(|it| [it.whole.range().end, it.data.range().end].contains(&end));
    for end in MAGIC.len() + 16..bytes.len() {
        assert_eq!(members_of(&bytes[..end]).is_ok(), is_end(end as u64), "{end}");
    }
}

#[test]
fn archives_without_members_keep_their_size_and_alignment() {
    let zebin = zebin();
    let names = ["64.12.55.8", "64.12.60.7", GENERIC];
    let bytes = archive(&names.map(|name| (name, &zebin[..])));
    for dropped in 0..names.len() {
        let fate = |index| if index == dropped { Fate::Drop } else { Fate::Keep };
        let written = write(View::new(&bytes), (0..names.len()).map(fate).collect()).unwrap().to_vec();
        assert_eq!(written.len(), bytes.len());
        let (left, _) = members(View::new(&written)).unwrap();
        let code: Vec<_> = left.iter().filter(|member| !member.is_padding()).collect();
        let expected: Vec<_> = names.iter().enumerate().filter(|(it, _)| *it != dropped).map(|(_, it)| *it).collect();
        assert_eq!(code.iter().map(|member| member.name).collect::<Vec<_>>(), expected);
        assert!(code.iter().all(|member| member.data.start() % 8 == 0 && member.data.data() == zebin));
    }
    let all = write(View::new(&bytes), vec![Fate::Keep; 3]).unwrap().to_vec();
    assert_eq!(images(&all), images(&bytes));
}

fn images(bytes: &[u8]) -> Vec<Vec<u8>> {
    read(bytes).unwrap().images().iter().map(|image| image.view.data().to_vec()).collect()
}

#[test]
fn an_image_in_an_elf_file_of_opencl_is_not_replaced() {
    let bytes = archive(&[("64.dg2", b"code"), (GENERIC, &opencl_elf(SPIRV, MODULE))]);
    let new = || Fate::Replace(Content::from(b"new!".to_vec()));
    let written = write(View::new(&bytes), vec![new(), Fate::Keep]).unwrap().to_vec();
    assert_eq!(images(&written), [b"new!".to_vec(), MODULE.to_vec()]);
    assert!(write(View::new(&bytes), vec![Fate::Keep, new()]).is_err());
}
