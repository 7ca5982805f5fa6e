//! Archives behind a script or a program, and formats that are not opened there.

use std::io::Write;

use crate::{Sandbox, fixture};

/// Returns a zip file with a deflated cubin.
fn zip() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("k.cubin", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(&fixture("answer-sm_90.cubin")).unwrap();
    zip.finish().unwrap().into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("policy", "[archs]\nforbid = [\"sm_90\"]\n");
    std::fs::create_dir(sandbox.path("d")).unwrap();
    sandbox.fixture("answer-gfx90a.hsaco", "d/other");
    sandbox
}

/// First part of each file, and the archive behind it, with the path of the image.
fn archives() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let (script, program) = (b"#! /usr/bin/env python3\n", fixture("answer-x86_64.so"));
    // With the offsets of the whole file, as `zipapp` and `zip -A` write them, and without.
    let mut adjusted = script.to_vec();
    let mut cursor = std::io::Cursor::new(&mut adjusted);
    cursor.set_position(script.len() as u64);
    let mut writer = zip::ZipWriter::new(cursor);
    writer.start_file("k.cubin", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(&fixture("answer-sm_90.cubin")).unwrap();
    writer.finish().unwrap();
    let after = |first: &[u8], archive: &[u8]| [first, archive].concat();
    let installer = b"#! /bin/sh\ntail -n +3 \"$0\" | gunzip\n";
    vec![
        ("script and zip", after(script, &zip()), "d/x!k.cubin"),
        ("script and zip with offsets in the file", adjusted, "d/x!k.cubin"),
        ("program and zip", after(&program, &zip()), "d/x!k.cubin"),
        ("text and zip", after(b"text", &zip()), "d/x!k.cubin"),
        ("script and gzip", after(installer, &gzip(&fixture("answer-sm_90.cubin"))), "d/x"),
        ("script, gzip and zip", after(installer, &gzip(&zip())), "d/x!k.cubin"),
        ("program and gzip", after(&program, &gzip(&fixture("answer-sm_90.cubin"))), "d/x"),
        ("zlib", zlib(&fixture("answer-sm_90.cubin")), "d/x"),
    ]
}

#[test]
fn archives_behind_something_else_are_opened() {
    let sandbox = sandbox();
    for (name, bytes, path) in archives() {
        sandbox.file("d/x", &bytes);
        let scan = sandbox.fatbin("scan d/x");
        assert_eq!((scan.status, scan.err.as_str()), (0, ""), "{name}: {}", scan.out);
        assert!(scan.out.contains(&format!("{path}: ")) && scan.out.contains("sm_90"), "{name}: {}", scan.out);
        let check = sandbox.fatbin("check --policy policy d");
        assert_eq!(check.status, 1, "{name}: {}{}", check.out, check.err);
        assert!(check.out.contains(path), "{name}: {}", check.out);
        // The archive may state offsets from the start of the whole file.
        if name != "zlib" {
            let edit = sandbox.fatbin("strip --device-debug -o out d/x");
            assert_eq!(edit.status, 2, "{name}: {}", edit.err);
            assert!(edit.err.contains("only members of static libraries and zip files can be changed"), "{}", edit.err);
        }
    }
}

#[test]
fn a_script_of_text_alone_is_searched_as_before() {
    let sandbox = sandbox();
    for bytes in [&b"#! /bin/sh\necho PK\n"[..], b"#! /bin/sh\n!<arch>\n", b"MZ", b"#!"] {
        let run = sandbox.file("d/x", bytes).fatbin("scan d/x");
        assert_eq!((run.status, run.err.as_str()), (1, ""), "{bytes:?}");
    }
}

#[test]
fn formats_that_are_not_opened_are_reported_behind_a_program_or_a_script() {
    let sandbox = sandbox();
    let program = fixture("answer-x86_64.so");
    // As an installer of 7-Zip and as makeself with --compress.
    let seven_zip = [&program[..], b"7z\xbc\xaf\x27\x1c\0\x04", &[0; 300]].concat();
    let compress = [&b"#! /bin/sh\nexit\n"[..], b"\x1f\x9d\x90\x68\x02"].concat();
    for (bytes, description) in [(seven_zip, "7z archive"), (compress, "compress-compressed")] {
        sandbox.file("d/x", &bytes);
        let line = format!("fatbin: d/x: not opened: {description}; unpack it and specify the files in it\n");
        let scan = sandbox.fatbin("scan d/x");
        assert_eq!((scan.status, scan.err), (2, line));
        let check = sandbox.fatbin("check --policy policy d");
        assert_eq!(check.status, 2, "{}", check.out);
        assert!(check.out.contains(&format!("d/x: undecided: readable: not opened: {description}")), "{}", check.out);
    }
}

#[test]
fn a_zip_file_with_the_longest_comment_is_opened_behind_a_program() {
    let sandbox = sandbox();
    for size in [1 << 10, (1 << 10) + 1, usize::from(u16::MAX)] {
        let mut zip = zip();
        let at = zip.len() - 2;
        zip.splice(at.., [size as u8, (size >> 8) as u8].into_iter().chain(std::iter::repeat_n(b'-', size)));
        sandbox.file("d/x", [fixture("answer-x86_64.so"), zip].concat());
        let check = sandbox.fatbin("check --policy policy d");
        assert!(check.status == 1 && check.out.contains("d/x!k.cubin"), "{size}: {}{}", check.out, check.err);
    }
}

/// Data of a program with a zstd frame in it, and no container of device code around it.
#[test]
fn device_code_in_a_zstd_frame_in_data_is_undecided() {
    let sandbox = sandbox();
    let program = fixture("answer-x86_64.so");
    let library = [&[1; 5000][..], &fixture("answer.oxart")].concat();
    let large = [&vec![2; 20 << 20][..], &library].concat();
    let packed = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    for bytes in [&fixture("answer-sm_90.cubin")[..], &library, &large] {
        sandbox.file("d/x", [&program[..], b"data", &packed(bytes), b"more data"].concat());
        let scan = sandbox.fatbin("scan d/x");
        let at = program.len() + 4;
        let line = format!(
            "fatbin: d/x: zstd frame at {at:#x}: device code in a zstd frame without a container is not read; "
        );
        assert!(scan.status == 2 && scan.err.starts_with(&line), "{}{}", scan.out, scan.err);
        let check = sandbox.fatbin("check --policy policy d");
        assert!(check.status == 2 && check.out.contains("undecided"), "{}{}", check.out, check.err);
    }
    // Frames without device code, cut ones, and bytes that begin like one.
    for bytes in [packed(&program), packed(&library)[..60].to_vec(), b"\x28\xb5\x2f\xfd".to_vec()] {
        sandbox.file("d/x", [&program[..], b"data", &bytes, b"more data"].concat());
        let scan = sandbox.fatbin("scan d/x");
        assert_eq!((scan.status, scan.err.as_str()), (1, ""), "{}", scan.out);
    }
}
