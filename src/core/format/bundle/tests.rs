//! Round trips, comparison with a naive reader, and a table of defects.

use super::*;

const IDS: [&str; 3] =
    ["host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"];
const CODE: [&[u8]; 3] = [b"", b"code for gfx906", b"code for gfx90a"];

fn sample(alignment: u64) -> Vec<u8> {
    let entries: Vec<_> = IDS.into_iter().zip(CODE).collect();
    write(&entries, alignment).unwrap().to_vec()
}

/// Reads the code objects as with a hex editor, without checks.
fn naive_code_objects(bytes: &[u8]) -> Vec<&[u8]> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let mut at = 32;
    (0..word(24))
        .map(|_| {
            let code = &bytes[word(at)..word(at) + word(at + 8)];
            at += 24 + word(at + 16);
            code
        })
        .collect()
}

#[test]
fn bundles_of_any_alignment_round_trip() {
    for alignment in [1, 8, 4096] {
        let bytes = sample(alignment);
        let bundle = Bundle::read(View::new(&bytes)).unwrap();
        assert_eq!(bundle.entries.iter().map(|entry| entry.text).collect::<Vec<_>>(), IDS);
        assert_eq!(bundle.entries.iter().map(|entry| entry.code_object.data()).collect::<Vec<_>>(), CODE);
        assert_eq!(naive_code_objects(&bytes), CODE);
        assert!(bundle.entries.iter().all(|entry| entry.code_object.start() % alignment == 0));
        assert_eq!(bundle.view.size(), bytes.len() as u64);
    }
}

#[test]
fn bytes_after_the_last_code_object_are_not_part_of_the_bundle() {
    let mut bytes = sample(1);
    let size = bytes.len() as u64;
    bytes.extend([0; 4096]);
    assert_eq!(Bundle::read(View::new(&bytes)).unwrap().view.size(), size);
}

#[test]
fn images_have_the_properties_in_their_ids() {
    let bytes = sample(4096);
    let container = container(View::new(&bytes)).unwrap();
    let host = &container.images()[0];
    assert_eq!((host.kind, host.image_kind), (Some(OffloadKind::Host), ImageKind::Empty));
    let image = &container.images()[2];
    assert_eq!(image.kind, Some(OffloadKind::Hip));
    assert_eq!(image.triple.as_deref(), Some("amdgcn-amd-amdhsa"));
    assert_eq!(image.arch.as_deref(), Some("gfx90a:xnack-"));
    assert_eq!(image.id, Some(IDS[2]));
}

#[test]
fn rejects_every_truncation() {
    let bytes = sample(1);
    for end in 0..bytes.len() {
        Bundle::read(View::new(&bytes[..end])).unwrap_err();
    }
}

#[test]
fn extreme_field_values_do_not_panic() {
    let good = sample(1);
    let values =
        [0, 1, 2, 23, 4097, good.len() as u64, good.len() as u64 + 1, 1 << 31, 1 << 63, u64::MAX - 7, u64::MAX];
    for at in [0, 16, 24, 32, 40, 48, 56] {
        for value in values {
            let mut bytes = good.clone();
            bytes[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
            if let Ok(bundle) = Bundle::read(View::new(&bytes)) {
                let code: Vec<_> = bundle.entries.iter().map(|entry| entry.code_object.data()).collect();
                assert_eq!(code, naive_code_objects(&bytes), "offset {at} value {value}");
            }
        }
    }
}

#[test]
fn the_magic_as_a_string_constant_is_not_a_bundle() {
    for tail in [&[0; 64][..], b"__START__ host-x86_64-unknown-linux-gnu\n and more text behind it", b""] {
        let bytes = [MAGIC, tail].concat();
        Bundle::read(View::new(&bytes)).unwrap_err();
    }
}

#[test]
fn errors_state_field_offset_and_value() {
    let good = sample(1);
    #[rustfmt::skip]
    let defects: [(&str, usize, u64, &str); 5] = [
        ("no entry",        24, 0, "bundle entry count at 0x18: invalid value 0x0, expected at least 1"),
        ("absurd count",    24, 1 << 40, "bundle entry count at 0x18: offset 32 with size 26388279066624 is out of bounds (233 bytes available)"),
        ("one entry more",  24, 4, "bundle entry id length at 0xdb: offset 227 with size 2338053640979571823 is out of bounds (233 bytes available)"),
        ("offset wraps",    32, u64::MAX, "bundle entry offset at 0x20: offset 18446744073709551615 with size 0 is out of bounds (233 bytes available)"),
        ("id too long",     48, 1 << 63, "bundle entry id length at 0x30: offset 56 with size 9223372036854775808 is out of bounds (233 bytes available)"),
    ];
    for (name, at, value, message) in defects {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        assert_eq!(Bundle::read(View::new(&bytes)).expect_err(name).to_string(), message, "{name}");
    }
    let mut bytes = good.clone();
    let second = |bytes: &mut [u8], at: usize, value: u64| {
        let entry = 56 + IDS[0].len();
        bytes[entry + at..entry + at + 8].copy_from_slice(&value.to_le_bytes());
    };
    let message = |bytes: &[u8]| Bundle::read(View::new(bytes)).unwrap_err().to_string();
    second(&mut bytes, 0, 202);
    assert_eq!(
        message(&bytes),
        "bundle entry offset at 0x56: offset 202 overlaps the preceding data, which ends at 203"
    );
    second(&mut bytes, 0, 203);
    second(&mut bytes, 8, 16);
    assert_eq!(
        message(&bytes),
        "bundle entry offset at 0x8d: offset 218 overlaps the preceding data, which ends at 219"
    );
    let mut bytes = good.clone();
    bytes[56..60].copy_from_slice(b"toas");
    assert_eq!(
        Bundle::read(View::new(&bytes)).unwrap_err().to_string(),
        "bundle entry id at 0x38: invalid bundle entry ID \"toas-x86_64-unknown-linux-gnu-\", expected <offload kind>-<triple>[-<target id>]"
    );
}

#[test]
fn reads_the_index_without_the_code_objects() {
    let bytes = sample(4096);
    let index_end = 32 + IDS.iter().map(|id| 24 + id.len()).sum::<usize>();
    let whole = BundleIndex::read(View::new(&bytes), bytes.len() as u64).unwrap();
    for end in 0..bytes.len() {
        let start = BundleIndex::read(View::new(&bytes[..end]), bytes.len() as u64);
        assert_eq!(start.ok(), (end >= index_end).then(|| whole.clone()), "{end}");
    }
    BundleIndex::read(View::new(&bytes), bytes.len() as u64 - 1).unwrap_err();
}
