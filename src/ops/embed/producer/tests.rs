//! Producers in memory: what they write is read again, and equal requests give equal bytes.

use super::*;
use crate::embed::{NvFatbin, TargetOverride};
use fatbin_core::base::codec::Codec;
use fatbin_core::base::io::Input;
use fatbin_core::host::Host;
use fatbin_core::scan::Scan;
use fatbin_core::target::OffloadKind;

const CUBIN: &[u8] = include_bytes!("../../../../fixtures/answer-sm_90.cubin");
const HSACO: &[u8] = include_bytes!("../../../../fixtures/answer-gfx90a.hsaco");
const PTX: &[u8] = include_bytes!("../../../../fixtures/answer-sm_80.ptx");

fn input(bytes: &'static [u8]) -> Input {
    Input::from_bytes("image", bytes)
}

/// Archs and bytes of all images.
fn images(bytes: Vec<u8>) -> Vec<(Option<String>, Vec<u8>)> {
    let input = Input::from_bytes("output", bytes);
    let scan = Scan::new(&input).unwrap();
    assert_eq!(scan.file().errors, []);
    scan.images().map(|image| (image.arch.clone(), image.bytes().unwrap().to_vec())).collect()
}

#[test]
fn offload_binaries_have_the_images() {
    for compression in [None, Some(Codec::Zstd), Some(Codec::Zlib)] {
        let build = || {
            let mut builder = OffloadBinaryBuilder::new();
            builder.compression = compression;
            builder.image(OffloadKind::Hip, input(HSACO));
            builder.image_for(OffloadKind::Cuda, input(CUBIN), TargetOverride::default());
            builder.build().unwrap()
        };
        assert_eq!(build(), build());
        let found = images(build());
        assert_eq!(found, [(Some("gfx90a".into()), HSACO.to_vec()), (Some("sm_90".into()), CUBIN.to_vec())]);
    }
}

#[test]
fn cuda_fat_binaries_have_the_images_with_each_codec() {
    for (compression, concat) in [(None, false), (Some(Codec::Zstd), true), (Some(Codec::Lz4), false)] {
        let mut builder = CudaFatbinBuilder::new();
        builder.compression = compression;
        builder.concat = concat;
        builder.image(input(CUBIN)).image_for(input(PTX), None, "a.cu", "-v").image(input(CUBIN));
        let found = images(builder.build().unwrap());
        assert_eq!(found.len(), 3);
        assert_eq!(found.iter().filter(|(_, bytes)| bytes == CUBIN).count(), 2);
    }
}

#[test]
fn levels_are_those_of_the_codec() {
    let packed = |level, compression| {
        let mut builder = OffloadBinaryBuilder::new();
        builder.compression = compression;
        builder.level = level;
        builder.image(OffloadKind::Hip, input(HSACO));
        builder.build()
    };
    let sizes = [1, 19].map(|level| packed(Some(level), Some(Codec::Zstd)).unwrap().len());
    assert!(sizes[1] < sizes[0], "{sizes:?}");
    for (level, compression, message) in [
        (10, Some(Codec::Zlib), "level 10: invalid level; zlib has levels 1 to 9"),
        (0, Some(Codec::Zstd), "level 0: invalid level; zstd has levels 1 to 22"),
        (3, None, "level 3: nothing is compressed; add a codec"),
    ] {
        assert_eq!(packed(Some(level), compression).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_cubin_has_the_bytes_of_nvfatbin() {
    let mut builder = CudaFatbinBuilder::new();
    builder.image(input(CUBIN));
    let mut nvfatbin = NvFatbin::new(["-compress=false"]).unwrap();
    nvfatbin.add_cubin(CUBIN, "90", "").unwrap();
    nvfatbin.size().unwrap();
    assert_eq!(builder.build().unwrap(), nvfatbin.get().unwrap());
}

#[test]
fn bundles_round_trip_in_each_form() {
    for (file_type, compression) in [("bc", None), ("bc", Some(Codec::Zstd)), ("s", None), ("s", Some(Codec::Zlib))] {
        let mut builder = BundleBuilder::new(file_type);
        builder.compression = compression;
        builder.entry("host-x86_64-unknown-linux-gnu", Input::from_bytes("host", *b"host\n"));
        builder.entry("hip-amdgcn-amd-amdhsa--gfx90a", Input::from_bytes("device", *b"device\n"));
        let entries = unbundle(&Input::from_bytes("bundle", builder.build().unwrap())).unwrap();
        let found: Vec<_> = entries.iter().map(|it| (it.id.as_str(), &*it.bytes)).collect();
        let expected =
            [("host-x86_64-unknown-linux-gnu", &b"host\n"[..]), ("hip-amdgcn-amd-amdhsa--gfx90a", b"device\n")];
        assert_eq!(found, expected, "{file_type} {compression:?}");
    }
}

#[test]
fn objects_have_the_files() {
    let object = embed_bytes(Host::Aarch64, &[("kernel", input(CUBIN))]).unwrap();
    assert_eq!(images(object), [(Some("sm_90".into()), CUBIN.to_vec())]);
}

#[test]
fn errors_have_types() {
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(OffloadKind::Hip, Input::from_bytes("x", *b""));
    assert!(matches!(builder.build(), Err(ProducerError::Image(_))));
    let mut builder = CudaFatbinBuilder::new();
    builder.image(Input::from_bytes("x", CUBIN[..200].to_vec()));
    assert!(matches!(builder.build(), Err(ProducerError::File(_))));
    assert!(matches!(OffloadBinaryBuilder::new().build(), Err(ProducerError::Refused(_))));
    assert!(matches!(unbundle(&input(PTX)), Err(ProducerError::Refused(_))));
    let mut builder = BundleBuilder::new("bc");
    builder.entry("nonsense", input(PTX));
    assert!(matches!(builder.build(), Err(ProducerError::Refused(_))));
    let twice = embed_bytes(Host::X86_64, &[("a", input(PTX)), ("a", input(PTX))]);
    assert!(matches!(twice, Err(ProducerError::Refused(_))));
}
