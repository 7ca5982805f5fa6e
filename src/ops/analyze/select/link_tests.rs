//! Random device links: what counts as code of the file, and what the driver selects.

use super::*;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::{SectionRef, Wrapper, WrapperKind, WrapperTarget};
use fatbin_core::target::nvptx::{Arch, NUMBERS};

/// Images of containers: architecture and form.
const POOL: [(&str, ImageKind); 12] = [
    ("sm_75", ImageKind::Elf),
    ("sm_80", ImageKind::Elf),
    ("sm_86", ImageKind::Elf),
    ("sm_90", ImageKind::Elf),
    ("sm_90a", ImageKind::Elf),
    ("sm_100", ImageKind::Elf),
    ("sm_100f", ImageKind::Elf),
    ("sm_75", ImageKind::Ptx),
    ("sm_80", ImageKind::Ptx),
    ("sm_90a", ImageKind::Ptx),
    ("sm_100", ImageKind::Ptx),
    ("sm_80", ImageKind::Nvvm),
];

/// Returns a program with one link of these containers; the first has the linked code.
fn program(containers: Vec<Vec<(&str, ImageKind)>>) -> File {
    let mut file = File::empty(FilePath::parse("program"));
    for (number, images) in containers.into_iter().enumerate() {
        let offset = number as u64 * 8;
        let name = if number == 0 { ".nv_fatbin" } else { "__nv_relfatbin" };
        let images = images.into_iter().map(|(arch, image_kind)| Image {
            kind: Some(OffloadKind::Cuda),
            image_kind,
            triple: Some(fatbin_core::target::triple::NVPTX64.to_owned()),
            arch: Some(arch.to_owned()),
            ..Image::default()
        });
        file.containers.push(Container {
            container_type: fatbin_core::format::ContainerType::CudaFatbin,
            version: Some(1),
            section: Some(SectionRef { name: name.to_owned(), offset: 0 }),
            offset: Some(offset),
            size: 8,
            codec: None,
            images: images.collect(),
            registration: fatbin_core::scan::inventory::Registration::default(),
            start: offset,
        });
        file.wrappers.push(Wrapper {
            kind: WrapperKind::Cuda,
            section: SectionRef { name: ".nvFatBinSegment".to_owned(), offset: 0 },
            offset,
            target: WrapperTarget::Container(offset),
            index: None,
            version: if number == 0 { 2 } else { 1 },
            link: None,
            module: None,
        });
    }
    file
}

#[test]
fn code_of_the_file_is_what_the_driver_loads() {
    let mut state = 7_u32;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        (state >> 16) as usize % limit
    };
    let mut links = 0;
    for _ in 0..2000 {
        let inputs = 1 + next(3);
        let mut container = |most: usize| {
            let count = next(most + 1);
            (0..count).map(|_| POOL[next(POOL.len())]).collect::<Vec<_>>()
        };
        let mut containers = vec![container(1)];
        for _ in 0..inputs {
            containers.push(container(4));
        }
        let file = program(containers);
        let device_links = DeviceLinks::of(&file);
        let sets = candidate_sets(&file);
        for number in NUMBERS {
            let runs = |image: &Image| {
                let is_ptx = image.image_kind == ImageKind::Ptx;
                let is_code = is_ptx || image.image_kind == ImageKind::Elf;
                let arch = image.arch.as_deref().and_then(Arch::parse).unwrap();
                is_code && arch.runs_on(Arch { number, suffix: None }, is_ptx)
            };
            let linked_runs = file.containers[0].images.iter().any(runs);
            let every_input_runs = file.containers[1..].iter().all(|input| input.images.iter().any(runs));
            let counted = file.nested_images().filter(|nested| device_links.is_code_of_file(nested));
            let counts = counted.map(|nested| nested.image).any(runs);
            let selections: Vec<Selection> = sets.iter().map(|set| set.select_on(&Device::Nvidia(number))).collect();
            let is_selected = selections.iter().any(|selection| selection.selected.is_some());
            assert_eq!(is_selected, linked_runs || every_input_runs, "{number} {:?}", file.containers);
            assert!(is_selected || !counts, "{number} {:?}", file.containers);
            let is_counted = counts || device_links.serves(number);
            assert_eq!(is_selected, is_counted, "{number} {:?}", file.containers);
            for selection in &selections {
                assert_eq!(selection.is_link(), !linked_runs && every_input_runs);
                let selected = selection.also_selected.len() + usize::from(selection.selected.is_some());
                assert_eq!(selected + selection.rejected.len(), sets[0].candidates.len(), "each image has a verdict");
                links += usize::from(selection.is_link());
            }
        }
    }
    assert!(links > 500, "{links}");
}
