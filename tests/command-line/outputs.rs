//! Outputs in places that exist already: files with a mode, links, inputs, open files.

use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;
use std::time::Duration;

use fatbin_core::format::bundle;

use crate::faults::{HOST, ONE, bundles, make_fifo};
use crate::{Sandbox, fixture};

#[test]
fn an_output_keeps_the_mode_of_the_file_that_it_replaces() {
    let sandbox = bundles();
    sandbox.fixture("answer-gfx90a.hsaco", "image");
    let commands = [
        "pack -o out --image file=image,kind=hip".to_owned(),
        "lock -o out image".to_owned(),
        "extract --to out image".to_owned(),
        "wrap --kind openmp -o out image".to_owned(),
        format!("bundle --raw --type bc -o out --target {HOST}=host --target {ONE}=one"),
        format!("unbundle --target {ONE}=out b"),
        "extract --name out image".to_owned(),
    ];
    for command in commands {
        let _ = std::fs::remove_file(sandbox.path("out"));
        for mode in [None, Some(0o600), Some(0o755), Some(0o640)] {
            if let Some(mode) = mode {
                std::fs::set_permissions(sandbox.path("out"), std::fs::Permissions::from_mode(mode)).unwrap();
            }
            let run = sandbox.shell(&format!("umask 022; fatbin {command}"));
            assert_eq!(run.status, 0, "{command}: {}", run.err);
            let metadata = std::fs::metadata(sandbox.path("out")).unwrap();
            assert_eq!(metadata.mode() & 0o7777, mode.unwrap_or(0o644), "{command}");
        }
    }
}

#[test]
fn a_dangling_link_is_followed() {
    let sandbox = bundles();
    std::fs::create_dir(sandbox.path("directory")).unwrap();
    symlink("directory/second", sandbox.path("first")).unwrap();
    symlink("real", sandbox.path("directory/second")).unwrap();
    for target in
        [format!("unbundle --target {ONE}=first b"), format!("bundle --raw --type bc -o first --target {HOST}=host")]
    {
        sandbox.fatbin(&target).ok();
        assert!(sandbox.path("first").is_symlink() && sandbox.path("directory/second").is_symlink());
        assert!(!sandbox.read("directory/real").is_empty());
        std::fs::remove_file(sandbox.path("directory/real")).unwrap();
    }
    symlink("circle", sandbox.path("circle")).unwrap();
    let run = sandbox.fatbin(&format!("unbundle --target {ONE}=circle b"));
    assert_eq!((run.status, run.err.lines().count()), (2, 1), "{}", run.err);
}

/// LLVM's tools read their inputs before they write, and builds may rely on that.
#[test]
fn a_drop_in_accepts_its_input_as_the_output() {
    let image = fixture("answer-gfx90a.hsaco");
    for (name, arguments) in [
        ("clang-offload-packager", "-o in --image=file=in,triple=amdgcn-amd-amdhsa,arch=gfx90a".to_owned()),
        ("clang-offload-bundler", format!("-type=bc -targets={HOST},{ONE} -input=in -input=in -output=in")),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("in", &image);
        sandbox.fatbin("install-links links").ok();
        let run = sandbox.shell(&format!("links/{name} {arguments}"));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{name}");
        assert!(sandbox.read("in") != image && sandbox.read("in").windows(image.len()).any(|part| part == image));
    }
}

#[test]
fn an_open_file_is_written_where_it_is() {
    let sandbox = bundles();
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        sandbox
            .shell(&format!("(printf 'before '; fatbin unbundle --target {HOST}={name} b; printf ' after') >out"))
            .ok();
        assert_eq!(String::from_utf8(sandbox.read("out")).unwrap(), "before host after", "{name}");
    }
    let run = sandbox.fatbin(&format!("unbundle --target {HOST}=/dev/fd/77 b"));
    assert_eq!((run.status, run.err.lines().count()), (2, 1), "{}", run.err);
}

#[test]
fn a_killed_run_is_found_and_undone() {
    const OTHER: &str = "hip-amdgcn-amd-amdhsa--gfx90a";
    const PIPE: &str = "hip-amdgcn-amd-amdhsa--gfx942";
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("out")).unwrap();
    sandbox.file("out/one", "old");
    // More than a pipe holds.
    let large = vec![7; 1 << 20];
    let entries: [(&str, &[u8]); 3] = [(ONE, b"new"), (OTHER, b"new"), (PIPE, &large)];
    sandbox.file("b", bundle::write(&entries, 1).unwrap().to_vec());
    make_fifo(&sandbox, "fifo");
    let line = format!("unbundle --target {ONE}=out/one --target {OTHER}=out/other --target {PIPE}=fifo b");
    let mut fatbin = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
    let mut child = fatbin.args(line.split_whitespace()).stderr(Stdio::null()).spawn().unwrap();
    // The files have their names, and the pipe waits for its reader.
    let _reader = File::open(sandbox.path("fifo")).unwrap();
    while !sandbox.path("out/other").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sandbox.read("out/one"), b"new");

    let run = sandbox.fatbin(&format!("unbundle --target {ONE}=out/new b"));
    let warning =
        "fatbin: warning: out: a killed run was replacing several files here; restore them with 'fatbin recover out'\n";
    assert_eq!((run.status, run.err.as_str()), (0, warning));
    assert_eq!(sandbox.fatbin("recover out").ok(), "out/one\nout/other\n");
    assert_eq!(sandbox.read("out/one"), b"old");
    assert_eq!(std::fs::read_dir(sandbox.path("out")).unwrap().count(), 2);
    let run = sandbox.fatbin("recover out");
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (0, "", "fatbin: out: nothing to restore\n"));
    assert_eq!(sandbox.fatbin(&format!("unbundle --target {ONE}=out/new b")).err, "");
}

#[test]
fn a_failed_split_leaves_no_directory_and_the_umask_holds_for_its_files() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "image").fatbin("wrap --kind openmp -o host.o image").ok();
    std::fs::set_permissions(sandbox.path("host.o"), std::fs::Permissions::from_mode(0o666)).unwrap();
    let run = sandbox.shell("ulimit -f 0; trap '' XFSZ; fatbin split host.o -o a/b");
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(!sandbox.path("a").exists());
    sandbox.shell("umask 027; fatbin split host.o -o parts && fatbin join parts -o joined").ok();
    for name in ["joined", "parts/host.o", "parts/index.json"] {
        assert_eq!(std::fs::metadata(sandbox.path(name)).unwrap().mode() & 0o777, 0o640, "{name}");
    }
}
