//! `fatbin pack`: metadata of images, and round trips.

use crate::dropin::offload_kind;
use crate::{Sandbox, fixture};

/// Returns the row of each image that `scan` lists: kind, triple, arch, image kind.
fn listed(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_str(&sandbox.fatbin(&format!("scan --json {file}")).ok()).unwrap();
    let containers = json["files"][0]["containers"].as_array().unwrap().iter();
    let images = containers.flat_map(|container| container["images"].as_array().unwrap().iter());
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    images.map(|it| ["kind", "triple", "arch", "image"].map(|key| text(&it[key])).join(" ")).collect()
}

#[test]
fn reads_triple_and_arch_from_images() {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a-xnack+.hsaco", "a")
        .fixture("answer-sm_90.cubin", "b")
        .fixture("answer-sm_80.ptx", "c");
    for version in 1..=3 {
        sandbox.fatbin(&format!("pack --format-version {version} --image file=a,kind=hip -o out b c")).ok();
        let expected = [
            "hip amdgcn-amd-amdhsa gfx90a:xnack+ elf",
            "- nvptx64-nvidia-cuda sm_90 elf",
            "- nvptx64-nvidia-cuda sm_80 ptx",
        ];
        assert_eq!(listed(&sandbox, "out"), expected, "version {version}");
        for (arch, image) in [("gfx90a:xnack+", "a"), ("sm_90", "b"), ("sm_80", "c")] {
            sandbox.fatbin(&format!("extract out --arch {arch} --to image")).ok();
            assert_eq!(sandbox.read("image"), sandbox.read(image), "version {version}, {arch}");
        }
    }
}

#[test]
fn compressed_binary_is_smaller_and_extracts_the_same_images() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-gfx90a.hsaco", "b");
    for codec in ["", "=zstd", "=zlib", "=zstd --level 19"] {
        sandbox.fatbin(&format!("pack --compress{codec} -o out a b")).ok();
        assert!(sandbox.read("out").len() < sandbox.read("a").len(), "{codec}");
        assert_eq!(listed(&sandbox, "out").len(), 2);
        let out = sandbox.fatbin("extract out -o images").ok();
        for path in out.lines() {
            assert_eq!(sandbox.read(path), sandbox.read("a"), "{codec}");
        }
    }
    let table = sandbox.fatbin("scan out").ok();
    let row = "  offload-binary  -        -     amdgcn-amd-amdhsa  gfx90a  elf         -  3456";
    assert!(table.lines().any(|line| line == row), "{table}");
}

#[test]
fn keeps_user_metadata_in_order_and_joins_repeated_keys() {
    let sandbox = Sandbox::new();
    sandbox.file("a.bin", "one").file("b.bin", "two");
    let image = "file=a.bin,triple=t,feature=x,file=b.bin,arch=,feature=y,note=hello";
    sandbox.fatbin(&format!("pack -o out --image {image} --flags 0x10")).ok();
    let json: serde_json::Value = serde_json::from_str(&sandbox.fatbin("scan --json out").ok()).unwrap();
    let image = &json["files"][0]["containers"][1]["images"][0];
    assert_eq!(image["strings"], serde_json::json!({ "feature": "x,y", "note": "hello" }));
    assert_eq!(image["unknown"], serde_json::json!([{ "field": "flags", "value": 16 }]));
    assert!(sandbox.fatbin("scan out").ok().contains("unknown flags 0x10"));
}

#[test]
fn packs_to_a_pipe_but_not_over_an_input() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("pack -o out a").ok();
    let run = sandbox.fatbin("pack -o a a");
    assert_eq!((run.status, run.err.as_str()), (2, "fatbin: a: is both input and output\n"));
    sandbox.fixture("answer-gfx90a.hsaco", "image");
    let script = "fatbin pack -o - --image file=out,triple=nested | fatbin extract - --to - | cmp - image";
    assert_eq!(sandbox.shell(script).ok(), "");
}

#[test]
fn rejects_invalid_images_and_keeps_the_old_output() {
    let sandbox = Sandbox::new();
    sandbox.file("text", "text").file("empty", "").file("old", "\x7fELF, old").fixture("answer-gfx90a.hsaco", "a");
    sandbox.file("cut", &fixture("answer-gfx90a.hsaco")[..2000]);
    let cases = [
        ("", "pack: no image given; pass IMAGE or --image file=IMAGE"),
        (
            "text",
            "text: is no device image: neither ELF, bitcode, SPIR-V nor PTX; specify --image file=text,triple=TRIPLE",
        ),
        ("empty", "empty: device image is empty"),
        ("missing", "missing: cannot open: no such file or directory"),
        (
            "cut",
            "cut: ELF section header offset at 0x28: offset 2624 with size 832 is out of bounds (2000 bytes available)",
        ),
        ("--image file=a,arch=gfx906", "a: arch=gfx906 contradicts the image's header: gfx90a"),
        (
            "--image file=a,kind=x",
            "--image file=a,kind=x: unknown kind \"x\" (available: openmp, cuda, hip, sycl, none)",
        ),
        ("--format-version 2 --compress a", "pack: --format-version 2: compression requires version 3"),
        ("--compress=zlib --level 12 a", "pack: --level 12: invalid level; zlib has levels 1 to 9"),
    ];
    for (arguments, message) in cases {
        let run = sandbox.fatbin(&format!("pack -o old {arguments}"));
        assert_eq!((run.status, run.out.as_str(), run.err), (2, "", format!("fatbin: {message}\n")), "{arguments}");
        assert_eq!(sandbox.read("old"), b"\x7fELF, old");
    }
}

#[test]
fn release_determines_kind_numbers_and_format_version() {
    let sandbox = Sandbox::new();
    sandbox.file("a.o", "x");
    // Offload kind, format version.
    for (abi, expected) in [("llvm16", (3, 1)), ("llvm20", (3, 1)), ("llvm21", (4, 1)), ("llvm23", (4, 2))] {
        sandbox.fatbin(&format!("pack --abi {abi} --image file=a.o,triple=t,kind=hip -o out")).ok();
        assert_eq!((offload_kind(&sandbox, "out"), sandbox.read("out")[4]), expected, "{abi}");
        assert!(sandbox.fatbin("scan out").ok().contains("hip"), "{abi}");
    }
    let run = sandbox.fatbin("pack --abi llvm20 --image file=a.o,triple=t,kind=sycl -o out");
    let message = "kind sycl: not supported before LLVM 21; raise --abi\n";
    assert!(run.status == 2 && run.err.ends_with(message), "{}", run.err);
}

#[test]
fn writes_nothing_that_scan_refuses() {
    let sandbox = Sandbox::new();
    sandbox.file("a.bin", "one").file("out", "\x7fELF, old");
    let properties: String = (0..3000).map(|number| format!(",k{number}=v")).collect();
    let long = "x".repeat(100_000);
    let cases = [
        "a\u{1b}[31mb".to_owned(),
        "a\nb\u{9b}".to_owned(),
        "\u{202e}".to_owned(),
        format!("t{properties}"),
        format!("t,{long}=v"),
        format!("t,k={long}"),
    ];
    for triple in cases {
        for version in ["1", "2", "3"] {
            let image = format!("file=a.bin,triple={triple}");
            let arguments = ["pack", "--format-version", version, "-o", "out", "--image", &image];
            let run =
                crate::run(sandbox.file("out", "\x7fELF, old").command(env!("CARGO_BIN_EXE_fatbin")).args(arguments));
            let scan = sandbox.fatbin("scan --json out");
            match run.status {
                0 => {
                    let json: serde_json::Value = serde_json::from_str(&scan.ok()).unwrap();
                    let read = &json["files"][0]["containers"][0]["images"][0]["triple"];
                    assert_eq!(*read, triple.split(',').next().unwrap());
                }
                _ => {
                    assert_eq!((run.status, sandbox.read("out").as_slice()), (2, &b"\x7fELF, old"[..]), "{}", run.err);
                    assert!(run.err.starts_with("fatbin: out: not written: offload binary "), "{}", run.err);
                    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
                    assert!(run.err.chars().count() <= 1000);
                }
            }
        }
    }
    let id = format!("hip-amdgcn-{}-amdhsa--gfx906=a.bin", "x".repeat(5000));
    let run = crate::run(
        sandbox
            .command(env!("CARGO_BIN_EXE_fatbin"))
            .args(["bundle", "--raw", "--type", "bc", "-o", "out", "--target", &id]),
    );
    let message = "fatbin: out: not written: bundle entry id at 0x0: an ID contains a line break or NUL, or is too long; \
                   use fewer or shorter names, without NUL and line breaks\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
}

/// Returns the entries of a CUDA fat binary: kind, codec, and offset of the identifier.
fn fatbin_images(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_str(&sandbox.fatbin(&format!("scan --json {file}")).ok()).unwrap();
    let images = json["files"][0]["containers"][0]["images"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    images.map(|it| ["image", "arch", "codec"].map(|key| text(&it[key])).join(" ")).collect()
}

#[test]
fn fat_binaries_have_the_codec_of_each_image() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-sm_80.ptx", "b").fixture("answer-sm_90.ltoir", "c");
    let cases = [
        ("a b c", ["elf sm_90 none", "ptx sm_80 none", "nvvm sm_90 none"]),
        ("--compress --image file=c,compress=none a b", ["nvvm sm_90 none", "elf sm_90 zstd", "ptx sm_80 zstd"]),
        (
            "--compress=lz4 --image file=a,compress=zstd,level=19 b a",
            ["elf sm_90 zstd", "ptx sm_80 lz4", "elf sm_90 lz4"],
        ),
        ("--compress=lz4 --level 9 --concat a b a", ["ptx sm_80 lz4", "elf sm_90 lz4", "elf sm_90 lz4"]),
        (
            "--image file=a,arch=sm_90a,ident=x.cu,debug=true --image file=b,options=-v a",
            ["elf sm_90a none", "ptx sm_80 none", "elf sm_90 none"],
        ),
    ];
    for (arguments, expected) in cases {
        sandbox.fatbin(&format!("pack --kind cuda -o out {arguments}")).ok();
        assert_eq!(fatbin_images(&sandbox, "out"), expected, "{arguments}");
        sandbox.fatbin("verify out").ok();
    }
    sandbox.fatbin("extract out --arch sm_80 --to ptx").ok();
    assert_eq!(sandbox.read("ptx"), sandbox.read("b"));
}

#[test]
fn fat_binaries_of_unsuitable_images_and_options_are_errors() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-sm_90.ltoir", "c").fixture("answer-gfx90a.hsaco", "amd");
    sandbox
        .file("empty", "")
        .file("text", "hello")
        .fixture("answer.tilebc", "tile")
        .file("short", &crate::fixture("answer.tilebc")[..442]);
    let cases = [
        ("", "pack: no image given; pass IMAGE or --image file=IMAGE"),
        ("--concat a", "pack: --concat: compression is required; add --compress"),
        ("--compress c", "c: is LTO-IR, whose compressed form is not known; use compress=none"),
        ("--compress=zlib a", "pack: --compress=zlib: CUDA fat binaries use zstd or lz4"),
        ("--compress=lz4 --level 13 a", "pack: --level 13: invalid level; lz4 has levels 1 to 12"),
        ("--image file=a,options=-v", "a: is a cubin, which is not compiled; omit options"),
        ("--image file=a,arch=sm_80", "a: arch=sm_80 contradicts the image's header: sm_90"),
        (
            "--image file=a,kind=cuda",
            "--image file=a,kind=cuda: unknown key \"kind\" (available: file, arch, ident, options, debug, compress, level)",
        ),
        ("empty", "empty: device image is empty"),
        ("text", "text: CUDA image at 0x0: invalid value 0x6c6c6568, expected a cubin or PTX"),
        (
            "amd",
            "amd: is elf for amdgcn-amd-amdhsa, which HIP takes; a CUDA fat binary takes cubins, PTX, LTO-IR and Tile IR",
        ),
        ("tile", "tile: no processor in the header; specify --image file=tile,arch=ARCH"),
        ("--image file=short,arch=sm_100", "short: Tile IR section at 0x1ba: truncated: need 1 bytes, 0 available"),
    ];
    for (arguments, message) in cases {
        let run = sandbox.fatbin(&format!("pack --kind cuda -o out {arguments}"));
        assert_eq!((run.status, run.err.as_str()), (2, format!("fatbin: {message}\n").as_str()), "{arguments}");
        assert!(!sandbox.path("out").exists(), "{arguments}");
    }
    for arguments in ["--kind cuda --abi llvm22", "--kind cuda --format-version 1", "--kind cuda --flags 1", "--concat"]
    {
        let run = sandbox.fatbin(&format!("pack -o out a {arguments}"));
        assert_eq!(run.status, 2, "{arguments}");
    }
    let run = sandbox.fatbin("pack -o out --compress=lz4 a");
    assert_eq!(run.err, "fatbin: pack: --compress=lz4: only CUDA fat binaries (pack --kind cuda) use lz4\n");
    sandbox.fatbin("pack --kind cuda -o out --image file=tile,arch=sm_100,compress=lz4,options=-v").ok();
    sandbox.fatbin("scan out").ok();
}
