//! `strip`: images without debug information, in every container and in place.

use std::io::Write;

use crate::Sandbox;

const CUBIN: &str = "answer-sm_90-debug.cubin";
const CODE_OBJECT: &str = "answer-gfx90a-debug.hsaco";

/// Files with debug information, the number of their images, and whether they may get smaller.
const FILES: [(&str, usize, bool); 8] = [
    ("cubin", 1, true),
    ("amd", 1, true),
    ("cuda", 1, true),
    ("cuda.o", 1, true),
    ("cuda.obj", 1, false),
    ("offload", 2, true),
    ("bundle", 2, true),
    ("hip.o", 2, true),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture(CUBIN, "cubin").fixture(CODE_OBJECT, "amd").fixture("answer-gfx90a-xnack+.hsaco", "xnack");
    let ids = "--target host-x86_64-unknown-linux-gnu=/dev/null --target hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+=xnack \
               --target hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-=amd";
    sandbox.fatbin(&format!("bundle --raw --type o --align 4096 {ids} -o bundle")).ok();
    sandbox.fatbin("pack --kind cuda -o cuda cubin").ok();
    sandbox.fatbin("pack --abi llvm23 -o offload amd cubin").ok();
    sandbox.fatbin("wrap --kind cuda -o cuda.o cuda").ok();
    sandbox.fatbin("wrap --kind cuda --host x86_64-pc-windows-msvc -o cuda.obj cuda").ok();
    sandbox.fatbin("wrap --kind hip -o hip.o bundle").ok();
    sandbox
}

fn json(sandbox: &Sandbox, command: &str) -> serde_json::Value {
    serde_json::from_str(&sandbox.fatbin(command).ok()).unwrap()
}

/// Returns the kernels of each image of a file, with their registers and sizes.
fn kernels(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let document = json(sandbox, &format!("inspect --json {file}"));
    let images = document["files"][0]["images"].as_array().unwrap();
    let described = |image: &serde_json::Value| {
        let mut kernels = image["kernels"].clone();
        for kernel in kernels.as_array_mut().unwrap() {
            // The line of the source is debug information.
            kernel.as_object_mut().unwrap().remove("source");
        }
        format!("{} {kernels}", image["arch"])
    };
    images.iter().map(described).collect()
}

#[test]
fn debug_information_is_gone_from_every_container_and_kernels_stay() {
    let sandbox = sandbox();
    for (file, images, may_shrink) in FILES {
        let out = sandbox.fatbin(&format!("strip --device-debug -o out {file}")).ok();
        let stripped = images - usize::from(file == "bundle" || file == "hip.o");
        let noun = if stripped == 1 { "image" } else { "images" };
        assert!(out.starts_with(&format!("{file}: {stripped} {noun} stripped, ")), "{out}");
        let (before, after) = (sandbox.read(file).len(), sandbox.read("out").len());
        let sizes = format!("size {before} -> {after} bytes");
        assert!(out.lines().nth(1).is_some_and(|line| line.starts_with(&sizes)), "{out}");
        assert_eq!(after < before, may_shrink, "{file}: {before} -> {after}");
        assert_eq!(kernels(&sandbox, "out"), kernels(&sandbox, file), "{file}");
        sandbox.fatbin("verify out").ok();
        for lost in [&b".visible .entry"[..], b"/answer.c\0"] {
            assert!(!sandbox.read("out").windows(lost.len()).any(|bytes| bytes == lost), "{file}");
        }
        let again = sandbox.fatbin("strip --device-debug -o again out").ok();
        let noun = if images == 1 { "image" } else { "images" };
        assert!(again.starts_with(&format!("out: no debug information in {images} device {noun}\n")), "{again}");
        assert!(sandbox.read("again") == sandbox.read("out"));
    }
}

#[test]
fn states_the_bytes_that_it_saves_as_stored_and_decompressed() {
    let sandbox = sandbox();
    sandbox.fatbin("transcode --to zstd -o packed cuda").ok();
    let out = sandbox.fatbin("strip --device-debug -o out packed").ok();
    let words: Vec<&str> = out.split_whitespace().collect();
    let [stored, decompressed] = [4, 9].map(|word| words[word].parse::<usize>().unwrap());
    assert_eq!(stored, sandbox.read("packed").len() - sandbox.read("out").len());
    sandbox.fatbin("strip --device-debug -o plain cubin").ok();
    assert_eq!(decompressed, sandbox.read("cubin").len() - sandbox.read("plain").len());
    assert_ne!(stored, decompressed);
    sandbox.shell("fatbin strip --device-debug -o - cubin | cmp - plain").ok();
}

#[test]
fn members_of_wheels_and_libraries_are_stripped() {
    let sandbox = sandbox();
    let wheel_with = |hash: &str, name: &str| {
        let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let cubin = sandbox.read("cubin");
        let record = format!("p/kernel.cubin,sha256={hash},{}\np-1.dist-info/RECORD,,\n{name},,\n", cubin.len());
        for (name, bytes) in [("p/kernel.cubin", &*cubin), ("p-1.dist-info/RECORD", record.as_bytes()), (name, b"")] {
            wheel.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            wheel.write_all(bytes).unwrap();
        }
        wheel.finish().unwrap().into_inner()
    };
    // A member that its record contradicts does not get a hash that looks right.
    sandbox.file("other.whl", wheel_with("x", "p/text"));
    let run = sandbox.fatbin("strip --device-debug -o new.whl other.whl");
    let (_, hash) = run.err.split_once("differs from RECORD, which states sha256=x; the file has sha256=").unwrap();
    assert_eq!((run.status, sandbox.path("new.whl").exists()), (2, false));
    let wheel = |name: &str| wheel_with(hash.trim_end(), name);
    sandbox.file("p.whl", wheel("p/text")).file("signed.whl", wheel("p-1.dist-info/RECORD.jws"));
    let out = sandbox.fatbin("strip --device-debug -o new.whl p.whl").ok();
    assert!(out.starts_with("p.whl!p/kernel.cubin: 1 image stripped, "), "{out}");
    let mut new = zip::ZipArchive::new(std::io::Cursor::new(sandbox.read("new.whl"))).unwrap();
    let record = std::io::read_to_string(new.by_name("p-1.dist-info/RECORD").unwrap()).unwrap();
    assert!(record.starts_with("p/kernel.cubin,sha256=") && !record.contains(hash.trim_end()), "{record}");
    let run = sandbox.fatbin("strip --device-debug -o new.whl signed.whl");
    assert_eq!(run.status, 2);
    assert!(
        run.err.contains("signed.whl: signed (RECORD of a wheel), and a change breaks the signature"),
        "{}",
        run.err
    );
    let run = sandbox.fatbin("strip --device-debug --break-signature -o unsigned.whl signed.whl");
    let expected = "signed.whl: its signature (RECORD of a wheel) is no longer valid; sign the result again";
    assert!(run.status == 0 && run.err.contains(expected), "{}", run.err);
    // A member that stays as it is, and contradicts its row.
    let mut rows = zip::ZipArchive::new(std::io::Cursor::new(sandbox.read("p.whl"))).unwrap();
    let record = std::io::read_to_string(rows.by_name("p-1.dist-info/RECORD").unwrap()).unwrap();
    let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let record = record + "p/other.py,sha256=x,3\n";
    let cubin = sandbox.read("cubin");
    for (name, bytes) in [
        ("p/other.py", &b"abc"[..]),
        ("p/kernel.cubin", &cubin),
        ("p/text", b""),
        ("p-1.dist-info/RECORD", record.as_bytes()),
    ] {
        wheel.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        wheel.write_all(bytes).unwrap();
    }
    sandbox.file("tampered.whl", wheel.finish().unwrap().into_inner());
    let run = sandbox.fatbin("strip --device-debug -o untampered.whl tampered.whl");
    assert_eq!((run.status, sandbox.path("untampered.whl").exists()), (2, false), "{}", run.err);
    assert!(run.err.contains("p/other.py differs from RECORD, which states sha256=x"), "{}", run.err);

    let member = |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
    let cubin = sandbox.read("cubin");
    let library = [b"!<arch>\n", member("k/", cubin.len()).as_bytes(), &cubin].concat();
    sandbox.file("lib.a", &library);
    sandbox.fatbin("strip --device-debug -i lib.a").ok();
    sandbox.fatbin("strip --device-debug -o plain cubin").ok();
    let plain = sandbox.read("plain");
    assert!(sandbox.read("lib.a") == [b"!<arch>\n", member("k/", plain.len()).as_bytes(), &plain].concat());
}

#[test]
fn files_without_device_code_and_wrong_usage_are_no_success() {
    let sandbox = sandbox();
    sandbox.file("text", "text");
    let run = sandbox.fatbin("strip --device-debug -o out text");
    assert_eq!((run.status, run.err.as_str()), (1, "fatbin: text: no device images\n"));
    assert!(!sandbox.path("out").exists());
    for (arguments, message) in [
        ("strip -o out cubin", "--device-debug"),
        ("strip --device-debug cubin", "<--output <OUT>|--dry-run|--in-place>"),
        ("strip --device-debug -i -o out cubin", "cannot be used with"),
        ("strip --device-debug -o cubin cubin", "cubin: is both input and output; use --in-place to replace it"),
        ("strip --device-debug -i -", "--in-place: standard input is not a file; use -o"),
    ] {
        let run = sandbox.fatbin(arguments);
        assert_eq!(run.status, 2, "{arguments}");
        assert!(run.err.contains(message), "{}", run.err);
    }
    let mut damaged = sandbox.read("cubin");
    damaged[0x28] = 0xff;
    damaged[0x2f] = 0xff;
    let run = sandbox.file("damaged", damaged).fatbin("strip --device-debug -i damaged");
    assert_eq!(run.status, 2, "{}", run.err);
}

#[test]
fn symbols_that_nothing_reads_are_gone_and_answers_stay() {
    let sandbox = sandbox();
    let answers = |file: &str| {
        let select = sandbox.fatbin(&format!("select --json --device gfx90a:xnack- {file}")).out;
        // The offsets of images and the size of the file differ.
        let lines = select.lines().filter(|line| !line.contains("offset") && !line.contains("\"path\""));
        (lines.map(str::to_owned).collect::<Vec<_>>(), kernels(&sandbox, file))
    };
    for (file, images, _) in FILES {
        let out = sandbox.fatbin(&format!("strip --device-symbols -o out {file}")).ok();
        let has_code_object = !file.starts_with("cu");
        if has_code_object {
            assert!(out.starts_with(&format!("{file}: 1 image stripped, ")), "{out}");
            assert!(sandbox.read("out").len() < sandbox.read(file).len(), "{file}");
        } else {
            let image = if images == 1 { "image" } else { "images" };
            let text = format!("{file}: no symbols that nothing reads in {images} device {image}\n");
            assert!(out.starts_with(&text), "{out}");
        }
        assert!(!sandbox.read("out").windows(9).any(|bytes| bytes == b".num_vgpr"), "{file}");
        assert_eq!(answers("out"), answers(file), "{file}");
        sandbox.fatbin("verify out").ok();
        let both = sandbox.fatbin(&format!("strip --device-symbols --device-debug -o both {file}")).ok();
        assert!(both.contains(" stripped, "), "{both}");
    }
    let run = sandbox.fatbin("strip -o out cubin");
    assert!(run.status == 2 && run.err.contains("--device-debug"), "{}", run.err);
}
