//! Reads arbitrary bytes as an offload binary. A readable binary is written again and must read as the same binary.

#![no_main]

use fatbin::Codec;
use fatbin::View;
use fatbin_core::base::codec::Compression;
use fatbin_core::format::offload_binary::{
    OffloadBinary, OffloadBinaryContents, OffloadBinaryImage, Version, compress, container, write,
};
use fatbin_fuzz::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);

    let limit = 1 << 20;
    let budget = fatbin_fuzz::budget_for(data, limit);
    let Ok(binary) = OffloadBinary::read(View::with_budget(data, &budget)) else { return };
    match &binary.contents {
        OffloadBinaryContents::Compressed(compressed) => {
            if let Ok(decompressed) = compressed.decompress() {
                assert_eq!(decompressed.len() as u64, compressed.full_size + compressed.prefix.len() as u64);
                assert!(compressed.full_size <= limit);
            }
        }
        OffloadBinaryContents::Entries(_) => check_written(&binary),
    }
});

fn check_written(binary: &OffloadBinary) {
    let members: Vec<OffloadBinaryImage<'_, '_, &[u8]>> = binary
        .entries()
        .iter()
        .map(|entry| OffloadBinaryImage {
            image_kind: entry.image_kind,
            offload_kind: entry.offload_kind,
            flags: entry.flags,
            strings: &entry.strings,
            image: entry.image.data(),
        })
        .collect();
    let written = write(binary.version, &members).expect("the header fits");
    let bytes = written.content.to_vec();
    assert_eq!(written.content.size(), bytes.len() as u64);
    for (place, member) in written.images.iter().zip(&members) {
        assert_eq!(&bytes[place.start as usize..place.end as usize], member.image);
    }
    let again = OffloadBinary::read(View::new(&bytes)).expect("a written binary can be read");
    assert_eq!(again.view.size(), bytes.len() as u64);
    check_same(&again, &members);

    if binary.version == Version::Three {
        let mut stream = Vec::new();
        let how = Compression::new(Codec::Zlib);
        let (header, padding) =
            compress(&written.content, how, &mut stream).expect("writing to a vector does not fail");
        let stored = [header, stream, padding].concat();
        let stored = OffloadBinary::read(View::new(&stored)).expect("a written binary can be read");
        let OffloadBinaryContents::Compressed(compressed) = stored.contents else { panic!("compressed") };
        assert_eq!(compressed.decompress().expect("a compressed binary can be decompressed"), bytes);
    }
}

fn check_same(binary: &OffloadBinary, members: &[OffloadBinaryImage<'_, '_, &[u8]>]) {
    assert_eq!(binary.entries().len(), members.len());
    for (entry, member) in binary.entries().iter().zip(members) {
        assert_eq!((entry.image_kind, entry.offload_kind), (member.image_kind, member.offload_kind));
        assert_eq!((entry.flags, entry.image.data()), (member.flags, member.image));
        assert_eq!(entry.strings, member.strings);
    }
}
