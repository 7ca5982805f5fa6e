//! `fatbin bundle`, `unbundle` and `list`: round trips in every form, and every error.

use fatbin_core::format::bundle;
use fatbin_core::format::bundle::MAGIC;

use crate::{Run, Sandbox, fixture};

/// An output that a bundle may replace.
const OLD: &[u8] = b"\x7fELF, old";

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const ONE: &str = "hipv4-amdgcn-amd-amdhsa--gfx906";
const TWO: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";

/// Returns files for a host, which is an object, and for two devices.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-x86_64.so", "image").fatbin("wrap --kind openmp -o host image").ok();
    sandbox.file("one", "code for one\n").file("two", [0, 1, 2, 0xff]).file("empty", "");
    sandbox
}

fn targets() -> String {
    format!("--target {HOST}=host --target {ONE}=one --target {TWO}=two")
}

/// Checks that a run ended with this status and one line on standard error; returns the line without the program's name.
fn refused(run: Run, status: i32) -> String {
    assert_eq!((run.status, run.out.as_str()), (status, ""), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    run.err.strip_prefix("fatbin: ").expect("the program names itself").trim_end().to_owned()
}

#[test]
fn bundles_lists_and_unbundles_every_type() {
    let sandbox = sandbox();
    for file_type in ["i", "ii", "cui", "hipi", "d", "ll", "bc", "s", "o", "gch", "ast"] {
        sandbox.fatbin(&format!("bundle --raw --type {file_type} {} -o b", targets())).ok();
        for options in [String::new(), format!("--type {file_type}")] {
            assert_eq!(
                sandbox.fatbin(&format!("list {options} b")).ok(),
                format!("{HOST}\n{ONE}\n{TWO}\n"),
                "{file_type}"
            );
            let wanted = format!("--target {TWO}=x2 --target {HOST}=xh --target {ONE}=x1");
            sandbox.fatbin(&format!("unbundle {options} {wanted} b")).ok();
            for (out, file) in [("xh", "host"), ("x1", "one"), ("x2", "two")] {
                assert!(sandbox.read(out) == sandbox.read(file), "{file_type}: {file}");
            }
        }
    }
}

#[test]
fn compresses_and_decompresses_every_type_except_objects() {
    let sandbox = sandbox();
    for file_type in ["ii", "ll", "bc", "gch"] {
        for how in ["--compress", "--compress=zlib --format-version 2", "--compress=zstd --level 19"] {
            sandbox.fatbin(&format!("bundle --raw --type {file_type} {how} {} -o b", targets())).ok();
            assert!(sandbox.read("b").starts_with(b"CCOB"));
            assert_eq!(sandbox.fatbin("list b").ok(), format!("{HOST}\n{ONE}\n{TWO}\n"), "{file_type} {how}");
            sandbox.fatbin(&format!("unbundle --target {TWO}=x2 --target {HOST}=xh b")).ok();
            assert!(sandbox.read("xh") == sandbox.read("host") && sandbox.read("x2") == sandbox.read("two"));
        }
    }
    let message = refused(sandbox.fatbin(&format!("bundle --raw --type o --compress {} -o b", targets())), 2);
    assert_eq!(message, "host: bundles of object files cannot be compressed");
}

#[test]
fn writes_canonical_ids_in_command_line_order() {
    let sandbox = sandbox();
    let targets = "--target hip-amdgcn-amd-amdhsa-gfx90a:xnack-:sramecc+=two --target openmp-nvptx64-nvidia-cuda-sm_70=one \
                   --target host-x86_64-linux-gnu=empty --target hip-amdgcn-amd-amdhsa-fiji=one";
    sandbox.fatbin(&format!("bundle --raw --type o {targets} -o b")).ok();
    let expected = "hip-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-\nopenmp-nvptx64-nvidia-cuda-unknown-sm_70\n\
                    host-x86_64-unknown-linux-gnu-\nhip-amdgcn-amd-amdhsa--gfx803\n";
    assert_eq!(sandbox.fatbin("list b").ok(), expected);
}

#[test]
fn bundles_device_objects_without_a_host() {
    let sandbox = sandbox();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-gfx90a-xnack+.hsaco", "b");
    sandbox.fatbin(&format!("bundle --raw --type o --align 4096 --target {ONE}=a --target {TWO}=b -o out")).ok();
    let bytes = sandbox.read("out");
    assert!(bytes.starts_with(MAGIC) && bytes[4096..].starts_with(b"\x7fELF"));
    assert!(sandbox.fatbin("scan out").ok().contains("2 device images"));
}

#[test]
fn writes_the_bundle_of_hip_programs_for_an_empty_host() {
    let sandbox = sandbox();
    sandbox
        .fatbin(&format!("bundle --raw --type o --align 4096 --target {HOST}=/dev/null --target {ONE}=one -o b"))
        .ok();
    let one = sandbox.read("one");
    let expected = bundle::write(&[(HOST, &b""[..]), (ONE, &one)], 4096).unwrap().to_vec();
    assert_eq!(sandbox.read("b"), expected);
    sandbox.fatbin(&format!("unbundle --type o --target {HOST}=xh --target {ONE}=x1 b")).ok();
    assert_eq!((sandbox.read("xh"), sandbox.read("x1")), (Vec::new(), one));
}

#[test]
fn rejects_an_input_as_the_output() {
    let sandbox = sandbox();
    let refusal = "one: is both input and output";
    assert_eq!(refused(sandbox.fatbin(&format!("bundle --raw --type bc {} -o one", targets())), 2), refusal);
    assert_eq!(sandbox.read("one"), b"code for one\n");
    sandbox.fatbin(&format!("bundle --raw --type bc {} -o b", targets())).ok();
    sandbox.shell("mv b one").ok();
    assert_eq!(refused(sandbox.fatbin(&format!("unbundle --target {ONE}=one one")), 2), refusal);
    assert_eq!(sandbox.fatbin("list one").ok().lines().count(), 3);
}

#[test]
fn reads_a_bundle_from_a_pipe_and_writes_one_to_a_pipe() {
    let sandbox = sandbox();
    let line = format!(
        "fatbin bundle --raw --type bc {0} -o - | fatbin unbundle --target {TWO}=- - | cmp - two && fatbin bundle --raw --type bc \
         --compress {0} -o - | fatbin list -",
        targets()
    );
    assert_eq!(sandbox.shell(&line).ok(), format!("{HOST}\n{ONE}\n{TWO}\n"));
}

#[test]
fn unbundles_compatible_code_and_explains_the_choice() {
    let sandbox = sandbox();
    sandbox.fatbin(&format!("bundle --raw --type bc --target {ONE}=one --target {TWO}=two -o b")).ok();
    let wanted = "hip-amdgcn-amd-amdhsa--gfx906:xnack+";
    let run = sandbox.fatbin(&format!("unbundle --explain --target {wanted}=x b"));
    let expected = format!(
        "fatbin: b: {ONE} is compatible with {wanted}: compatible target IDs\n\
         fatbin: b: {TWO} is incompatible with {wanted}: it is for gfx90a, not for gfx906\n"
    );
    assert_eq!((run.status, run.err), (0, expected));
    assert_eq!(sandbox.read("x"), sandbox.read("one"));
    for (wanted, reason) in [
        ("openmp-amdgcn-amd-amdhsa--gfx906", "its offload kind is hipv4, not openmp"),
        ("hip-amdgcn-amd-amdhsa--gfx90a:sramecc+", "it requires 2 features, the target sets 1"),
        ("hip-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+", "it requires xnack-, not xnack+"),
        ("hip-amdgcn-amd-amdpal--gfx906", "its triple is amdgcn-amd-amdhsa-, not amdgcn-amd-amdpal-unknown"),
    ] {
        let run = sandbox.fatbin(&format!("unbundle --explain --target {wanted}=x b"));
        assert_eq!(run.status, 1);
        assert!(run.err.contains(&format!("is incompatible with {wanted}: {reason}\n")), "{}", run.err);
        assert!(run.err.ends_with(&format!("b: no entry for {wanted} (available: {ONE}, {TWO})\n")), "{}", run.err);
    }
    let loose = "unbundle --hip-openmp-compatible --target openmp-amdgcn-amd-amdhsa--gfx906=x b";
    sandbox.fatbin(loose).ok();
}

#[test]
fn allows_missing_targets_and_treats_other_files_as_the_host_file() {
    let sandbox = sandbox();
    sandbox.fatbin(&format!("bundle --raw --type bc --target {HOST}=host --target {ONE}=one -o b")).ok();
    sandbox.fatbin(&format!("unbundle --allow-missing --target {TWO}=x2 --target {ONE}=x1 b")).ok();
    assert_eq!((sandbox.read("x2"), sandbox.read("x1")), (Vec::new(), sandbox.read("one")));
    sandbox.fatbin(&format!("unbundle --type o --allow-missing --target {TWO}=x2 --target {HOST}=xh host")).ok();
    assert!(sandbox.read("x2").is_empty() && sandbox.read("xh") == sandbox.read("host"));
    let message = refused(sandbox.fatbin(&format!("unbundle --type o --target {HOST}=xh host")), 2);
    assert_eq!(message, "host: not a bundle of type o (objects)");
}

#[test]
fn prints_sizes_ratio_speed_and_hash_when_verbose() {
    let sandbox = sandbox();
    sandbox.file("zeros", vec![0; 100_000]);
    let run = sandbox.fatbin(&format!("bundle -v --type bc --compress --target {ONE}=zeros -o b"));
    let size = sandbox.read("b").len();
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines[0], format!("fatbin: b: {ONE}: 100000 bytes"));
    assert_eq!(lines[1], format!("fatbin: b: {size} bytes"));
    let figures = format!("fatbin: b: version 3, zstd level 3: {} bytes for 100087 (", size - 32);
    assert!(lines[2].starts_with(&figures) && lines[2].contains(" MiB/s, MD5 begins "), "{}", run.err);
    let hash = lines[2].rsplit(' ').next().unwrap();
    let run = sandbox.fatbin(&format!("unbundle -v --target {ONE}=x b"));
    assert!(run.err.contains(hash) && run.err.ends_with(&format!("fatbin: x: {ONE}: 100000 bytes\n")), "{}", run.err);
}

#[test]
fn lists_several_bundles_in_one_file_and_rejects_them_as_one() {
    let sandbox = sandbox();
    sandbox.fatbin(&format!("bundle --raw --type bc --target {ONE}=one -o a")).ok();
    sandbox.fatbin(&format!("bundle --raw --type bc --compress --target {TWO}=two -o b")).ok();
    let (a, b) = (sandbox.read("a"), sandbox.read("b"));
    sandbox.file("all", [&a[..], &[0; 77], &b, &a].concat());
    assert_eq!(sandbox.fatbin("list all").ok(), format!("{ONE}\n{TWO}\n{ONE}\n"));
    let listed = sandbox.fatbin("list -H a b").ok();
    assert_eq!(listed, format!("a: {ONE}\nb: {TWO}\n"));
    let message = refused(sandbox.fatbin(&format!("unbundle --target {ONE}=x all")), 2);
    let at = a.len() + 77;
    assert_eq!(
        message,
        format!("all: more data follows the first bundle at {at:#x}; use extract to extract all images")
    );
    sandbox.file("tail", [&a[..], b"garbage"].concat());
    let run = sandbox.fatbin("list tail");
    assert_eq!((run.status, run.out), (2, format!("{ONE}\n")));
    assert_eq!(run.err, "fatbin: tail: not a bundle\n");
}

#[test]
fn exits_with_1_when_there_is_nothing_to_list() {
    let sandbox = sandbox();
    for nothing in ["one", "host", "empty"] {
        let run = sandbox.fatbin(&format!("list {nothing}"));
        assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (1, "", ""), "{nothing}");
    }
}

#[test]
fn reports_each_mistake_in_a_new_bundle_on_one_line() {
    let sandbox = sandbox();
    sandbox.file("marked", format!("a\n// __CLANG_OFFLOAD_BUNDLE____END__ {HOST}\nb"));
    sandbox.file("begins-marked", format!("// __CLANG_OFFLOAD_BUNDLE____END__ {HOST}\nb"));
    sandbox.file("mach-o", b"\xcf\xfa\xed\xfe\x07\0\0\x01 and so on");
    sandbox.fatbin(&format!("bundle --raw --type o {} -o bundled", targets())).ok();
    sandbox.file("b", OLD);
    let shape = "expected <offload kind>-<triple>[-<target id>], for example hip-amdgcn-amd-amdhsa--gfx90a";
    let shape_of_host = shape.replace("hip-amdgcn-amd-amdhsa--gfx90a", "host-x86_64-unknown-linux-gnu-");
    let cases = [
        (format!("--type bc --target {ONE}=one --target {ONE}=two"), format!("duplicate target {ONE}")),
        (
            format!("--type bc --target {ONE}=one --target hipv4-amdgcn-amd-amdhsa-gfx906=two"),
            format!("duplicate target {ONE}"),
        ),
        (
            format!("--type bc --target {HOST}=one --target host-aarch64-unknown-linux-gnu=two"),
            format!(
                "conflicting targets {HOST} and host-aarch64-unknown-linux-gnu-: a bundle has at most one host entry"
            ),
        ),
        (
            format!("--type bc --target {ONE}:xnack+=one --target {ONE}=two"),
            format!(
                "conflicting targets {ONE} and {ONE}:xnack+: all entries for a processor must set the same features"
            ),
        ),
        (
            "--type bc --target host=one".to_owned(),
            format!("--target: invalid bundle entry ID \"host\", {shape_of_host}"),
        ),
        (
            "--type bc --target hip-a/../b-c-d-=one".to_owned(),
            format!("--target: invalid bundle entry ID \"hip-a/../b-c-d-\", {shape}"),
        ),
        (
            "--type bc --target hip-amdgcn-amd-amdhsa--gfx9O6=one".to_owned(),
            "--target: \"hip-amdgcn-amd-amdhsa--gfx9O6\": unknown processor \"gfx9O6\"; did you mean gfx906?"
                .to_owned(),
        ),
        (format!("--type bc --target {ONE}=missing"), "missing: cannot open: no such file or directory".to_owned()),
        (format!("--type bc --target {ONE}=."), ".: is a directory, not a regular file".to_owned()),
        (
            format!("--type a --target {ONE}=one"),
            "bundling to type a is not supported; bundle to type o and create an archive of the results with ar"
                .to_owned(),
        ),
        (
            format!("--type ii --target {HOST}=marked"),
            "marked: contains an end marker of text bundles (// __CLANG_OFFLOAD_BUNDLE____END__)".to_owned(),
        ),
        (
            format!("--type ii --target {HOST}=begins-marked"),
            "begins-marked: contains an end marker of text bundles (// __CLANG_OFFLOAD_BUNDLE____END__)".to_owned(),
        ),
        (format!("--type o --target {HOST}=bundled --target {ONE}=one"), "bundled: already a bundle".to_owned()),
        (
            format!("--type o --target {HOST}=mach-o --target {ONE}=one"),
            "mach-o: object file at 0x0: is Mach-O; only ELF and COFF objects can be rewritten".to_owned(),
        ),
        (
            format!("--type bc --compress=zlib --level 10 --target {ONE}=one"),
            "bundle: --level 10: invalid level; zlib has levels 1 to 9".to_owned(),
        ),
    ];
    for (arguments, message) in cases {
        assert_eq!(refused(sandbox.fatbin(&format!("bundle {arguments} -o b")), 2), message, "{arguments}");
        assert_eq!(sandbox.read("b"), OLD, "{arguments}");
    }
    for usage in [
        "bundle --raw --type q --target x=y -o b",
        "bundle --raw --type o -o b",
        "bundle --raw --type o --target x -o b",
        "bundle --raw --type o --target x= -o b",
        "bundle --raw --type bc --target x=y --align 3 -o b",
        "bundle --raw --type bc --target x=y --compress=lz4 -o b",
        "bundle --raw --type bc --target x=y --level 3 -o b",
        "bundle --raw --type bc --target x=y --compress --format-version 1 -o b",
        "unbundle b",
        "list",
    ] {
        let run = sandbox.fatbin(usage);
        assert!(run.status == 2 && run.out.is_empty() && !run.err.is_empty(), "{usage}: {}", run.err);
    }
}

#[test]
fn reports_a_damaged_bundle_on_one_line_and_touches_no_output() {
    let sandbox = sandbox();
    sandbox.fatbin(&format!("bundle --raw --type bc {} -o good", targets())).ok();
    sandbox.fatbin(&format!("bundle --raw --type bc --compress {} -o packed", targets())).ok();
    let good = sandbox.read("good");
    let put = |at: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let size = good.len() as u64;
    let second = 56 + HOST.len();
    let index_end = 32 + 3 * 24 + HOST.len() + ONE.len() + TWO.len();
    let host_end = index_end + sandbox.read("host").len();
    let mut wrong_hash = sandbox.read("packed");
    wrong_hash[24] ^= 1;
    let mut lying = sandbox.read("packed");
    lying[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    let third = second + 24 + ONE.len();
    let mut path_in_id = good.clone();
    path_in_id[second + 24 + 6..second + 24 + 9].copy_from_slice(b"/..");
    let packed_size = sandbox.read("packed").len() - 32;
    let cases = [
        (
            "truncated",
            good[..good.len() - 1].to_vec(),
            format!(
                "bundle entry offset at {third:#x}: offset {} with size 4 is out of bounds ({} bytes available)",
                size - 4,
                size - 1
            ),
        ),
        ("no entries", put(24, 0), "bundle entry count at 0x18: invalid value 0x0, expected at least 1".to_owned()),
        (
            "overlap",
            put(second, host_end as u64 - 1),
            format!(
                "bundle entry offset at {second:#x}: offset {} overlaps the preceding data, which ends at {host_end}",
                host_end - 1
            ),
        ),
        (
            "in the index",
            put(second, 8),
            format!(
                "bundle entry offset at {second:#x}: offset 8 overlaps the preceding data, which ends at {index_end}"
            ),
        ),
        (
            "offset wraps",
            put(second, u64::MAX - 3),
            format!(
                "bundle entry offset at {second:#x}: offset 18446744073709551612 with size 13 is out of bounds ({size} bytes available)"
            ),
        ),
        (
            "path in an id",
            path_in_id,
            format!(
                "bundle entry id at {:#x}: invalid bundle entry ID \"hipv4-/..gcn-amd-amdhsa--gfx906\", expected <offload kind>-<triple>[-<target id>]",
                second + 24
            ),
        ),
        ("wrong hash", wrong_hash, String::new()),
        (
            "lying about its size",
            lying,
            format!("zstd stream at 0x20: cannot decompress: {packed_size} bytes cannot give 18446744073709551615"),
        ),
    ];
    for (name, bytes, message) in cases {
        sandbox.file("bad", bytes).file("x1", "old").file("x2", "old");
        let run = sandbox.fatbin(&format!("unbundle --target {ONE}=x1 --target {TWO}=x2 bad"));
        let line = refused(run, 2);
        match name {
            "wrong hash" => {
                assert!(line.starts_with("bad: compressed bundle hash at 0x18: hash mismatch: stored 0x"), "{line}");
            }
            _ => assert_eq!(line, format!("bad: {message}"), "{name}"),
        }
        assert_eq!((sandbox.read("x1"), sandbox.read("x2")), (b"old".to_vec(), b"old".to_vec()), "{name}");
    }
}

#[test]
fn rejects_duplicate_ids_and_duplicate_outputs() {
    let sandbox = sandbox();
    let bytes = bundle::write(&[(ONE, &b"1"[..]), (ONE, b"2")], 1).unwrap().to_vec();
    sandbox.file("b", bytes);
    assert_eq!(
        refused(sandbox.fatbin(&format!("unbundle --target {ONE}=x b")), 2),
        format!("b: duplicate entry {ONE}")
    );
    sandbox.fatbin(&format!("bundle --raw --type bc {} -o b", targets())).ok();
    let twice = format!("unbundle --target {ONE}=x --target {TWO}=./x b");
    assert_eq!(refused(sandbox.fatbin(&twice), 2), "./x: duplicate output; specify another path");
    assert!(!sandbox.path("x").exists());
    sandbox.file("x", "old");
    std::fs::hard_link(sandbox.path("x"), sandbox.path("y")).unwrap();
    let linked = format!("unbundle --target {ONE}=x --target {TWO}=y b");
    assert_eq!(refused(sandbox.fatbin(&linked), 2), "y: duplicate output; specify another path");
    sandbox.fatbin(&format!("unbundle --target {ONE}=/dev/null --target {TWO}=/dev/null b")).ok();
}

#[test]
fn rejects_a_type_that_the_bundle_does_not_have() {
    let sandbox = sandbox();
    sandbox.fatbin(&format!("bundle --raw --type ii {} -o texts", targets())).ok();
    sandbox.fatbin(&format!("bundle --raw --type bc {} -o binary", targets())).ok();
    let cases = [
        ("bc", "texts", "texts: not a bundle of type bc (LLVM bitcode)"),
        ("ll", "texts", "texts: not a bundle of type ll (LLVM IR as text)"),
        ("ii", "binary", "binary: not a bundle of type ii (preprocessed C++)"),
        ("bc", "host", "host: not a bundle of type bc (LLVM bitcode)"),
    ];
    for (file_type, input, message) in cases {
        let run = sandbox.fatbin(&format!("unbundle --type {file_type} --target {HOST}=x {input}"));
        assert_eq!(refused(run, 2), message);
    }
}

#[test]
fn links_a_bundled_host_object_and_unbundles_the_original_bytes() {
    let sandbox = Sandbox::new();
    sandbox.file("host.c", fixture("host.c")).file("one", "code");
    let cc = |line: &str| {
        crate::run(sandbox.command("cc").args(line.split(' '))).ok();
    };
    sandbox.file("main.c", "int main(void) { return 0; }\n");
    cc("-c main.c -o main.o");
    sandbox.fatbin(&format!("bundle --raw --type o --target {HOST}=main.o --target {ONE}=one -o b.o")).ok();
    cc("b.o -o program");
    assert!(crate::run(&mut sandbox.command(sandbox.path("program"))).ok().is_empty());
    let program = sandbox.read("program");
    assert!(!program.windows(MAGIC.len()).any(|window| window == MAGIC), "linkers leave the sections out");
    sandbox.fatbin(&format!("unbundle --type o --target {HOST}=restored.o b.o")).ok();
    assert!(sandbox.read("restored.o") == sandbox.read("main.o"));
}

#[test]
fn text_bundles_are_named_where_device_images_are_expected() {
    let sandbox = Sandbox::new();
    sandbox.file("text", "int answer = 42;\n");
    for file_type in ["s", "ll", "hipi"] {
        let ids = "--target host-x86_64-unknown-linux-gnu-=text --target hip-amdgcn-amd-amdhsa--gfx90a=text";
        sandbox.fatbin(&format!("bundle --type {file_type} {ids} -o a.{file_type}")).ok();
        for command in ["scan", "verify"] {
            let run = sandbox.fatbin(&format!("{command} a.{file_type}"));
            let message = format!("a.{file_type}: not opened: text bundle (fatbin unbundle extracts its files)");
            assert!(run.status == 2 && run.err.contains(&message), "{command}: {}{}", run.out, run.err);
        }
        let scan = sandbox.fatbin(&format!("scan a.{file_type}"));
        assert!(scan.out.ends_with(&format!("  not opened  fatbin list a.{file_type}\n")), "{}", scan.out);
    }
}
