//! Round trips of locks, errors of invalid locks, and kinds of differences.

mod kernel_codes;
mod random;

use std::sync::Arc;

use super::*;

/// Returns the text of a lock.
fn write(lock: &Lock) -> String {
    written(lock, LockForm::default())
}

fn written(lock: &Lock, form: LockForm) -> String {
    lock.files.iter().fold(form.head(), |text, file| text + &form.entries(file.clone()))
}

fn kernel(name: &str, code_size: u64) -> LockedKernel {
    let mut usage = KernelUsage::default();
    usage.figures[0] = Some(code_size);
    LockedKernel { name: KernelName::new(name), usage: Arc::new(usage), code: None }
}

fn set_figure(kernel: &mut LockedKernel, index: usize, value: u64) {
    Arc::make_mut(&mut kernel.usage).figures[index] = Some(value);
}

fn image(arch: &str, code: u8, kernels: &[LockedKernel]) -> LockedImage {
    LockedImage {
        target: LockedTarget { arch: Some(arch.to_owned()), image: "elf".to_owned(), ..Default::default() },
        size: Some(1000),
        sha256: Some([code; 32]),
        code: Some([code; 32]),
        kernels: kernels.to_vec(),
        ..Default::default()
    }
}

fn lock(images: &[LockedImage]) -> Lock {
    let stored = Some(1000 * images.len() as u64);
    Lock::new(vec![LockedFile {
        path: "a.so".to_owned(),
        size: Some(9000),
        stored,
        images: images.to_vec(),
        order: None,
    }])
}

/// Changes of the targets, as `arch change`.
fn changes(old: &Lock, new: &Lock) -> Vec<String> {
    let comparison = compare(old, new, false);
    let targets = comparison.files.iter().flat_map(|file| &file.targets);
    targets.map(|it| format!("{} {}", it.target.arch.as_deref().unwrap(), it.change.name())).collect()
}

#[test]
fn reads_back_what_it_writes_for_any_names() {
    let names = [
        "plain",
        "-",
        "",
        "two words",
        "a=b",
        "\"",
        "\\",
        "#",
        "\n",
        "\u{202e}gnp",
        "\u{1f600}",
        "\u{e0041}",
        "é\u{7f}",
    ];
    let mut images: Vec<LockedImage> = names.iter().map(|name| image(name, 7, &[kernel(name, 1)])).collect();
    for (image, name) in images.iter_mut().zip(names) {
        let name = Some(name.to_owned());
        (image.codec, image.container_path, image.debug) = (name.clone(), name.clone(), name.clone());
        image.kernels[0].name = KernelName::with_demangled(image.kernels[0].name.as_str(), name.as_deref());
    }
    images[0].kernels[0].usage =
        Arc::new(KernelUsage { figures: [Some(u64::MAX); FIGURES.len()], scratch_is_minimum: true });
    images[1].target = LockedTarget::default();
    let mut lock = lock(&images);
    for name in names {
        lock.files.push(LockedFile { path: name.to_owned(), ..Default::default() });
    }
    let lock = Lock::new(lock.files);
    let text = write(&lock);
    assert!(text.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')), "{text:?}");
    assert_eq!(read(text.as_bytes()).unwrap(), lock, "{text}");
    assert_eq!(read(text.replace('\n', "\r\n").as_bytes()).unwrap(), lock, "git may change line endings");
}

#[test]
fn text_does_not_depend_on_the_order_of_its_parts() {
    let a = image("sm_80", 1, &[kernel("a", 1), kernel("b", 2)]);
    let b = image("sm_80", 2, &[kernel("c", 3)]);
    let mut reordered = a.clone();
    reordered.kernels.reverse();
    assert_eq!(write(&lock(&[a.clone(), b.clone()])), write(&lock(&[b, reordered])));
}

#[test]
fn rejects_invalid_locks_with_the_line_number() {
    let head = "fatbin.lock/2\nfile a\nunit\n";
    let expected = "expected \"fatbin.lock/2\"";
    let cases = [
        ("", &*format!("line 1: invalid header \"\", {expected}")),
        ("fatbin.lock/3\n", &format!("line 1: invalid header \"fatbin.lock/3\", {expected}")),
        ("fatbin.lock-summary/1\n", "line 1: a summary is for readers"),
        ("fatbin.lock/2\nimage - image=elf\n", "line 2: image before the first file"),
        ("fatbin.lock/2\nfile a\n  kernel k\n", "line 3: kernel before the first image"),
        ("fatbin.lock/2\nfile\n", "line 2: file without a name"),
        ("fatbin.lock/2\nfile -\n", "line 2: file without a name"),
        ("fatbin.lock/2\n\n# x\nfiles a\n", "line 4: unknown entry \"files\", expected file, unit, image or kernel"),
        ("fatbin.lock/2\nfile a size\n", "line 2: invalid field \"size\", expected KEY=VALUE"),
        ("fatbin.lock/2\nfile a size=1 size=1\n", "line 2: duplicate field size"),
        ("fatbin.lock/2\nfile a colour=red\n", "line 2: unknown field \"colour\""),
        ("fatbin.lock/2\nfile a size=-1\n", "line 2: invalid size \"-1\", expected a number"),
        ("fatbin.lock/2\nfile a size=+1\n", "line 2: invalid size \"+1\", expected a number"),
        (
            "fatbin.lock/2\nfile a size=18446744073709551616\n",
            "line 2: invalid size \"18446744073709551616\", expected a number",
        ),
        (
            "fatbin.lock/2\nfile \"a\n",
            "line 2: invalid string \"a: unterminated, or with an escape that JSON does not have",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), message);
    }
    let fields = [
        ("image sm_80", "line 4: missing field image"),
        (
            "image sm_80 image=elf code=77",
            "line 4: invalid code \"77\", expected the 64 hexadecimal digits of a SHA-256",
        ),
        ("file \"a\"b", "line 4: invalid string \"a\"b: unterminated, or with an escape that JSON does not have"),
        ("image - image=elf\n kernel k shared=1+", "line 5: invalid shared \"1+\", expected a number"),
        ("image - image=elf\n kernel k scratch=+", "line 5: invalid scratch \"\", expected a number"),
    ];
    for (line, message) in fields {
        assert_eq!(read(format!("{head}{line}\n").as_bytes()).unwrap_err().to_string(), message);
    }
    let fields = [
        ("image sm_80 image=elf", "line 3: image before the first unit"),
        ("unit\nkernel k", "line 4: kernel before the first image"),
        ("unit image=elf\nimage sm_80 image=elf", "line 4: duplicate field image"),
        ("unit\nimage sm_80", "line 4: missing field image"),
        (
            "unit image=elf\nimage sm_80\nkernel k @sm_90",
            "line 5: unknown image \"sm_90\" after @, expected one of the unit",
        ),
        ("unit image=elf\nimage sm_80\nkernel k @sm_80 @sm_80", "line 5: duplicate image sm_80 after @"),
        ("unit image=elf\nimage sm_80\nkernel k shared=1 @sm_80 shared=1", "line 5: duplicate field shared"),
        ("unit image=elf\nimage sm_80\nkernel k @sm_80 demangled=k", "line 5: unknown field \"demangled\""),
        ("unit stored=1", "line 3: unknown field \"stored\""),
    ];
    for (line, message) in fields {
        assert_eq!(read(format!("fatbin.lock/2\nfile a\n{line}\n").as_bytes()).unwrap_err().to_string(), message);
    }
    let first = read(b"fatbin.lock/2\nunit image=elf\n").unwrap_err();
    assert_eq!(first.to_string(), "line 2: unit before the first file");
    let invalid = read(b"fatbin.lock/2\nfile \xff\n").unwrap_err();
    assert_eq!(invalid.to_string(), "line 2: invalid UTF-8");
    assert!(matches!(invalid.cause, LineError::NotUtf8(error) if error.valid_up_to() == 5));
}

#[test]
fn distinguishes_kinds_of_changes() {
    let plain = image("gfx90a", 1, &[kernel("k", 32)]);
    let with = |edit: fn(&mut LockedImage)| {
        let mut image = plain.clone();
        edit(&mut image);
        lock(&[image])
    };
    let cases = [
        (with(|_| ()), ""),
        (with(|image| image.code = Some([2; 32])), "gfx90a code"),
        (with(|image| image.sha256 = Some([2; 32])), "gfx90a metadata"),
        (with(|image| image.codec = Some("zstd".to_owned())), "gfx90a storage"),
        (with(|image| set_figure(&mut image.kernels[0], 7, 16)), "gfx90a code"),
        (with(|image| image.target.arch = Some("gfx942".to_owned())), "gfx90a removed gfx942 added"),
    ];
    for (new, expected) in cases {
        assert_eq!(changes(&lock(std::slice::from_ref(&plain)), &new).join(" "), expected);
    }
}

#[test]
fn the_rest_of_an_image_is_compared_where_a_side_has_no_hash_of_the_whole() {
    let with = |sha256: Option<u8>, rest: Option<u8>| {
        let mut image = image("sm_80", 1, &[]);
        (image.sha256, image.rest) = (sha256.map(|it| [it; 32]), rest.map(|it| [it; 32]));
        lock(&[image])
    };
    let cases = [
        (with(None, Some(5)), with(None, Some(5)), ""),
        (with(None, Some(5)), with(None, Some(6)), "sm_80 metadata"),
        (with(Some(1), None), with(Some(1), Some(6)), ""),
        (with(Some(1), None), with(Some(2), Some(6)), "sm_80 metadata"),
        (with(Some(1), None), with(None, Some(6)), ""),
        (with(Some(1), Some(5)), with(None, Some(6)), "sm_80 metadata"),
    ];
    for (old, new, expected) in cases {
        assert_eq!(changes(&old, &new).join(" "), expected);
    }
}

#[test]
fn ignores_values_absent_on_one_side_and_counts_bytes_as_code_without_a_code_hash() {
    let old = lock(&[image("sm_80", 1, &[])]);
    let mut new = lock(&[image("sm_80", 1, &[])]);
    new.files[0].images[0].sha256 = Some([9; 32]);
    let mut code_only = new.clone();
    code_only.files.iter_mut().for_each(LockedFile::keep_code_only);
    assert!(changes(&old, &code_only).is_empty());
    new.files[0].images[0].code = None;
    assert_eq!(changes(&old, &new), ["sm_80 code"]);
}

#[test]
fn counts_the_changed_images_of_one_target() {
    let images: Vec<LockedImage> = (0..5).map(|code| image("sm_80", code, &[])).collect();
    let mut reordered: Vec<LockedImage> = images.iter().rev().cloned().collect();
    assert!(changes(&lock(&images), &lock(&reordered)).is_empty(), "order is ignored");
    (reordered[0].code, reordered[3].code) = (Some([77; 32]), Some([78; 32]));
    let old = lock(&images);
    let new = lock(&reordered);
    assert_eq!(compare(&old, &new, false).files[0].targets[0].images_changed, 2);
}

#[test]
fn compares_kernels_by_name_across_images_and_lists_the_largest_change_first() {
    let old = lock(&[
        image("sm_80", 1, &[kernel("a", 10), kernel("b", 10)]),
        image("sm_80", 2, &[kernel("c", 10), kernel("a", 10)]),
    ]);
    let new = lock(&[
        image("sm_80", 3, &[kernel("a", 10), kernel("a", 15), kernel("d", 90)]),
        image("sm_80", 2, &[kernel("b", 10)]),
    ]);
    let comparison = compare(&old, &new, false);
    let kernels = &comparison.files[0].targets[0].kernels;
    let growth: Vec<(&str, i64)> = kernels.iter().map(|it| (it.kernel().name.as_str(), it.growth())).collect();
    assert_eq!(growth, [("d", 90), ("c", -10), ("a", 5)]);
    assert!(matches!(kernels[2], KernelDifference::Changed(..)));
}

#[test]
fn checks_budgets_to_the_byte() {
    let old = lock(&[image("sm_80", 1, &[])]);
    let new = lock(&[image("sm_80", 1, &[]), image("sm_90", 2, &[])]);
    let exceeded = |arch: Option<&str>, limit| {
        let budgets = [Budget { arch: arch.map(str::to_owned), limit }];
        check_budgets(&old, &new, &budgets).map(|results| results.iter().any(|result| result.exceeded))
    };
    assert_eq!(exceeded(None, GrowthLimit::Bytes(1000)), Ok(false));
    assert_eq!(exceeded(None, GrowthLimit::Bytes(999)), Ok(true));
    assert_eq!(exceeded(None, GrowthLimit::Percent(100.0)), Ok(false));
    assert_eq!(exceeded(None, GrowthLimit::Percent(99.9)), Ok(true));
    assert_eq!(exceeded(Some("sm_80"), GrowthLimit::Bytes(0)), Ok(false));
    assert_eq!(
        exceeded(Some("sm_90"), GrowthLimit::Percent(1000.0)),
        Ok(true),
        "growth from zero exceeds any percentage"
    );
    assert_eq!(exceeded(Some("sm_09"), GrowthLimit::Bytes(0)), Err(BudgetError::UnknownArch("sm_09".to_owned())));
    let mut old = old;
    old.files.iter_mut().for_each(LockedFile::keep_code_only);
    assert_eq!(
        check_budgets(&old, &new, &[Budget { arch: None, limit: GrowthLimit::Bytes(0) }]),
        Err(BudgetError::NoSizes { side: "OLD" })
    );
}

#[test]
fn lost_compression_exceeds_a_budget() {
    let old = lock(&[image("gfx90a", 1, &[])]);
    let mut new = old.clone();
    new.files[0].stored = Some(4000);
    let budget = [Budget { arch: None, limit: GrowthLimit::Percent(5.0) }];
    let results = check_budgets(&old, &new, &budget).unwrap();
    assert_eq!(results.iter().map(|it| it.exceeded).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn truncated_or_corrupt_locks_never_panic_and_valid_ones_round_trip() {
    let mut minimum = kernel("two \"words\u{7}", 1);
    minimum.usage = Arc::new(KernelUsage { scratch_is_minimum: true, ..(*minimum.usage).clone() });
    set_figure(&mut minimum, 7, 16);
    minimum.name = KernelName::with_demangled(minimum.name.as_str(), Some("k(int*)"));
    let images = [image("gfx90a:xnack+", 0xa5, &[minimum.clone()]), image("gfx942", 1, &[minimum, kernel("k", 2)])];
    let text = write(&lock(&images));
    let mut read_back = 0;
    let mut check = |bytes: &[u8]| {
        if let Ok(lock) = read(bytes) {
            assert_eq!(read(write(&lock).as_bytes()).unwrap(), lock, "{}", String::from_utf8_lossy(bytes));
            assert!(compare(&lock, &lock, false).files.is_empty());
            read_back += 1;
        }
    };
    for end in 0..text.len() {
        check(&text.as_bytes()[..end]);
    }
    for at in 0..text.len() {
        for byte in *b"\0\n \"\\-=+9\xff" {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = byte;
            check(&bytes);
        }
    }
    assert!(read_back > 100, "{read_back}");
}

/// Two translation units for three architectures. One kernel is for one architecture only.
fn two_units() -> Vec<LockedImage> {
    let mut images = Vec::new();
    for (number, arch) in ["sm_80", "sm_90", "sm_100"].into_iter().enumerate() {
        let size = 100 * (number as u64 + 1);
        let mut kernels = vec![kernel("a", size), kernel("_Z5equalPi", 8), kernel("c", size)];
        if arch == "sm_90" {
            kernels.push(kernel("b", 77));
        }
        images.push(image(arch, 1, &kernels));
        images.push(image(arch, 2, &[kernel("d", 16), kernel("e", 32)]));
    }
    images
}

/// Lines of kernels, without their indentation.
fn kernel_lines(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("  kernel ")).collect()
}

#[test]
fn a_kernel_has_one_line_for_all_architectures() {
    let text = write(&lock(&two_units()));
    let expected = [
        "_Z5equalPi code_size=8 demangled=equal(int*)",
        "a @sm_100 code_size=300 @sm_80 code_size=100 @sm_90 code_size=200",
        "b code_size=77 @sm_90",
        "c @sm_100 code_size=300 @sm_80 code_size=100 @sm_90 code_size=200",
        "d code_size=16",
        "e code_size=32",
    ];
    assert_eq!(kernel_lines(&text), expected, "{text}");
    assert_eq!(text.matches("\nunit ").count(), 2, "{text}");
}

#[test]
fn a_change_of_a_kernel_changes_its_line_only() {
    let changed = |edit: &dyn Fn(&mut Vec<LockedImage>)| {
        let old = two_units();
        let mut images = two_units();
        edit(&mut images);
        let old = write(&lock(&old));
        let new = write(&lock(&images));
        let only = |one: &str, other: &str| {
            let other: Vec<&str> = other.lines().collect();
            one.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect::<Vec<_>>()
        };
        (only(&old, &new), only(&new, &old))
    };
    let added = changed(&|images| images.iter_mut().step_by(2).for_each(|image| image.kernels.push(kernel("a2", 5))));
    let file = "file a.so size=9000 stored=6000";
    assert_eq!(added, (vec![], vec!["  kernel a2 code_size=5".to_owned()]));
    // The line of a kernel with the same figures for all architectures does not name them.
    let (old, new) = changed(&|images| images.retain(|image| image.target.arch.as_deref() != Some("sm_80")));
    let kernels = |lines: &[String]| lines.iter().filter(|line| line.starts_with("  kernel")).count();
    assert_eq!((kernels(&old), kernels(&new)), (2, 2), "a and c: {old:?} {new:?}");
    assert_eq!(old.iter().filter(|line| line.starts_with("  image")).count(), 2, "{old:?}");
    assert_eq!((&*old[0], new.len()), (file, 3));
}

#[test]
fn images_of_one_architecture_are_numbered_in_a_unit() {
    let mut ptx = image("sm_90", 3, &[kernel("k", 1)]);
    ptx.target.image = "ptx".to_owned();
    let odd = image("a,b", 4, &[kernel("k", 3)]);
    let text = write(&lock(&[image("sm_90", 1, &[kernel("k", 2)]), ptx, odd]));
    assert_eq!(kernel_lines(&text), ["k @#1 code_size=3 @sm_90 code_size=2 @sm_90#2 code_size=1"], "{text}");
    assert!(text.contains("  image sm_90 image=ptx "), "{text}");
}

#[test]
fn a_lock_of_many_images_with_many_kernels_exceeds_its_budget() {
    let mut text = "fatbin.lock/2\nfile a\nunit image=elf\n".to_owned();
    text += &"image -\n".repeat(4000);
    text += &"kernel k\n".repeat(4000);
    let error = read(text.as_bytes()).unwrap_err();
    assert!(matches!(error.cause, LineError::OverBudget(_)), "{error}");
    assert!(error.to_string().ends_with("for this file"), "{error}");
}

#[test]
fn names_that_the_demangler_does_not_return_are_kept() {
    let names = [
        KernelName::new("_Z5saxpyPfi"),
        KernelName::with_demangled("_Z5saxpyPfi", None),
        KernelName::with_demangled("_Z5saxpyPfi", Some("-")),
        KernelName::with_demangled("saxpy", Some("saxpy")),
    ];
    let kernels: Vec<_> = names.iter().map(|name| LockedKernel { name: name.clone(), ..kernel("", 1) }).collect();
    let lock = lock(&[image("sm_80", 1, &kernels)]);
    let text = write(&lock);
    assert_eq!(read(text.as_bytes()).unwrap(), lock, "{text}");
    let fields: Vec<&str> = kernel_lines(&text).iter().map(|line| line.split_once("demangled=").unwrap().1).collect();
    assert_eq!(fields, ["\"saxpy(float*, int)\"", "-", "\"-\"", "saxpy"]);
    assert_eq!(KernelName::with_demangled("_Z5saxpyPfi", Some("saxpy(float*, int)")), names[0]);
}

#[test]
fn a_summary_has_lines_for_architectures_and_families() {
    let mut images = two_units();
    for (image, name) in images.iter_mut().zip(["_ZN1n1fIfEEvv", "_ZN1n1fIdEEvv", "_ZN1n1fIfEEvv"]) {
        image.kernels.push(kernel(name, 1));
    }
    let text = written(&lock(&images), LockForm { summary: true, code_only: false });
    let expected = "\
fatbin.lock-summary/1
# For readers; `fatbin diff` compares locks, which are written without --summary.

file a.so size=9000 stored=6000 images=6 kernels=19
  arch sm_80 images=2 size=2000 kernels=7 code_size=258
  arch sm_90 images=2 size=2000 kernels=7 code_size=534
  arch sm_100 images=2 size=2000 kernels=5 code_size=656
  family a names=1 kernels=3 code_size=600
  family b names=1 kernels=1 code_size=77 archs=sm_90
  family c names=1 kernels=3 code_size=600
  family d names=1 kernels=3 code_size=48
  family e names=1 kernels=3 code_size=96
  family equal names=1 kernels=3 code_size=24
  family n::f names=2 kernels=3 code_size=3 archs=sm_80,sm_90
";
    assert_eq!(text, expected);
}
