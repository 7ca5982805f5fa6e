//! Truncated files, and files that pack others and are not opened.

use std::io::Write;

use crate::{Sandbox, fixture};

/// Cuts of a file, in percent of its size.
const PERCENT: [usize; 11] = [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99];

/// Commands that take a file, and that must not accept a cut one.
const COMMANDS: [&str; 4] = ["scan", "verify", "lock -o lock", "check --policy policy"];

/// Returns a directory with a policy that every file meets.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("policy", "").fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fixture("answer-sm_80.ptx", "c.ptx");
    sandbox
}

/// Requires status 2 of all commands for a file, and that no lock is written.
fn rejected(sandbox: &Sandbox, name: &str, context: &str) {
    for command in COMMANDS {
        let run = sandbox.fatbin(&format!("{command} {name}"));
        assert_eq!(run.status, 2, "{command}, {context}: {}{}", run.out, run.err);
        assert!(!sandbox.path("lock").exists(), "{context}");
    }
}

/// Bytes of a tar file that identify it: its magic is inside of the first header.
const TAR_MAGIC_END: usize = 262;

/// Cuts a file at all percentages and `borders`, and requires that no command accepts the result.
fn cuts_are_rejected(sandbox: &Sandbox, name: &str, borders: &[usize]) {
    let whole = sandbox.read(name);
    assert_eq!(sandbox.fatbin(&format!("check --policy policy {name}")).status, 0, "{name} is intact");
    assert_eq!(sandbox.fatbin(&format!("verify {name}")).status, 0, "{name} is intact");
    // Nothing refers to the second block of zeros that ends a tar file.
    let is_noticed = |end: &&usize| !name.ends_with(".tar") || (TAR_MAGIC_END..whole.len() - 512).contains(end);
    let percentages = PERCENT.map(|percent| whole.len() * percent / 100);
    for &end in percentages.iter().filter(is_noticed).chain(borders) {
        sandbox.file("cut", &whole[..end]);
        rejected(sandbox, "cut", &format!("{name} cut to {end} of {} bytes", whole.len()));
    }
}

#[test]
fn no_command_accepts_a_cut_object() {
    let sandbox = sandbox();
    for (kind, images) in [("openmp", "a b c.ptx"), ("cuda", "b c.ptx"), ("hip", "a")] {
        sandbox.fatbin(&format!("wrap --kind {kind} -o w.o {images}")).ok();
        let headers_at = u64::from_le_bytes(sandbox.read("w.o")[40..48].try_into().unwrap()) as usize;
        cuts_are_rejected(&sandbox, "w.o", &[64, headers_at, headers_at + 64]);
    }
}

#[test]
fn no_command_accepts_a_cut_image_or_container() {
    let sandbox = sandbox();
    sandbox.file("none", "").fatbin("pack -o packed a b").ok();
    let targets = "--target host-x86_64-unknown-linux-gnu=none --target hipv4-amdgcn-amd-amdhsa--gfx90a=a";
    sandbox.fatbin(&format!("bundle --raw --type o -o bundle {targets}")).ok();
    sandbox.fatbin(&format!("bundle --raw --type o --compress -o ccob {targets}")).ok();
    for name in ["a", "b", "packed", "bundle", "ccob"] {
        cuts_are_rejected(&sandbox, name, &[]);
    }
    // The directives of the module identify PTX.
    let ptx = sandbox.read("c.ptx");
    let last = ptx.iter().rposition(|&byte| byte == b'}').unwrap();
    for end in [100, 200, 300, 400, last] {
        sandbox.file("cut", &ptx[..end]);
        rejected(&sandbox, "cut", &format!("PTX cut to {end} bytes"));
    }
}

#[test]
fn no_command_accepts_a_cut_archive() {
    let sandbox = sandbox();
    let (one, two) = (sandbox.read("a"), sandbox.read("b"));
    let mut tar = tar::Builder::new(Vec::new());
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in [("one", &one), ("two", &two)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, &bytes[..]).unwrap();
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        zip.start_file(name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    let tar = tar.into_inner().unwrap();
    let second = 512 + one.len().next_multiple_of(512);
    // A tar file ends with two blocks of zeros; one suffices.
    let contents = tar.len() - 1024;
    sandbox.file("a.tar", &tar).file("a.zip", zip.finish().unwrap().into_inner());
    cuts_are_rejected(&sandbox, "a.tar", &[512, second, second + 512, contents]);
    cuts_are_rejected(&sandbox, "a.zip", &[30 + 3 + one.len()]);
    sandbox.file("cut.tar", &tar[..second]);
    let run = sandbox.fatbin("scan cut.tar");
    assert!(run.out.contains("gfx90a"), "members before the cut are listed: {}", run.out);
    assert_eq!(
        run.err,
        format!("fatbin: cut.tar: tar end marker at {second:#x}: truncated: need 512 bytes, 0 available\n")
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar).unwrap();
    let compressed = [("a.gz", gzip.finish().unwrap()), ("a.zst", zstd::encode_all(&tar[..], 1).unwrap())];
    for (name, bytes) in compressed {
        sandbox.file(name, &bytes);
        cuts_are_rejected(&sandbox, name, &[bytes.len() - 1]);
        let run = sandbox.fatbin("scan cut");
        assert!(run.err.starts_with("fatbin: cut: cannot be unpacked: "), "{name}: {}", run.err);
    }
}

#[test]
fn images_that_are_not_whole_are_reported_in_containers() {
    let sandbox = sandbox();
    let ptx = fixture("answer-sm_80.ptx");
    sandbox.file("cut.ptx", &ptx[..300]).file("intact", "[images]\nintact = true\n");
    sandbox.fatbin("pack -o packed --image file=cut.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda").ok();
    let run = sandbox.fatbin("verify packed");
    assert_eq!(run.status, 2);
    assert!(run.err.contains(": truncated: the data ends inside"), "{}", run.err);
    assert_eq!(sandbox.fatbin("check --policy intact packed").status, 1);
    assert_eq!(sandbox.fatbin("lock -o lock packed").status, 2);
}

#[test]
fn wrap_rejects_cut_fat_binaries_and_images() {
    let sandbox = sandbox();
    sandbox.file("none", "").fatbin("wrap --kind cuda -o w.o b c.ptx").ok();
    let object = sandbox.read("w.o");
    let start = object.windows(4).position(|bytes| bytes == [0x50, 0xed, 0x55, 0xba]).unwrap();
    let size = 16 + u64::from_le_bytes(object[start + 8..start + 16].try_into().unwrap()) as usize;
    sandbox.file("fatbin", &object[start..start + size]);
    let targets = "--target host-x86_64-unknown-linux-gnu=none --target hipv4-amdgcn-amd-amdhsa--gfx90a=a";
    sandbox.fatbin(&format!("bundle --raw --type o -o bundle {targets}")).ok();
    sandbox.fatbin(&format!("bundle --raw --type o --compress -o ccob {targets}")).ok();
    for (kind, name) in
        [("cuda", "fatbin"), ("hip", "bundle"), ("hip", "ccob"), ("cuda", "c.ptx"), ("cuda", "b"), ("hip", "a")]
    {
        let whole = sandbox.read(name);
        sandbox.fatbin(&format!("wrap --kind {kind} -o whole.o {name}")).ok();
        for end in [100, whole.len() / 2, whole.len() - 2] {
            sandbox.file("cut", &whole[..end]);
            let run = sandbox.fatbin(&format!("wrap --kind {kind} -o cut.o cut"));
            assert_eq!((run.status, run.err.lines().count()), (2, 1), "{name} cut to {end}: {}", run.err);
            assert!(run.err.starts_with("fatbin: cut: "), "{}", run.err);
            assert!(!sandbox.path("cut.o").exists());
        }
    }
}

/// Files of formats that are not opened: their first bytes, the name of the format and its description.
const UNOPENED: [(&[u8], &str, &str); 4] = [
    (b"\x1f\x9d\x90\x68\x02", "compress", "compress-compressed"),
    (b"7z\xbc\xaf\x27\x1c\0\x04", "7z", "7z archive"),
    (b"Rar!\x1a\x07\x01\0", "rar", "rar archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "ole", "compound file of MSI"),
];

#[test]
fn a_file_that_is_not_opened_is_reported_by_every_command() {
    let sandbox = sandbox();
    for (bytes, name, description) in UNOPENED {
        sandbox.file("package", bytes);
        let line = format!("fatbin: package: not opened: {description}; unpack it and specify the files in it\n");
        for command in COMMANDS {
            let run = sandbox.fatbin(&format!("{command} package"));
            assert_eq!((run.status, &run.err), (2, &line), "{command}: {}", run.out);
        }
        assert!(!sandbox.path("lock").exists(), "the lock would be incomplete");
        let out = sandbox.fatbin("scan package").out;
        assert!(out.contains(&format!("\n  not opened: {description}\n")), "{out}");
        assert!(out.lines().any(|line| line.starts_with("  not opened  ") && line.ends_with("package")), "{out}");
        assert!(sandbox.fatbin("scan --json package").out.contains(&format!("\"not_opened\": \"{name}\"")));
        let check = sandbox.fatbin("check --policy policy package");
        assert_eq!(
            check.out.lines().next(),
            Some(format!("package: undecided: readable: not opened: {description}").as_str())
        );
        for command in ["inspect", "extract -o out", "select --device gfx90a", "diff package"] {
            assert_eq!(sandbox.fatbin(&format!("{command} package")).status, 2, "{command}");
        }
    }
}

#[test]
fn scan_finds_images_beside_a_file_that_is_not_opened() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("dist")).unwrap();
    sandbox.file("dist/source.tar.Z", UNOPENED[0].0).file("dist/text", "text");
    let line = "fatbin: dist/source.tar.Z: not opened: compress-compressed; unpack it and specify the files in it\n";
    // The answer "none" would be wrong, the answer "some" is right.
    let run = sandbox.fatbin("scan dist");
    assert_eq!((run.status, run.err.as_str()), (2, line), "{}", run.out);
    sandbox.fixture("answer-gfx90a.hsaco", "dist/a");
    let run = sandbox.fatbin("scan dist");
    assert_eq!((run.status, run.err.as_str()), (0, line), "{}", run.out);
    assert_eq!(sandbox.fatbin("verify dist").status, 2);
    assert_eq!(sandbox.fatbin("check --policy policy dist").status, 2);
    sandbox.file("skipping", "skip = [\"*.tar.Z\"]\n");
    assert_eq!(sandbox.fatbin("check --policy skipping dist").status, 0);
}

/// A section for device code in an unknown form hides a negative answer. A call does not.
#[test]
fn signs_of_device_code_are_listed_and_are_not_the_answer_that_there_is_none() {
    let sandbox = Sandbox::new();
    sandbox.file("policy", "must-hold = []\n");
    let code = "void cuModuleLoadData(void); void f(void) { cuModuleLoadData(); }\n";
    sandbox.file("call.c", code).shell("cc -c -o call.o call.c").ok();
    let section = "__attribute__((section(\".mt_fatbin\"))) const char code[] = \"of an unknown form\";\n";
    sandbox.file("section.c", section).shell("cc -c -o section.o section.c").ok();
    let run = sandbox.fatbin("scan call.o");
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.out.ends_with("  calls       call.o: cuModuleLoadData\n"), "{}", run.out);
    assert!(sandbox.fatbin("call.o").out.contains("  calls       call.o: cuModuleLoadData\n"));
    sandbox.shell("cc -shared -fPIC -o libcall.so call.c && tar -czf call.tar.gz libcall.so").ok();
    let run = sandbox.fatbin("scan call.tar.gz");
    let line = "  calls       call.tar.gz: cuModuleLoadData\n";
    assert!(run.status == 1 && run.out.ends_with(line), "{}", run.out);
    let check = sandbox.fatbin("check --policy policy call.o");
    assert!(check.out.starts_with("call.o: holds-device-code: no device code\n"), "{}", check.out);
    let run = sandbox.fatbin("scan section.o");
    let line = "  device code of an unknown kind: section .mt_fatbin, 19 bytes\n";
    assert!(run.status == 2 && run.out.contains(line), "{}", run.out);
    let check = sandbox.fatbin("check --policy policy section.o");
    let line = "section.o: undecided: readable: device code of an unknown kind: section .mt_fatbin";
    assert_eq!((check.status, check.out.lines().next()), (2, Some(line)), "{}", check.out);
    let document: serde_json::Value = serde_json::from_str(&sandbox.fatbin("scan --json section.o").out).unwrap();
    assert_eq!(
        document["files"][0]["signs"],
        serde_json::json!([{"kind": "section", "name": ".mt_fatbin", "size": 19}])
    );
    sandbox.shell("mkdir d; cp section.o call.o d").ok();
    let run = sandbox.fatbin("scan d");
    assert!(run.out.contains("d/section.o: ") && !run.out.contains("d/call.o: elf"), "{}", run.out);
    sandbox.shell("rm d/section.o").ok();
    let run = sandbox.fatbin("scan d");
    assert!(run.status == 1 && run.out.starts_with("  searched    d\n  looked for  offload"), "{}", run.out);
}

#[test]
fn archives_nested_too_deep_are_not_opened() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("a");
    for depth in 1..=10 {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        zip.start_file("m", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
        bytes = zip.finish().unwrap().into_inner();
        let run = sandbox.file("nested.zip", &bytes).fatbin("verify nested.zip");
        if depth <= 8 {
            assert_eq!((run.status, run.err.as_str()), (0, ""), "{depth}");
        } else {
            assert_eq!(run.status, 2, "{depth}");
            let line = "fatbin: nested.zip!m!m!m!m!m!m!m!m: not opened: inside of too many archives; ";
            assert!(run.err.starts_with(line), "{}", run.err);
        }
    }
}

#[test]
fn images_in_sparse_members_of_tar_files_are_found() {
    let sandbox = sandbox();
    sandbox.fatbin("pack -o packed a").ok();
    let image = sandbox.read("packed");
    let mut header = tar::Header::new_gnu();
    header.set_path("sparse").unwrap();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_size(image.len() as u64);
    let gnu = header.as_gnu_mut().unwrap();
    let octal = |field: &mut [u8; 12], value: usize| field[..11].copy_from_slice(format!("{value:011o}").as_bytes());
    octal(&mut gnu.sparse[0].offset, 1 << 20);
    octal(&mut gnu.sparse[0].numbytes, image.len());
    octal(&mut gnu.realsize, (1 << 20) + image.len());
    header.set_cksum();
    let mut bytes = [header.as_bytes(), &image[..]].concat();
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    let run = sandbox.file("s.tar", bytes).fatbin("scan s.tar");
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(
        run.out.contains("s.tar!sparse: ") && run.out.contains("gfx90a") && run.out.contains("0x1000"),
        "{}",
        run.out
    );
}
