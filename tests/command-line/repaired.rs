//! `fatbin diff --repaired`: a build before and after other tools have changed its host files.

use serde_json::Value;

use crate::check::wheel;
use crate::schema::check_document;
use crate::{Run, Sandbox, fixture};

/// Offset of the wrapper's pointer in the relocatable objects of `wrap`, by its section.
fn objects() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-sm_80.ptx", "b").fixture("answer-gfx90a.hsaco", "c");
    sandbox.fatbin("wrap --kind cuda -o ab.o a b").ok();
    sandbox.fatbin("wrap --kind cuda -o swapped.o b a").ok();
    sandbox.fatbin("wrap --kind cuda -o a.o a").ok();
    sandbox.fatbin("wrap --kind hip -o c.o c").ok();
    sandbox
}

fn read(sandbox: &Sandbox, name: &str) -> Vec<u8> {
    std::fs::read(sandbox.path(name)).unwrap()
}

fn damaged(run: &Run, expected: &str) {
    assert_eq!(run.status, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains(expected), "{expected}: {}", run.out);
}

/// Files are matched by their device code: the names say the opposite.
#[test]
fn files_are_matched_by_content() {
    let sandbox = objects();
    for (directory, names) in [("old", ["x.so", "y.so"]), ("new", ["y.so", "x.so"])] {
        std::fs::create_dir(sandbox.path(directory)).unwrap();
        for (object, name) in ["a.o", "c.o"].into_iter().zip(names) {
            sandbox.file(&format!("{directory}/{name}"), read(&sandbox, object));
        }
    }
    let run = sandbox.fatbin("diff --repaired old new");
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", run.out);
    assert!(lines[0].starts_with("y.so -> x.so: intact, 1 device image, "), "{}", run.out);
    assert!(lines[1].starts_with("x.so -> y.so: intact, 1 device image, "), "{}", run.out);
}

#[test]
fn device_code_must_be_the_same_and_in_the_same_order() {
    let sandbox = objects();
    damaged(&sandbox.fatbin("diff --repaired ab.o swapped.o"), "the same images as before are in another order");
    damaged(&sandbox.fatbin("diff --repaired ab.o a.o"), "the image for sm_80 ptx is missing");
    damaged(&sandbox.fatbin("diff --repaired a.o ab.o"), "the image for sm_80 ptx is new");
    let mut other = fixture("answer-sm_90.cubin");
    let last = other.len() - 1;
    other[last] ^= 1;
    sandbox.file("a", other);
    sandbox.fatbin("wrap --kind cuda -o other.o a").ok();
    damaged(&sandbox.fatbin("diff --repaired a.o other.o"), "the image for sm_90 differs");
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.file("empty/text", "nothing").file("empty/more", "nothing");
    damaged(&sandbox.fatbin("diff --repaired a.o empty"), "a.o: DAMAGED: missing, with a device image");
    damaged(&sandbox.fatbin("diff --repaired empty a.o"), "a.o: DAMAGED: added, with a device image");
    let nothing = sandbox.fatbin("diff --repaired empty empty");
    assert_eq!(nothing.status, 2, "{}{}", nothing.out, nothing.err);
}

/// What `strip -s` does to an object: the wrapper's pointer and the constructor lose their relocations.
#[test]
fn the_registration_must_stay() {
    let sandbox = objects();
    let mut bytes = read(&sandbox, "a.o");
    for name in [".rela.nvFatBinSegment", ".rela.init_array.101"] {
        let section = section(&bytes, name);
        // Entries of another type are no relocations.
        bytes[section + 4] = 1;
    }
    sandbox.file("stripped.o", bytes);
    let run = sandbox.fatbin("diff --repaired a.o stripped.o -v");
    damaged(&run, "cuda wrapper at 0x");
    damaged(&run, "registers nothing");
    damaged(&run, "is no longer registered: no wrapper leads to it");
    damaged(&run, "0 of 1 constructors lead to code");
    let short = sandbox.fatbin("diff --repaired a.o stripped.o");
    damaged(&short, "; 3 more with -v");
    assert_eq!(short.out.lines().count(), 1, "{}", short.out);
}

/// Returns the offset of the header of a section in a 64-bit ELF file.
fn section(bytes: &[u8], name: &str) -> usize {
    let number =
        |at: usize, size: usize| (0..size).rev().fold(0, |all, index| all << 8 | usize::from(bytes[at + index]));
    let (headers, count, names) = (number(40, 8), number(60, 2), number(62, 2));
    let names = number(headers + 64 * names + 24, 8);
    let is_named = |at: &usize| bytes[names + number(*at, 4)..].starts_with(format!("{name}\0").as_bytes());
    (0..count).map(|index| headers + 64 * index).find(is_named).unwrap()
}

#[test]
fn the_record_of_a_wheel_must_be_true() {
    let sandbox = objects();
    let object = read(&sandbox, "a.o");
    let info = "demo-1.0.dist-info/RECORD";
    let row = "demo/a.so,,\n";
    let cases = [
        (format!("{row}{info},,\n"), "RECORD is true for 3 files", 1),
        (format!("{row}{info},,\ndemo/b.py,,\n"), "RECORD is true for 3 files", 0),
        (format!("{row}{info},,\ndemo/b.py,sha256=x,1\n"), "demo/b.py differs from RECORD, which states sha256=x", 1),
        (format!("{row}{info},,\ndemo/b.py,,\ndemo/c.py,,\n"), "demo/c.py has a row in RECORD and is missing", 1),
    ];
    for (index, (record, expected, status)) in cases.into_iter().enumerate() {
        let files = [("demo/a.so", object.clone()), ("demo/b.py", b"b".to_vec()), (info, record.into_bytes())];
        sandbox.file("demo-1.0-py3-none-any.whl", wheel(&files));
        let run = sandbox.fatbin("diff --repaired --json a.o demo-1.0-py3-none-any.whl");
        let document: Value = serde_json::from_str(&run.out).unwrap();
        check_document(&sandbox, "repaired", &document);
        assert_eq!(document["files"][0]["problems"], serde_json::json!([]), "{document:#}");
        let text = sandbox.fatbin("diff --repaired a.o demo-1.0-py3-none-any.whl");
        assert_eq!((run.status, text.status), (status, status), "{index}: {}", text.out);
        let expected = if index == 0 { "demo/b.py has no row in RECORD" } else { expected };
        assert!(text.out.contains(expected), "{index}: {}", text.out);
    }
    sandbox.file("demo-1.0-py3-none-any.whl", wheel(&[("demo/a.so", object)]));
    damaged(&sandbox.fatbin("diff --repaired a.o demo-1.0-py3-none-any.whl"), "whl: DAMAGED: no RECORD");
}
