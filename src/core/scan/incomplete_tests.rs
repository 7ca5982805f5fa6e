//! Tests of files with incomplete containers: nested too deep, damaged after others, cut with their file.

use super::tests::{offload_binary, scanned};
use super::{Options, scan};
use crate::base::bytes::{Budget, Limits, View, object_tests};
use crate::base::error::Cause;

#[test]
fn containers_nested_too_deep_are_errors() {
    let mut bytes = offload_binary(b"image");
    for depth in 1..40 {
        let file = scanned(&bytes);
        assert_eq!(file.device_images().count(), 1);
        let errors: Vec<String> = file.errors.iter().map(ToString::to_string).collect();
        if depth <= 8 {
            assert_eq!(errors, [""; 0], "{depth}");
        } else {
            let offset = file.device_images().next().unwrap().offset.unwrap();
            let expected = format!("container in containers at {offset:#x}: not opened: inside of 8 containers");
            assert_eq!(errors, [expected], "{depth}");
        }
        bytes = offload_binary(&bytes);
    }
}

#[test]
fn a_damaged_container_after_others_in_an_image_is_an_error() {
    let one = offload_binary(b"one");
    let mut two = offload_binary(b"two");
    assert_eq!(scanned(&offload_binary(&[one.clone(), two.clone()].concat())).errors, []);
    two.truncate(two.len() - 8);
    let file = scanned(&offload_binary(&[one, two].concat()));
    assert_eq!((file.device_images().count(), file.errors.len()), (1, 1));
}

#[test]
fn a_container_that_is_cut_with_its_file_is_an_error() {
    // The section headers of an object follow its sections, so any cut removes them.
    let one = offload_binary(b"one");
    let two = offload_binary(b"two");
    let mut host = b"\x7fELF\x02\x01\x01".to_vec();
    host.resize(64, 0);
    host[40..48].copy_from_slice(&0x1000_u64.to_le_bytes());
    let whole = [&host[..], b"0123", &one, b"\x10\xff\x10\xad no container", &two].concat();
    let second = (whole.len() - two.len()) as u64;
    for end in second + 4..whole.len() as u64 {
        let file = scanned(&whole[..end as usize]);
        let offsets: Vec<u64> = file.errors.iter().map(|error| error.offset).collect();
        assert_eq!(file.device_images().count(), 1);
        assert!(offsets.iter().any(|offset| (second..second + 48).contains(offset)), "{end}: {offsets:?}");
    }
    // In an intact file, a magic alone is not an error.
    let cut = &whole[64..whole.len() - 1];
    assert_eq!(scanned(cut).errors, []);
}

#[test]
fn sections_that_share_a_long_name_exhaust_the_budget() {
    for bytes in object_tests::objects_sharing_a_long_name(b"") {
        let budget = Budget::new(Limits::default(), bytes.len() as u64);
        let file = scan(&View::with_budget(&bytes, &budget), Options::default()).unwrap();
        let has_cause = |expected: fn(&Cause) -> bool| file.errors.iter().any(|error| expected(&error.cause));
        assert!(has_cause(|cause| matches!(cause, Cause::OverBudget { .. })), "{:?}", file.errors);
    }
}
