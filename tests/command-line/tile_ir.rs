//! Tile IR, and entries of CUDA fat binaries whose kind is newer than the program.

use crate::Sandbox;

/// Creates `tile`, a fat binary with Tile IR, and `both`, one with a cubin for `sm_90` as well.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer.tilebc", "a.tilebc").fixture("answer-sm_90.cubin", "a.cubin");
    sandbox.fatbin("pack --kind cuda -o tile --image file=a.tilebc,arch=sm_100,compress=zstd").ok();
    sandbox.fatbin("pack --kind cuda -o both a.cubin --image file=a.tilebc,arch=sm_90").ok();
    let mut newer = sandbox.read("both");
    // The kind of the first entry.
    let at = newer.windows(4).position(|window| window == b"\x80\0\x01\x01").unwrap();
    newer[at..at + 2].copy_from_slice(&[0, 2]);
    sandbox.file("newer", newer);
    sandbox
}

/// nvcc 13.5 stores cubins of Tile IR for `sm_90a` in entries for `sm_90`, and those for `sm_100a` in entries for `sm_100f`.
#[test]
fn a_cubin_of_tile_ir_runs_on_fewer_devices_than_its_entry_states() {
    let sandbox = Sandbox::new();
    let mut cubin = crate::fixture("answer-sm_90.cubin");
    let attribute = cubin.windows(6).position(|bytes| bytes == b"\x02\x09\0\0\x02\x0c").unwrap();
    cubin[attribute + 2] = 1;
    sandbox.file("sm_90a.cubin", cubin);
    for (compression, arch) in [("none", "sm_90a"), ("zstd", "sm_90")] {
        sandbox.fatbin(&format!("pack --kind cuda -o fat --image file=sm_90a.cubin,compress={compression}")).ok();
        let mut fat = sandbox.read("fat");
        let flags = 16 + 42;
        assert_eq!(fat[flags], 0x10, "the suffix a");
        fat[flags] = 0;
        sandbox.file("fat", fat);
        assert_eq!(sandbox.fatbin("verify fat").ok(), "fat: 1 device image, intact\n", "{compression}");
        let table = sandbox.fatbin("scan fat").ok();
        assert!(table.contains(&format!(" {arch} ")) && !table.contains("states"), "{table}");
    }
}

#[test]
fn is_listed_inspected_verified_and_extracted() {
    let sandbox = sandbox();
    let expected = "\
tile: raw, 392 bytes, 1 device image
  CONTAINER    SECTION  KIND  TRIPLE               ARCH    IMAGE   OFFSET  SIZE
  cuda-fatbin  -        cuda  nvptx64-nvidia-cuda  sm_100  tileir    0x60   296
a.tilebc: raw, 443 bytes, 1 device image
  CONTAINER  SECTION  KIND  TRIPLE               ARCH  IMAGE   OFFSET  SIZE
  tileir     -        -     nvptx64-nvidia-cuda  -     tileir     0x0   443
";
    assert_eq!(sandbox.fatbin("scan tile a.tilebc").ok(), expected);
    let kernel = "  KERNEL\n  answer_kernel\n";
    let expected = format!(
        "tile: image 0: cuda nvptx64-nvidia-cuda sm_100 tileir, 1 kernel\n{kernel}\
         a.tilebc: image 0: nvptx64-nvidia-cuda tileir, 1 kernel\n{kernel}"
    );
    assert_eq!(sandbox.fatbin("inspect tile a.tilebc").ok(), expected);
    assert_eq!(sandbox.fatbin("verify tile").ok(), "tile: 1 device image, intact\n");
    let name = "out/tile.0-cuda-nvptx64-nvidia-cuda-sm_100.tilebc\n";
    assert_eq!(sandbox.fatbin("extract tile -o out").ok(), name);
    assert_eq!(sandbox.read(name.trim()), crate::fixture("answer.tilebc"));
}

#[test]
fn truncated_tile_ir_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.file("short.tilebc", &crate::fixture("answer.tilebc")[..442]);
    let run = sandbox.fatbin("verify short.tilebc");
    assert_eq!(run.status, 2);
    assert_eq!(run.err, "fatbin: short.tilebc: Tile IR section at 0x1ba: truncated: need 1 bytes, 0 available\n");
}

#[test]
fn select_cannot_predict_whether_the_driver_compiles_it() {
    let run = sandbox().fatbin("select --device sm_100 tile");
    let expected = "\
tile: B200 sm_100: 1 choice: undecided
tile: cuda-fatbin at 0x0: CUDA on sm_100 cannot be predicted
  NUMBER  ARCH    IMAGE   VERDICT    REASON
       0  sm_100  tileir  undecided  it is Tile IR, which the driver may compile: NVIDIA does not document when it does
";
    assert_eq!((run.status, run.out.as_str()), (2, expected));
    let run = sandbox().fatbin("select --device sm_90 both");
    assert!(run.ok().contains("\nboth: cuda-fatbin at 0x0: CUDA on sm_90 selects image 1\n"));
}

#[test]
fn an_unknown_kind_is_named_and_leaves_answers_open() {
    let sandbox = sandbox();
    let scan = sandbox.fatbin("scan newer").ok();
    assert!(scan.ends_with("  image at 0x60: unknown kind 0x200\n"), "{scan}");
    let inspected = sandbox.fatbin("inspect newer").ok();
    let line = "newer: image 0: cuda nvptx64-nvidia-cuda sm_90 unknown, not inspected: of a kind that is newer than this program\n";
    assert!(inspected.starts_with(line), "{inspected}");
    let run = sandbox.fatbin("select --device sm_90 newer");
    let expected = "\
newer: H100 sm_90: 1 choice: undecided
newer: cuda-fatbin at 0x0: CUDA on sm_90 cannot be predicted
  NUMBER  ARCH   IMAGE    VERDICT    REASON
       0  sm_90  unknown  undecided  unknown kind 0x200, newer than this program
       1  sm_90  elf      undecided  it is for this processor
";
    assert_eq!((run.status, run.out.as_str()), (2, expected));
    let json = sandbox.fatbin("select --device sm_90 --json newer").out;
    assert!(json.contains("\"answer\": \"undecided\"") && !json.contains("\"chosen\": true"), "{json}");
}

#[test]
fn an_unknown_kind_is_kept_and_does_not_pass_a_policy() {
    let sandbox = sandbox();
    sandbox.fatbin("prune --device sm_90 -o pruned newer").ok();
    assert_eq!(sandbox.read("pruned"), sandbox.read("newer"));
    sandbox.file("p.toml", "archs.only = [\"sm_90\"]\n");
    let run = sandbox.fatbin("check --policy p.toml newer");
    assert_eq!(run.status, 2);
    let reason = "is of a kind that is newer than this program, which may not be allowed";
    assert!(run.out.contains(reason), "{}", run.out);
}

#[test]
fn its_version_is_that_of_a_release_of_cuda() {
    let sandbox = sandbox();
    let answer = |file: &str| sandbox.fatbin(&format!("requires {file}")).out;
    assert!(answer("a.tilebc").starts_with("a.tilebc: 1 image: CUDA 13.5\n"), "{}", answer("a.tilebc"));
    for file in ["a.tilebc", "tile"] {
        assert!(answer(file).contains("Tile IR 13.5 (image 0)"), "{}", answer(file));
    }
    let mut older = sandbox.read("a.tilebc");
    older[9] = 4;
    sandbox.file("older", older);
    assert!(answer("older").contains("CUDA 13.4"), "{}", answer("older"));
    assert!(sandbox.fatbin("scan -v older").ok().contains("Tile IR 13.4"));
}
