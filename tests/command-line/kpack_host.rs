//! Host files whose device code is in kpack archives: the archives are found, and judged together with the file.

use fatbin_core::format::kpack::{KpackMarker, KpackMember, KpackProperties, write};
use serde_json::{Value, json};

use crate::{Sandbox, fixture};

const NAME: &str = "lib/x.so";

/// Returns a sandbox with `lib/x.o`, an object with a HIP wrapper that rocm-kpack would have changed: its pointer leads to a
/// marker in the place of the bundle.
fn sandbox(search_path: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a.hsaco", "a")
        .fatbin("wrap --allow-missing-kernels --kind hip --entry k=k -o w.o a")
        .ok();
    for directory in ["lib", ".kpack"] {
        std::fs::create_dir(sandbox.path(directory)).unwrap();
    }
    let mut object = sandbox.read("w.o");
    let place = |magic: &[u8]| memchr::memmem::find(&object, magic).unwrap();
    let (code, wrapper) = (place(b"__CLANG_OFFLOAD_BUNDLE__"), place(b"FPIH"));
    object[code..code + 4096 + 3456].fill(0);
    let marker = KpackMarker { search_paths: vec![search_path], kernel_name: NAME }.to_bytes();
    object[code..code + marker.len()].copy_from_slice(&marker);
    object[wrapper..wrapper + 4].copy_from_slice(b"HIPK");
    object[wrapper + 16] = 1;
    sandbox.file("lib/x.o", object);
    sandbox
}

const SEARCH_PATH: &str = "../.kpack/x_@GFXARCH@.kpack";

/// Writes the archive for a target ID with code objects.
fn archive(sandbox: &Sandbox, arch: &str, keys: &[&str]) {
    let image = fixture("answer-gfx90a.hsaco");
    let members: Vec<_> = keys.iter().map(|key| KpackMember { key, arch, image: &image }).collect();
    let properties = KpackProperties { group_name: "x", family: arch, arches: &[arch] };
    sandbox.file(&format!(".kpack/x_{arch}.kpack"), write(&properties, &members, None).unwrap().to_vec());
}

#[test]
fn the_archives_of_a_split_file_are_found_and_listed() {
    let sandbox = sandbox(SEARCH_PATH);
    archive(&sandbox, "gfx90a", &["lib/x.so#0", "lib/x.so#1", "lib/y.so#1"]);
    archive(&sandbox, "gfx942", &["lib/x.so#1"]);
    let out = sandbox.fatbin("scan lib/x.o").ok();
    let expected = "  split by rocm-kpack: the device code of 1 wrapper is in kpack archives
    lib/../.kpack/x_gfx90a.kpack: gfx90a (2 code objects of lib/x.so)
    lib/../.kpack/x_gfx942.kpack: gfx942 (1 code object of lib/x.so)\n";
    assert!(out.ends_with(expected), "{out}");
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json lib/x.o").ok()).unwrap();
    crate::schema::check_document(&sandbox, "scan", &document);
    let reference = &document["files"][0]["kpack"][0];
    assert_eq!((&reference["kernel_name"], &reference["indices"]), (&json!(NAME), &json!([1])));
    assert_eq!(
        reference["archives"][0]["code"],
        json!([{"index": 0, "arch": "gfx90a"}, {"index": 1, "arch": "gfx90a"}])
    );
    assert_eq!(document["files"][0]["wrappers"][0]["index"], 1);
    assert_eq!(sandbox.fatbin("verify lib/x.o").ok(), "lib/x.o: device code in kpack archives\n");
}

#[test]
fn a_split_file_without_its_archives_is_an_error() {
    let sandbox = sandbox(SEARCH_PATH);
    for command in ["scan", "verify", "select --device gfx90a"] {
        let run = sandbox.fatbin(&format!("{command} lib/x.o"));
        assert_eq!((run.status, run.err.lines().count()), (2, 1), "{command}: {}{}", run.out, run.err);
        let end = "not found: ../.kpack/x_@GFXARCH@.kpack in lib; specify them with --kpack-path\n";
        assert!(run.err.contains("kpack archives at 0x") && run.err.ends_with(end), "{}", run.err);
    }
    archive(&sandbox, "gfx90a", &["lib/x.so#0"]);
    let run = sandbox.fatbin("scan lib/x.o");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.err.ends_with("no archive has #1 of lib/x.so\n"), "{}", run.err);
    sandbox.file(".kpack/x_gfx942.kpack", "KPAK, but no archive");
    let run = sandbox.fatbin("scan lib/x.o");
    assert!(run.err.contains("lib/../.kpack/x_gfx942.kpack: kpack version at 0x4"), "{}", run.err);
}

#[test]
fn archives_are_not_searched_for_members_of_packages() {
    let sandbox = sandbox(SEARCH_PATH);
    archive(&sandbox, "gfx90a", &["lib/x.so#1"]);
    sandbox.shell("tar -cf all.tar lib .kpack").ok();
    let run = sandbox.fatbin("scan all.tar");
    assert_eq!(run.status, 2, "{}", run.out);
    let expected =
        "not searched for a member of an archive; unpack it with the archives (../.kpack/x_@GFXARCH@.kpack)\n";
    assert!(run.err.ends_with(expected), "{}", run.err);
    sandbox.fatbin("scan --kpack-path .kpack/x_gfx90a.kpack all.tar").ok();
}

#[test]
fn specified_archives_replace_those_of_the_marker() {
    let sandbox = sandbox("nowhere.kpack");
    archive(&sandbox, "gfx90a", &["lib/x.so#1"]);
    assert_eq!(sandbox.fatbin("scan lib/x.o").status, 2);
    sandbox.fatbin("scan --kpack-path .kpack/x_gfx90a.kpack lib/x.o").ok();
    sandbox.fatbin("select --kpack-path .kpack/x_gfx90a.kpack --device gfx90a lib/x.o").ok();
    let run = sandbox.fatbin("select --kpack-path .kpack/x_gfx90a.kpack --device gfx1100 lib/x.o");
    assert_eq!((run.status, run.err.as_str()), (1, ""), "{}", run.out);
    let run = sandbox.fatbin("scan --kpack-path missing lib/x.o");
    assert_eq!(run.status, 2, "{}", run.err);
}

/// torch 2.12 for gfx90a on ROCm 7.14: rocm-systems #9953.
#[test]
fn select_shows_what_each_generation_of_the_loader_finds() {
    let sandbox = sandbox(SEARCH_PATH);
    archive(&sandbox, "gfx90a", &["lib/x.so#0", "lib/x.so#1"]);
    sandbox.fatbin("select --device gfx90a:sramecc+:xnack- lib/x.o").ok();
    archive(&sandbox, "gfx90a:xnack-", &["lib/x.so#0"]);
    let run = sandbox.fatbin("select --device gfx90a:sramecc+:xnack- lib/x.o");
    let expected = "\
lib/x.o: MI250X gfx90a:sramecc+:xnack-: 1 code object in kpack archives: 1 not found by ROCm 7.14 and earlier
lib/x.o: kpack archives: HIP on gfx90a:sramecc+:xnack- looks for lib/x.so
  CODE  RELEASES               VERDICT    ARCHIVE OR REASON
  #1    ROCm after 7.14        loaded     lib/../.kpack/x_gfx90a.kpack
  #1    ROCm 7.14 and earlier  not found  missing in lib/../.kpack/x_gfx90a:xnack-.kpack, which is listed for gfx90a:xnack-
";
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (1, expected, ""));
    let run = sandbox.fatbin("select --json --device gfx90a:sramecc+:xnack- lib/x.o");
    let document: Value = serde_json::from_str(&run.out).unwrap();
    crate::schema::check_document(&sandbox, "select", &document);
    let code = &document["files"][0]["kpack"][0]["devices"][0]["code"][0];
    assert_eq!((&code["index"], &code["answers"][0]["arch"]), (&json!(1), &json!("gfx90a")));
    assert!(code["answers"][1]["reason"].as_str().unwrap().starts_with("missing in "), "{code}");
    // Another setting is not concerned.
    sandbox.fatbin("select --device gfx90a:sramecc+:xnack+ lib/x.o").ok();
}

#[test]
fn check_judges_a_split_file_with_its_archives() {
    let sandbox = sandbox(SEARCH_PATH);
    let check = |policy: &str| {
        let run = sandbox.file("p.toml", format!("{policy}\n")).fatbin("check --policy p.toml lib/x.o");
        (run.status, run.out + &run.err)
    };
    let (status, out) = check(r#"archs.require = ["gfx90a"]"#);
    assert_eq!(status, 2, "{out}");
    archive(&sandbox, "gfx90a", &["lib/x.so#0", "lib/x.so#1"]);
    for policy in [r#"archs.require = ["gfx90a"]"#, r#"archs.devices = ["gfx90a"]"#, r#"archs.only = ["gfx90a"]"#] {
        let (status, out) = check(policy);
        assert_eq!(status, 0, "{policy}: {out}");
    }
    let cases = [
        (r#"archs.require = ["gfx942"]"#, "no code for gfx942 in kpack archives: #1 of lib/x.so; available: gfx90a"),
        (r#"archs.devices = ["gfx942"]"#, "ROCm after 7.14 finds no code for gfx942 in kpack archives: #1 of lib/x.so"),
        (r#"archs.forbid = ["gfx90a"]"#, "code for gfx90a in lib/../.kpack/x_gfx90a.kpack is forbidden"),
        (r#"archs.only = ["gfx942"]"#, "code for gfx90a in lib/../.kpack/x_gfx90a.kpack is not allowed, only gfx942"),
    ];
    for (policy, message) in cases {
        let (status, out) = check(policy);
        assert_eq!(status, 1, "{policy}: {out}");
        assert!(out.contains(message), "{policy}: {out}");
    }
    archive(&sandbox, "gfx90a:xnack-", &["lib/x.so#0"]);
    let (status, out) = check(r#"archs.devices = ["gfx90a"]"#);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("ROCm 7.14 and earlier finds no code for gfx90a in kpack archives: #1 of lib/x.so"), "{out}");
    assert!(!out.contains("ROCm after 7.14"), "{out}");
}

#[test]
fn commands_that_read_images_name_the_archives_that_they_do_not_read() {
    let sandbox = sandbox(SEARCH_PATH);
    archive(&sandbox, "gfx90a", &["lib/x.so#1"]);
    for command in ["inspect", "extract -o out"] {
        let run = sandbox.fatbin(&format!("{command} lib/x.o"));
        let warning = "fatbin: warning: lib/x.o: its device code in lib/../.kpack/x_gfx90a.kpack is not read; \
                       specify the archive, too\n";
        assert_eq!((run.status, run.err.as_str()), (1, warning), "{command}");
        let run = sandbox.fatbin(&format!("{command} lib .kpack"));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{command}");
    }
}

#[test]
fn a_file_that_refers_to_too_many_archives_is_an_error() {
    let sandbox = sandbox(SEARCH_PATH);
    archive(&sandbox, "gfx90a", &["lib/x.so#1"]);
    for number in 0..300 {
        let link = sandbox.path(&format!(".kpack/x_{number}.kpack"));
        std::fs::hard_link(sandbox.path(".kpack/x_gfx90a.kpack"), link).unwrap();
    }
    let run = sandbox.fatbin("scan lib/x.o");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.err.ends_with("refers to more than 256 archives\n"), "{}", run.err);
    // Archives that are no regular files are not opened.
    std::fs::remove_dir_all(sandbox.path(".kpack")).unwrap();
    std::fs::create_dir_all(sandbox.path(".kpack/x_gfx90a.kpack")).unwrap();
    sandbox.shell("mkfifo .kpack/x_gfx942.kpack").ok();
    let run = sandbox.fatbin("scan lib/x.o");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.err.contains("not found: "), "{}", run.err);
}

#[test]
fn specified_archives_can_precede_those_of_the_marker() {
    let sandbox = sandbox(SEARCH_PATH);
    archive(&sandbox, "gfx90a", &["lib/x.so#1"]);
    std::fs::rename(sandbox.path(".kpack/x_gfx90a.kpack"), sandbox.path("first.kpack")).unwrap();
    archive(&sandbox, "gfx90a", &["lib/x.so#1"]);
    let select = "select --device gfx90a:sramecc+:xnack- lib/x.o";
    assert!(sandbox.fatbin(select).ok().contains("loaded   lib/../.kpack/x_gfx90a.kpack\n"));
    let out = sandbox.fatbin(&format!("{select} --kpack-path-prefix first.kpack")).ok();
    assert!(out.contains("loaded   first.kpack\n"), "{out}");
    let out = sandbox.fatbin("scan --kpack-path-prefix first.kpack lib/x.o").ok();
    assert!(out.contains("    first.kpack: ") && out.contains("    lib/../.kpack/x_gfx90a.kpack: "), "{out}");
}

/// Commands that change files. The input follows.
const CHANGES: [&str; 4] =
    ["prune --device gfx90a", "strip --device-debug", "transcode --to ccob3", "replace --image 0=a"];

#[test]
fn commands_that_change_files_name_the_archives_to_change() {
    let sandbox = sandbox(SEARCH_PATH);
    let fails = |input: &str, archives: &str| {
        let names = sandbox.names();
        for change in CHANGES {
            let run = sandbox.fatbin(&format!("{change} -o out {input}"));
            let error =
                format!("fatbin: {input}: the device code is in kpack archives; change these files: {archives}\n");
            assert_eq!((run.status, run.out.as_str(), run.err), (2, "", error), "{change}");
        }
        assert_eq!(sandbox.names(), names);
    };
    fails("lib/x.o", "lib/../.kpack/x_@GFXARCH@.kpack");
    for arch in ["gfx90a", "gfx942"] {
        archive(&sandbox, arch, &["lib/x.so#1"]);
    }
    fails("lib/x.o", "lib/../.kpack/x_gfx90a.kpack, lib/../.kpack/x_gfx942.kpack");
    let run = sandbox.fatbin("prune --device gfx90a --dry-run lib/x.o");
    assert_eq!((run.status, run.err.lines().count()), (2, 1), "{}", run.err);
}

#[test]
fn a_change_warns_of_code_in_archives_unless_they_are_in_the_same_package() {
    let sandbox = sandbox(SEARCH_PATH);
    archive(&sandbox, "gfx90a", &["lib/x.so#1"]);
    sandbox.shell("ar rc x.a lib/x.o w.o && zip -qr x.zip lib .kpack").ok();
    let run = sandbox.fatbin("strip --device-debug -o out x.a");
    let warning = "fatbin: warning: x.a!x.o: its device code in kpack archives is not changed: \
                   ../.kpack/x_@GFXARCH@.kpack\n";
    assert_eq!((run.status, run.err.as_str()), (0, warning));
    let run = sandbox.fatbin("strip --device-debug -o out x.zip");
    assert_eq!((run.status, run.err.as_str()), (0, ""));
}

#[test]
fn a_lock_of_a_split_file_without_its_archives_is_refused() {
    let sandbox = sandbox(SEARCH_PATH);
    archive(&sandbox, "gfx90a", &["lib/x.so#1"]);
    let start = "fatbin: lib/x.o: its device code in lib/../.kpack/x_gfx90a.kpack is not read; ";
    for inputs in ["lib/x.o", "lib/x.o w.o"] {
        let run = sandbox.fatbin(&format!("lock -o lock {inputs}"));
        assert_eq!((run.status, run.err), (2, format!("{start}specify the archive, too\n")), "{inputs}");
        assert!(!sandbox.path("lock").exists());
    }
    sandbox.fatbin("lock -o lock lib .kpack").ok();
    for sides in ["w.o lib/x.o", "lib/x.o w.o"] {
        let run = sandbox.fatbin(&format!("diff {sides}"));
        let error = format!("{start}compare directories with both, or locks\n");
        assert_eq!((run.status, run.err), (2, error), "{sides}");
    }
    sandbox.fatbin("diff . .").ok();
}
