//! `transcode`: other forms of containers, as files and in host files.

use crate::Sandbox;

/// A plain bundle, a CUDA fat binary, an offload binary, and objects with the first two.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "amd").fixture("answer-gfx90a-xnack+.hsaco", "xnack");
    sandbox.fixture("answer-sm_90.cubin", "sm90").fixture("answer-sm_80.ptx", "sm80.ptx");
    let ids = "--target host-x86_64-unknown-linux-gnu=/dev/null --target hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+=xnack";
    sandbox.fatbin(&format!("bundle --raw --type o --align 4096 {ids} -o hip")).ok();
    sandbox.fatbin("pack --kind cuda -o cuda sm90 sm80.ptx").ok();
    sandbox.fatbin("pack --abi llvm23 -o offload amd sm90").ok();
    sandbox.fatbin("wrap --kind hip -o hip.o hip").ok();
    sandbox.fatbin("wrap --kind cuda -o cuda.o cuda").ok();
    sandbox
}

/// Returns the hashes of the images of a file, in their order.
fn images(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.fatbin(&format!("scan --json --hash {file}")).ok()).unwrap();
    let containers = json["files"][0]["containers"].as_array().unwrap();
    let images = containers.iter().flat_map(|container| container["images"].as_array().unwrap());
    images.map(|image| format!("{} {}", image["arch"], image["sha256"])).collect()
}

#[test]
fn every_form_has_the_same_images_and_prints_what_it_needs() {
    let sandbox = sandbox();
    let cases = [
        ("hip", "ccob2", "ROCm 6.2, LLVM 19 or later"),
        ("hip", "ccob3", "ROCm 7.0, LLVM 20 or later"),
        ("hip", "ccob3,zlib", "ROCm 7.0, LLVM 20 or later"),
        ("hip.o", "ccob2 --level 19", "ROCm 6.2, LLVM 19 or later"),
        ("cuda", "zstd", "CUDA 12.4 or later"),
        ("cuda", "zstd --best", "CUDA 12.4 or later"),
        ("cuda", "lz4", "every release"),
        ("cuda.o", "lz4 --level 12", "every release"),
        ("offload", "v1", "LLVM 14 or later"),
        ("offload", "v2", "LLVM 23 or later"),
        ("offload", "v3", "LLVM 24 or later"),
        ("offload", "v3,zstd", "LLVM 24 or later"),
    ];
    for (input, options, needed) in cases {
        let out = sandbox.fatbin(&format!("transcode --to {options} -o out {input}")).ok();
        let lines: Vec<&str> = out.lines().collect();
        let expected = format!("{input}: 1 container, device code ");
        assert!(lines[0].starts_with(&expected) && lines[0].ends_with(&format!(" readable by {needed}")), "{out}");
        let (before, after) = (sandbox.read(input).len(), sandbox.read("out").len());
        let sizes = format!("size {before} -> {after} bytes");
        assert!(lines.len() == 2 && lines[1].starts_with(&sizes), "{options}: {out}");
        assert_eq!(images(&sandbox, "out"), images(&sandbox, input), "{options}");
        sandbox.fatbin("verify out").ok();
    }
}

#[test]
fn there_and_back_is_the_input() {
    let sandbox = sandbox();
    for (input, there, back) in
        [("hip", "ccob3", "plain"), ("cuda", "zstd", "none"), ("cuda", "lz4", "none"), ("offload", "v3,zstd", "v2")]
    {
        sandbox.fatbin(&format!("transcode --to {there} -o there {input}")).ok();
        sandbox.fatbin(&format!("transcode --to {back} -o back there")).ok();
        assert!(sandbox.read("there") != sandbox.read(input) && sandbox.read("back") == sandbox.read(input), "{input}");
        // Another level is compared by the decompressed bytes, or there is none.
        if there != "v3,zstd" {
            let run = sandbox.fatbin(&format!("transcode --to {there} --best -o best there"));
            assert_eq!(run.status, 0, "{}", run.err);
            assert_eq!(images(&sandbox, "best"), images(&sandbox, input), "{input}");
        }
        // What has the form already stays.
        sandbox.fatbin(&format!("transcode --to {there} -o again there")).ok();
        assert!(sandbox.read("again") == sandbox.read("there"), "{input}");
    }
}

/// Links a library of an object.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn link(sandbox: &Sandbox, name: &str) {
    sandbox.shell(&format!("cc -shared -nostdlib -o {name}.so {name}.o")).ok();
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn containers_in_libraries_stay_in_their_places() {
    let sandbox = sandbox();
    for (name, there, back) in [("hip", "ccob2", "plain"), ("hip", "ccob3", "plain"), ("cuda", "lz4", "none")] {
        link(&sandbox, name);
        sandbox.fatbin(&format!("transcode --to {there} -o there.so {name}.so")).ok();
        sandbox.fatbin(&format!("transcode --to {back} -o back.so there.so")).ok();
        let [old, there, back] = [&format!("{name}.so"), "there.so", "back.so"].map(|file| sandbox.read(file));
        assert!(there != old && there.len() == old.len() && back == old, "{name}");
    }
}

#[test]
fn sections_of_objects_get_the_sizes_of_their_containers() {
    let sandbox = sandbox();
    for (input, there) in [("hip.o", "ccob3"), ("cuda.o", "zstd")] {
        sandbox.fatbin(&format!("transcode --to {there} -o out.o {input}")).ok();
        assert!(sandbox.read("out.o").len() < sandbox.read(input).len(), "{input}");
    }
}

#[test]
fn a_container_that_gets_too_large_for_its_place_is_refused() {
    let sandbox = sandbox();
    sandbox.fatbin("transcode --to zstd --level 19 -o zstd cuda").ok();
    // Objects of Windows are changed in place, as linked files are.
    sandbox.fatbin("wrap --kind cuda --host x86_64-pc-windows-msvc -o zstd.obj zstd").ok();
    let run = sandbox.fatbin("transcode --to none -o out zstd.obj");
    let message = run.err.strip_prefix("fatbin: zstd.obj: container at 0x").expect(&run.err);
    assert!(run.status == 2 && message.contains(" bytes do not fit into "), "{message}");
    assert!(!sandbox.path("out").exists());
}

#[test]
fn results_that_a_release_cannot_read_are_refused() {
    let sandbox = sandbox();
    let cases = [
        ("hip", "ccob3", "rocm-6.4", "ROCm 6.4 cannot read ccob of this form; ROCm 7.0 is the first release that can"),
        (
            "cuda",
            "zstd",
            "cuda-12.3",
            "CUDA 12.3 cannot read cuda-fatbin of this form; CUDA 12.4 is the first release that can",
        ),
        (
            "offload",
            "v3",
            "llvm-22",
            "LLVM 22 cannot read offload-binary of this form; LLVM 24 is the first release that can",
        ),
    ];
    for (input, form, reader, message) in cases {
        let run = sandbox.fatbin(&format!("transcode --to {form} --readable-by {reader} -o out {input}"));
        assert_eq!((run.status, run.err), (2, format!("fatbin: {input}: {message}\n")));
        assert!(!sandbox.path("out").exists() && run.out.is_empty());
    }
    for (input, form, readers) in [
        ("hip", "ccob2", "--readable-by rocm-6.2 --readable-by llvm-19 --readable-by cuda-11"),
        ("cuda", "lz4", "--readable-by cuda-11.8"),
        ("offload", "v1", "--readable-by llvm-14"),
    ] {
        sandbox.fatbin(&format!("transcode --to {form} {readers} -o out {input}")).ok();
    }
}

#[test]
fn requests_without_an_object_and_contradictions_are_reported() {
    let sandbox = sandbox();
    sandbox.file("text", "no device code");
    sandbox.fixture("answer-gfx90a.hsaco", "bare");
    for (input, form, what) in [
        ("hip", "v2", "the code is in bundle, which takes --to ccob2, ccob3, plain; no output was written"),
        ("cuda", "plain", "the code is in cuda-fatbin, which takes --to lz4, none, zstd; no output was written"),
        ("offload", "lz4", "the code is in offload-binary, which takes --to v1, v2, v3; no output was written"),
        ("bare", "zstd", "the code is device-elf, which has no other form; no output was written"),
        ("text", "zstd", "no device images"),
    ] {
        let run = sandbox.fatbin(&format!("transcode --to {form} -o out {input}"));
        assert_eq!((run.status, run.err), (1, format!("fatbin: {input}: {what}\n")));
    }
    let cases = [
        ("", "no form given; specify --to"),
        ("--to plain,ccob2", "--to: several forms for containers of one type"),
        ("--to none --level 3", "--level: --to none does not compress"),
        ("--to lz4 --level 13", "level 13: invalid level; lz4 has levels 1 to 12"),
        ("--to zstd --level 3 --best", "cannot be used with"),
        ("--to zip", "--to zip: unknown value"),
        ("--to zstd --readable-by cuda", "expected a release, for example rocm-6.2, llvm-19 or cuda-12.2"),
    ];
    for (options, message) in cases {
        let run = sandbox.fatbin(&format!("transcode {options} -o out hip"));
        assert!(run.status == 2 && run.err.contains(message), "{options}: {}", run.err);
    }
    assert!(!sandbox.path("out").exists());
    // What is damaged stays as it is.
    let mut bytes = sandbox.read("hip");
    bytes.truncate(5000);
    sandbox.file("cut", bytes);
    let run = sandbox.fatbin("transcode --to ccob2 -o out cut");
    assert!(run.status == 2 && !sandbox.path("out").exists(), "{}", run.err);
}

#[test]
fn members_of_archives_are_transcoded() {
    let sandbox = sandbox();
    sandbox.shell("ar rc lib.a hip.o cuda.o && ar x lib.a --output . ").ok();
    let out = sandbox.fatbin("transcode --to ccob2,zstd -o new.a lib.a").ok();
    for needed in
        ["lib.a!hip.o: 1 container, ", "readable by ROCm 6.2, LLVM 19 or later", "readable by CUDA 12.4 or later"]
    {
        assert!(out.contains(needed), "{out}");
    }
    for arch in ["gfx90a:xnack+", "sm_90", "sm_80"] {
        let extracted = ["lib.a", "new.a"].map(|file| {
            sandbox.fatbin(&format!("extract {file} --arch {arch} --to image")).ok();
            sandbox.read("image")
        });
        assert!(extracted[0] == extracted[1], "{arch}");
    }
    let out = sandbox.fatbin("transcode --to lz4 --in-place lib.a").ok();
    assert!(out.contains("lib.a!cuda.o: ") && !out.contains("hip.o"), "{out}");
    assert!(sandbox.fatbin("scan --json lib.a").ok().contains("lz4"));
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn kpack_archives_are_compressed_and_decompressed() {
    let sandbox = sandbox();
    link(&sandbox, "hip");
    sandbox.fatbin("split --to kpack hip.so -o split").ok();
    let archive = "split/.kpack/hip.so_gfx90a:xnack+.kpack";
    let out = sandbox.fatbin(&format!("transcode --to zstd -o zstd.kpack {archive}")).ok();
    assert!(out.contains(", readable by the releases with kpack archives\n"), "{out}");
    assert!(sandbox.read("zstd.kpack").len() < sandbox.read(archive).len());
    sandbox.fatbin("transcode --to none -o plain.kpack zstd.kpack").ok();
    assert!(sandbox.read("plain.kpack") == sandbox.read(archive));
    sandbox.fatbin("verify zstd.kpack plain.kpack").ok();
}
