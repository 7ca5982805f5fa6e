//! Round trips of locks, errors of invalid locks, and kinds of differences.

use super::*;

fn kernel(name: &str, code_size: u64) -> LockedKernel {
    let mut kernel = LockedKernel { name: name.to_owned(), ..Default::default() };
    kernel.figures[0] = Some(code_size);
    kernel
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
        image.kernels[0].demangled = name;
    }
    images[0].kernels[0].figures = [Some(u64::MAX); FIGURES.len()];
    images[0].kernels[0].scratch_is_minimum = true;
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
    let (a, b) = (image("sm_80", 1, &[kernel("a", 1), kernel("b", 2)]), image("sm_80", 2, &[kernel("c", 3)]));
    let mut reordered = a.clone();
    reordered.kernels.reverse();
    assert_eq!(write(&lock(&[a.clone(), b.clone()])), write(&lock(&[b, reordered])));
}

#[test]
fn rejects_invalid_locks_with_the_line_number() {
    let head = "fatbin.lock/1\nfile a\n";
    let cases = [
        ("", "line 1: invalid header \"\", expected \"fatbin.lock/1\""),
        ("fatbin.lock/2\n", "line 1: invalid header \"fatbin.lock/2\", expected \"fatbin.lock/1\""),
        ("fatbin.lock/1\nimage - image=elf\n", "line 2: image before the first file"),
        ("fatbin.lock/1\nfile a\n  kernel k\n", "line 3: kernel before the first image"),
        ("fatbin.lock/1\nfile\n", "line 2: file without a name"),
        ("fatbin.lock/1\nfile -\n", "line 2: file without a name"),
        ("fatbin.lock/1\n\n# x\nfiles a\n", "line 4: unknown entry \"files\", expected file, image or kernel"),
        ("fatbin.lock/1\nfile a size\n", "line 2: invalid field \"size\", expected KEY=VALUE"),
        ("fatbin.lock/1\nfile a size=1 size=1\n", "line 2: duplicate field size"),
        ("fatbin.lock/1\nfile a colour=red\n", "line 2: unknown field \"colour\""),
        ("fatbin.lock/1\nfile a size=-1\n", "line 2: invalid size \"-1\", expected a number"),
        ("fatbin.lock/1\nfile a size=+1\n", "line 2: invalid size \"+1\", expected a number"),
        (
            "fatbin.lock/1\nfile a size=18446744073709551616\n",
            "line 2: invalid size \"18446744073709551616\", expected a number",
        ),
        (
            "fatbin.lock/1\nfile \"a\n",
            "line 2: invalid string \"a: unterminated, or with an escape that JSON does not have",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), message);
    }
    let fields = [
        ("image sm_80", "line 3: missing field image"),
        (
            "image sm_80 image=elf code=77",
            "line 3: invalid code \"77\", expected the 64 hexadecimal digits of a SHA-256",
        ),
        ("file \"a\"b", "line 3: invalid string \"a\"b: unterminated, or with an escape that JSON does not have"),
        ("image - image=elf\n kernel k shared=1+", "line 4: invalid shared \"1+\", expected a number"),
        ("image - image=elf\n kernel k scratch=+", "line 4: invalid scratch \"\", expected a number"),
    ];
    for (line, message) in fields {
        assert_eq!(read(format!("{head}{line}\n").as_bytes()).unwrap_err().to_string(), message);
    }
    let invalid = read(b"fatbin.lock/1\nfile \xff\n").unwrap_err();
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
        (with(|image| image.kernels[0].figures[7] = Some(16)), "gfx90a code"),
        (with(|image| image.target.arch = Some("gfx942".to_owned())), "gfx90a removed gfx942 added"),
    ];
    for (new, expected) in cases {
        assert_eq!(changes(&lock(std::slice::from_ref(&plain)), &new).join(" "), expected);
    }
}

#[test]
fn ignores_values_absent_on_one_side_and_counts_bytes_as_code_without_a_code_hash() {
    let old = lock(&[image("sm_80", 1, &[])]);
    let mut new = lock(&[image("sm_80", 1, &[])]);
    new.files[0].images[0].sha256 = Some([9; 32]);
    let mut code_only = new.clone();
    code_only.keep_code_only();
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
    let (old, new) = (lock(&images), lock(&reordered));
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
    let (old, new) = (lock(&[image("sm_80", 1, &[])]), lock(&[image("sm_80", 1, &[]), image("sm_90", 2, &[])]));
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
    old.keep_code_only();
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
    let mut kernel = kernel("two \"words\u{7}", 1);
    (kernel.figures[7], kernel.scratch_is_minimum) = (Some(16), true);
    kernel.demangled = Some("k(int*)".to_owned());
    let text = write(&lock(&[image("gfx90a:xnack+", 0xa5, &[kernel])]));
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
