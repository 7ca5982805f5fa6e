//! Any bytes as a lock: what is read is written so that it reads the same, and is no different from itself.

#![no_main]

use fatbin::lock::{Budget, Most, compare, judge, read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Two of them, for the comparison of what is related and yet another thing.
    let mut halves = data.split(|&byte| byte == 0);
    let [old, new] = [(); 2].map(|()| halves.next().map(read));
    let Some(Ok(old)) = old else { return };
    assert_eq!(read(write(&old).as_bytes()).as_ref(), Ok(&old));
    assert!(compare(&old, &old, false).files.is_empty(), "it differs from itself");
    let Some(Ok(new)) = new else { return };
    let (there, back) = (compare(&old, &new, false), compare(&new, &old, false));
    assert_eq!(there.files.len(), back.files.len());
    assert_eq!(there.added_archs, back.removed_archs);
    let everything = [Budget { arch: None, most: Most::Bytes(u64::MAX) }];
    if let Ok(verdicts) = judge(&old, &new, &everything) {
        assert!(verdicts.iter().all(|verdict| !verdict.exceeded));
    }
});
