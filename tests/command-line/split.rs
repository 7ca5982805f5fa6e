//! `fatbin split` and `fatbin join`: identities, damage, and what is left alone.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;

use crate::{Run, Sandbox};

/// Returns a directory with files of every kind that can be split.
fn sandbox() -> (Sandbox, Vec<&'static str>) {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-gfx90a-xnack+.hsaco", "x");
    sandbox.fixture("answer-sm_90.cubin", "c").fixture("answer-sm_80.ptx", "p.ptx");
    let targets = "--target host-x86_64-unknown-linux-gnu=/dev/null --target hipv4-amdgcn-amd-amdhsa--gfx90a=a";
    sandbox
        .fatbin("wrap --allow-missing-kernels --kind hip --entry k=k -o hip.o --image file=a,arch=gfx90a:xnack- x")
        .ok();
    sandbox.fatbin("wrap --kind openmp -o openmp.o a c").ok();
    sandbox.fatbin("wrap --kind cuda -o cuda.o c p.ptx").ok();
    sandbox.fatbin("pack --kind cuda --compress=zstd -o zstd.fatbin c p.ptx").ok();
    sandbox.fatbin("pack --kind cuda --concat --compress=zstd -o group.fatbin c p.ptx").ok();
    sandbox.fatbin("pack --compress -o packed a c").ok();
    sandbox.fatbin(&format!("bundle --raw --type o --compress -o ccob {targets}")).ok();
    sandbox.fatbin(&format!("bundle --raw --type o -o bundle {targets}")).ok();
    let files = ["hip.o", "openmp.o", "cuda.o", "zstd.fatbin", "group.fatbin", "packed", "ccob", "bundle", "a"];
    (sandbox, files.to_vec())
}

fn index(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&sandbox.read("parts/index.json")).unwrap()
}

#[test]
fn joining_restores_the_identical_file() {
    let (sandbox, files) = sandbox();
    for file in files {
        std::fs::set_permissions(sandbox.path(file), PermissionsExt::from_mode(0o751)).unwrap();
        sandbox.fatbin(&format!("split {file} -o parts")).ok();
        let host = sandbox.read(&format!("parts/{file}"));
        assert_ne!(host, sandbox.read(file), "{file}");
        assert_eq!(host.len(), sandbox.read(file).len());
        let parts = index(&sandbox)["parts"].as_array().unwrap().len();
        crate::schema::check_document(&sandbox, "split", &index(&sandbox));
        assert_eq!(std::fs::read_dir(sandbox.path("parts")).unwrap().count(), 2 + parts, "{file}");
        assert_eq!(sandbox.fatbin("join parts -o joined").ok(), "");
        assert_eq!(sandbox.read("joined"), sandbox.read(file), "{file}");
        for path in ["joined".to_owned(), format!("parts/{file}")] {
            let mode = std::fs::metadata(sandbox.path(&path)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o751, "{path}");
        }
        for name in ["joined", "parts"].map(|name| sandbox.path(name)) {
            if name.is_dir() { std::fs::remove_dir_all(name) } else { std::fs::remove_file(name) }.unwrap();
        }
    }
}

#[test]
fn each_processor_has_a_part_and_code_that_is_compressed_as_one_stays_together() {
    let (sandbox, _) = sandbox();
    let out = sandbox.fatbin("split hip.o -o parts").ok();
    let expected = "parts/hip.o.gfx90a_xnack+.part: 3456 bytes, 1 image for gfx90a:xnack+
parts/hip.o.gfx90a_xnack-.part: 3456 bytes, 1 image for gfx90a:xnack-
parts/hip.o.containers.part: 210 bytes, headers of containers\n";
    assert!(out.ends_with(expected), "{out}");
    assert_eq!(sandbox.read("parts/hip.o.gfx90a_xnack-.part"), sandbox.read("a"));
    let run = sandbox.fatbin("scan parts/hip.o");
    assert!(run.out.starts_with("parts/hip.o: elf,") && run.out.contains("no device images"), "{}", run.out);
    sandbox.fatbin("split packed -o packed.parts").ok();
    // The padding after it is not a part of a compressed binary.
    assert!(sandbox.read("packed").starts_with(&sandbox.read("packed.parts/packed.shared.part")));
}

#[test]
fn files_without_device_code_and_packages_are_left_alone() {
    let (sandbox, _) = sandbox();
    let run = sandbox.file("text", "nothing").fatbin("split text -o parts");
    assert_eq!((run.status, run.err.as_str()), (1, "fatbin: text: nothing to do: no device code\n"));
    sandbox.shell("tar -cf all.tar a c").ok();
    let run = sandbox.fatbin("split all.tar -o parts");
    assert_eq!(
        (run.status, run.err.as_str()),
        (2, "fatbin: all.tar: is an archive; unpack it and split the files in it\n")
    );
    assert_eq!(sandbox.fatbin("split missing -o parts").status, 2);
    assert_eq!(sandbox.fatbin("split hip.o -o parts --compress").status, 2);
    assert!(!sandbox.path("parts").exists());
    sandbox.fatbin("split hip.o -o parts").ok();
    // Again, with the same result.
    let before = index(&sandbox);
    sandbox.fatbin("split hip.o -o parts").ok();
    assert_eq!(index(&sandbox), before);
    let run = sandbox.fatbin("split cuda.o -o parts");
    assert_eq!(
        (run.status, run.err.as_str()),
        (2, "fatbin: parts: has the parts of hip.o; specify another directory\n")
    );
    assert!(!sandbox.path("parts/cuda.o").exists());
}

fn fails(sandbox: &Sandbox, message: &str) {
    let Run { status, out, err } = sandbox.fatbin("join parts -o joined");
    assert_eq!((status, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert!(err.contains(message), "{message}: {err}");
    assert!(!sandbox.path("joined").exists());
}

#[test]
fn joining_writes_nothing_if_anything_differs_from_the_index() {
    let (sandbox, _) = sandbox();
    sandbox.fatbin("split hip.o -o parts").ok();
    let text = String::from_utf8(sandbox.read("parts/index.json")).unwrap();
    for (file, message) in [
        ("hip.o.gfx90a_xnack-.part", "parts/hip.o.gfx90a_xnack-.part: SHA-256 differs from the index: "),
        ("hip.o", "parts/hip.o: SHA-256 differs from the index: "),
    ] {
        let path = format!("parts/{file}");
        let good = sandbox.read(&path);
        let mut bad = good.clone();
        bad[100] ^= 1;
        sandbox.file(&path, bad);
        fails(&sandbox, message);
        sandbox.file(&path, &good[1..]);
        fails(&sandbox, "size differs from the index: ");
        std::fs::remove_file(sandbox.path(&path)).unwrap();
        fails(&sandbox, &format!("{path}: cannot open: "));
        sandbox.file(&path, good);
    }
    let document = index(&sandbox);
    let hash = document["sha256"].as_str().unwrap();
    sandbox.file("parts/index.json", text.replacen(hash, &"0".repeat(64), 1));
    fails(&sandbox, "joined: SHA-256 differs from the index: ");
    sandbox.file("parts/index.json", text.replace("hip.o.gfx90a_xnack-.part", "../a"));
    fails(&sandbox, "is not the name of a file in the directory");
    let offset = document["parts"][0]["spans"][0]["offset"].to_string();
    sandbox.file("parts/index.json", text.replace(&format!("\"offset\": {offset},"), "\"offset\": 1000000,"));
    fails(&sandbox, "the span at 1000000 has another size, or ends after the file");
    sandbox.file("parts/index.json", "{");
    fails(&sandbox, "parts/index.json: not an index of fatbin split: ");
    sandbox.file("parts/index.json", text).fatbin("join parts -o joined").ok();
}

#[test]
fn hip_finds_the_code_in_kpack_archives_and_joining_restores_the_file() {
    let (sandbox, _) = sandbox();
    let original = sandbox.read("hip.o");
    for compress in ["", " --compress", " --compress=19"] {
        let out = sandbox.fatbin(&format!("split hip.o -o parts --to kpack{compress}")).ok();
        assert_eq!(out.lines().count(), 3, "{out}");
        crate::schema::check_document(&sandbox, "split", &index(&sandbox));
        sandbox.fatbin("verify parts/hip.o parts/.kpack").ok();
        for device in ["gfx90a:sramecc+:xnack+", "gfx90a:sramecc+:xnack-"] {
            sandbox.fatbin(&format!("select --device {device} parts/hip.o")).ok();
        }
        let xnack = sandbox.fatbin("select --device gfx90a:sramecc+:xnack+ parts/hip.o").ok();
        assert!(xnack.contains("hip.o_gfx90a:xnack+.kpack"), "{xnack}");
        assert_eq!(sandbox.fatbin("select --device gfx1100 parts/hip.o").status, 1);
        // Only the wrapper and the place of the bundle differ.
        let run = sandbox.fatbin("split parts/hip.o -o again --to kpack");
        let message = "fatbin: parts/hip.o: nothing to do: its device code is in kpack archives\n";
        assert_eq!((run.status, run.err.as_str()), (1, message));
        assert!(!sandbox.path("again").exists());
        sandbox.fatbin("join parts -o joined").ok();
        assert_eq!(sandbox.read("joined"), original, "{compress}");
    }
}

#[test]
fn only_registered_code_objects_for_amd_are_moved_to_archives() {
    let (sandbox, _) = sandbox();
    let cases = [
        ("cuda.o", "no HIP wrapper registers its device code; use --to files"),
        ("bundle", "not an ELF or PE file; use --to files"),
    ];
    for (file, message) in cases {
        let run = sandbox.fatbin(&format!("split {file} -o parts --to kpack"));
        assert_eq!((run.status, run.err), (2, format!("fatbin: {file}: {message}\n")));
    }
    // OpCapability Kernel, OpMemoryModel Physical64 OpenCL.
    let words: [u32; 10] = [0x0723_0203, 0x0001_0400, 0, 8, 0, 2 << 16 | 17, 6, 3 << 16 | 14, 2, 2];
    // OpTypeVoid, OpTypeFunction, OpFunction, OpLabel, OpReturn, OpFunctionEnd.
    let function =
        [2 << 16 | 19, 1, 3 << 16 | 33, 2, 1, 5 << 16 | 54, 1, 3, 0, 2, 2 << 16 | 248, 4, 1 << 16 | 253, 1 << 16 | 56];
    sandbox.file("module.spv", words.into_iter().chain(function).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let targets = "--target hipv4-amdgcn-amd-amdhsa--gfx90a=a --target hip-spirv64-amd-amdhsa--amdgcnspirv=module.spv";
    sandbox.fatbin(&format!("bundle --raw --type o -o mixed {targets}")).ok();
    sandbox.fatbin("wrap --allow-missing-kernels --kind hip --entry k=k -o spirv.o mixed").ok();
    let run = sandbox.fatbin("split spirv.o -o parts --to kpack");
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(
        run.err.contains("spirv for amdgcnspirv; kpack archives hold ELF code objects for AMD only"),
        "{}",
        run.err
    );
}

#[test]
fn an_archive_of_a_compressed_bundle_cannot_be_joined() {
    let (sandbox, _) = sandbox();
    sandbox.fatbin("wrap --allow-missing-kernels --kind hip --entry k=k -o compressed.o ccob").ok();
    sandbox.fatbin("split compressed.o -o parts --to kpack").ok();
    sandbox.fatbin("verify parts/compressed.o parts/.kpack").ok();
    sandbox.fatbin("select --device gfx90a parts/compressed.o").ok();
    assert_eq!(sandbox.fatbin("extract --arch gfx90a -o out parts/.kpack").status, 0);
    crate::schema::check_document(&sandbox, "split", &index(&sandbox));
    fails(&sandbox, "is compressed; compressing its images again does not give the same bytes");
}

/// The index of another name states the same file, so following the name would succeed.
#[test]
fn joining_reads_no_part_outside_of_the_directory() {
    let (sandbox, _) = sandbox();
    sandbox.fatbin("split hip.o -o d/parts").ok();
    let index: Value = serde_json::from_slice(&sandbox.read("d/parts/index.json")).unwrap();
    std::fs::create_dir(sandbox.path("d/parts/sub")).unwrap();
    for copy in ["host", "d/host", "d/parts/host", "d/parts/sub/host", "d/parts/\u{202e}host"] {
        std::fs::copy(sandbox.path("d/parts/hip.o"), sandbox.path(copy)).unwrap();
    }
    for (target, link) in [("../host", "file"), ("..", "directory"), ("sub", "inside"), ("sub/host", "near")] {
        symlink(target, sandbox.path("d/parts").join(link)).unwrap();
    }
    let absolute = sandbox.path("host").display().to_string();
    let elsewhere = ["../host", "../../host", "sub/../host", "./host", "sub//host", "", ".", "..", &absolute];
    let elsewhere = elsewhere.map(|name| (name, "is not the name of a file in the directory"));
    let links = ["file", "directory/host", "inside/host", "near"].map(|name| (name, "is a symbolic link"));
    for (name, message) in elsewhere.into_iter().chain(links).chain([("\u{202e}host", "has control characters")]) {
        let mut changed = index.clone();
        changed["host"]["file"] = name.into();
        sandbox.file("d/parts/index.json", changed.to_string());
        let run = sandbox.fatbin("join d/parts -o joined");
        assert!(run.status == 2 && run.err.contains(message), "{name:?}: {}", run.err);
        assert!(!sandbox.path("joined").exists(), "{name:?}");
    }
    let mut changed = index;
    changed["host"]["file"] = "sub/host".into();
    sandbox.file("d/parts/index.json", changed.to_string()).fatbin("join d/parts -o joined").ok();
    assert_eq!(sandbox.read("joined"), sandbox.read("hip.o"));
}

#[test]
fn a_name_that_no_index_states_is_refused_before_anything_is_written() {
    let (sandbox, _) = sandbox();
    std::fs::copy(sandbox.path("hip.o"), sandbox.path("\u{202e}o.pih")).unwrap();
    let run = sandbox.fatbin("split \u{202e}o.pih -o parts");
    let expected = "fatbin: \\u{202e}o.pih: \"\\u{202e}o.pih\" has control characters, or others that are not displayed; \
                    rename the file\n";
    assert_eq!((run.status, run.err.as_str()), (2, expected));
    assert!(!sandbox.path("parts").exists());
}
