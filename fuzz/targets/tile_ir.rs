//! Reads arbitrary bytes as Tile IR, alone and in a CUDA fat binary. The fat binary must yield the same bytes.

#![no_main]

use fatbin::View;
use fatbin_core::format::cuda_fatbin::{FatbinImage, container, write};
use fatbin_core::format::{DeviceImage, ImageKind};
use fatbin_core::image::{Demangler, inspect};
use fatbin_core::target::nvptx::Arch;
use fatbin_fuzz::{budget, fuzz_target};

fuzz_target!(|data: &[u8]| {
    let budget = budget(data);
    let view = View::with_budget(data, &budget);
    let own = DeviceImage::identify(view);
    let inspection = inspect(ImageKind::TileIr, view, &Demangler::default());
    // Each function has a record of some bytes.
    assert!(inspection.kernels.len() <= data.len());
    assert!(inspection.problems.iter().all(|problem| problem.offset <= data.len() as u64));
    if own.image_kind != ImageKind::TileIr {
        return;
    }
    let size = own.own_size.unwrap_or(data.len() as u64);
    assert!(size <= data.len() as u64);
    if let Ok(image) = FatbinImage::of_tile_ir(view, Arch { number: 100, suffix: None }) {
        let bytes = write(&[image]).expect("a small file").to_vec();
        let read = container(View::new(&bytes)).expect("a written container can be read");
        let [image] = read.images() else { panic!("one image") };
        assert_eq!(image.image_kind, ImageKind::TileIr);
        let own = image.bytes().expect("it is not compressed");
        assert!(own.starts_with(&data[..size as usize]));
    }
});
