//! `prune`: images that devices do not need are dropped from every kind of file.

use crate::{Run, Sandbox};

/// A CUDA fat binary, a bundle, an offload binary, objects with the first two, and a static library of the objects.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "sm90").fixture("answer-sm_80.ptx", "sm80.ptx");
    sandbox.fixture("answer-gfx90a.hsaco", "amd").fixture("answer-gfx90a-xnack+.hsaco", "xnack");
    let ids = "--target host-x86_64-unknown-linux-gnu=/dev/null --target hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+=xnack \
               --target hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-=amd";
    sandbox.fatbin(&format!("bundle --raw --type o --align 4096 {ids} -o hip")).ok();
    sandbox.fatbin("pack --kind cuda -o cuda sm90 sm80.ptx").ok();
    sandbox.fatbin("pack -o offload amd sm90").ok();
    for kind in ["cuda", "hip"] {
        sandbox.fatbin(&format!("wrap --kind {kind} -o {kind}.o {kind}")).ok();
        sandbox.fatbin(&format!("wrap --kind {kind} --host x86_64-pc-windows-msvc -o {kind}.obj {kind}")).ok();
    }
    sandbox.shell("ar rc lib.a cuda.o hip.o").ok();
    sandbox
}

/// Returns the architectures of the images of a file, with their formats.
fn images(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let Run { status, out, err } = sandbox.fatbin(&format!("scan --json {file}"));
    assert!(status < 2, "{err}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let files = json["files"].as_array().unwrap().iter();
    let containers = files.flat_map(|file| file["containers"].as_array().unwrap());
    let images = containers.flat_map(|container| container["images"].as_array().unwrap());
    let images = images.filter(|image| image["kind"] != "host");
    images.map(|image| format!("{} {}", image["arch"].as_str().unwrap(), image["image"].as_str().unwrap())).collect()
}

#[test]
fn keeps_what_runtimes_select_in_every_kind_of_file() {
    let sandbox = sandbox();
    let cases = [
        ("cuda", "sm_90", &["sm_90 elf"][..]),
        ("cuda", "sm_89", &["sm_80 ptx"]),
        ("cuda", "sm_89,sm_90", &["sm_90 elf", "sm_80 ptx"]),
        ("cuda", "sm_90 --keep-ptx all", &["sm_90 elf", "sm_80 ptx"]),
        ("cuda.o", "sm_89", &["sm_80 ptx"]),
        ("cuda.obj", "sm_90", &["sm_90 elf"]),
        ("hip", "gfx90a:sramecc+:xnack-", &["gfx90a:xnack- elf"]),
        ("hip", "gfx90a", &["gfx90a:xnack+ elf", "gfx90a:xnack- elf"]),
        ("hip.o", "gfx90a:xnack+", &["gfx90a:xnack+ elf"]),
        ("hip.obj", "gfx90a:xnack+", &["gfx90a:xnack+ elf"]),
        ("offload", "gfx90a", &["gfx90a elf"]),
        ("lib.a", "sm_90,gfx90a:xnack+", &["sm_90 elf", "gfx90a:xnack+ elf"]),
        // No image of the bundle runs on the only device.
        ("lib.a", "sm_90", &["sm_90 elf"]),
    ];
    for (input, options, expected) in cases {
        sandbox.fatbin(&format!("prune --device {options} {input} -o out")).ok();
        assert_eq!(images(&sandbox, "out"), expected, "{input} {options}");
        sandbox.fatbin("verify out").ok();
        let (before, after) = (sandbox.read(input).len(), sandbox.read("out").len());
        let is_smaller = images(&sandbox, input).len() > expected.len() && !input.ends_with(".obj");
        assert_eq!(after < before, is_smaller, "{input}: {before} -> {after}");
    }
}

#[test]
fn exact_names_are_a_mode_of_their_own_with_warnings() {
    let sandbox = sandbox();
    let cases = [
        ("--keep sm_90", &["sm_90 elf"][..], "fatbin: warning: cuda: sm_80 loses 1 image\n"),
        ("--drop sm_90", &["sm_80 ptx"], ""),
        ("--drop compute_80", &["sm_90 elf"], "fatbin: warning: cuda: sm_80 loses 1 image\n"),
        (
            "--drop compute_90,sm_9O",
            &["sm_90 elf", "sm_80 ptx"],
            "fatbin: warning: cuda: no image is for compute_90; there is code for sm_80, sm_90\n\
             fatbin: warning: cuda: no image is for sm_9O; there is code for sm_80, sm_90; did you mean sm_90?\n",
        ),
    ];
    for (options, expected, warning) in cases {
        let run = sandbox.fatbin(&format!("prune {options} cuda -o out"));
        assert_eq!((run.status, run.err.as_str()), (0, warning), "{options}");
        assert_eq!(images(&sandbox, "out"), expected, "{options}");
    }
    for options in ["--keep sm_70", "--drop sm_90,sm_80"] {
        let run = sandbox.fatbin(&format!("prune {options} cuda -o nothing"));
        assert_eq!(run.status, 1, "{options}");
        assert!(run.err.ends_with("; no output was written\n") && run.err.lines().count() == 1, "{}", run.err);
        assert!(!sandbox.path("nothing").exists());
    }
    // PTX that is dropped against the advice of --device.
    let run = sandbox.fatbin("prune --device sm_89,sm_90 --keep-ptx none cuda -o out");
    assert_eq!((run.status, run.err.as_str()), (0, "fatbin: warning: cuda: sm_89 loses 1 image\n"));
}

#[test]
fn code_without_a_processor_is_kept() {
    let sandbox = Sandbox::new();
    // A shader (a separate file) and LTO-IR. No driver selects LTO-IR.
    let module = [0x0723_0203, 0x0001_0400, 0, 24, 0, 0x2_0011, 4, 0x2_0011, 5, 0x3_000e, 2, 2];
    let function = [0x5_0036, 20, 7, 0, 21, 0x2_00f8, 9, 0x1_00fd, 0x1_0038];
    let words: Vec<u32> = module.into_iter().chain(function).collect();
    sandbox.file("shader.spv", words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    for name in ["answer-sm_90.cubin", "answer-sm_90.ltoir", "answer-gfx90a.hsaco"] {
        sandbox.fixture(name, name);
    }
    sandbox.shell("ar rcD package.a shader.spv answer-*").ok();
    let cases = [
        ("--device sm_90", &["shader.spv", "answer-sm_90.cubin", "answer-sm_90.ltoir"][..]),
        ("--device gfx90a", &["shader.spv", "answer-gfx90a.hsaco"]),
        ("--keep gfx90a", &["shader.spv", "answer-gfx90a.hsaco"]),
    ];
    for (options, expected) in cases {
        let Run { status, out: table, err } = sandbox.fatbin(&format!("prune {options} package.a -o out.a"));
        assert_eq!(status, 0, "{options}: {err}");
        for name in ["shader.spv", "answer-sm_90.cubin", "answer-sm_90.ltoir", "answer-gfx90a.hsaco"] {
            let is_kept = expected.contains(&name);
            let line = format!("package.a!{name}: 1 device image, {} kept", u8::from(is_kept));
            assert!(table.contains(&line), "{options}: {table}");
            sandbox.shell(&format!("ar p out.a {name} >member")).ok();
            assert_eq!(sandbox.read("member") == sandbox.read(name), is_kept, "{options}: {name}");
        }
    }
    // A name that no image has does not leave the shader alone.
    let run = sandbox.fatbin("prune --keep sm_80 package.a -o nothing");
    assert_eq!(run.status, 1);
    assert!(run.err.ends_with("; no output was written\n") && run.err.lines().count() == 1, "{}", run.err);
}

#[test]
fn a_dry_run_prints_bytes_and_lost_kernels_and_writes_nothing() {
    let sandbox = sandbox();
    let before = sandbox.names();
    let out = sandbox.fatbin("prune --device sm_90 --dry-run cuda").ok();
    let expected = "\
cuda: 2 device images, 1 kept, 1 dropped
  ARCH   IMAGE  KEPT  BYTES  DROPPED  BYTES
  sm_80  ptx       0      0        1    505
  sm_90  elf       1   3312        0      0
  sm_80 loses 1 image with 1 kernel
";
    assert_eq!(out.split_inclusive('\n').take(5).collect::<String>(), expected);
    assert_eq!(sandbox.names(), before);
}

#[test]
fn what_matches_nothing_is_an_error_and_writes_nothing() {
    let sandbox = sandbox();
    sandbox.file("text", "no device code");
    let names = sandbox.names();
    let run = sandbox.fatbin("prune --device sm_120 hip -o out");
    let message = "fatbin: hip: no image runs on sm_120; there is code for gfx90a:xnack+, gfx90a:xnack-; no output was \
                   written\n";
    assert_eq!((run.status, run.err.as_str()), (1, message));
    let run = sandbox.fatbin("prune --device sm_90 text -o out");
    assert_eq!((run.status, run.err.as_str()), (1, "fatbin: text: no device images\n"));
    for (options, message) in [
        ("--device sm_90a", "devices have no suffix: sm_90a is code for device sm_90"),
        ("", "missing --device <DEVICE>"),
        ("--keep sm_90 --drop sm_80", "cannot be used with"),
        ("--keep sm_90 --keep-ptx all", "cannot be used with"),
    ] {
        let run = sandbox.fatbin(&format!("prune {options} cuda -o out"));
        assert!(run.status == 2 && run.err.contains(message), "{options}: {}", run.err);
    }
    // What cannot be read cannot be proven to be unchanged.
    let mut bytes = sandbox.read("cuda");
    bytes.truncate(1000);
    sandbox.file("cut", bytes);
    let run = sandbox.fatbin("prune --device sm_90 cut -o out");
    assert_eq!(run.status, 2, "{}", run.err);
    std::fs::remove_file(sandbox.path("cut")).unwrap();
    assert_eq!(sandbox.names(), names);
}

#[test]
fn the_proof_names_every_image_and_both_files() {
    let sandbox = sandbox();
    sandbox.fatbin("prune --device sm_90 --proof proof.json cuda.o -o out.o").ok();
    let proof: serde_json::Value = serde_json::from_slice(&sandbox.read("proof.json")).unwrap();
    let sum = |file: &str| sandbox.shell(&format!("sha256sum {file}")).ok()[..64].to_owned();
    assert_eq!((proof["schema"].as_str(), proof["command"].as_str()), (Some("fatbin.proof/1"), Some("prune")));
    assert_eq!(proof["input"]["sha256"], sum("cuda.o"));
    assert_eq!(proof["output"]["sha256"], sum("out.o"));
    let file = &proof["files"][0];
    assert_eq!(file["devices"], serde_json::json!(["sm_90"]));
    let fates: Vec<_> = file["images"].as_array().unwrap().iter().map(|it| it["fate"].as_str().unwrap()).collect();
    assert_eq!(fates, ["kept", "dropped"]);
    assert_eq!(file["images"][0]["new_number"], 0);
}

/// The linker completes the tables of an object, so an image that a relocation leads to stays, and so do its bytes.
#[test]
fn images_that_an_object_registers_stay_with_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "amd").fixture("answer-sm_90.cubin", "cubin");
    for host in ["x86_64-linux-gnu", "x86_64-pc-windows-msvc", "arm64-apple-macosx"] {
        sandbox.fatbin(&format!("wrap --kind openmp --host {host} -o host.o amd cubin")).ok();
        let run = sandbox.fatbin("prune --drop gfx90a -o out host.o");
        let expected = "host.o: image 0 is not dropped: the relocation at 0x";
        assert!(run.status == 0 && run.err.contains(expected), "{host}: {}", run.err);
        assert!(run.err.contains("only the tables of linked files are changed"), "{}", run.err);
        assert!(!run.err.contains("loses"), "{}", run.err);
        assert!(sandbox.read("out") == sandbox.read("host.o"), "{host}");
        std::fs::remove_file(sandbox.path("out")).unwrap();
    }
}
