//! Inspects arbitrary bytes as an image of several kinds. Inspection must finish quickly with offsets inside the image.

#![no_main]

use fatbin::View;
use fatbin_core::format::{DeviceImage, ImageKind};
use fatbin_core::image::{Demangler, SourceIndex, inspect};
use fatbin_fuzz::{budget_for, fuzz_target};

fuzz_target!(|data: &[u8]| {
    let budget = budget_for(data, 1 << 24);
    let view = View::with_budget(data, &budget);
    let own = DeviceImage::identify(view).image_kind;
    for kind in [own, ImageKind::Ptx, ImageKind::SpirV] {
        let inspection = inspect(kind, view, &Demangler::default());
        for problem in &inspection.problems {
            assert!(problem.offset <= data.len() as u64, "a problem beyond the end of the image: {problem}");
        }
        // Each kernel has a name in the image.
        assert!(inspection.kernels.len() <= data.len());
        assert!(inspection.not_inspected.is_none() || inspection.debug.units.is_empty() || kind == ImageKind::Elf);
    }
    if let Ok(index) = SourceIndex::read(view) {
        let names: Vec<&str> = index.functions().collect();
        for address in names.iter().filter_map(|name| index.address(name, 0)).chain([0, u64::MAX]) {
            // A call is before what is inlined there, so frames end.
            assert!(index.frames(address).len() <= data.len());
        }
    }
});
