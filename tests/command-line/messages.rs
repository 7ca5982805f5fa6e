//! Mistakes, and the messages that state what is wrong and what helps.

use crate::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("text", "some text\n").fixture("answer-gfx90a.hsaco", "code").fixture("answer-x86_64.so", "plain");
    std::fs::create_dir(sandbox.path("directory")).unwrap();
    sandbox
}

/// Checks the exit status and the last line on standard error for each command line.
fn check(sandbox: &Sandbox, cases: &[(&str, i32, &str)]) {
    for (arguments, status, expected) in cases {
        let run = sandbox.fatbin_with_answer(arguments);
        assert_eq!((run.status, run.err.as_str()), (*status, format!("fatbin: {expected}\n").as_str()), "{arguments}");
    }
}

#[test]
fn text_is_no_device_image() {
    let sandbox = sandbox();
    let no_image = "text: is no device image: neither ELF, bitcode, SPIR-V nor PTX";
    check(
        &sandbox,
        &[
            ("replace --image 0=text -o out code", 2, no_image),
            ("replace --image 0=text --allow-other-target -o out code", 2, no_image),
            ("wrap --kind sycl -o out text", 2, &format!("{no_image}; specify --image file=text,triple=TRIPLE")),
            ("check --init text", 1, "text: no device code; no policy was generated"),
            ("check --init directory", 1, "directory: no files"),
        ],
    );
    assert!(!sandbox.path("out").exists());
}

#[test]
fn lists_of_another_vendor_are_refused() {
    check(
        &sandbox(),
        &[
            (
                "check --asked-hip sm_90 code",
                2,
                "--asked-hip: sm_90 is code for NVIDIA devices, and PYTORCH_ROCM_ARCH lists AMD processors",
            ),
            ("check --asked-hip gfx942 code", 1, "code: the build lacks what was asked for"),
        ],
    );
}

#[test]
fn values_that_are_nearly_right_have_a_remedy() {
    let sandbox = sandbox();
    check(
        &sandbox,
        &[
            (
                "scan --decompressed-limit 99999999999999999999G code",
                2,
                "--decompressed-limit 99999999999999999999G: too large; at most 17179869183G",
            ),
            ("check --asked 8.0;9.O code", 2, "--asked: unknown architecture \"9.O\"; did you mean 9.0?"),
            ("check --asked-cmake 80;9O code", 2, "--asked-cmake: unknown architecture \"9O\"; did you mean 90?"),
            (
                "select --device RTX-4090-Ti code",
                2,
                "--device RTX-4090-Ti: unknown device \"RTX-4090-Ti\"; did you mean RTX-4090?",
            ),
            // An arch that the file lacks would not match, either.
            (
                "extract --arch sm90 -o out code",
                1,
                "code: no image matches arch sm90; available: amdgcn-amd-amdhsa gfx90a",
            ),
        ],
    );
    let run = sandbox.fatbin("diff --max-growth 5 code code");
    assert_eq!(run.err, "fatbin: warning: --max-growth 5: is 5 bytes; write 5% for a percentage\n");
    let plan = sandbox.fatbin("prune --keep gfx90a --in-place --dry-run code").ok();
    assert!(plan.ends_with("nothing was written: --dry-run\n"), "{plan}");
}

#[test]
fn only_options_of_all_commands_precede_a_command() {
    let sandbox = sandbox();
    assert_eq!(sandbox.fatbin("--color never --threads 1 scan code"), sandbox.fatbin("scan code"));
    for arguments in ["--json scan code", "-v scan code", "-- scan code"] {
        let run = sandbox.fatbin(arguments);
        let is_refused = run.status == 2 && run.err.contains("usage: fatbin [OPTIONS] <COMMAND>");
        assert!(is_refused, "{arguments}: {}", run.err);
    }
}

#[test]
fn recover_takes_a_directory() {
    check(
        &sandbox(),
        &[
            ("recover code", 2, "code: is no directory; specify the directory of the files"),
            ("recover missing", 2, "missing: cannot open: no such file or directory"),
            ("recover directory", 0, "directory: nothing to restore"),
        ],
    );
}

#[test]
fn every_output_needs_a_value() {
    let sandbox = sandbox();
    let commands = [
        "prune --keep gfx90a --output",
        "wrap --kind openmp -o",
        "lock -o",
        "extract --to",
        "check --html",
        "prune --proof",
    ];
    for command in commands {
        let arguments = command.split(' ').chain(["", "code"]);
        let run = crate::run(sandbox.command(env!("CARGO_BIN_EXE_fatbin")).args(arguments));
        assert!(run.status == 2 && run.err.contains(" needs a value\n"), "{command}: {}", run.err);
    }
}

#[test]
fn a_side_without_files_is_named_alone() {
    let run = sandbox().fatbin_with_answer("diff directory code");
    let expected = "fatbin: warning: directory: no files\nfatbin: directory and code: the device code differs\n";
    assert_eq!((run.status, run.err.as_str()), (1, expected));
}

#[test]
fn a_wheel_without_a_record_is_a_warning() {
    let sandbox = sandbox();
    let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in [("a/code", sandbox.read("code")), ("a-1.0.dist-info/METADATA", b"Name: a\n".to_vec())] {
        wheel.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut wheel, &bytes).unwrap();
    }
    sandbox.file("a.whl", wheel.finish().unwrap().into_inner());
    for command in ["prune --keep gfx90a", "strip --device-debug"] {
        let run = sandbox.fatbin(&format!("{command} -o out.whl a.whl"));
        let expected =
            "fatbin: warning: a.whl: no RECORD in a-1.0.dist-info, so pip may refuse it; the output has none either\n";
        assert_eq!((run.status, run.err.as_str()), (0, expected), "{command}");
    }
}

/// Root may write to every file, so the mode decides.
#[cfg(unix)]
#[test]
fn read_only_files_are_not_replaced() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = sandbox();
    let protect = |name| std::fs::set_permissions(sandbox.path(name), PermissionsExt::from_mode(0o444)).unwrap();
    sandbox.file("out", "old");
    protect("out");
    let refused = "out: is read-only; specify another file, or make it writable";
    check(
        &sandbox,
        &[
            ("prune --keep gfx90a -o out code", 2, refused),
            ("wrap --kind openmp -o out code", 2, refused),
            ("lock -o out code", 2, refused),
        ],
    );
    assert_eq!(sandbox.read("out"), b"old");
    protect("code");
    sandbox.fatbin("prune --keep gfx90a --in-place code").ok();
}
