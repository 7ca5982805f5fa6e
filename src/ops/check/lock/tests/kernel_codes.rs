//! Hashes of the code of kernels.

use super::*;

/// Kernels that differ, as `name change`.
fn kernel_changes(old: &Lock, new: &Lock) -> Vec<String> {
    let comparison = compare(old, new, false);
    let targets = comparison.files.iter().flat_map(|file| &file.targets);
    let kernels = targets.flat_map(|target| &target.kernels);
    let change = |it: &KernelDifference<'_>| match it {
        KernelDifference::Added(_) => "added",
        KernelDifference::Removed(_) => "removed",
        KernelDifference::Changed(..) => "changed",
    };
    kernels.map(|it| format!("{} {}", it.kernel().name.as_str(), change(it))).collect()
}

#[test]
fn a_kernel_with_other_code_of_the_same_size_is_named_if_both_locks_have_hashes() {
    let coded = |name: &str, code: Option<u8>| LockedKernel { code: code.map(|code| [code; 8]), ..kernel(name, 8) };
    let of = |code: u8, a: Option<u8>, b: Option<u8>| lock(&[image("sm_80", code, &[coded("a", a), coded("b", b)])]);
    let old = of(1, Some(1), Some(2));
    assert_eq!(kernel_changes(&old, &of(2, Some(1), Some(3))), ["b changed"]);
    assert_eq!(kernel_changes(&old, &of(2, Some(3), Some(1))), ["a changed", "b changed"]);
    // The code of the images is equal: names of symbols differ.
    assert_eq!(kernel_changes(&old, &of(1, Some(1), Some(3))), [""; 0]);
    // A lock of an earlier build.
    assert_eq!(kernel_changes(&of(1, None, None), &of(2, Some(1), Some(3))), [""; 0]);
    assert_eq!(kernel_changes(&of(1, None, Some(2)), &of(2, Some(1), Some(3))), ["b changed"]);
    let before = write(&old);
    let after = write(&of(2, Some(1), Some(3)));
    let kernels =
        |text: &str| text.lines().filter(|it| it.starts_with("  kernel")).map(str::to_owned).collect::<Vec<_>>();
    let [a, b] = &kernels(&before)[..] else { panic!("{before}") };
    assert_eq!(
        (a.as_str(), b.as_str()),
        ("  kernel a code_size=8 code=0101010101010101", "  kernel b code_size=8 code=0202020202020202")
    );
    assert_eq!(kernels(&after), [a.as_str(), "  kernel b code_size=8 code=0303030303030303"]);
    let invalid = read(b"fatbin.lock/2\nfile a\nunit image=elf\n  image sm_80\n  kernel k code=ab\n").unwrap_err();
    let expected = "line 5: invalid code \"ab\", expected the 16 hexadecimal digits of a SHA-256";
    assert_eq!(invalid.to_string(), expected);
}
