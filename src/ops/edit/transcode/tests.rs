//! Random containers in other encodings: the images stay the same, there and back.

use super::*;
use crate::edit::container::rebuild;
use crate::edit::container::tests::{Random, images, rebuilt, scanned};
use fatbin_core::base::bytes::View;
use fatbin_core::format::offload_binary::{self, Version};

/// Requests nothing.
const NONE: Transcoding = Transcoding { bundle: None, offload_binary: None, codec: None, effort: Effort::Fit };

const PLAIN: Transcoding = Transcoding { bundle: Some(BundleForm::Plain), ..NONE };
const CCOB_2: Transcoding = Transcoding { bundle: Some(BundleForm::Compressed(CcobVersion::Two)), ..NONE };
const CCOB_3: Transcoding = Transcoding { bundle: Some(BundleForm::Compressed(CcobVersion::Three)), ..NONE };

const fn codec(codec: Codec) -> Transcoding {
    Transcoding { codec: Some(codec), ..NONE }
}

fn to_version(version: Version, codec: Option<Codec>) -> Transcoding {
    Transcoding { offload_binary: Some(version), codec, ..NONE }
}

/// Returns the bytes in another encoding, or as they are.
fn transcoded(bytes: &[u8], transcoding: Transcoding) -> Vec<u8> {
    rebuilt(bytes, &transcoding).unwrap_or_else(|| bytes.to_vec())
}

#[test]
fn images_stay_the_same_in_every_encoding() {
    let strong = Transcoding { effort: Effort::Level(12), ..codec(Codec::Zstd) };
    let both = Transcoding { bundle: CCOB_2.bundle, effort: Effort::Best, ..codec(Codec::Zlib) };
    let all = [
        PLAIN,
        CCOB_2,
        CCOB_3,
        codec(Codec::None),
        codec(Codec::Lz4),
        codec(Codec::Zstd),
        codec(Codec::Zlib),
        strong,
        both,
        to_version(Version::Two, None),
        to_version(Version::Three, None),
        to_version(Version::Three, Some(Codec::Zstd)),
        to_version(Version::Three, Some(Codec::None)),
    ];
    let mut random = Random(5);
    let mut changed = 0;
    for round in 0..200 {
        let bytes = random.container(2);
        let before = images(&bytes);
        let transcoding = all[round % all.len()];
        let new = transcoded(&bytes, transcoding);
        assert!(images(&new) == before, "round {round}: {transcoding:?}");
        changed += usize::from(new != bytes);
        let file = scanned(&new);
        if transcoding.effort == Effort::Fit {
            // Everything has the encoding now.
            assert_eq!(rebuilt(&new, &transcoding), None, "round {round}: {transcoding:?}");
        }
        assert!(requested(&file, &NONE) == 0);
    }
    assert!(changed > 80, "{changed}");
}

#[test]
fn containers_get_the_requested_form() {
    let mut random = Random(6);
    for _ in 0..40 {
        let bundle = random.bundle(0);
        let compressed = transcoded(&bundle, CCOB_2);
        let container = &scanned(&compressed).containers[0];
        assert_eq!((container.container_type, container.version), (ContainerType::Ccob, Some(2)));
        assert_eq!(container.codec, Some(Codec::Zstd));
        let newer = transcoded(&compressed, CCOB_3);
        assert_eq!(scanned(&newer).containers[0].version, Some(3));
        // Another version has the same stream, with the bundle that was compressed.
        assert_eq!(newer[32..], compressed[24..]);
        assert_eq!(transcoded(&newer, CCOB_2), compressed);
        assert_eq!(transcoded(&newer, PLAIN), bundle);
        let zlib = transcoded(&newer, codec(Codec::Zlib));
        let container = &scanned(&zlib).containers[0];
        assert_eq!((container.version, container.codec), (Some(3), Some(Codec::Zlib)));
    }
}

#[test]
fn entries_get_the_requested_codec_and_their_bytes_back() {
    let mut random = Random(7);
    for _ in 0..60 {
        let plain = transcoded(&random.fatbin(), codec(Codec::None));
        for new in [Codec::Lz4, Codec::Zstd] {
            let compressed = transcoded(&plain, codec(new));
            let file = scanned(&compressed);
            assert!(file.device_images().all(|image| image.codec == Some(new)));
            assert_eq!(transcoded(&compressed, codec(Codec::None)), plain);
        }
    }
}

#[test]
fn offload_binaries_change_their_version_there_and_back() {
    let strings = [("triple", "amdgcn-amd-amdhsa"), ("arch", "gfx90a")];
    let members = [&b"first"[..], b"second image", b"third"].map(|image| offload_binary::OffloadBinaryImage {
        image_kind: 1,
        offload_kind: 4,
        flags: 0,
        strings: &strings,
        image,
    });
    let written = |version, members: &[_]| offload_binary::write(version, members).unwrap().content.to_vec();
    let all = Version::ALL.map(|version| written(version, &members));
    for (bytes, version) in all[1..].iter().zip([Version::Two, Version::Three]) {
        let one = transcoded(bytes, to_version(Version::One, None));
        assert_eq!(one, all[0]);
        assert_eq!(scanned(&one).containers.len(), 3);
        // A binary of version 1 has one image, and so do the binaries that replace it.
        let back = transcoded(&one, to_version(version, None));
        assert_eq!(back, members.each_ref().map(|it| written(version, std::slice::from_ref(it))).concat());
    }
    let compressed = transcoded(&all[1], to_version(Version::Three, Some(Codec::Zstd)));
    assert_eq!(scanned(&compressed).containers[0].codec, Some(Codec::Zstd));
    assert_eq!(transcoded(&compressed, to_version(Version::Three, Some(Codec::None))), all[2]);
    assert_eq!(transcoded(&compressed, to_version(Version::Two, None)), all[1]);
}

#[test]
fn encodings_that_lose_something_are_errors() {
    let member = |flags| offload_binary::OffloadBinaryImage {
        image_kind: 1,
        offload_kind: 1,
        flags,
        strings: &[("key", "a\0b")],
        image: b"image",
    };
    for (flags, message) in [(1, "an entry has properties and no image"), (0, "offload binary strings at")] {
        let bytes = offload_binary::write(Version::Two, &[member(flags), member(0)]).unwrap().content.to_vec();
        let container = scanned(&bytes).containers.remove(0);
        let edit = to_version(Version::One, None);
        let error = rebuild(View::new(&bytes), &container, 0, &edit, 1).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

/// Compares the same work by one thread and by several.
#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let mut random = Random(8);
    for _ in 0..20 {
        let bytes = random.fatbin();
        let container = scanned(&bytes).containers.remove(0);
        let edit = Transcoding { effort: Effort::Best, ..codec(Codec::Zstd) };
        let [one, many] = [1, 7]
            .map(|workers| rebuild(View::new(&bytes), &container, 0, &edit, workers).unwrap().map(|it| it.to_vec()));
        assert_eq!(one, many);
    }
}

#[test]
fn requests_are_counted_at_any_depth() {
    let mut random = Random(9);
    for _ in 0..50 {
        let file = scanned(&random.container(2));
        let bundles = file.walk().filter(|node| {
            matches!(node, Node::Container(it) if matches!(it.container_type, ContainerType::Bundle | ContainerType::Ccob))
        });
        assert_eq!(requested(&file, &PLAIN), bundles.count());
    }
}
