//! LTO-IR: intact, but not inspected; one line per file.

use fatbin_core::format::cuda_fatbin::{EntryHeader, MAGIC, flag, kind};

use crate::Sandbox;

/// Returns a CUDA fat binary with two scrambled entries and PTX, as fatbinary writes it for `nvcc -dlto`.
fn fat_binary() -> Vec<u8> {
    let text = [&crate::fixture("answer-sm_80.ptx")[..], b"\0"].concat();
    container(&[scrambled(), entry(kind::PTX, 0, &text), scrambled()].concat())
}

fn container(entries: &[u8]) -> Vec<u8> {
    [&MAGIC[..], &[1, 0, 16, 0], &(entries.len() as u64).to_le_bytes(), entries].concat()
}

/// First bytes of an entry's payload that fatbinary 13.5 wrote.
const SCRAMBLED: [u8; 8] = *b"\x42\x94\x94\x12\x9b\xb6\x4a\xe4";

fn scrambled() -> Vec<u8> {
    entry(kind::NVVM, flag::OPAQUE | flag::ZSTD, &SCRAMBLED)
}

fn entry(kind: u16, flags: u64, payload: &[u8]) -> Vec<u8> {
    let is_compressed = flags != 0;
    let header = EntryHeader {
        kind,
        header_size: EntryHeader::SIZE as u32,
        stored_size: payload.len() as u64,
        compressed_size: if is_compressed { payload.len() as u32 } else { 0 },
        options_offset: 0,
        code_version: (1, 67),
        arch_number: 80,
        name_offset: 0,
        name_size: 0,
        flags: flags | flag::BITS_64,
        reserved: 0,
        full_size: if is_compressed { 100 } else { 0 },
    };
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    bytes.extend(payload);
    bytes
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("fat", fat_binary()).fixture("answer-sm_90.ltoir", "a.ltoir");
    sandbox
}

#[test]
fn verify_counts_it_and_finds_no_damage() {
    let expected = "fat: 3 device images, no damage found, 2 LTO-IR, not inspected\n\
                    a.ltoir: 1 device image, no damage found, 1 LTO-IR, not inspected\n";
    assert_eq!(sandbox().fatbin("verify fat a.ltoir").ok(), expected);
}

#[test]
fn verify_reports_damage_beside_it() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("fat");
    bytes.extend([0x41; 2]);
    let size = bytes.len() as u64 - 16;
    bytes[8..16].copy_from_slice(&size.to_le_bytes());
    let run = sandbox.file("bad", bytes).fatbin("verify bad");
    assert_eq!((run.status, run.err.lines().count()), (2, 1), "{}", run.err);
}

#[test]
fn inspect_prints_one_line_per_file() {
    let sandbox = sandbox();
    let expected = "\
fat: image 1: cuda nvptx64-nvidia-cuda sm_80 ptx, 1 kernel
  SHARED  PARAMS  WAVE  KERNEL
       0       8    32  answer_kernel
fat: 2 images of LTO-IR, not inspected
a.ltoir: 1 image of LTO-IR, not inspected
";
    assert_eq!(sandbox.fatbin("inspect fat a.ltoir").ok(), expected);
    let json = sandbox.fatbin("inspect --json fat").ok();
    assert_eq!(
        json.matches("\"not_inspected\": \"LTO-IR, compiled to machine code at link time\"").count(),
        2,
        "{json}"
    );
}

#[test]
fn extract_warns_once_about_scrambled_images() {
    let sandbox = sandbox();
    let run = sandbox.fatbin("extract fat -o out");
    let warning =
        "fatbin: warning: fat: LTO-IR not extracted: scrambled (images: 2); use --stored to extract the raw bytes\n";
    let name = "out/fat.1-cuda-nvptx64-nvidia-cuda-sm_80.ptx";
    assert_eq!((run.status, run.err.as_str(), run.out), (0, warning, format!("{name}\n")));
    assert_eq!(sandbox.read(name), crate::fixture("answer-sm_80.ptx"));
    sandbox.fatbin("extract fat -o stored --stored").ok();
    let name = "stored/fat.0-cuda-nvptx64-nvidia-cuda-sm_80.ltoir.opaque";
    assert_eq!(sandbox.read(name), SCRAMBLED);
}

#[test]
fn extract_to_one_file_fails_if_the_only_image_is_scrambled() {
    let sandbox = sandbox();
    let run = sandbox.file("only", container(&scrambled())).fatbin("extract only --to image");
    let error = "fatbin: only: LTO-IR not extracted: scrambled (images: 1); use --stored to extract the raw bytes\n";
    assert_eq!((run.status, run.err.as_str()), (2, error));
    assert!(!sandbox.path("image").exists());
    assert_eq!(sandbox.fatbin("extract fat --to image").status, 0, "the PTX is the only other image");
}

#[test]
fn a_file_of_ltoir_is_a_device_image() {
    let sandbox = sandbox();
    let table = "\
a.ltoir: raw, 2044 bytes, 1 device image
  CONTAINER  SECTION  KIND  TRIPLE               ARCH   IMAGE  OFFSET  SIZE
  ltoir      -        -     nvptx64-nvidia-cuda  sm_90  nvvm      0x0  2044
";
    assert_eq!(sandbox.fatbin("scan a.ltoir").ok(), table);
    let name = "out/a.ltoir.0-nvptx64-nvidia-cuda-sm_90.ltoir";
    assert_eq!(sandbox.fatbin("extract a.ltoir -o out").ok(), format!("{name}\n"));
    assert_eq!(sandbox.read(name), crate::fixture("answer-sm_90.ltoir"));
}

#[test]
fn check_accepts_it_as_intact_and_compressed() {
    let sandbox = sandbox();
    let run = sandbox.file("p.toml", "images.intact = true\n").fatbin("check --policy p.toml fat a.ltoir");
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    sandbox.file("compressed.toml", "images.compressed = true\n").file("only", container(&scrambled()));
    assert_eq!(sandbox.fatbin("check --policy compressed.toml only").status, 0);
    assert_eq!(sandbox.fatbin("check --policy compressed.toml a.ltoir").status, 1);
}

#[test]
fn ltoir_has_the_names_of_nvcc() {
    let sandbox = sandbox();
    let check = |policy: &str| sandbox.file("p.toml", policy).fatbin("check --policy p.toml fat a.ltoir").status;
    // The fat binary has LTO-IR and PTX for sm_80, the file LTO-IR for sm_90.
    for (policy, status) in [
        ("[archs]\nrequire = [\"lto_80\"]\n[files.\"a.ltoir\"]\narchs.require = [\"lto_90\"]\n", 0),
        ("[archs]\nrequire = [\"lto_90\"]\n", 1),
        ("[archs]\nforbid = [\"lto_90\"]\n", 1),
        ("[archs]\nforbid = [\"lto_120\", \"sm_90\"]\n", 0),
        // A list without LTO-IR says nothing about it.
        ("[archs]\nonly = [\"compute_80\"]\n", 0),
        ("[archs]\nonly = [\"compute_80\", \"lto_80\"]\n", 1),
        ("[archs]\nonly = [\"compute_80\", \"lto_80\", \"lto_90\"]\n", 0),
        ("[archs]\nrequire = [\"lto_99\"]\n", 2),
    ] {
        assert_eq!(check(policy), status, "{policy}");
    }
    let policy = sandbox.fatbin("check --init a.ltoir").ok();
    assert!(policy.contains("require = [\"lto_90\"]"), "{policy}");
    let policy = sandbox.fatbin("check --init fat").ok();
    assert!(policy.contains("only = [\"compute_80\", \"lto_80\"]"), "{policy}");
    let run = sandbox.file("fat.toml", &policy).fatbin("check --policy fat.toml fat");
    assert_eq!(run.status, 0, "{policy}{}", run.out);
    let extracted = |arch: &str| {
        let run = sandbox.fatbin(&format!("extract --arch {arch} --stored -o {arch} fat a.ltoir"));
        (run.status, run.out.lines().count())
    };
    let counts = ["sm_80", "lto_80", "compute_80", "lto_90", "compute_90"].map(extracted);
    assert_eq!(counts, [(0, 3), (0, 2), (0, 1), (0, 1), (1, 0)]);
    sandbox.fatbin("prune --drop lto_80 -o pruned fat").ok();
    let table = sandbox.fatbin("scan pruned").ok();
    assert!(table.contains("ptx") && !table.contains("nvvm"), "{table}");
}

/// nvcc 13.5 and nvJitLink 13.5 write these forms; only the word at 14 and the list of properties differ.
#[test]
fn optix_ir_and_linked_ltoir_are_told_apart() {
    let sandbox = sandbox();
    let with_form = |form: u8| {
        let mut bytes = sandbox.read("a.ltoir");
        bytes[14] = form;
        bytes
    };
    sandbox.file("linked.ltoir", with_form(0)).file("a.optixir", with_form(2));
    let table = "\
a.optixir: raw, 2044 bytes, 1 device image
  CONTAINER  SECTION  KIND  TRIPLE               ARCH   IMAGE    OFFSET  SIZE
  optixir    -        -     nvptx64-nvidia-cuda  sm_90  optixir     0x0  2044
";
    assert_eq!(sandbox.fatbin("scan a.optixir").ok(), table);
    assert_eq!(
        sandbox.fatbin("verify a.optixir").ok(),
        "a.optixir: 1 device image, no damage found, 1 OptiX IR, not inspected\n"
    );
    assert_eq!(sandbox.fatbin("extract a.optixir -o out").ok(), "out/a.optixir.0-nvptx64-nvidia-cuda-sm_90.optixir\n");
    let run = sandbox.fatbin("select --device H100 a.optixir");
    assert!(run.status == 1 && run.out.contains("it is OptiX IR, which the OptiX library compiles"), "{}", run.out);
    for (file, is_linked) in [("a.ltoir", false), ("linked.ltoir", true)] {
        let json = sandbox.fatbin(&format!("scan --json {file}")).ok();
        assert_eq!(json.contains("\"linkage\": \"linked\""), is_linked, "{json}");
        assert!(json.contains("\"image\": \"nvvm\"") && json.contains("\"format_version\": \"1.67\""), "{json}");
        assert!(sandbox.fatbin(&format!("scan -v {file}")).ok().contains("LTO-IR 1.67"), "{file}");
    }
}
