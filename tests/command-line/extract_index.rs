//! `fatbin extract`: name templates, the index, filters by container and kernel, addresses as inputs.

use serde_json::Value;

use crate::{Sandbox, run};

/// Returns an object with two images.
fn object() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a-xnack+.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    sandbox
}

#[test]
fn names_files_by_template_with_directories() {
    let sandbox = object();
    let out = sandbox.fatbin("extract w.o -o out --name {file}/{kind}:{arch}.{member}.{number}.{extension}").ok();
    assert_eq!(out, "out/w.o/openmp_gfx90a_xnack+.0.hsaco\nout/w.o/openmp_sm_90.1.cubin\n");
    assert_eq!(sandbox.read("out/w.o/openmp_sm_90.1.cubin"), sandbox.read("b"));
}

#[test]
fn rejects_two_images_with_one_name() {
    let sandbox = object();
    let run = sandbox.fatbin("extract w.o -o out --name {file}.{EXTENSION}");
    assert_eq!(run.status, 2);
    let fields = "unknown field \"EXTENSION\"; available fields: file, member, name, number, kind, triple, arch, container, extension";
    assert!(run.err.contains(fields), "{}", run.err);
    let run = sandbox.fatbin("extract w.o -o out --name {file}.image");
    let message =
        "fatbin: w.o image 0 and w.o image 1 would both be written to w.o.image; add {number} or {file} to --name\n";
    assert_eq!((run.status, run.err.as_str(), run.out.as_str()), (2, message, ""));
    assert!(!sandbox.path("out").exists());
}

#[test]
fn index_lists_source_target_and_hash_of_each_file() {
    let sandbox = object();
    let out = sandbox.fatbin("extract w.o -o out --index").ok();
    assert_eq!(out.lines().last(), Some("out/index.json"));
    let index: Value = serde_json::from_slice(&sandbox.read("out/index.json")).unwrap();
    assert_eq!(index["schema"], "fatbin.extract/1");
    for (number, image) in ["a", "b"].into_iter().enumerate() {
        let entry = &index["images"][number];
        let file = format!("out/{}", entry["file"].as_str().unwrap());
        assert_eq!(entry["size"], sandbox.read(image).len());
        let sum = run(sandbox.command("sha256sum").arg(sandbox.path(&file))).ok();
        assert_eq!(entry["sha256"], sum.split_whitespace().next().unwrap());
        assert_eq!((&entry["source"]["path"], &entry["source"]["number"]), (&"w.o".into(), &number.into()));
        let address = entry["source"]["address"].as_str().unwrap();
        sandbox.fatbin(&format!("extract {address} --to image")).ok();
        assert_eq!(sandbox.read("image"), sandbox.read(image), "{address}");
    }
    assert_eq!(index["images"][1]["arch"], "sm_90");
}

#[test]
fn address_of_a_compressed_image_is_that_of_its_container() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("pack --compress -o packed a").ok();
    sandbox.fatbin("extract packed -o out --index").ok();
    let index: Value = serde_json::from_slice(&sandbox.read("out/index.json")).unwrap();
    let source = &index["images"][0]["source"];
    assert_eq!((&source["address"], &source["codec"]), (&Value::Null, &"zstd".into()));
    let address = source["container_address"].as_str().unwrap();
    sandbox.fatbin(&format!("extract {address} --to image")).ok();
    assert_eq!(sandbox.read("image"), sandbox.read("a"));
}

#[test]
fn an_address_in_a_decompressed_bundle_is_its_image() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("empty", "");
    let bundle = "--type o --target host-x86_64-unknown-linux-gnu-=empty --target hip-amdgcn-amd-amdhsa--gfx90a=a";
    sandbox.fatbin(&format!("bundle {bundle} -o plain")).ok();
    sandbox.fatbin(&format!("bundle {bundle} --compress -o once")).ok();
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json plain").ok()).unwrap();
    let image = &document["files"][0]["containers"][0]["images"][1];
    let address = |file: &str| format!("file://{file}#offset={}&size={}", image["offset"], image["size"]);
    for file in ["plain", "once"] {
        sandbox.fatbin(&format!("extract {} --to {file}.image", address(file))).ok();
        assert_eq!(sandbox.read(&format!("{file}.image")), sandbox.read("a"), "{file}");
        assert!(sandbox.fatbin(&format!("inspect {}", address(file))).ok().contains("answer_kernel"));
    }
    sandbox.file("twice", [sandbox.read("once"), sandbox.read("once")].concat());
    let run = sandbox.fatbin(&format!("extract {} --to twice.image", address("twice")));
    let why = format!(
        "2 compressed containers have an image of {} bytes at this offset of their decompressed bytes; extract the images \
         from the file instead\n",
        image["size"]
    );
    assert_eq!((run.status, run.err), (2, format!("fatbin: {}: {why}", address("twice"))));
    let run = sandbox.fatbin(&format!("extract file://once#offset=1&size={} --to none", image["size"]));
    assert_eq!(run.status, 2);
    assert!(run.err.contains(" is out of bounds ("), "{}", run.err);
}

#[test]
fn scan_and_inspect_accept_addresses() {
    let sandbox = object();
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json w.o").ok()).unwrap();
    let address = document["files"][0]["containers"][1]["images"][0]["address"].as_str().unwrap();
    let out = sandbox.fatbin(&format!("scan --json {address}")).ok();
    let again: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(again["files"][0]["path"], address);
    assert_eq!(again["files"][0]["containers"][0]["images"][0]["address"], address);
    assert!(sandbox.fatbin(&format!("inspect {address}")).ok().contains("answer_kernel"));
    for (address, why) in [
        (
            "memory://77#offset=1&size=2",
            "addresses in the memory of a process are not supported; use a file:// address",
        ),
        ("file://w.o#offset=1&size=99999999", "offset 1 with size 99999999 is out of bounds ("),
        ("file://w.o#size=1", "invalid address, expected file://PATH#offset=N&size=M"),
    ] {
        let run = sandbox.fatbin(&format!("scan {address}"));
        assert_eq!(run.status, 2);
        assert!(run.err.starts_with(&format!("fatbin: {address}: {why}")), "{}", run.err);
    }
}

#[test]
fn addresses_round_trip_for_unusual_file_names() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.fixture("answer-sm_90.cubin", "folder/a b#c%20?d&e.cubin");
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json folder").ok()).unwrap();
    let address = document["files"][0]["containers"][0]["images"][0]["address"].as_str().unwrap();
    assert!(address.starts_with("file://folder/a%20b%23c%2520%3Fd%26e.cubin#offset=0&size="), "{address}");
    sandbox.fatbin(&format!("extract {address} --to image")).ok();
    assert_eq!(sandbox.read("image"), crate::fixture("answer-sm_90.cubin"));
}

#[test]
fn filters_by_kernel_and_container() {
    let sandbox = object();
    let ptx = ".version 8.1\n.target sm_90\n.address_size 64\n.entry _Z4morePi() { ret; }";
    sandbox.file("more.ptx", ptx);
    let count =
        |selection: &str| sandbox.fatbin(&format!("extract w.o more.ptx -o out {selection}")).ok().lines().count();
    assert_eq!(count("--kernel answer"), 2);
    assert_eq!(count("--kernel ^answer_kernel$ --arch sm_90"), 1);
    assert_eq!(count("--kernel ^more\\(int"), 1);
    assert_eq!(count("--kernel more(int*)"), 1, "a name as it is, though as a pattern it means something else");
    assert_eq!(count("--kernel _Z4morePi --kernel answer_k"), 3);
    assert_eq!(count("--container offload-binary"), 2);
    assert_eq!(count("--container ptx"), 1);
    let run = sandbox.fatbin("extract w.o -o other --kernel answer --kernel nothing");
    assert_eq!(run.status, 1);
    assert!(
        run.err.starts_with("fatbin: w.o: no image matches kernel nothing; available: answer_kernel"),
        "{}",
        run.err
    );
    assert!(!sandbox.path("other").exists());
    let table = sandbox.fatbin("inspect w.o more.ptx --kernel more").ok();
    assert!(table.starts_with("more.ptx: image 0: ") && !table.contains("answer"), "{table}");
}

#[test]
fn reports_images_that_cannot_be_searched_for_a_kernel() {
    let sandbox = object();
    sandbox.file("m.bc", crate::BITCODE);
    sandbox.fatbin("pack -o p b --image file=m.bc,triple=amdgcn-amd-amdhsa,arch=gfx90a").ok();
    let run = sandbox.fatbin("extract p -o out --kernel answer");
    assert_eq!((run.status, run.out.lines().count()), (0, 1));
    let front = "fatbin: warning: p: image 0: not inspected for kernels: LLVM bitcode";
    assert!(run.err.starts_with(front), "{}", run.err);
    let run = sandbox.fatbin("inspect p --kernel answer");
    assert!(run.status == 0 && run.err.starts_with(front) && run.out.contains("answer_kernel"), "{run:?}");
}

#[test]
fn extracts_other_images_when_one_is_damaged() {
    use fatbin::View;
    use fatbin_core::format::cuda_fatbin::{FatbinImage, write};
    let sandbox = Sandbox::new();
    let (cubin, ptx) = (crate::fixture("answer-sm_90.cubin"), crate::fixture("answer-sm_80.ptx"));
    let members = [&cubin, &ptx].map(|image| FatbinImage::new(View::new(image), None).unwrap());
    let mut fatbin = write(&members).unwrap().to_vec();
    // The first entry is marked as LZ4 and is not compressed.
    for (at, value) in [(16, 500_u64), (41, 0x20), (56, 9000)] {
        fatbin[16 + at..][..2].copy_from_slice(&value.to_le_bytes()[..2]);
    }
    sandbox.file("a", fatbin).fixture("answer-gfx90a.hsaco", "b");
    for command in ["extract -o out --index", "extract -o libraries --archive", "inspect"] {
        let run = sandbox.fatbin(&format!("{command} a b"));
        assert_eq!((run.status, run.err.lines().count()), (2, 1), "{command}: {}", run.err);
        assert!(run.err.contains("cannot decompress: "), "{command}: {}", run.err);
        let lines = run.out.lines().filter(|line| line.contains("sm_80") || line.contains("gfx90a")).count();
        assert_eq!(lines, 2, "{command}: {}", run.out);
    }
    assert_eq!(sandbox.read("out/a.1-cuda-nvptx64-nvidia-cuda-sm_80.ptx").len(), ptx.len());
}

#[test]
fn extracts_other_files_of_a_directory_or_list_when_one_is_damaged() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("pack --compress -o one a").ok();
    sandbox.fatbin("pack -o two b").ok();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.file("folder/broken", [0x10, 0xff, 0x10, 0xad]).file("folder/one", sandbox.read("one"));
    sandbox.file("folder/two", sandbox.read("two")).file("list", "one\nmissing\nfolder/broken\ntwo\n");
    for (inputs, problems) in [("folder", 1), ("--files-from list", 2)] {
        for (command, count) in [("scan", 2), ("inspect", 2), ("extract -o out", 2)] {
            let run = sandbox.fatbin(&format!("{command} {inputs}"));
            assert_eq!((run.status, run.err.lines().count()), (2, problems), "{command} {inputs}: {}", run.err);
            let lines = run.out.lines().filter(|line| line.contains("one") || line.contains("two")).count();
            assert_eq!(lines, count, "{command} {inputs}: {}", run.out);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn reads_lists_in_any_encoding_and_continues_after_a_missing_list() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let name = std::ffi::OsStr::from_bytes(b"a\xff");
    std::fs::write(sandbox.path(".").join(name), crate::fixture("answer-sm_90.cubin")).unwrap();
    let out = sandbox.file("list", b"a\xff\n").fatbin("scan --files-from list").ok();
    assert!(out.contains("1 device image"), "{out}");
    let run = sandbox.fixture("answer-sm_90.cubin", "b").fatbin("scan b --files-from missing");
    assert_eq!((run.status, run.err.as_str()), (2, "fatbin: missing: cannot open: no such file or directory\n"));
    assert!(run.out.starts_with("b: elf, "), "{}", run.out);
}

#[cfg(unix)]
#[test]
fn extracts_more_files_than_may_be_open() {
    let sandbox = Sandbox::new();
    for number in 0..100 {
        sandbox.fixture("answer-sm_90.cubin", &format!("{number}.cubin"));
    }
    let run = sandbox.shell("ulimit -n 24; fatbin extract *.cubin -o out | wc -l");
    assert_eq!((run.out.trim(), run.err.as_str()), ("100", ""));
}

#[test]
fn rejects_a_file_that_changes_after_the_scan() {
    use fatbin::Scanner;
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a");
    let scanned = Scanner::default().scan([sandbox.path("a")]).next().unwrap().unwrap();
    assert_eq!(scanned.open().unwrap().images().count(), 1);
    sandbox.file("a", b"something else");
    let error = scanned.open().err().unwrap().to_string();
    assert!(error.ends_with("a: changed while it was being read"), "{error}");
}
