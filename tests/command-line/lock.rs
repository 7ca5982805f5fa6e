//! `fatbin lock`: the record, and errors that prevent it.

use crate::Sandbox;

/// Removes the hashes, which these tests ignore.
fn without_hashes(lock: &[u8]) -> String {
    let lock = String::from_utf8(lock.to_vec()).unwrap();
    let is_hash = |word: &&str| word.starts_with("rest=") || word.starts_with("code=");
    let words = |line: &str| line.split(' ').filter(|word| !is_hash(word)).collect::<Vec<_>>().join(" ");
    lock.lines().map(|line| words(line) + "\n").collect()
}

#[test]
fn lock_has_a_line_per_file_image_and_kernel() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    assert_eq!(sandbox.fatbin("lock w.o -o gpu.lock").ok(), "");
    let lock = without_hashes(&sandbox.read("gpu.lock"));
    let size = sandbox.read("w.o").len();
    let expected = format!(
        "\
fatbin.lock/2
# The device code that is shipped; written by `fatbin lock`. Fields after @ARCH are those for this arch.

file w.o size={size} stored=7056
unit kind=openmp image=elf in=offload-binary debug=none
  image gfx90a triple=amdgcn-amd-amdhsa stored=3456 size=3456
  image sm_90 triple=nvptx64-nvidia-cuda stored=3312 size=3312
  kernel answer_kernel scratch=0 shared=0 @gfx90a code_size=32 vgprs=2 agprs=0 sgprs=10 vgpr_spills=0 sgpr_spills=0 \
@sm_90 code_size=256 registers=8
"
    );
    assert_eq!(lock, expected);
}

#[test]
fn records_decompressed_sizes_and_the_codec_of_the_container() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("host", "");
    let ids = "--target host-x86_64-unknown-linux-gnu=host --target hipv4-amdgcn-amd-amdhsa--gfx90a=a";
    sandbox.fatbin(&format!("bundle --raw --type bc --compress {ids} -o bundle")).ok();
    let lock = without_hashes(sandbox.fatbin("lock bundle -o -").ok().as_bytes());
    assert!(
        lock.contains("\nunit kind=hip image=elf triple=amdgcn-amd-amdhsa in=ccob codec=zstd debug=none\n"),
        "{lock}"
    );
    assert!(lock.contains("\n  image gfx90a size=3456\n"), "{lock}");
    assert!(lock.contains("  kernel answer_kernel "), "{lock}");
}

#[test]
fn lock_is_independent_of_file_and_image_order() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b").fixture("answer-sm_80.ptx", "c");
    std::fs::create_dir(sandbox.path("lib")).unwrap();
    sandbox.fatbin("pack -o lib/x --image file=a,kind=hip b").ok();
    sandbox.fatbin("pack -o lib/y b c").ok();
    let lock = |arguments: &str| sandbox.fatbin(&format!("lock {arguments} -o -")).ok();
    assert_eq!(lock("lib/x lib/y"), lock("lib/y lib/x"));
    assert_eq!(lock("lib/x lib/y"), lock("lib"));
    let before = lock("lib/x");
    sandbox.fatbin("pack -o lib/x b --image file=a,kind=hip").ok();
    assert_eq!(before, lock("lib/x"));
}

#[test]
fn code_only_lock_ignores_debug_information() {
    let sandbox = Sandbox::new();
    let lock = |name: &str, options: &str| {
        sandbox.fixture(name, "a").fatbin("pack -o x --image file=a,kind=hip").ok();
        sandbox.fatbin(&format!("lock {options} x -o -")).ok()
    };
    let plain = lock("answer-gfx90a.hsaco", "--code-only").replace("debug=none", "debug=full");
    assert_eq!(plain, lock("answer-gfx90a-debug.hsaco", "--code-only"));
    assert!(!plain.contains("rest=") && !plain.contains("stored="), "{plain}");
    assert_ne!(lock("answer-gfx90a.hsaco", ""), lock("answer-gfx90a-debug.hsaco", ""));
}

#[test]
fn does_not_write_an_incomplete_lock() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("cut", b"\x10\xff\x10\xad").file("text", "no code");
    sandbox.file("gpu.lock", "old");
    let run = sandbox.fatbin("lock a missing -o gpu.lock");
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert_eq!(run.err, "fatbin: missing: cannot open: no such file or directory\n");
    assert_eq!(sandbox.fatbin("lock a cut -o gpu.lock").status, 2);
    let run = sandbox.fatbin("lock text -o gpu.lock");
    assert_eq!((run.status, run.err.as_str()), (1, "fatbin: text: no device images; gpu.lock was not written\n"));
    assert_eq!(sandbox.read("gpu.lock"), b"old");
}

#[test]
fn lists_named_files_without_device_code() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("lib.so", "no code any more");
    let lock = sandbox.fatbin("lock a lib.so -o -").ok();
    assert!(lock.ends_with("\n\nfile lib.so size=16 stored=0\n"), "{lock}");
}

#[test]
fn records_the_hashes_that_scan_prints_on_demand() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let hash = "a406f0825b5af83ff53f035e3deaec2e3afb607993cdc2272a5acd2fbb7cf2bd";
    assert!(sandbox.fatbin("scan --hash --json a").ok().contains(hash));
    assert!(sandbox.fatbin("lock --sha256 a -o -").ok().contains(&format!(" sha256={hash} code=")));
    assert!(!sandbox.fatbin("lock a -o -").ok().contains("sha256"));
}

#[test]
fn a_summary_is_for_readers_only() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_80.ptx", "c");
    sandbox.fatbin("pack -o x --image file=a,kind=hip c").ok();
    let size = sandbox.read("x").len();
    let expected = format!(
        "\
fatbin.lock-summary/1
# For readers; `fatbin diff` compares locks, which are written without --summary.

file x size={size} stored={size} images=2 kernels=2
  arch gfx90a images=1 stored=3456 size=3456 kernels=1 code_size=32
  arch sm_80 image=ptx images=1 stored=505 size=505 kernels=1
  family answer_kernel names=1 kernels=2 code_size=32
"
    );
    assert_eq!(sandbox.fatbin("lock --summary x -o -").ok(), expected);
    sandbox.fatbin("lock --summary x -o summary").ok();
    let run = sandbox.fatbin("diff summary x");
    let message = "summary: line 1: a summary is for readers; compare locks, which are written without --summary";
    assert_eq!((run.status, run.err), (2, format!("fatbin: {message}\n")));
}

#[test]
fn a_later_run_takes_the_entries_of_unchanged_files() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("lib")).unwrap();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "lib/b").file("lib/empty", "");
    sandbox.fatbin("wrap --kind hip -o hip.o a").ok();
    crate::size::wheel(&sandbox);
    let wheel = "a-1.0-py3-none-any.whl";
    let lock = |options: &str| {
        sandbox.fatbin(&format!("lock --since gpu.lock {options} -o gpu.lock a lib {wheel}")).ok();
        String::from_utf8(sandbox.read("gpu.lock")).unwrap()
    };
    let entries = |lock: &str| {
        lock.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect::<String>()
    };
    let fresh = sandbox.fatbin(&format!("lock -o - a lib {wheel}")).ok();
    assert_eq!(entries(&lock("")), entries(&fresh));
    // A file that has just changed may change again without a new time.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let first = lock("");
    assert_eq!(entries(&first), entries(&fresh));
    assert_eq!(first.matches("\n# listed ").count() + first.matches("\n# found ").count(), 4, "{first}");

    // The entries come from the lock, in the order of the paths.
    let marked = first.replace("answer_kernel", "marked_kernel");
    sandbox.file("gpu.lock", &marked);
    assert_eq!(lock(""), marked);
    assert!(sandbox.fatbin("diff gpu.lock gpu.lock").ok().starts_with("device code is identical\n"));
    // A changed file and a new one are analyzed, and a missing one has no entries.
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-sm_80.ptx", "lib/c");
    std::fs::remove_file(sandbox.path("lib/b")).unwrap();
    let changed = lock("");
    assert!(
        changed.contains("file a size=3312 ") && changed.contains("\nfile lib/c ") && !changed.contains("lib/b"),
        "{changed}"
    );
    assert_eq!(
        (changed.matches("marked_kernel").count(), changed.matches("answer_kernel").count()),
        (1, 2),
        "{changed}"
    );
    // Entries with other properties are written again.
    assert!(!lock("--sha256").contains("marked_kernel"));
    assert!(sandbox.fatbin("lock --since a -o x a").err.contains("not a lock"));
}

#[test]
fn locks_of_parts_are_merged() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("lib")).unwrap();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "lib/b").fixture("answer-sm_80.ptx", "c");
    // A file that has just changed may change again without a new time.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    sandbox.fatbin("lock --since 1.lock -o 1.lock a lib").ok();
    sandbox.fatbin("lock --since 2.lock -o 2.lock c").ok();
    let whole = sandbox.fatbin("lock --since missing -o - a c lib").ok();
    assert_eq!(whole.matches("answer_kernel").count(), 3, "{whole}");
    // Marks show which lock an entry comes from.
    for part in ["1.lock", "2.lock"] {
        let lock = String::from_utf8(sandbox.read(part)).unwrap();
        sandbox.file(part, lock.replace("answer_kernel", part));
    }
    let merged = sandbox.fatbin("lock --since 1.lock --since missing --since 2.lock -o - a c lib").ok();
    assert_eq!((merged.matches("1.lock").count(), merged.matches("2.lock").count()), (2, 1), "{merged}");
    assert_eq!(merged.replace("1.lock", "answer_kernel").replace("2.lock", "answer_kernel"), whole);
}
