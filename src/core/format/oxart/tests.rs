//! Round trips, comparison with the bytes of the published crate and with a naive reader, and a table of defects.

use super::raw::{Header, PayloadRecord};
use super::*;
use crate::format::Fate;

const PTX: &[u8] = b".version 8.0\n.target sm_90\n";

/// The bundle that oxide-artifacts 0.2.1 writes for [`SPEC`].
#[rustfmt::skip]
const PUBLISHED: &[u8] = include_bytes!("../../../../fixtures/answer.oxart");

const SPEC: OxartSpec<'static, 'static> = OxartSpec {
    name: "answer",
    target: "sm_90",
    options: 3,
    payloads: &[
        OxartPayloadSpec { kind: payload_kind::PTX, name: "answer.ptx", data: PTX },
        OxartPayloadSpec { kind: payload_kind::NVVM_IR, name: "answer.ll", data: b"; ModuleID = 'answer'\n" },
        OxartPayloadSpec { kind: payload_kind::LTO_IR, name: "answer.ltoir", data: b"\xed\x43\x4e\x7f" },
        OxartPayloadSpec { kind: payload_kind::CUBIN, name: "answer.cubin", data: b"\x7fELF not one" },
    ],
    entries: &[
        OxartEntrySpec { kind: entry_kind::KERNEL, symbol: "answer_kernel", metadata: None },
        OxartEntrySpec { kind: entry_kind::DEVICE_FUNCTION, symbol: "helper", metadata: Some(7) },
    ],
};

fn written() -> Vec<u8> {
    write(&SPEC).unwrap().to_vec()
}

/// Reads kinds, names and data as with a hex editor, without checks.
fn naive(bytes: &[u8]) -> Vec<(u16, &[u8], &[u8])> {
    let field = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
    };
    let first = 32 + field(16, 2) + field(18, 2);
    let record = |at: usize| {
        let name = field(at + 12, 4);
        let data = field(at + 4, 4);
        (field(at, 2) as u16, &bytes[name..name + field(at + 16, 2)], &bytes[data..data + field(at + 8, 4)])
    };
    (0..field(20, 2)).map(|number| record(first + 24 * number)).collect()
}

#[test]
fn output_equals_that_of_the_published_crate() {
    assert!(written() == PUBLISHED);
}

#[test]
fn bundles_round_trip() {
    let bytes = [&written()[..], b"OXIDEART"].concat();
    let bundle = OxartBundle::read(View::new(&bytes)).unwrap();
    assert_eq!((bundle.version, bundle.name, bundle.target, bundle.options), (2, "answer", "sm_90", 3));
    assert_eq!(bundle.view.size(), bytes.len() as u64 - 8);
    let payloads: Vec<_> = bundle.payloads.iter().map(|it| (it.kind, it.name.as_bytes(), it.data.data())).collect();
    assert_eq!(payloads, naive(&bytes));
    assert_eq!(payloads, SPEC.payloads.iter().map(|it| (it.kind, it.name.as_bytes(), it.data)).collect::<Vec<_>>());
    let entries: Vec<_> = bundle.entries.iter().map(|it| (it.kind, it.symbol, it.metadata)).collect();
    assert_eq!(entries, [(1, "answer_kernel", None), (2, "helper", Some(7))]);
    let empty = OxartSpec { options: 0, payloads: &[], entries: &[], ..SPEC };
    let empty = write(&empty).unwrap().to_vec();
    assert_eq!(OxartBundle::read(View::new(&empty)).unwrap().version, 1);
}

#[test]
fn images_have_the_properties_of_their_bundle() {
    let bytes = written();
    let container = container(View::new(&bytes)).unwrap();
    let images: Vec<_> =
        container.images().iter().map(|image| (image.image_kind, image.arch.as_deref(), image.strings[2])).collect();
    let expected = [
        (ImageKind::Ptx, Some("sm_90"), ("form", "ptx")),
        (ImageKind::Unknown, Some("sm_90"), ("form", "nvvm-ir")),
        (ImageKind::Nvvm, Some("sm_90"), ("form", "lto-ir")),
        (ImageKind::Elf, Some("sm_90"), ("form", "cubin")),
    ];
    assert_eq!(images, expected);
    let strings = &container.images()[0].strings;
    assert_eq!(strings[..2], [("bundle", "answer"), ("payload", "answer.ptx")]);
    assert_eq!(strings[3..], [("kernel", "answer_kernel"), ("device-function", "helper")]);
    assert!(container.images().iter().all(|image| image.unknown.is_empty()));
}

/// Offset of the first payload record of [`SPEC`].
const RECORD: usize = 32 + 6 + 5;

#[test]
fn an_unknown_kind_of_payload_is_stated() {
    let mut bytes = written();
    bytes[RECORD..RECORD + 2].copy_from_slice(&[0, 3]);
    let image = &container(View::new(&bytes)).unwrap().images()[0].clone();
    assert_eq!(image.unknown, [UnknownValue { field: UnknownValue::KIND, value: 0x300 }]);
    assert_eq!(image.image_kind, ImageKind::Unknown);
}

#[test]
fn reports_the_offset_and_the_cause_of_defects() {
    let size = written().len();
    let cases: [(usize, &[u8], &str); 12] = [
        (0, b"OXIDEARX", "oxart magic at 0x0: invalid value 0x585241454449584f, expected OXIDEART"),
        (8, b"\x03", "oxart version at 0x8: unsupported version 3 (supported: 1 and 2)"),
        (10, b"\x21", "oxart header size at 0xa: invalid value 0x21, expected 32"),
        (12, b"\xff\xff", "oxart size at 0xc: offset 0 with size 65535 is out of bounds"),
        (
            12,
            b"\x30\0\0\0",
            "oxart payload count at 0x14: offset 0 with size 187 is out of bounds (48 bytes available)",
        ),
        (20, b"\xff\xff", "oxart payload count at 0x14: offset 0 with size"),
        (32, b"\xff", "oxart name size at 0x10: not a printable UTF-8 string"),
        (RECORD + 4, b"\0\0\0\0", "oxart payload offset at 0x2f: overlaps the tables"),
        (RECORD + 8, b"\xff\xff\xff", "oxart payload offset at 0x2f: offset 200 with size 16777215 is out of bounds"),
        (RECORD + 8, b"\x80", "oxart payload at 0xf8: overlaps another payload"),
        (RECORD + 12, b"\xff\xff", "oxart payload name offset at 0x37: offset 65535 with size 10 is out of bounds"),
        (
            RECORD + 96 + 12,
            b"\xff\xff",
            "oxart entry symbol offset at 0x97: offset 65535 with size 13 is out of bounds",
        ),
    ];
    for (at, new, expected) in cases {
        let mut bytes = written();
        bytes[at..at + new.len()].copy_from_slice(new);
        let error = OxartBundle::read(View::new(&bytes)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    for end in 0..size {
        assert!(OxartBundle::read(View::new(&written()[..end])).is_err(), "{end}");
    }
}

#[test]
fn an_edited_bundle_keeps_its_size_and_the_places_of_what_stays() {
    use crate::base::content::Content;
    use Fate::{Drop, Keep, Replace};
    let bytes = written();
    let bundle = OxartBundle::read(View::new(&bytes)).unwrap();
    let edit = |fates: [Fate<'static>; 4]| edited(&bundle, fates.to_vec()).unwrap().unwrap().to_vec();
    assert_eq!(edit([Keep, Keep, Keep, Keep]), bytes);

    let smaller = edit([Drop, Keep, Replace(Content::from(b"new".to_vec())), Keep]);
    assert_eq!(smaller.len(), bytes.len());
    let left = OxartBundle::read(View::new(&smaller)).unwrap();
    let payloads: Vec<_> = left.payloads.iter().map(|it| (it.name, it.data.data(), it.data.start())).collect();
    let old = |number: usize| (bundle.payloads[number].data.data(), bundle.payloads[number].data.start());
    let expected = [
        ("answer.ll", old(1).0, old(1).1),
        ("answer.ltoir", b"new".as_slice(), old(2).1),
        ("answer.cubin", old(3).0, old(3).1),
    ];
    assert_eq!((payloads.as_slice(), &left.entries), (&expected[..], &bundle.entries));
    assert!(!smaller.windows(PTX.len()).any(|window| window == PTX), "dropped data is gone");

    let larger = edit([Replace(Content::from(vec![b'x'; 100])), Keep, Keep, Keep]);
    let left = OxartBundle::read(View::new(&larger)).unwrap();
    assert_eq!((left.payloads[0].data.data(), left.payloads[0].data.start()), (&[b'x'; 100][..], bytes.len() as u64));
    assert_eq!(larger.len() as u64, left.view.size());
    let empty = edit([Drop, Drop, Drop, Drop]);
    let left = OxartBundle::read(View::new(&empty)).unwrap();
    assert_eq!((left.payloads.len(), left.entries, empty.len()), (0, bundle.entries.clone(), bytes.len()));
}

#[test]
fn records_round_trip() {
    let bytes = written();
    let header = Header::read(View::new(&bytes)).unwrap();
    let mut again = Vec::new();
    header.write(&mut again);
    for at in (header.payloads().offset..header.entries().offset).step_by(24) {
        let start = again.len();
        PayloadRecord::read(View::new(&bytes).from(at)).unwrap().write(&mut again);
        assert_eq!(again[start..], bytes[at as usize..at as usize + 24]);
    }
    assert_eq!(again[..32], bytes[..32]);
}
