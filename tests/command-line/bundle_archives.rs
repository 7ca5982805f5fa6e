//! `fatbin unbundle` and `list` of archives of bundles: every form of archive and member, and damaged ones.

use std::io::Cursor;

use fatbin::View;
use fatbin_core::base::archive;
use fatbin_core::base::archive::MemberContent;
use fatbin_core::format::bundle;

use crate::{Run, Sandbox};

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const ONE: &str = "hip-amdgcn-amd-amdhsa--gfx906";
const TWO: &str = "hip-amdgcn-amd-amdhsa--gfx90a:xnack+";

/// Returns files for a host, which is an object, and for two devices.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-x86_64.so", "image").fatbin("wrap --kind openmp -o host image").ok();
    sandbox.file("one", "code for one\n").file("two", [0, 1, 2, 0xff]);
    sandbox
}

fn bundle(sandbox: &Sandbox, how: &str, output: &str) -> Vec<u8> {
    let targets = format!("--target {HOST}=host --target {ONE}=one --target {TWO}=two");
    sandbox.fatbin(&format!("bundle {how} {targets} -o {output}")).ok();
    sandbox.read(output)
}

/// Returns an archive in GNU's format.
fn gnu(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    archive::write(members.iter().map(|(name, content)| ((*name).to_owned(), *content)), &mut bytes).unwrap();
    bytes.into_inner()
}

fn header(name: &str, size: usize) -> Vec<u8> {
    format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
}

/// Returns an archive in BSD's format as on Darwin: names precede the members, which are padded to multiples of eight.
fn bsd(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let mut member = [name.as_bytes(), &vec![0; name.len().next_multiple_of(8) - name.len()], content].concat();
        member.resize(member.len().next_multiple_of(8), b'\n');
        bytes.extend(header(&format!("#1/{}", name.len().next_multiple_of(8)), member.len()));
        bytes.extend(member);
    }
    bytes
}

/// Returns a thin archive of files with these names.
fn thin(members: &[(&str, &[u8])]) -> Vec<u8> {
    let names: String = members.iter().map(|(name, _)| format!("{name}/\n")).collect();
    let mut bytes = [b"!<thin>\n".to_vec(), header("//", names.len()), names.clone().into_bytes()].concat();
    bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    for (name, content) in members {
        bytes.extend(header(&format!("/{}", names.find(&format!("{name}/")).unwrap()), content.len()));
    }
    bytes
}

fn members(sandbox: &Sandbox, name: &str) -> Vec<(String, Vec<u8>)> {
    let bytes = sandbox.read(name);
    let members = archive::members(View::new(&bytes)).expect("an archive").unwrap();
    let read = members.into_iter().map(|member| {
        let MemberContent::Here(view) = member.content else { panic!("an archive with its members inside") };
        (member.name.unwrap(), view.data().to_vec())
    });
    read.collect()
}

fn refused(run: Run, status: i32) -> String {
    assert_eq!((run.status, run.out.as_str()), (status, ""), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    run.err.strip_prefix("fatbin: ").expect("the program names itself").trim_end().to_owned()
}

fn in_one(stem: &str) -> String {
    format!("{stem}-{ONE}{stem}.bc")
}

#[test]
fn writes_an_archive_per_target_from_members_in_every_form() {
    let sandbox = sandbox();
    let forms = [
        ("binary.o", bundle(&sandbox, "--type bc", "b")),
        ("object.o", bundle(&sandbox, "--type o", "b")),
        ("text.s", bundle(&sandbox, "--type s", "b")),
        ("zstd.o", bundle(&sandbox, "--type bc --compress", "b")),
        ("zlib.o", bundle(&sandbox, "--type bc --compress=zlib --format-version 2", "b")),
        ("text-zstd.s", bundle(&sandbox, "--type s --compress", "b")),
        ("empty.o", Vec::new()),
        ("notes.txt", b"no bundle".to_vec()),
        ("plain.o", sandbox.read("host")),
    ];
    let forms: Vec<(&str, &[u8])> = forms.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    for (name, bytes) in &forms {
        sandbox.file(name, bytes);
    }
    let stems = ["binary", "object", "text", "zstd", "zlib", "text-zstd"];
    for (dialect, bytes) in [("gnu", gnu(&forms)), ("bsd", bsd(&forms)), ("thin", thin(&forms))] {
        sandbox.file("all.a", &bytes);
        for options in ["", "--type a"] {
            let wanted = format!("--target {HOST}=h.a --target {ONE}=1.a --target {TWO}=2.a");
            sandbox.fatbin(&format!("unbundle {options} {wanted} all.a")).ok();
            let expected: Vec<_> = stems.iter().map(|stem| (in_one(stem), b"code for one\n".to_vec())).collect();
            assert_eq!(members(&sandbox, "1.a"), expected, "{dialect}");
            let names: Vec<String> = members(&sandbox, "2.a").into_iter().map(|(name, _)| name).collect();
            let two = "hip-amdgcn-amd-amdhsa--gfx90a_xnack+";
            assert_eq!(names, stems.map(|stem| format!("{stem}-{two}{stem}.bc")));
            assert!(members(&sandbox, "2.a").iter().all(|(_, bytes)| *bytes == [0, 1, 2, 0xff]));
            let hosts = members(&sandbox, "h.a");
            assert_eq!(hosts[2].0, format!("text-{HOST}text.s"));
            assert!(hosts.len() == 6 && hosts.iter().all(|(_, bytes)| *bytes == sandbox.read("host")), "{dialect}");
            let listed = sandbox.fatbin(&format!("list {options} all.a")).ok();
            assert_eq!(listed, format!("{HOST}\n{ONE}\n{TWO}\n").repeat(6), "{dialect}");
        }
    }
    let listed = sandbox.fatbin("list -H all.a").ok();
    assert_eq!(listed.lines().nth(3), Some(format!("all.a!object.o: {HOST}").as_str()));
}

#[test]
fn reads_members_with_several_bundles_back_to_back() {
    let sandbox = sandbox();
    let zstd = bundle(&sandbox, "--type bc --compress", "b");
    let plain = bundle(&sandbox, "--type bc", "b");
    sandbox
        .file("new", "newer code\n")
        .fatbin(&format!("bundle --raw --type bc --compress --target {ONE}=new -o b"))
        .ok();
    let other = sandbox.read("b");
    let several = [&zstd[..], &other, &[0; 100], &plain, &other, &[0; 7]].concat();
    sandbox.file("several.a", gnu(&[("s.o", &several)]));
    sandbox.fatbin(&format!("unbundle --target {ONE}=1.a --target {TWO}=2.a several.a")).ok();
    let (old, new) = (b"code for one\n".to_vec(), b"newer code\n".to_vec());
    let expected: Vec<_> = [&old, &new, &old, &new].map(|code| (in_one("s"), code.clone())).to_vec();
    assert_eq!(members(&sandbox, "1.a"), expected);
    assert_eq!(members(&sandbox, "2.a").len(), 2);
    assert_eq!(sandbox.fatbin("list several.a").ok().lines().count(), 8);
}

#[test]
fn extracts_members_with_the_same_name_in_order() {
    let sandbox = sandbox();
    let one = bundle(&sandbox, "--type bc", "b");
    sandbox.file("one", "other\n");
    let other = bundle(&sandbox, "--type o", "b");
    sandbox.file("twice.a", gnu(&[("in/a.o", &one), ("a.o", &other)]));
    sandbox.fatbin(&format!("unbundle --target {ONE}=1.a twice.a")).ok();
    let expected = [(in_one("a"), b"code for one\n".to_vec()), (in_one("a"), b"other\n".to_vec())];
    assert_eq!(members(&sandbox, "1.a"), expected);
}

#[test]
fn extracts_all_compatible_code_and_explains_the_choice() {
    let sandbox = sandbox();
    let a = bundle(&sandbox, "--type bc", "b");
    sandbox.fatbin("bundle --raw --type bc --target hipv4-amdgcn-amd-amdhsa--gfx90a=two -o b").ok();
    sandbox.file("all.a", gnu(&[("a.o", &a), ("b.o", &sandbox.read("b"))]));
    let wanted = "hip-amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack+";
    let run = sandbox.fatbin(&format!("unbundle --explain --target {wanted}=x.a all.a"));
    let expected = format!(
        "fatbin: all.a!a.o: {HOST} is incompatible with {wanted}: its offload kind is host, not hip\n\
         fatbin: all.a!a.o: {ONE} is incompatible with {wanted}: it is for gfx906, not for gfx90a\n\
         fatbin: all.a!a.o: {TWO} is compatible with {wanted}: compatible target IDs\n\
         fatbin: all.a!b.o: hipv4-amdgcn-amd-amdhsa--gfx90a is compatible with {wanted}: compatible target IDs\n"
    );
    assert_eq!((run.status, run.err), (0, expected));
    let names: Vec<String> = members(&sandbox, "x.a").into_iter().map(|(name, _)| name).collect();
    let expected =
        ["a-hip-amdgcn-amd-amdhsa--gfx90a_xnack+a.bc", "b-hipv4-amdgcn-amd-amdhsa--gfx90ab.bc"].map(str::to_owned);
    assert_eq!(names, expected);

    let openmp = "openmp-amdgcn-amd-amdhsa--gfx906";
    assert_eq!(sandbox.fatbin(&format!("unbundle --target {openmp}=x.a all.a")).status, 1);
    sandbox.fatbin(&format!("unbundle --hip-openmp-compatible --target {openmp}=x.a all.a")).ok();
    assert_eq!(members(&sandbox, "x.a")[0].0, in_one("a"));
}

#[test]
fn reports_missing_targets_and_writes_no_archive_unless_allowed() {
    let sandbox = sandbox();
    let a = bundle(&sandbox, "--type bc", "b");
    sandbox.file("all.a", gnu(&[("a.o", &a), ("b.o", &a)]));
    let (x, y) = ("hip-amdgcn-amd-amdhsa--gfx1100", "hip-amdgcn-amd-amdhsa--gfx1030");
    let wanted = format!("--target {ONE}=1.a --target {x}=x.a --target {y}=y.a");
    let before = sandbox.names();
    let message = refused(sandbox.fatbin(&format!("unbundle {wanted} all.a")), 1);
    assert_eq!(message, format!("all.a: no entry for {y}, {x} (available: {ONE}, {TWO}, {HOST})"));
    assert_eq!(sandbox.names(), before);
    sandbox.fatbin(&format!("unbundle --allow-missing {wanted} all.a")).ok();
    assert_eq!((sandbox.read("x.a"), sandbox.read("y.a")), (b"!<arch>\n".to_vec(), b"!<arch>\n".to_vec()));
    assert_eq!(members(&sandbox, "1.a").len(), 2);

    sandbox.file("none.a", b"!<arch>\n");
    let message = refused(sandbox.fatbin(&format!("unbundle --target {ONE}=n.a none.a")), 1);
    assert_eq!(message, format!("none.a: no entry for {ONE} (available: none)"));
    sandbox.fatbin(&format!("unbundle --allow-missing --target {ONE}=n.a none.a")).ok();
    assert_eq!(sandbox.read("n.a"), b"!<arch>\n");
    for arguments in ["none.a", "--type a none.a", "--type a one", "--type o all.a"] {
        let run = sandbox.fatbin(&format!("list {arguments}"));
        assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (1, "", ""), "{arguments}");
    }
}

#[test]
fn checks_for_conflicting_target_ids_on_request() {
    let sandbox = sandbox();
    let open = "hip-amdgcn-amd-amdhsa--gfx90a";
    let two = |one: &str, other: &str| bundle::write(&[(one, &b"1"[..]), (other, b"2")], 1).unwrap().to_vec();
    let unbundle = format!("unbundle --check-input-archive --target {TWO}=x.a");
    let a = bundle(&sandbox, "--type bc --compress", "b");
    sandbox.file("bad.a", gnu(&[("a.o", &a), ("bad.o", &two(TWO, open))]));
    let message = refused(sandbox.fatbin(&format!("{unbundle} bad.a")), 2);
    let expected = "all entries for a processor must set the same features";
    assert_eq!(message, format!("bad.a!bad.o: conflicting entries {open} and {TWO}: {expected}"));
    // Without the check, all code is compatible.
    sandbox.fatbin(&format!("unbundle --target {TWO}=x.a bad.a")).ok();
    assert_eq!(members(&sandbox, "x.a").len(), 3);
    // IDs of two bundles do not share one, and two values of a feature do not conflict.
    let off = two(TWO, &format!("{open}:xnack-"));
    sandbox.file("fine.a", gnu(&[("a.o", &a), ("off.o", &off), ("open.o", &two(ONE, open))]));
    sandbox.fatbin(&format!("{unbundle} fine.a")).ok();
    let message = refused(sandbox.fatbin(&format!("{unbundle} b")), 2);
    assert_eq!(message, "b: not a bundle of type a (archives of bundles)");
}

#[test]
fn reports_a_damaged_archive_on_one_line_without_output() {
    let sandbox = sandbox();
    let plain = bundle(&sandbox, "--type bc", "b");
    let zstd = bundle(&sandbox, "--type bc --compress", "b");
    let repeated = bundle::write(&[(ONE, &b"1"[..]), (ONE, b"2")], 1).unwrap().to_vec();
    let mut other_hash = zstd.clone();
    other_hash[24] ^= 1;
    let mut cut = gnu(&[("a.o", &plain)]);
    cut.truncate(cut.len() - 40);
    let with = |bytes: &[u8]| gnu(&[("a.o", &plain), ("x.o", bytes)]);
    sandbox.file("old.a", "old");
    let cases = [
        (cut, "x.a: archive member size at 0x44: "),
        (b"!<arch>\nnonsense".to_vec(), "x.a: archive at 0x0: "),
        (with(&plain[..40]), "x.a!x.o: bundle entry"),
        (with(&[&plain[..], b"garbage"].concat()), "x.a!x.o: not a bundle"),
        (with(&repeated), &format!("x.a!x.o: duplicate entry {ONE}")),
        (with(&other_hash), "x.a!x.o: compressed bundle hash at 0x18: "),
        (with(&zstd[..zstd.len() - 5]), "x.a!x.o: compressed bundle total size at 0x8: "),
        (thin(&[("gone.o", &plain)]), "gone.o: cannot open: "),
        (thin(&[("-", &plain)]), "-: cannot open: "),
        (plain.clone(), "x.a: not a bundle of type a (archives of bundles)"),
    ];
    for (bytes, message) in cases {
        sandbox.file("x.a", bytes);
        let before = sandbox.names();
        let run =
            sandbox.fatbin(&format!("unbundle --type a --allow-missing --target {ONE}=old.a --target {TWO}=y.a x.a"));
        let found = refused(run, 2);
        assert!(found.starts_with(message), "{found}, not {message}");
        assert_eq!((sandbox.names(), sandbox.read("old.a")), (before, b"old".to_vec()));
    }
}

#[test]
fn accepts_an_archive_from_a_pipe_but_not_as_the_output() {
    let sandbox = sandbox();
    let a = bundle(&sandbox, "--type bc", "b");
    sandbox.file("all.a", gnu(&[("a.o", &a)]));
    sandbox.fatbin(&format!("unbundle --target {ONE}=1.a all.a")).ok();
    sandbox.shell(&format!("fatbin unbundle --target {ONE}=- - < all.a | cmp - 1.a")).ok();
    let run = sandbox.fatbin(&format!("unbundle --target {ONE}=all.a all.a"));
    assert_eq!((run.status, run.err.as_str()), (2, "fatbin: all.a: is both input and output\n"));
}

#[test]
fn reads_members_of_a_thin_archive_only_if_it_is_a_file_of_its_own() {
    let sandbox = sandbox();
    let thin = thin(&[("/etc/../secret", &[])]);
    let path = sandbox.path("secret").display().to_string();
    let absolute = self::thin(&[(&path, &sandbox.read("host"))]);
    sandbox
        .file("secret", sandbox.read("host"))
        .file("thin.a", &absolute)
        .file("outer.a", gnu(&[("thin.a", &absolute)]));
    assert!(sandbox.fatbin("scan thin.a").ok().contains("1 device image"), "an absolute path in a thin archive");

    for (name, method) in [("s.whl", zip::CompressionMethod::Stored), ("d.whl", zip::CompressionMethod::Deflated)] {
        let mut wheel = zip::ZipWriter::new(Cursor::new(Vec::new()));
        wheel.start_file("m", zip::write::SimpleFileOptions::default().compression_method(method)).unwrap();
        std::io::Write::write_all(&mut wheel, &absolute).unwrap();
        sandbox.file(name, wheel.finish().unwrap().into_inner());
    }
    let uri = format!("file://{}#offset=8&size={}", sandbox.path("offset").display(), absolute.len());
    sandbox.file("offset", [&[0; 8], &absolute[..]].concat());
    let of =
        |place: &str| format!("fatbin: {place}!{path}: member of a thin archive inside another archive is not read\n");
    let cases = [
        ("outer.a", of("outer.a!thin.a")),
        ("s.whl", of("s.whl!m")),
        ("d.whl", of("d.whl!m")),
        (uri.as_str(), of(&uri)),
    ];
    for (input, message) in cases {
        for command in ["scan", "verify", "inspect", "lock -o lock"] {
            let run = sandbox.fatbin(&format!("{command} {input}"));
            assert_eq!((run.status, run.err.as_str()), (2, message.as_str()), "{command}: {}", run.out);
        }
    }
    // The archive has no directory that its members could be relative to.
    sandbox.file("thin.a", thin);
    let run = sandbox.shell("fatbin list - < thin.a");
    let message =
        "fatbin: standard input!/etc/../secret: member of a thin archive inside another archive is not read\n";
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (2, "", message));
}
