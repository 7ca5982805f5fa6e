//! `fatbin schema`: JSON output follows the published schemas and has no other fields.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::Value;

use crate::Sandbox;

/// Forbids additional fields in every object of a schema. Readers must accept new fields, but each must be documented.
fn closed(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(closed);
            if map.get("properties").is_some_and(Value::is_object) && map.contains_key("type") {
                map.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(closed),
        _ => {}
    }
}

fn validator(sandbox: &Sandbox, command: &str) -> Validator {
    let mut schema: Value = serde_json::from_str(&sandbox.fatbin(&format!("schema {command}")).ok()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "{command}");
    closed(&mut schema);
    jsonschema::validator_for(&schema).unwrap()
}

fn check(validator: &Validator, document: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Checks a document against the schema of a command.
pub fn check_document(sandbox: &Sandbox, command: &str, document: &Value) {
    check(&validator(sandbox, command), document);
}

/// Returns files of many kinds, including damaged and missing ones.
fn sandbox() -> (Sandbox, &'static str) {
    let sandbox = Sandbox::new();
    for (fixture, name) in [
        ("answer-gfx90a-debug.hsaco", "a"),
        ("answer-sm_90-debug.cubin", "b"),
        ("answer-sm_80.ptx", "c.ptx"),
        ("answer-gfx90a.hsaco", "g"),
    ] {
        sandbox.fixture(fixture, name);
    }
    sandbox.fatbin("wrap --kind openmp -o openmp.o a b").ok();
    sandbox.fatbin("wrap --kind hip -o hip.o g").ok();
    sandbox.fatbin("wrap --kind cuda -o cuda.o b").ok();
    sandbox.fatbin("pack --compress -o packed --image file=a,kind=hip,note=first b").ok();
    sandbox.fatbin("bundle --raw --type o -o bundle --target host-x86_64-unknown-linux-gnu=/dev/null --target hip-amdgcn-amd-amdhsa--gfx908=g").ok();
    sandbox.file("broken", [0x10, 0xff, 0x10, 0xad]).file("text", "nothing").file("m.bc", b"BC\xc0\xde and so on");
    (sandbox, "openmp.o hip.o cuda.o packed bundle a c.ptx broken text m.bc missing")
}

#[test]
fn scan_json_follows_its_schema() {
    let (sandbox, files) = sandbox();
    let validator = validator(&sandbox, "scan");
    for options in ["", "--hash", "--fast"] {
        let document: Value =
            serde_json::from_str(&sandbox.fatbin(&format!("scan --json {options} {files}")).out).unwrap();
        assert_eq!(document["files"].as_array().unwrap().len(), 11);
        check(&validator, &document);
        for (line, file) in sandbox.fatbin(&format!("scan --ndjson {options} {files}")).out.lines().zip(0..) {
            let mut line: Value = serde_json::from_str(line).unwrap();
            check(&validator, &serde_json::json!({ "schema": "fatbin.scan/1", "files": [&line] }));
            assert_eq!(line.as_object_mut().unwrap().remove("schema"), Some("fatbin.scan/1".into()));
            assert_eq!(line, document["files"][file]);
        }
    }
    let mut document: Value = serde_json::from_str(&sandbox.fatbin("scan --json a").ok()).unwrap();
    document["files"][0]["surprise"] = 1.into();
    assert!(!validator.is_valid(&document), "the test would not see a field that is not documented");
}

#[test]
fn inspect_json_follows_its_schema() {
    let (sandbox, files) = sandbox();
    let validator = validator(&sandbox, "inspect");
    for options in ["", "--matrix"] {
        let out = sandbox.fatbin(&format!("inspect --json {options} {files}")).out;
        check(&validator, &serde_json::from_str(&out).unwrap());
    }
}

#[test]
fn extract_index_follows_its_schema() {
    let (sandbox, files) = sandbox();
    let validator = validator(&sandbox, "extract");
    for options in ["", "--stored"] {
        sandbox.fatbin(&format!("extract --index -o out {options} {files}"));
        let index: Value = serde_json::from_slice(&sandbox.read("out/index.json")).unwrap();
        assert!(index["images"].as_array().unwrap().len() > 6);
        check(&validator, &index);
    }
}

/// Collects the field names of all objects in a document.
fn fields(document: &Value, into: &mut BTreeSet<String>) {
    match document {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            into.insert(key.clone());
            fields(value, into);
        }),
        Value::Array(items) => items.iter().for_each(|item| fields(item, into)),
        _ => {}
    }
}

#[test]
fn select_json_follows_its_schema() {
    let (sandbox, files) = sandbox();
    sandbox.fixture("answer-x86_64.so", "h1").fixture("answer-x86_64.so", "h2");
    sandbox.fatbin("wrap --kind openmp -o twice.o h1 h2").ok();
    let (validator, mut seen) = (validator(&sandbox, "select"), BTreeSet::new());
    for device in ["gfx90a", "gfx908:xnack+:sramecc-", "sm_90", "sm_120", "x86_64", "spir64"] {
        let out = sandbox.fatbin(&format!("select --json --device {device} {files} twice.o")).out;
        let document = serde_json::from_str(&out).unwrap();
        check(&validator, &document);
        fields(&document, &mut seen);
    }
    assert!(["earlier", "chosen", "id", "section", "message"].iter().all(|field| seen.contains(*field)), "{seen:?}");
}

#[test]
fn size_json_follows_its_schema() {
    let (sandbox, files) = sandbox();
    let (validator, mut seen) = (validator(&sandbox, "size"), BTreeSet::new());
    for options in [
        "",
        "--by file,arch,kernel,tu,family",
        "--by container,kind,codec --baseline hip.o",
        "--by category,section,kernel",
        "--duplicates",
        "--what-if none",
    ] {
        let document = serde_json::from_str(&sandbox.fatbin(&format!("size --json {options} {files}")).out).unwrap();
        check(&validator, &document);
        fields(&document, &mut seen);
    }
    let expected = ["name", "part", "rows", "size_before", "decompressed_before", "sha256", "microseconds", "code"];
    assert!(expected.iter().all(|field| seen.contains(*field)), "{seen:?}");
}

#[test]
fn diff_json_follows_its_schema() {
    let (sandbox, _) = sandbox();
    let lock = |code: u32, stored: &str| {
        let image = format!("image gfx90a kind=hip image=elf {stored}size=3456\n");
        format!(
            "fatbin.lock/2\nfile a.so size=9000 stored=3600\nunit\n{image}  kernel k code_size={code} scratch=8+ vgprs={code}\n"
        )
    };
    sandbox
        .file("one", lock(32, ""))
        .file("two", lock(64, "codec=zstd stored=900 "))
        .fixture("answer-gfx90a.hsaco", "c");
    let (validator, mut seen) = (validator(&sandbox, "diff"), BTreeSet::new());
    let limits = "--max-growth 5% --max-growth gfx90a=10M";
    for sides in ["one two", "openmp.o hip.o", "a c", "a a", "packed bundle", "cuda.o openmp.o"] {
        let run = sandbox.fatbin(&format!("diff --json {} {sides}", if sides == "a c" { limits } else { "" }));
        let document = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{sides}: {}", run.err));
        check(&validator, &document);
        fields(&document, &mut seen);
    }
    let expected = ["max_percent", "max_bytes", "old_path", "codecs", "debug", "scratch_is_minimum", "vgprs"];
    assert!(expected.iter().all(|field| seen.contains(*field)), "{seen:?}");
}

#[test]
fn rejects_an_unknown_schema() {
    let run = Sandbox::new().fatbin("schema wrap");
    assert!(run.status == 2 && run.err.contains("(available: scan, inspect, addr2line, extract"), "{}", run.err);
}
