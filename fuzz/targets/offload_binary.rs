//! Any bytes as an offload binary; what can be read is written again and must read as the same.

#![no_main]

use fatbin::bytes::View;
use fatbin::format::offload_binary::{Member, OffloadBinary, container, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);

    let Ok(binary) = OffloadBinary::read(View::new(data)) else { return };
    let member = Member {
        image_kind: binary.image_kind,
        offload_kind: binary.offload_kind,
        flags: binary.flags,
        strings: &binary.strings,
        image: binary.image.data(),
    };
    let written = write(&member).expect("an image that is in memory leaves room for a header");
    let bytes = written.content.to_vec();
    assert_eq!(written.content.size(), bytes.len() as u64);
    assert_eq!(&bytes[written.image.start as usize..written.image.end as usize], binary.image.data());

    let again = OffloadBinary::read(View::new(&bytes)).expect("what was written can be read");
    assert_eq!(again.image_kind, binary.image_kind);
    assert_eq!(again.offload_kind, binary.offload_kind);
    assert_eq!(again.flags, binary.flags);
    assert_eq!(again.strings, binary.strings);
    assert_eq!(again.image.data(), binary.image.data());
    assert_eq!(again.view.size(), bytes.len() as u64);
});
