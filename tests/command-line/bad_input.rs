//! Invalid inputs and command lines: one line with the cause, exit status 2, and no file written or lost.

use crate::{Run, Sandbox, fixture};

/// Runs a command that must fail and leave the directory unchanged, and returns its message.
fn refused(sandbox: &Sandbox, arguments: &str) -> String {
    let before = (sandbox.names(), sandbox.path("old.o").exists().then(|| sandbox.read("old.o")));
    let Run { status, out, err } = sandbox.fatbin(arguments);
    assert_eq!((status, out.as_str()), (2, ""), "{arguments}: {err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert_eq!((sandbox.names(), sandbox.path("old.o").exists().then(|| sandbox.read("old.o"))), before, "{arguments}");
    err.strip_prefix("fatbin: ").expect(&err).trim_end().to_owned()
}

/// Returns a directory with a valid image, some invalid ones and an existing output.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "good").file("old.o", "\x7fELF, old").file("empty", "");
    sandbox.file("cut", &fixture("answer-gfx90a.hsaco")[..2000]).file("header", &fixture("answer-gfx90a.hsaco")[..40]);
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox
}

#[test]
fn reports_each_mistake_on_one_line_and_keeps_the_old_output() {
    let sandbox = sandbox();
    let mistakes = [
        ("missing", "missing: cannot open: no such file or directory"),
        ("empty", "empty: device image is empty"),
        ("folder", "folder: is a directory, not a regular file"),
        ("/dev/null", "/dev/null: is a device, pipe or socket, not a regular file"),
        (
            "cut",
            "cut: ELF section header offset at 0x28: offset 2624 with size 832 is out of bounds (2000 bytes available)",
        ),
        ("header", "header: ELF header at 0x0: truncated: need 64 bytes, 40 available"),
        ("old.o", "old.o: is both input and output"),
        ("./folder/../old.o", "old.o: is both input and output"),
        ("--image file=good,arch=gfx906", "good: arch=gfx906 contradicts the image's header: gfx90a"),
    ];
    for (image, message) in mistakes {
        assert_eq!(refused(&sandbox, &format!("wrap --kind openmp -o old.o good {image}")), message);
    }
    assert_eq!(
        refused(&sandbox, "wrap --kind openmp -o old.o"),
        "wrap: no image given; specify IMAGE or --image file=IMAGE"
    );
}

#[test]
fn names_an_output_that_cannot_be_written() {
    let sandbox = sandbox();
    let cases = [
        ("missing/w.o", "missing/w.o: cannot create: the directory missing does not exist"),
        ("good/w.o", "good/w.o: cannot create: good is not a directory"),
        ("folder", "folder: is a directory, not a regular file"),
        ("/proc/w.o", "/proc/w.o: cannot create: no such file or directory"),
    ];
    for (output, message) in cases {
        assert_eq!(refused(&sandbox, &format!("wrap --kind openmp -o {output} good")), message);
    }
    sandbox.fatbin("wrap --kind openmp -o w.o good").ok();
    let message = refused(&sandbox, "extract w.o -o good");
    assert!(message.starts_with("good: cannot create: "), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn keeps_the_old_output_when_the_disk_is_full() {
    let sandbox = sandbox();
    assert_eq!(
        refused(&sandbox, "wrap --kind openmp -o /dev/full good"),
        "/dev/full: cannot write: no space left on device"
    );
}

#[test]
fn rejects_a_bundle_as_an_image() {
    let sandbox = sandbox();
    let bundle = fatbin_core::format::bundle::write(&[("hip-amdgcn-amd-amdhsa--gfx906", &b"code"[..])], 1).unwrap();
    sandbox.file("bundle", bundle.to_vec());
    assert_eq!(
        refused(&sandbox, "wrap --kind openmp -o old.o bundle"),
        "bundle: is a container of device images (bundle); extract its images and specify those"
    );
}

#[test]
fn rejects_a_damaged_offload_binary_or_one_for_another_runtime() {
    use fatbin_core::format::offload_binary::{OffloadBinaryImage, Version, write};
    let sandbox = sandbox();
    let binary = |offload_kind| {
        let member =
            OffloadBinaryImage { image_kind: 1, offload_kind, flags: 0, strings: &[("triple", "t")], image: b"image" };
        write(Version::One, &[member]).unwrap().content.to_vec()
    };
    sandbox.file("hip", binary(4));
    assert_eq!(refused(&sandbox, "wrap --kind openmp -o old.o hip"), "hip: offload binary is for hip, expected openmp");
    let good = binary(1);
    sandbox.file("tail", [&good[..], b"garbage"].concat());
    let at = good.len();
    assert_eq!(
        refused(&sandbox, "wrap --kind openmp -o old.o tail"),
        format!("tail: offload binary magic at {at:#x}: invalid value 0x62726167, expected 10 FF 10 AD")
    );
    sandbox.file("cut", &good[..good.len() - 8]);
    assert_eq!(
        refused(&sandbox, "wrap --kind openmp -o old.o cut"),
        "cut: offload binary size at 0x8: offset 0 with size 112 is out of bounds (104 bytes available)"
    );
}

#[test]
fn reports_a_truncated_device_image_as_an_error() {
    let sandbox = sandbox();
    let all = fixture("answer-gfx90a.hsaco");
    sandbox.file("cubin", &fixture("answer-sm_90.cubin")[..1000]).file("policy", "[archs]\ndevices = [\"gfx90a\"]\n");
    let cut = "fatbin: cut: ELF section header offset at 0x28: offset 2624 with size 832 is out of bounds (2000 bytes available)\n";
    for command in
        ["scan", "inspect", "lock -o new.lock", "extract -o out", "check --policy policy", "select --device gfx90a"]
    {
        let run = sandbox.fatbin(&format!("{command} cut"));
        assert_eq!((run.status, run.err.as_str()), (2, cut), "{command}: {}", run.out);
        assert_eq!(sandbox.fatbin(&format!("{command} cubin")).status, 2, "{command}");
    }
    for size in [4, 15, 16, 20, 63, 64, 2624, all.len() - 1] {
        assert_eq!(sandbox.file("cut", &all[..size]).fatbin("scan cut").status, 2, "{size}");
    }
    assert_eq!(sandbox.file("cut", &all[..3]).fatbin("scan cut").status, 1, "these bytes do not identify the file");
}

#[test]
fn survives_any_damage_to_elf_images_and_host_files() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    for name in ["a", "w.o"] {
        let good = sandbox.read(name);
        // Extreme values for every byte of the ELF header, and of the section headers at the end.
        let tail = good.len().saturating_sub(15 * 64);
        for at in (16..64).chain((tail..good.len()).step_by(4)) {
            let mut bytes = good.clone();
            bytes[at..(at + 4).min(good.len())].fill(0xff);
            sandbox.file("bad", bytes);
            for command in ["wrap --kind openmp -o out.o bad", "scan bad", "extract bad -o out"] {
                let run = sandbox.fatbin(command);
                assert!((0..=2).contains(&run.status) && !run.err.contains("panicked"), "{name} at {at}: {}", run.err);
            }
        }
    }
}

#[test]
fn escapes_control_characters_in_names() {
    let sandbox = Sandbox::new();
    let run = crate::run(sandbox.command(env!("CARGO_BIN_EXE_fatbin")).args(["scan", "two\nlines\u{1b}[31m"]));
    assert_eq!(run.err, "fatbin: two\\nlines\\u{1b}[31m: cannot open: no such file or directory\n");
}

#[test]
fn exits_with_2_on_wrong_usage() {
    let sandbox = sandbox();
    for arguments in
        ["", "frobnicate", "wrap", "wrap --kind vulkan -o x good", "scan", "extract", "scan --frobnicate x"]
    {
        let run = sandbox.fatbin(arguments);
        assert_eq!(run.status, 2, "{arguments}");
        assert!(run.out.is_empty() && !run.err.is_empty(), "{arguments}");
    }
}

#[test]
fn lists_bytes_of_overlapping_sections_once() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    let good = sandbox.read("w.o");
    let word = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap()) as usize;
    let (table, count) = (word(0x28), usize::from(good[0x3c]));
    let header = |index: usize| table + index * 64;
    // SHT_LLVM_OFFLOADING
    let offloading =
        (0..count).find(|&index| good[header(index) + 4..header(index) + 8] == [0x0b, 0x4c, 0xff, 0x6f]).unwrap();
    let mut bytes = good.clone();
    let copy = good[header(offloading)..header(offloading) + 64].to_vec();
    bytes[header(count - 1)..header(count - 1) + 64].copy_from_slice(&copy);
    let table = sandbox.file("w.o", bytes).fatbin("scan w.o").ok();
    assert!(table.contains("1 device image\n"), "{table}");
}
