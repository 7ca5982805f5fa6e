//! Tests on damaged and hostile files. Every kind is tested with the program, in tests/command-line/signatures.rs.

use super::*;
use crate::base::bytes::{Budget, Limits};

/// A Mach-O file of 64 bits with one load command, a signature of some blobs.
fn macho(blobs: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut index = Vec::new();
    let mut content = Vec::new();
    for (slot, blob) in blobs {
        index.extend([*slot, (12 + blobs.len() * 8 + content.len()) as u32].map(u32::to_be_bytes).concat());
        content.extend(blob);
    }
    let size = (12 + index.len() + content.len()) as u32;
    let signature = [0xfade_0cc0, size, blobs.len() as u32].map(u32::to_be_bytes).concat();
    let mut file = [0xfeed_facf_u32, 0x0100_000c, 0, 6, 1, 16, 0, 0, 0x1d, 16, 48, size].map(u32::to_le_bytes).concat();
    file.extend([signature, index, content].concat());
    file
}

/// A code directory with the hash of the 48 bytes in front of the signature, which is wrong.
fn directory(flags: u32, hash_type: u32) -> Vec<u8> {
    let words = [0xfade_0c02, 76, 0x20001, flags, 44, 0, 0, 1, 48, 32 << 24 | hash_type << 16 | 12, 0];
    [words.map(u32::to_be_bytes).concat(), vec![0; 32]].concat()
}

fn change() -> Change {
    Change { spans: vec![0..1, 100..101], keeps_offsets: true }
}

fn is_broken(file: &[u8]) -> bool {
    code_signature::is_broken(View::new(file), &change())
}

#[test]
fn only_ad_hoc_signatures_with_known_hashes_are_renewed() {
    let wrapper = |size: usize| [0xfade_0b01, 8 + size as u32].map(u32::to_be_bytes).concat().into_iter();
    let wrapper = |size: usize| wrapper(size).chain(vec![1; size]).collect::<Vec<u8>>();
    let ad_hoc = || (0, directory(2, 2));
    let cases = [
        (vec![ad_hoc()], false),
        (vec![ad_hoc(), (0x1000, directory(2, 3))], false),
        (vec![ad_hoc(), (2, wrapper(4)), (0x10000, wrapper(0))], false),
        (vec![ad_hoc(), (0x10000, wrapper(1))], true),
        (vec![(0, directory(0, 2))], true),
        // SHA-1.
        (vec![ad_hoc(), (0x1000, directory(2, 1))], true),
        (vec![ad_hoc(); 7], true),
        (Vec::new(), true),
    ];
    for (blobs, expected) in cases {
        assert_eq!(is_broken(&macho(&blobs)), expected, "{blobs:x?}");
    }
    let resized = Change { keeps_offsets: false, ..change() };
    assert!(code_signature::is_broken(View::new(&macho(&[ad_hoc()])), &resized));
    let untouched = Change { spans: Vec::from([Range { start: 4096, end: 4097 }]), keeps_offsets: false };
    assert!(!code_signature::is_broken(View::new(&macho(&[(0, directory(0, 2))])), &untouched));
}

#[test]
fn damaged_code_signatures_are_signatures_and_do_not_panic() {
    let file = macho(&[(0, directory(2, 2))]);
    for at in 0..file.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = file.clone();
            damaged[at] = value;
            let view = View::new(&damaged);
            for signature in code_signature::signatures(view) {
                let _ = signature.defect();
            }
            for directory in code_signature::renewed(view, &change()) {
                directory.hasher_in(view).unwrap().finish();
                assert!(directory.stored_in(view).end <= view.size());
            }
        }
        // The load command is enough.
        assert_eq!(is_broken(&file[..at]), at >= 48, "{at}");
    }
}

#[test]
fn hashes_are_charged() {
    let mut file = macho(&[(0, directory(2, 2))]);
    let budget = Budget::new(Limits::default(), file.len() as u64);
    let [signature] = &code_signature::signatures(View::with_budget(&file, &budget))[..] else { panic!() };
    assert!(signature.defect().unwrap().is_some());
    // A byte more than the file has.
    let limit = file.windows(4).rposition(|bytes| bytes == 48_u32.to_be_bytes()).unwrap();
    let size = file.len() as u32;
    for (value, is_read) in [(size, true), (size + 1, false)] {
        file[limit..limit + 4].copy_from_slice(&value.to_be_bytes());
        let [signature] = &code_signature::signatures(View::new(&file))[..] else { panic!() };
        assert_eq!(signature.defect().unwrap().is_some(), is_read, "{value}");
    }
}

#[test]
fn signatures_of_modules_state_their_size() {
    let end = b"~Module signature appended~\n";
    let module = [b"module".as_slice(), &[5; 300], &[0; 8], &300_u32.to_be_bytes(), end].concat();
    let signature = Signature::of_file(View::new(&module), &change()).unwrap();
    assert_eq!(signature.removal().cut, Some(6..module.len() as u64));
    for cut in [&module[..module.len() - 1], &module[7..], &end[..]] {
        assert_eq!(Signature::of_file(View::new(cut), &change()), None);
    }
}
