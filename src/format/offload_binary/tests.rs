//! Round trips, a reader so naive that it can be believed, and a table of everything that can be wrong.

use super::*;
use crate::error::Cause;

const STRINGS: [(&str, &str); 2] = [("arch", "gfx90a:xnack+"), ("triple", "amdgcn-amd-amdhsa")];

fn sample(image: &[u8]) -> Vec<u8> {
    let member = Member { image_kind: image_kind::OBJECT, offload_kind: 1, flags: 0, strings: &STRINGS, image };
    write(&member).unwrap().content.to_vec()
}

fn put(bytes: &mut [u8], at: usize, value: u64, size: usize) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// Reads the first image the way one would with a hex editor, checking nothing.
fn naive_image(bytes: &[u8]) -> &[u8] {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let entry = word(16);
    &bytes[word(entry + 24)..word(entry + 24) + word(entry + 32)]
}

#[test]
fn what_is_written_is_read_back() {
    for size in [0, 1, 7, 8, 9, 4096] {
        let image = vec![0xa5; size];
        let bytes = sample(&image);
        assert_eq!(bytes.len() % 8, 0);
        let binary = OffloadBinary::read(View::new(&bytes)).unwrap();
        assert_eq!(binary.image.data(), image);
        assert_eq!(binary.image.start() % 8, 0);
        assert_eq!(binary.image.data(), naive_image(&bytes));
        assert_eq!(binary.strings, STRINGS);
        assert_eq!(binary.view.size(), bytes.len() as u64);
        assert_eq!((binary.image_kind, binary.offload_kind, binary.flags), (image_kind::OBJECT, 1, 0));
    }
}

#[test]
fn the_bytes_are_those_of_llvm_offload_binary_22() {
    // llvm-offload-binary -o out --image=file=x.bin,triple=x86_64-unknown-linux-gnu,arch=,kind=openmp
    let strings = [("arch", ""), ("triple", "x86_64-unknown-linux-gnu")];
    let member =
        Member { image_kind: image_kind::OBJECT, offload_kind: 1, flags: 0, strings: &strings, image: b"code" };
    let expected: Vec<u8> = [
        b"\x10\xff\x10\xad\x01\0\0\0\x98\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x28\0\0\0\0\0\0\0".as_slice(),
        b"\x01\0\x01\0\0\0\0\0\x48\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x90\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0",
        b"\x82\0\0\0\0\0\0\0\x68\0\0\0\0\0\0\0\x87\0\0\0\0\0\0\0\x69\0\0\0\0\0\0\0",
        b"\0x86_64-unknown-linux-gnu\0arch\0triple\0\0\0",
        b"code\0\0\0\0",
    ]
    .concat();
    assert_eq!(write(&member).unwrap().content.to_vec(), expected);
}

#[test]
fn bytes_behind_the_binary_do_not_belong_to_it() {
    let mut bytes = sample(b"image");
    let size = bytes.len() as u64;
    bytes.extend([0xff; 100]);
    assert_eq!(OffloadBinary::read(View::new(&bytes)).unwrap().view.size(), size);
}

#[test]
fn every_prefix_is_an_error_and_none_a_panic() {
    let bytes = sample(b"some device image");
    for end in 0..bytes.len() {
        OffloadBinary::read(View::new(&bytes[..end])).unwrap_err();
    }
}

#[test]
fn every_field_at_its_extremes_is_read_or_refused_but_never_a_panic() {
    let good = sample(b"some device image");
    let offsets = [0, 4, 8, 16, 24, 32, 36, 40, 48, 56, 64, 72, 80, 88, 96];
    let values = [0, 1, 7, 31, 33, good.len() as u64, good.len() as u64 + 1, 1 << 31, 1 << 63, u64::MAX - 7, u64::MAX];
    for at in offsets {
        for value in values {
            let mut bytes = good.clone();
            put(&mut bytes, at, value, 8);
            if let Ok(binary) = OffloadBinary::read(View::new(&bytes)) {
                assert!(binary.view.size() <= bytes.len() as u64);
                assert_eq!(binary.image.data(), naive_image(&bytes), "offset {at} value {value}");
            }
        }
    }
}

#[test]
fn each_defect_is_named_with_its_field_offset_and_value() {
    let good = sample(b"some device image");
    let end = good.len() as u64;
    #[rustfmt::skip]
    let defects: [(&str, usize, u64, usize, &str); 10] = [
        ("another magic",      0, 0x1234, 4, "offload binary magic at 0x0: is 0x1234, should be 10 FF 10 AD"),
        ("version 0",          4, 0, 4, "offload binary version at 0x4: version 0 is not known, 1 is"),
        ("version 99",         4, 99, 4, "offload binary version at 0x4: version 99 is not known, 1 is"),
        ("size too large",     8, end + 8, 8, "offload binary size at 0x8: offset 0 with size 184 does not fit into 176 bytes"),
        ("size too small",     8, 8, 8, "offload binary entry offset at 0x10: offset 32 with size 40 does not fit into 8 bytes"),
        ("entry wraps",       16, u64::MAX - 8, 8, "offload binary entry offset at 0x10: offset 18446744073709551607 with size 40 does not fit into 176 bytes"),
        ("entry size",        24, 32, 8, "offload binary entry size at 0x18: is 0x20, should be 40"),
        ("too many strings",  48, 1 << 40, 8, "offload binary string count at 0x30: is 0x10000000000, should be at most 1024"),
        ("image wraps",       56, u64::MAX, 8, "offload binary image offset at 0x38: offset 18446744073709551615 with size 17 does not fit into 176 bytes"),
        ("key outside",       72, end, 8, "offload binary key at 0x48: string without an end"),
    ];
    for (name, at, value, size, message) in defects {
        let mut bytes = good.clone();
        put(&mut bytes, at, value, size);
        let error = OffloadBinary::read(View::new(&bytes)).expect_err(name);
        assert_eq!(error.to_string(), message, "{name}");
    }
}

#[test]
fn a_key_that_is_not_utf8_is_named_as_unreadable() {
    let mut bytes = sample(b"x");
    let at = bytes.windows(4).position(|w| w == b"arch").unwrap();
    bytes[at] = 0xff;
    assert_eq!(OffloadBinary::read(View::new(&bytes)).unwrap_err().cause, Cause::Unreadable);
}

#[test]
fn an_offload_kind_that_combines_bits_is_kept_and_called_unknown() {
    // The packager's document says that HIP is 3; files say 4, and 3 would be OpenMP and CUDA at once.
    let mut bytes = sample(b"x");
    put(&mut bytes, 34, 3, 2);
    let container = container(View::new(&bytes)).unwrap();
    assert_eq!(container.images[0].kind, None);
    assert_eq!(OffloadBinary::read(View::new(&bytes)).unwrap().offload_kind, 3);
}
