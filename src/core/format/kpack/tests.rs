//! Tests of archives: layout, round trips, and invalid archives with their errors.

use super::*;
use crate::base::bytes::{Budget, Limits};

/// The archive of rocm-kpack's own tests, `test_noop.kpack`, with shorter blobs: three code objects of two binaries.
const MEMBERS: [KpackMember<'static, 'static>; 3] = [
    KpackMember { key: "lib/libtest.so#0", arch: "gfx1100", image: b"first" },
    KpackMember { key: "lib/libtest.so#0", arch: "gfx90a:xnack-", image: b"" },
    KpackMember { key: "bin/tool#1", arch: "gfx1100", image: b"a longer code object" },
];
const PROPERTIES: KpackProperties<'static> =
    KpackProperties { group_name: "test", family: "gfx110X", arches: &["gfx1100", "gfx90a:xnack-"] };

fn archive(level: Option<i32>) -> Vec<u8> {
    write(&PROPERTIES, &MEMBERS, level).unwrap().to_vec()
}

fn error(bytes: &[u8]) -> String {
    KpackArchive::read(View::new(bytes)).unwrap_err().to_string()
}

/// Returns an archive with blobs and a table of contents in the words of JSON.
fn with_toc(blobs: &[u8], toc: &str) -> Vec<u8> {
    let mut bytes = layout::Header { toc_offset: 64 + blobs.len() as u64 }.to_bytes();
    bytes.extend(blobs);
    let toc: serde_json::Value = serde_json::from_str(toc).unwrap();
    bytes.extend(rmp_serde::to_vec(&toc).unwrap());
    bytes
}

#[test]
fn the_layout_is_that_of_rocm_kpack() {
    let bytes = archive(None);
    assert_eq!(bytes[..16], *b"KPAK\x01\0\0\0\x59\0\0\0\0\0\0\0");
    assert!(bytes[16..64].iter().all(|&byte| byte == 0));
    assert_eq!(bytes[64..0x59], *b"firsta longer code object");
    let toc: serde_json::Value = rmp_serde::from_slice(&bytes[0x59..]).unwrap();
    let expected = serde_json::json!({
        "format_version": 1, "group_name": "test", "gfx_arch_family": "gfx110X",
        "gfx_arches": ["gfx1100", "gfx90a:xnack-"],
        "toc": {
            "lib/libtest.so#0": {
                "gfx1100": {"type": "hsaco", "ordinal": 0, "original_size": 5},
                "gfx90a:xnack-": {"type": "hsaco", "ordinal": 1, "original_size": 0},
            },
            "bin/tool#1": {"gfx1100": {"type": "hsaco", "ordinal": 2, "original_size": 20}},
        },
        "compression_scheme": "none",
        "blobs": [{"offset": 64, "size": 5}, {"offset": 69, "size": 0}, {"offset": 69, "size": 20}],
    });
    assert_eq!(toc, expected);
    assert!(bytes[0x59..].starts_with(b"\x87\xaeformat_version\x01\xaagroup_name\xa4test\xafgfx_arch_family"));
}

#[test]
fn archives_round_trip_with_and_without_compression() {
    for level in [None, Some(3), Some(19)] {
        let bytes = [archive(level), b"bytes after it".to_vec()].concat();
        let read = KpackArchive::read(View::new(&bytes)).unwrap();
        assert_eq!((read.group_name, read.family), (Some("test"), Some("gfx110X")));
        assert_eq!(read.arches, PROPERTIES.arches);
        assert_eq!(read.view.size() + 14, bytes.len() as u64);
        assert_eq!(read.defects(), []);
        assert_eq!(read.entries[2].binary(), Some(("bin/tool", 1)));
        let container = container(View::new(&bytes)).unwrap();
        for (image, member) in container.images().iter().zip(MEMBERS) {
            assert_eq!((image.id, image.arch.as_deref()), (Some(member.key), Some(member.arch)));
            assert_eq!(&*image.bytes().unwrap(), member.image);
            assert_eq!(image.codec, Some(if level.is_some() { Codec::Zstd } else { Codec::None }));
        }
    }
}

#[test]
fn members_of_one_key_are_together() {
    let [first, second, third] = MEMBERS;
    let bytes = write(&PROPERTIES, &[first, third, second], None).unwrap().to_vec();
    let read = KpackArchive::read(View::new(&bytes)).unwrap();
    let entries: Vec<_> = read.entries.iter().map(|it| (it.key, it.arch, it.ordinal, it.stored.data())).collect();
    let expected = [(first, 0), (second, 2), (third, 1)].map(|(it, ordinal)| (it.key, it.arch, ordinal, it.image));
    assert_eq!(entries, expected);
}

#[test]
fn rejects_invalid_archives() {
    let blobs = r#""compression_scheme": "none", "blobs": [{"offset": 64, "size": 2}]"#;
    let code = r#""toc": {"a#0": {"gfx906": {"type": "hsaco", "ordinal": 0, "original_size": 2}}}"#;
    let cases = [
        (r#"[]"#.to_owned(), "expected a map"),
        (r#"{"later": {"a": [1, null, 1.5]}}"#.to_owned(), "missing key compression_scheme"),
        (format!(r#"{{{blobs}}}"#), "missing key toc"),
        (format!(r#"{{{blobs}, {code}}}"#), "missing key gfx_arches"),
        (r#"{"compression_scheme": "none"}"#.to_owned(), "missing key blobs"),
        (r#"{"compression_scheme": "zstd-per-kernel"}"#.to_owned(), "missing key zstd_offset"),
        (r#"{"compression_scheme": "lz4"}"#.to_owned(), "unsupported compression scheme \"lz4\""),
        (r#"{"gfx_arches": [1]}"#.to_owned(), "expected text"),
        (r#"{"gfx_arches": "gfx906"}"#.to_owned(), "expected an array"),
        (r#"{"toc": {"a#0": {"gfx906": {"ordinal": 0}}}}"#.to_owned(), "missing key original_size"),
        (r#"{"toc": {"a#0": {"gfx906": {"ordinal": -1}}}}"#.to_owned(), "expected a non-negative integer"),
        (
            r#"{"compression_scheme": "none", "blobs": [], "toc": {"a#0": {"gfx906": {"ordinal": 0, "original_size": 2}}}}"#
                .to_owned(),
            "kpack ordinal at 0x73: offset 0 with size 1 is out of bounds (0 bytes available)",
        ),
        (
            r#"{"compression_scheme": "none", "blobs": [{"offset": 63, "size": 1}]}"#.to_owned(),
            "invalid value 0x3f, expected at least 64",
        ),
        (
            r#"{"compression_scheme": "none", "blobs": [{"offset": 65, "size": 2}]}"#.to_owned(),
            "offset 65 with size 2 is out of bounds (66 bytes available)",
        ),
        (
            r#"{"compression_scheme": "none", "blobs": [{"offset": 65, "size": 1}, {"offset": 64, "size": 2}]}"#.to_owned(),
            "offset 65 overlaps the preceding data, which ends at 66",
        ),
        (
            r#"{"compression_scheme": "zstd-per-kernel", "zstd_offset": 0, "zstd_size": 2}"#.to_owned(),
            "invalid value 0x0, expected at least 64",
        ),
        (
            r#"{"compression_scheme": "zstd-per-kernel", "zstd_offset": 64, "zstd_size": 3}"#.to_owned(),
            "offset 64 with size 3 is out of bounds (66 bytes available)",
        ),
        (
            r#"{"compression_scheme": "zstd-per-kernel", "zstd_offset": 64, "zstd_size": 2}"#.to_owned(),
            "kpack zstd frames at 0x40: truncated: need 4 bytes, 2 available",
        ),
    ];
    for (toc, expected) in cases {
        let error = error(&with_toc(b"ab", &toc));
        assert!(error.contains(expected), "{toc}: {error}");
    }
    let frames = r#"{"compression_scheme": "zstd-per-kernel", "zstd_offset": 64, "zstd_size": 9}"#;
    let error = error(&with_toc(b"\x01\0\0\0\0\0\0\0x", frames));
    assert!(error.ends_with("1 frames end at 8, expected 9"), "{error}");
}

#[test]
fn rejects_invalid_headers() {
    let good = archive(None);
    let patched = |at: usize, bytes: &[u8]| {
        let mut archive = good.clone();
        archive[at..at + bytes.len()].copy_from_slice(bytes);
        error(&archive)
    };
    assert_eq!(patched(0, b"KPAC"), "kpack magic at 0x0: invalid value 0x4341504b, expected KPAK");
    assert_eq!(patched(4, &[2]), "kpack version at 0x4: unsupported version 2 (supported: 1)");
    let interrupted = patched(8, &[0; 8]);
    assert!(interrupted.ends_with("expected at least 64 (0: the writer of the archive was interrupted)"));
    let size = good.len();
    let beyond = patched(8, &(size as u64).to_le_bytes());
    assert!(beyond.starts_with("kpack table of contents at 0x8: offset"), "{beyond}");
    for level in [None, Some(3)] {
        let good = archive(level);
        for end in 0..good.len() {
            assert!(KpackArchive::read(View::new(&good[..end])).is_err(), "{end}");
        }
    }
}

#[test]
fn corrupt_archives_never_panic_and_stay_within_their_budget() {
    for level in [None, Some(3)] {
        let good = archive(level);
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut broken = good.clone();
                broken[at] ^= 1 << bit;
                let budget = Budget::new(Limits::default(), broken.len() as u64);
                if let Ok(container) = container(View::with_budget(&broken, &budget)) {
                    for image in container.images() {
                        let _ = image.bytes();
                    }
                }
            }
        }
    }
}

#[test]
fn contradictions_are_defects() {
    let toc = r#"{
        "gfx_arches": ["gfx906", "gfx908"], "compression_scheme": "none",
        "blobs": [{"offset": 64, "size": 1}, {"offset": 65, "size": 1}],
        "toc": {
            "a#0": {"gfx906": {"ordinal": 0, "original_size": 1}, "gfx90a": {"ordinal": 0, "original_size": 2}},
            "b": {"gfx906": {"ordinal": 0, "original_size": 1}}
        }}"#;
    let bytes = with_toc(b"ab", toc);
    let archive = KpackArchive::read(View::new(&bytes)).unwrap();
    let defects: Vec<String> = archive.defects().iter().map(|it| it.cause.to_string()).collect();
    let expected = [
        "a#0 and a#0 have the same blob 0",
        "gfx90a is not in gfx_arches; loaders do not find its code",
        "a#0 for gfx90a has 1 bytes, expected 2",
        "b and a#0 have the same blob 0",
        "b does not end with # and the index of a code object",
        "gfx_arches lists gfx908, for which there is no code",
        "no code object has blob 1",
    ];
    assert_eq!(defects, expected);
}

#[test]
fn markers_round_trip_and_ignore_what_follows() {
    let paths = ["../.kpack/blas_lib_@GFXARCH@.kpack"];
    let marker = KpackMarker { search_paths: paths.to_vec(), kernel_name: "lib/libtest.so" };
    let bytes = marker.to_bytes();
    let decoded: serde_json::Value = rmp_serde::from_slice(&bytes).unwrap();
    assert_eq!(decoded, serde_json::json!({"kpack_search_paths": paths, "kernel_name": "lib/libtest.so"}));
    let longer = [bytes.clone(), vec![0; 1 << 17]].concat();
    assert_eq!(KpackMarker::read(View::new(&longer)), Ok(marker));
    for end in 0..bytes.len() {
        assert!(KpackMarker::read(View::new(&bytes[..end])).is_err());
    }
    assert_eq!(entry_key("lib/libtest.so", 3), "lib/libtest.so#3");
}
