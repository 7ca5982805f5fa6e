//! Reads arbitrary bytes as a CUDA fat binary, and as an image to write into one, which must round-trip.

#![no_main]

use fatbin::bytes::View;
use fatbin::format::cuda_fatbin::{CudaFatbin, FatbinImage, container, write};
use fatbin_fuzz::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);

    let Ok(member) = FatbinImage::new(View::new(data), None) else { return };
    let bytes = write(&[member, member]).expect("the headers fit").to_vec();
    let again = CudaFatbin::read(View::new(&bytes)).expect("a written fat binary can be read");
    assert_eq!(again.entries.len(), 2);
    assert_eq!(again.view.size(), bytes.len() as u64);
});
