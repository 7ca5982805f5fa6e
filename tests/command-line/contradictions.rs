//! Zip files in which two readers find different files, and wheels that contradict their `RECORD`.

use crate::check::wheel;
use crate::zip_files::{Entry, RECORD, crc32, entry, row, rows, wheel_of, zip_of, zip_parts, zip_with_directory};
use crate::{Run, Sandbox};

/// Commands that read a file, and that edit it. The name of the file follows.
const READING: [&str; 4] = ["scan", "verify", "lock -o lock", "check --policy policy"];
const EDITING: [&str; 1] = ["prune --keep sm_90"];
const ALSO_READING: [&str; 2] = ["inspect", "./"];
const ALSO_EDITING: [&str; 3] = ["transcode --to zstd", "strip --device-debug", "replace --image 0=sm90"];

/// The name of a file, its bytes, and a part of the message about it.
type Case = (&'static str, Vec<u8>, &'static str);

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "sm90").fixture("answer-sm_80.ptx", "ptx").file("policy", "");
    sandbox.fatbin("pack --kind cuda -o library sm90 ptx").ok();
    sandbox
}

/// Files of a package: one with device code, and a text.
fn files(sandbox: &Sandbox) -> [Entry; 2] {
    [entry("demo/a.so", sandbox.read("library")), entry("demo/b.py", "x = 1\n")]
}

fn read(sandbox: &Sandbox, command: &str, name: &str) -> Run {
    sandbox.fatbin(&if command == "./" { format!("./{name}") } else { format!("{command} {name}") })
}

/// Requires that every command names a contradiction, and that none writes an output.
fn is_refused(sandbox: &Sandbox, name: &str, expected: &str) {
    is_named(sandbox, name, expected, &READING);
    is_not_edited(sandbox, name, &EDITING);
}

/// Requires that commands name a contradiction.
fn is_named(sandbox: &Sandbox, name: &str, expected: &str, commands: &[&str]) {
    for &command in commands {
        // A list of images is not worth the hashes of all files.
        let is_hash = expected.contains("differs from RECORD") && command == "scan";
        let run = read(sandbox, if is_hash { "scan --hash" } else { command }, name);
        assert!(run.status == 2 && run.err.contains(expected), "{command} {name}: {expected}: {}", run.err);
        assert!(!sandbox.path("lock").exists(), "{command} {name}");
        if command.starts_with("check") {
            let is_undecided = |line: &str| line.contains(": undecided: readable: ") && line.contains(expected);
            assert!(run.out.lines().any(is_undecided), "{name}: {}", run.out);
        }
    }
}

/// Requires that commands do not write an output.
fn is_not_edited(sandbox: &Sandbox, name: &str, commands: &[&str]) {
    for command in commands {
        let run = sandbox.fatbin(&format!("{command} -o new {name}"));
        assert_eq!((run.status, sandbox.path("new").exists()), (2, false), "{command} {name}: {}{}", run.out, run.err);
    }
}

/// Requires that no command has an objection, and that the results of edits are consistent.
fn is_accepted(sandbox: &Sandbox, name: &str) {
    for command in READING {
        let run = read(sandbox, command, name);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{command} {name}: {}", run.out);
    }
    std::fs::remove_file(sandbox.path("lock")).unwrap();
}

fn wheels(sandbox: &Sandbox) -> Vec<Case> {
    let files = files(sandbox);
    let good = rows(&files);
    let [library, text] = files.clone();
    let with_row = |row: &str| good.replace(&self::row("demo/b.py", "sha256", &text.bytes), row);
    let with = |changed: &str| wheel_of(&files, &[&with_row(changed)]);
    let of_text = row("demo/b.py", "sha256", &text.bytes);
    let other_text = [library.clone(), entry("demo/b.py", "x = 2\n")];
    let other_library = [entry("demo/a.so", [&library.bytes[..], b"\0"].concat()), text.clone()];
    let stale = rows(&other_text);
    let signed = [library.clone(), text.clone(), entry("demo-1.0.dist-info/RECORD.jws", "{}")];
    let two = [library.clone(), text.clone(), entry("other-1.0.dist-info/RECORD", "")];
    let differ = "2 members have the name demo-1.0.dist-info/RECORD, and differ; readers take the first or the last";
    vec![
        ("text.whl", wheel_of(&other_text, &[&good]), "demo/b.py differs from RECORD, which states sha256="),
        ("code.whl", wheel_of(&other_library, &[&good]), "demo/a.so differs from RECORD, which states sha256="),
        ("sha512.whl", with(&row("demo/b.py", "sha512", b"")), "demo/b.py differs from RECORD, which states sha512="),
        ("sha384.whl", with(&row("demo/b.py", "sha384", b"")), "demo/b.py differs from RECORD, which states sha384="),
        ("md5.whl", with("demo/b.py,md5=0,6\n"), "demo/b.py has a hash of an unknown algorithm in RECORD: \"md5=0\""),
        ("size.whl", with(&of_text.replace(",6\n", ",7\n")), "demo/b.py has 6 bytes, and 7 in RECORD"),
        ("size-alone.whl", with("demo/b.py,,7\n"), "demo/b.py has 6 bytes, and 7 in RECORD"),
        ("first-row.whl", with(&format!("demo/b.py,sha256=x,6\n{of_text}")), "demo/b.py has several rows in RECORD"),
        ("last-row.whl", with(&format!("{of_text}demo/b.py,sha256=x,6\n")), "demo/b.py has several rows in RECORD"),
        ("equal-rows.whl", with(&of_text.repeat(2)), "demo/b.py has several rows in RECORD"),
        ("quoted-row.whl", with(&format!("{of_text}\"demo/b.py\",,\n")), "demo/b.py has several rows in RECORD"),
        ("no-row.whl", with(""), "demo/b.py has no row in RECORD"),
        ("signed.whl", wheel_of(&signed, &[&with_row("")]), "demo/b.py has no row in RECORD"),
        ("other-row.whl", with("./demo/b.py,,\n"), "./demo/b.py has a row in RECORD and is missing"),
        ("no-file.whl", with(&format!("{of_text}demo/c.py,,\n")), "demo/c.py has a row in RECORD and is missing"),
        ("mark.whl", wheel_of(&files, &[&format!("\u{feff}{good}")]), "RECORD begins with a byte order mark"),
        ("records.whl", wheel_of(&files, &[&good, &good]), "has 2 RECORD members"),
        ("directories.whl", wheel_of(&two, &[&good]), "has 2 RECORD members"),
        ("last-record.whl", wheel_of(&files, &[&good, &stale]), differ),
        ("first-record.whl", wheel_of(&files, &[&stale, &good]), differ),
    ]
}

#[test]
fn wheels_that_contradict_their_record_are_named_and_not_changed() {
    let sandbox = sandbox();
    for (name, bytes, expected) in wheels(&sandbox) {
        is_refused(sandbox.file(name, bytes), name, expected);
    }
}

/// Sets the bytes at an offset of a local header.
fn set<const SIZE: usize>(header: &mut [u8], at: usize, bytes: [u8; SIZE]) {
    header[at..at + SIZE].copy_from_slice(&bytes);
}

fn zips(sandbox: &Sandbox) -> Vec<Case> {
    let [library, text] = files(sandbox);
    let with = |changed: Entry| zip_of(&[text.clone(), changed]);
    let hidden = Entry { is_listed: false, ..library.clone() };
    let listed = zip_of(std::slice::from_ref(&text));
    let other = entry("demo/a.so", "other");
    let [members, directory, end] = zip_parts(&[text.clone(), library.clone()]);
    let one_of_two = {
        let mut end = end.clone();
        end[8] = 1;
        end[10] = 1;
        [&members[..], &directory, &end].concat()
    };
    let other_size = {
        let mut end = end.clone();
        end[12] -= 1;
        [&members[..], &directory, &end].concat()
    };
    // The comment of the first record is another directory with its record.
    let two_ends = {
        let other = zip_with_directory(&members, &library.central(text.local().len()), 1);
        let other = &other[members.len()..];
        let comment = (other.len() as u16).to_le_bytes();
        [&members[..], &directory, &end[..20], &comment, other].concat()
    };
    // The data of the first member has the second.
    let overlapping = {
        let inner = entry("c", "c");
        let outer = entry("demo/a.so", [&library.bytes[..], &inner.local()].concat());
        let [members, directory, _] = zip_parts(&[outer]);
        let directory = [directory, inner.central(members.len() - inner.local().len())].concat();
        zip_with_directory(&members, &directory, 2)
    };
    let renamed = {
        let name = b"demo/c.so";
        let content = [&[1][..], &crc32(b"demo/a.so").to_le_bytes(), name].concat();
        [&[0x75, 0x70][..], &(content.len() as u16).to_le_bytes(), &content].concat()
    };
    let missing = "demo/a.so is not in the central directory";
    let differ = "2 members have the name demo/a.so, and differ; readers take the first or the last";
    let size = library.bytes.len();
    let descriptor = |size: usize| {
        let sizes = [(size as u32).to_le_bytes(), (size as u32).to_le_bytes()].concat();
        [&b"PK\x07\x08"[..], &crc32(&library.bytes).to_le_bytes(), &sizes].concat()
    };
    let zeroed = |header: &mut [u8]| set(header, 14, [0; 12]);
    let streamed = Entry { flags: 8, local: zeroed, ..library.clone() };
    vec![
        ("gap.zip", zip_of(&[text.clone(), hidden.clone(), entry("c", "c")]), missing),
        ("front.zip", zip_of(&[hidden.clone(), text.clone()]), missing),
        ("behind.zip", zip_of(&[text.clone(), hidden.clone()]), missing),
        ("searched.zip", zip_of(&[Entry { after: b"some".to_vec(), ..text.clone() }, hidden.clone()]), missing),
        (
            "several.zip",
            zip_of(&[text.clone(), hidden.clone(), hidden]),
            "demo/a.so and 1 more are not in the central directory",
        ),
        ("joined.zip", [zip_of(std::slice::from_ref(&library)), listed].concat(), missing),
        (
            "names.zip",
            with(Entry { local_name: "demo/x.so".into(), ..library.clone() }),
            "demo/a.so has the name demo/x.so here",
        ),
        (
            "unicode.zip",
            with(Entry { extra: renamed, ..library.clone() }),
            "demo/a.so has the name demo/c.so for some readers",
        ),
        (
            "method.zip",
            with(Entry { local: |header| header[8] = 8, ..library.clone() }),
            "demo/a.so has another compression method",
        ),
        ("encryption.zip", with(Entry { local: |header| header[6] |= 1, ..library.clone() }), "or another encryption"),
        (
            "checksum.zip",
            with(Entry { local: |header| header[14] ^= 1, ..library.clone() }),
            "demo/a.so has the checksum ",
        ),
        (
            "packed.zip",
            with(Entry { local: |header| header[18] ^= 1, ..library.clone() }),
            "demo/a.so has the compressed size ",
        ),
        ("size.zip", with(Entry { local: |header| header[22] ^= 1, ..library.clone() }), "demo/a.so has the size "),
        (
            "descriptor.zip",
            with(Entry { after: descriptor(size + 1), ..streamed.clone() }),
            "demo/a.so: contradicts the central directory",
        ),
        ("no-descriptor.zip", with(streamed), "demo/a.so: contradicts the central directory"),
        ("twice.zip", zip_of(&[library.clone(), other.clone()]), differ),
        ("twice-swapped.zip", zip_of(&[other.clone(), text.clone(), library.clone()]), differ),
        (
            "path.zip",
            zip_of(&[
                library.clone(),
                Entry { name: "demo/./a.so".into(), local_name: "demo/./a.so".into(), ..other.clone() },
            ]),
            differ,
        ),
        (
            "separator.zip",
            zip_of(&[library.clone(), Entry { name: "demo\\a.so".into(), local_name: "demo\\a.so".into(), ..other }]),
            differ,
        ),
        (
            "directory.zip",
            with(Entry { name: "demo/".into(), local_name: "demo/".into(), ..library }),
            "demo/ has the name of a directory, and ",
        ),
        ("overlap.zip", overlapping, "overlaps the member before it"),
        ("count.zip", one_of_two, "the number of entries is 1, and another entry follows"),
        ("directory-size.zip", other_size, "states a directory of "),
        ("ends.zip", two_ends, "lists other entries than the one at "),
    ]
}

#[test]
fn zip_files_in_which_readers_find_different_files_are_named_and_not_changed() {
    let sandbox = sandbox();
    for (name, bytes, expected) in zips(&sandbox) {
        is_refused(sandbox.file(name, bytes), name, expected);
    }
}

#[test]
fn contradictions_of_files_in_zip_files_are_named_and_not_changed() {
    let sandbox = sandbox();
    for (name, bytes, expected) in wheels(&sandbox).into_iter().step_by(6).chain(zips(&sandbox).into_iter().step_by(8))
    {
        sandbox.file("outer.zip", zip_of(&[entry("first", "first"), entry(name, bytes)]));
        is_refused(&sandbox, "outer.zip", expected);
        is_named(&sandbox, "outer.zip", expected, &ALSO_READING);
        is_not_edited(&sandbox, "outer.zip", &ALSO_EDITING);
        assert!(sandbox.fatbin("verify outer.zip").err.contains(&format!("outer.zip!{name}: ")), "{name}");
    }
}

/// Files that all readers understand in the same way, and whether they are edited. `None` for a signed file.
fn ordinary(sandbox: &Sandbox) -> Vec<(&'static str, Vec<u8>, Option<bool>)> {
    let files = files(sandbox);
    let good = rows(&files);
    let [library, text] = files.clone();
    let with = |changed: &str| {
        let of_text = row("demo/b.py", "sha256", &text.bytes);
        wheel_of(&files, &[&good.replace(&of_text, changed)])
    };
    let sha512 = files.each_ref().map(|file| row(&file.name, "sha512", &file.bytes)).concat() + RECORD + ",,\n";
    let signatures = ["jws", "p7s"].map(|kind| entry(&format!("demo-1.0.dist-info/RECORD.{kind}"), "{}"));
    let padded = row("demo/b.py", "sha256", &text.bytes).replace(",6", "=,6");
    let quoted = row("demo/b.py", "sha256", &text.bytes).replace("demo/b.py", "\"demo/b.py\"");
    let with_directory = [&[entry("demo/", "")], &files[..]].concat();
    let installed = |name: &str| {
        let file = |file: &str| format!("{name}-1.0.dist-info/{file}");
        let record = format!("../../bin/{name},sha256=x,1\n{},,\n", file("INSTALLER"));
        [entry(&file("WHEEL"), ""), entry(&file("INSTALLER"), "pip\n"), entry(&file("RECORD"), record)]
    };
    let sizes = |size: u64| [&(size as u32).to_le_bytes()[..], &(size as u32).to_le_bytes()].concat();
    let size = library.bytes.len() as u64;
    let crc = crc32(&library.bytes).to_le_bytes();
    let streamed = |after: Vec<u8>| {
        let zeroed = |header: &mut [u8]| set(header, 14, [0; 12]);
        zip_of(&[Entry { flags: 8, local: zeroed, after, ..library.clone() }, text.clone()])
    };
    let with_comment = |comment: &[u8]| {
        let [members, directory, mut end] = zip_parts(&files);
        end[20] = comment.len() as u8;
        [&members[..], &directory, &end, comment].concat()
    };
    let [_, _, end] = zip_parts(&files);
    let after =
        |name: &str, bytes: &[u8]| zip_of(&[library.clone(), Entry { after: bytes.to_vec(), ..entry(name, "c") }]);
    let hole = Entry { is_listed: false, ..entry("", "") };
    vec![
        ("wheel.whl", wheel_of(&files, &[&good]), Some(true)),
        ("sha512.whl", wheel_of(&files, &[&sha512]), Some(true)),
        ("sha384.whl", with(&row("demo/b.py", "sha384", &text.bytes)), Some(true)),
        ("no-hash.whl", with("demo/b.py,,\n"), Some(true)),
        ("padded.whl", with(&padded), Some(true)),
        ("quoted.whl", with(&quoted), Some(true)),
        ("signed.whl", wheel_of(&[&files[..], &signatures].concat(), &[&good]), Some(false)),
        ("directory.whl", wheel_of(&with_directory, &[&(good.clone() + "demo/,,\n")]), Some(true)),
        ("no-record.whl", zip_of(&files), Some(true)),
        ("installed.zip", zip_of(&[&files[..], &installed("one"), &installed("two")].concat()), Some(false)),
        ("program.pyz", [b"#!", &b"/usr/bin/env python3\n"[..], &zip_of(&files)].concat(), Some(false)),
        ("aligned.zip", after("c", &[0; 3]), Some(true)),
        ("signed.apk", after("c", b"\x20\0\0\0\0\0\0\0some PK\x03\x04 bytes\0\0\0\0\0APK Sig Block 42"), None),
        ("between.zip", after("c", b"some PK\x03\x04 bytes"), Some(true)),
        ("holes.zip", zip_of(&[hole.clone(), library.clone(), hole, text.clone()]), Some(true)),
        ("streamed.zip", streamed([b"PK\x07\x08", &crc[..], &sizes(size)].concat()), Some(true)),
        ("no-magic.zip", streamed([&crc[..], &sizes(size)].concat()), Some(true)),
        (
            "zip64.zip",
            streamed([b"PK\x07\x08", &crc[..], &size.to_le_bytes(), &size.to_le_bytes()].concat()),
            Some(true),
        ),
        ("known.zip", zip_of(&[Entry { flags: 8, ..library.clone() }, text.clone()]), Some(true)),
        ("equal.zip", zip_of(&[library.clone(), library.clone()]), Some(false)),
        ("comment.zip", with_comment(b"PK\x05\x06"), Some(false)),
        ("end-in-comment.zip", with_comment(&end), Some(false)),
        ("nested.zip", zip_of(&[entry("a.whl", wheel_of(&files, &[&good]))]), Some(true)),
    ]
}

#[test]
fn zip_files_that_all_readers_understand_alike_are_no_contradictions() {
    let sandbox = sandbox();
    for (name, bytes, is_edited) in ordinary(&sandbox) {
        is_accepted(sandbox.file(name, bytes), name);
        let pruned = format!("pruned-{name}");
        let run = sandbox.fatbin(&format!("prune --keep sm_90 -o {pruned} {name}"));
        if let Some(is_edited) = is_edited {
            assert_eq!(run.status == 0, is_edited, "{name}: {}", run.err);
        }
        if run.status == 0 {
            is_accepted(&sandbox, &pruned);
        }
    }
}

/// Members are opened in parallel.
#[test]
fn contradictions_come_in_one_order_with_any_number_of_threads() {
    let sandbox = Sandbox::new();
    let names = (0..40).map(|number| format!("demo/{number}.py"));
    let record: String = names.clone().map(|name| format!("{name},sha256=x,1\n")).collect();
    let files = names.map(|name| (name, vec![b'x'])).chain([(RECORD.to_owned(), record.into_bytes())]);
    let files: Vec<(String, Vec<u8>)> = files.collect();
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    sandbox.file("a.whl", wheel(&files));
    let [one, four] = [1, 4].map(|threads| sandbox.fatbin(&format!("verify -v --threads {threads} a.whl")));
    assert_eq!((one.status, one.err.lines().count()), (2, 40), "{}", one.err);
    assert_eq!(one, four);
}
