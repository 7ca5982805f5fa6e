//! Searches arbitrary bytes for build paths, and hashes their code, as images of several kinds. Bytes that are equal have
//! equal results; paths are in the image.

#![no_main]

use fatbin::View;
use fatbin_core::format::{DeviceImage, ImageKind};
use fatbin_core::image::build_paths::build_paths;
use fatbin_core::image::code_hash::code_hash;
use fatbin_fuzz::{budget, fuzz_target};

fuzz_target!(|data: &[u8]| {
    // The same image at another offset of a larger file.
    let larger = [b"before", data].concat();
    let [budget, other] = [(); 2].map(|()| budget(data));
    let view = View::with_budget(data, &budget);
    let within = View::with_budget(&larger, &other).from(6);
    for kind in [DeviceImage::identify(view).image_kind, ImageKind::Ptx, ImageKind::SpirV] {
        assert_eq!(code_hash(kind, view).ok(), code_hash(kind, within).ok(), "the hash depends on the offset");
        let paths = build_paths(kind, view);
        assert_eq!(paths.as_ref().ok(), build_paths(kind, within).as_ref().ok());
        for path in paths.into_iter().flatten() {
            assert!(!path.is_empty());
        }
    }
});
