//! Any bytes as a CUDA fat binary, and any bytes as an image to put into one: what was written must read as the same.

#![no_main]

use fatbin::bytes::View;
use fatbin::format::cuda_fatbin::{CudaFatbin, Member, container, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);

    let Ok(member) = Member::new(View::new(data), None) else { return };
    let bytes = write(&[member, member]).expect("an image that is in memory leaves room for headers").to_vec();
    let again = CudaFatbin::read(View::new(&bytes)).expect("what was written can be read");
    assert_eq!(again.entries.len(), 2);
    assert_eq!(again.view.size(), bytes.len() as u64);
});
