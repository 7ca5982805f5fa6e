//! Selects from the images in arbitrary bytes for devices of each platform. Each image is selected or rejected once. What is needed
//! for some image is not more than what is needed for the preferred one.

#![no_main]

use fatbin::View;
use fatbin::scan::Scan;
use fatbin::target::Device;
use fatbin_fuzz::{budget, fuzz_target};
use fatbin_ops::analyze::select::{FileFloors, candidate_sets};

const DEVICES: [&str; 5] = ["gfx90a", "gfx906:sramecc+:xnack-", "sm_90", "x86_64", "intel_gpu_pvc"];

fuzz_target!(|data: &[u8]| {
    let budget = budget(data);
    let Ok(scan) = Scan::new(View::with_budget(data, &budget)) else { return };
    for set in candidate_sets(scan.file()) {
        for device in DEVICES.iter().flat_map(|name| Device::parse(name).expect("a device")) {
            let selection = set.select_on(&device);
            let mut seen = vec![0; set.candidates.len()];
            let selected = selection.selected.iter().map(|(index, _)| *index);
            let rejected = selection.rejected.iter().map(|(index, _)| *index);
            for index in selected.chain(selection.also_selected.iter().copied()).chain(rejected) {
                seen[index] += 1;
            }
            assert!(seen.iter().all(|&count| count == 1), "{seen:?}: an image is selected and rejected once");
            assert_eq!(selection.verdicts().len(), set.candidates.len());
        }
    }
    let floors = FileFloors::new(scan.file(), &[]);
    for device in DEVICES.iter().flat_map(|name| Device::parse(name).expect("a device")) {
        for need in floors.on(&device) {
            assert!(need.some.floor.least <= need.preferred.floor.least, "{need:?}");
        }
    }
    assert!(floors.all().len() <= 3);
});
