//! Reads arbitrary bytes as a lock. A lock must round-trip and not differ from itself.

#![no_main]

use fatbin_fuzz::fuzz_target;
use fatbin_ops::check::lock::{Budget, GrowthLimit, Lock, LockForm, check_budgets, compare, read};

fuzz_target!(|data: &[u8]| {
    // Two locks from one input, so that the fuzzer compares related locks.
    let mut halves = data.split(|&byte| byte == 0);
    let [old, new] = [(); 2].map(|()| halves.next().map(read));
    let Some(Ok(old)) = old else { return };
    assert_eq!(read(text_of(&old).as_bytes()).as_ref(), Ok(&old));
    assert!(compare(&old, &old, false).files.is_empty(), "the lock differs from itself");
    let Some(Ok(new)) = new else { return };
    let (there, back) = (compare(&old, &new, false), compare(&new, &old, false));
    assert_eq!(there.files.len(), back.files.len());
    assert_eq!(there.added_archs, back.removed_archs);
    let everything = [Budget { arch: None, limit: GrowthLimit::Bytes(u64::MAX) }];
    if let Ok(verdicts) = check_budgets(&old, &new, &everything) {
        assert!(verdicts.iter().all(|verdict| !verdict.exceeded));
    }
});

fn text_of(lock: &Lock) -> String {
    let form = LockForm::default();
    lock.files.iter().fold(form.head(), |text, file| text + &form.entries(file.clone()))
}
