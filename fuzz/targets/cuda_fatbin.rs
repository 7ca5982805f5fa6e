//! Reads arbitrary bytes as a CUDA fat binary, and as an image to write into one, which must round-trip.

#![no_main]

use fatbin::Codec;
use fatbin::View;
use fatbin_core::base::codec::Compression;
use fatbin_core::format::DeviceImage;
use fatbin_core::format::cuda_fatbin::{
    CudaFatbin, FatbinImage, FatbinMember, concatenate, container, level, write, write_members,
};
use fatbin_fuzz::fuzz_target;

const ZSTD: Compression = Compression { codec: Codec::Zstd, level: level::ZSTD };
const LZ4: Compression = Compression { codec: Codec::Lz4, level: level::LZ4 };

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);

    let Ok(image) = FatbinImage::new(View::new(data), None) else { return };
    let bytes = write(&[image, image]).expect("the headers fit").to_vec();
    let again = CudaFatbin::read(View::new(&bytes)).expect("a written fat binary can be read");
    assert_eq!(again.entries.len(), 2);
    assert_eq!(again.view.size(), bytes.len() as u64);

    // Bytes after an ELF file are not a part of it, and NULs at the end of PTX are not distinguished from the one that follows it.
    let without_nuls = data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let size = DeviceImage::identify(View::new(data)).own_size.map_or(without_nuls, |size| size as usize);
    let own = &data[..size.min(data.len())];
    let (identifier, options) = data.split_at(data.len().min(data.len() % 64));
    let options = &options[..options.len().min(9)];
    let image = image.with_identifier(identifier).with_options(options);
    for compression in [ZSTD, LZ4] {
        let member = FatbinMember::Image { image, compression: Some(compression) };
        for members in [vec![member.clone()], concatenate(vec![member.clone(), member], compression, 2)] {
            let bytes = write_members(&members).expect("the sizes fit").to_vec();
            let read = container(View::new(&bytes)).expect("a written fat binary can be read");
            assert_eq!(read.view.size(), bytes.len() as u64);
            for image in read.images() {
                let decompressed = image.bytes().expect("a written image can be decompressed");
                assert!(decompressed.starts_with(own));
            }
        }
    }
});
