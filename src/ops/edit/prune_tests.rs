//! Random files pruned to random devices: the proof holds, and nothing is kept without need.

use std::collections::BTreeSet;

use super::container::tests::Random;
use super::{Change, KeepPtx, Prune, edit_file};
use crate::analyze::select::{NamedDevice, candidate_sets};
use crate::edit::FileEdit;
use fatbin_core::base::bytes::View;
use fatbin_core::format::bundle;
use fatbin_core::format::cuda_fatbin::{self, FatbinImage};
use fatbin_core::scan::{Options, Scan};

/// Processors of cubins and PTX, and of code objects with their machine numbers (AMDGPU usage guide, `EF_AMDGPU_MACH`).
const CUDA: [u32; 6] = [70, 75, 80, 86, 89, 90];
const AMD: [(&str, u8); 4] = [("gfx906", 0x2f), ("gfx908", 0x30), ("gfx90a", 0x3f), ("gfx1030", 0x36)];

const CUDA_DEVICES: [&str; 7] = ["sm_70", "sm_72", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"];
const AMD_DEVICES: [&str; 5] = ["gfx906", "gfx908:xnack-", "gfx90a:sramecc+:xnack-", "gfx90a", "gfx1030"];

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Offset of `e_flags` in a 64-bit ELF file.
const E_FLAGS: usize = 0x30;

/// Returns a CUDA fat binary with cubins and PTX of some processors.
fn cuda_file(random: &mut Random) -> Vec<u8> {
    let mut images = Vec::new();
    for number in CUDA {
        if random.next(2) == 0 {
            let mut cubin = fixture("answer-sm_90.cubin");
            cubin[E_FLAGS + 1] = number as u8;
            images.push(cubin);
        }
        if random.next(3) == 0 {
            images.push(
                String::from_utf8(fixture("answer-sm_80.ptx"))
                    .unwrap()
                    .replace("sm_80", &format!("sm_{number}"))
                    .into_bytes(),
            );
        }
    }
    let images: Vec<FatbinImage<'_>> =
        images.iter().map(|image| FatbinImage::new(View::new(image), None).unwrap()).collect();
    cuda_fatbin::write(&images).unwrap().to_vec()
}

/// Returns a bundle with code objects of some processors.
fn hip_file(random: &mut Random) -> Vec<u8> {
    let code: Vec<Vec<u8>> = AMD
        .iter()
        .map(|(_, machine)| {
            let mut object = fixture("answer-gfx90a.hsaco");
            object[E_FLAGS] = *machine;
            object
        })
        .collect();
    let mut entries = vec![("host-x86_64-unknown-linux-gnu-".to_owned(), &[][..])];
    for ((name, _), object) in AMD.iter().zip(&code) {
        if random.next(3) > 0 {
            entries.push((format!("hipv4-amdgcn-amd-amdhsa--{name}"), &object[..]));
        }
    }
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(id, bytes)| (id.as_str(), *bytes)).collect();
    bundle::write(&entries, 4096).unwrap().to_vec()
}

/// Pads a container and appends another, as in a section.
fn concatenated(mut containers: Vec<Vec<u8>>) -> Vec<u8> {
    let mut file = containers.remove(0);
    for container in containers {
        file.resize(file.len().next_multiple_of(4096), 0);
        file.extend(container);
    }
    file
}

#[test]
fn selections_stay_the_same_on_every_kept_device() {
    let random = &mut Random(7);
    let mut dropped_images = 0;
    for round in 0..400 {
        let is_cuda = round % 2 == 0;
        let names: &[&str] = if is_cuda { &CUDA_DEVICES } else { &AMD_DEVICES };
        let count = 1 + random.next(3);
        let containers = (0..count).map(|_| if is_cuda { cuda_file(random) } else { hip_file(random) }).collect();
        let bytes = concatenated(containers);
        let before = Scan::new(View::new(&bytes)).unwrap();
        let wanted: BTreeSet<&str> = (0..1 + random.next(2)).map(|_| names[random.next(names.len())]).collect();
        let devices: Vec<NamedDevice> = wanted.iter().map(|name| NamedDevice::parse(name).unwrap()).collect();
        let prune = Prune::ForDevices(devices.clone(), KeepPtx::Newest);
        let kept = prune.kept(before.file());
        let edit = prune.edit(before.file()).unwrap();
        let (patches, edited) = edit_file(View::new(&bytes), before.file(), &*edit, false, &|| ()).unwrap();
        let result = patches.to_vec(View::new(&bytes));
        let after = Scan::with_options(View::new(&result), Options::default(), None).unwrap();
        let all: Vec<_> = devices.iter().flat_map(|named| named.devices.clone()).collect();
        assert_eq!(prune.devices(before.file()), all, "{wanted:?}: a wanted device loses nothing");
        let proof = Change { before: &before, after: &after, edited: &edited, other_targets: false }
            .prove(&all)
            .unwrap_or_else(|error| panic!("{round} {wanted:?}: {error}"));
        // Every image that is kept is selected somewhere: nothing is kept without need.
        let sets = candidate_sets(before.file());
        let needed: BTreeSet<usize> =
            sets.iter().flat_map(|set| all.iter().flat_map(|device| set.needed_on(device))).collect();
        for (number, place) in proof.images.iter().enumerate() {
            assert_eq!(place.is_some(), kept.contains(number));
            assert_eq!(kept.contains(number), needed.contains(&number), "{round} {wanted:?}: image {number}");
            dropped_images += usize::from(place.is_none());
        }
    }
    assert!(dropped_images > 1000, "{dropped_images}");
}
