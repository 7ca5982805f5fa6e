//! Any bytes as an image to look into, whatever kind it says it is: an answer comes, soon, and is about these bytes.

#![no_main]

use fatbin::bytes::View;
use fatbin::codec::Limit;
use fatbin::format::{DeviceImage, ImageKind};
use fatbin::inspect::inspect;
use libfuzzer_sys::fuzz_target;

/// Compressed sections of a fuzzer's are small.
const LIMIT: Limit = Limit(1 << 24);

fuzz_target!(|data: &[u8]| {
    let view = View::new(data);
    let own = DeviceImage::identify(view).image_kind;
    for kind in [own, ImageKind::Ptx, ImageKind::SpirV] {
        let inspection = inspect(kind, view, LIMIT);
        for problem in &inspection.problems {
            assert!(problem.offset <= data.len() as u64, "a problem behind the end of the image: {problem}");
        }
        // Each kernel is named by bytes of its own.
        assert!(inspection.kernels.len() <= data.len());
        assert!(inspection.not_inspected.is_none() || inspection.debug.units.is_empty() || kind == ImageKind::Elf);
    }
});
