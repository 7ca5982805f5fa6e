//! `--format` and `--json` of every command that reports, `--dry-run` and outputs in directories of every command that
//! changes files.

use serde_json::Value;

use crate::schema::check_document;
use crate::{Run, Sandbox};

/// A command line for each report. A schema is named after its command, except for changes.
const REPORTS: [(&str, &str); 14] = [
    ("scan", "scan fat host.o"),
    ("inspect", "inspect fat host.o"),
    ("inspect", "inspect --matrix fat host.o"),
    ("verify", "verify fat host.o"),
    ("select", "select --device H100 fat host.o"),
    ("requires", "requires fat host.o"),
    ("size", "size fat host.o"),
    ("check", "check --policy policy fat"),
    ("metadata", "metadata fat"),
    ("diff", "diff fat host.o"),
    ("doctor", "doctor host.o"),
    ("edit", "prune --device H100 --dry-run fat"),
    ("edit", "strip --device-debug --dry-run fat"),
    ("edit", "transcode --to zstd --dry-run fat"),
];

/// Command lines of changes, without the input and the output.
const CHANGES: [&str; 4] =
    ["prune --device H100", "strip --device-debug", "transcode --to zstd", "replace --image 1=new.ptx"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90-debug.cubin", "cubin").fixture("answer-sm_80.ptx", "kernel.ptx");
    sandbox.fixture("answer-gfx90a.hsaco", "image").file("policy", "[archs]\nrequire = [\"sm_90\"]\n");
    sandbox.fatbin("pack --kind cuda -o fat cubin kernel.ptx").ok();
    sandbox.fatbin("wrap --kind openmp -o host.o image").ok();
    let ptx = String::from_utf8(sandbox.read("kernel.ptx")).unwrap();
    sandbox.file("new.ptx", ptx.replacen("//", "///", 1));
    sandbox
}

/// Returns the output of a change, which may warn of devices that lose code.
fn changed(sandbox: &Sandbox, line: &str) -> String {
    let run = sandbox.fatbin(line);
    assert_eq!(run.status, 0, "{line}: {}", run.err);
    run.out
}

/// Returns the formats of a command, from the error about an unknown one.
fn formats(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let Run { status, err, .. } = sandbox.fatbin(&format!("{line} --format nonsense"));
    assert_eq!(status, 2, "{line}: {err}");
    let start = "fatbin: --format nonsense: unknown value (available: ";
    let list = err.strip_prefix(start).and_then(|rest| rest.split_once(')')).unwrap_or_else(|| panic!("{line}: {err}"));
    list.0.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_report_is_written_in_each_of_its_formats() {
    let sandbox = sandbox();
    let mut count = 0;
    for (schema, line) in REPORTS {
        for format in formats(&sandbox, line) {
            let run = sandbox.fatbin(&format!("{line} --format {format}"));
            let again = sandbox.fatbin(&format!("{line} --format={format}"));
            // Conda has no packages for the devices of some files.
            assert!(run.status <= 1, "{line} {format}: {}", run.err);
            assert_eq!((&run.out, run.status), (&again.out, again.status), "{line} {format}");
            assert!(!run.out.is_empty() || format == "github", "{line} {format}");
            match format.as_str() {
                "json" => {
                    check_document(&sandbox, schema, &serde_json::from_str(&run.out).unwrap());
                    let short = sandbox.fatbin(&format!("{line} --json"));
                    assert_eq!((short.out, short.status), (run.out, run.status), "{line}");
                }
                "ndjson" => run.out.lines().for_each(|line| drop(serde_json::from_str::<Value>(line).unwrap())),
                "csv" => assert!(run.out.lines().count() > 1 && run.out.contains(','), "{}", run.out),
                "table" => assert!(!run.out.starts_with(['{', '[', '<']), "{}", run.out),
                _ => {}
            }
            count += 1;
        }
    }
    assert!(count > 35, "{count} reports");
}

#[test]
fn a_format_and_its_short_form_exclude_each_other() {
    let sandbox = sandbox();
    for (_, line) in REPORTS {
        let run = sandbox.fatbin(&format!("{line} --json --format json"));
        assert!(run.status == 2 && run.err.contains("--json") && run.err.contains("--format"), "{line}: {}", run.err);
    }
}

#[test]
fn old_spellings_are_accepted() {
    let sandbox = sandbox();
    let same = |old: &str, new: &str| {
        let [old, new] = [old, new].map(|line| sandbox.fatbin(line).ok());
        assert_eq!(old, new);
    };
    same("prune --for-device sm_90 --dry-run fat", "prune --device sm_90 --dry-run fat");
    same("select --for-device H100 fat", "select --device sm_90,H100 fat");
    same("extract --compatible-with sm_80 --to - fat", "extract --device A100 --file - fat");
    same("scan --ndjson fat", "scan --format ndjson fat");
    same("size --csv fat", "size --format csv fat");
    same("check --policy policy --format human fat", "check --policy policy --format text fat");
    sandbox.fatbin("split --format files host.o -o one").ok();
    sandbox.fatbin("split --to files host.o -o other").ok();
    assert_eq!(sandbox.read("one/index.json"), sandbox.read("other/index.json"));
}

#[test]
fn a_dry_run_prints_what_the_change_prints_and_writes_nothing() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("out")).unwrap();
    for change in CHANGES {
        let before = sandbox.names();
        let planned = sandbox.fatbin(&format!("{change} --dry-run fat")).ok();
        let json: Value =
            serde_json::from_str(&sandbox.fatbin(&format!("{change} --dry-run --json fat")).ok()).unwrap();
        assert_eq!(sandbox.names(), before, "{change}");
        assert_eq!(std::fs::read_dir(sandbox.path("out")).unwrap().count(), 0);
        // The devices that lose code are warnings of the change.
        let sizes = |text: &str| text.lines().last().unwrap().to_owned();
        let done = changed(&sandbox, &format!("{change} -o out fat"));
        assert_eq!(sizes(&planned), sizes(&done), "{change}");
        let [old, new] = ["fat", "out/fat"].map(|name| sandbox.read(name).len());
        assert_eq!([&json["size"], &json["new_size"]], [old, new], "{change}");
        assert_eq!(json["saved"], old as i64 - new as i64, "{change}");
        assert!(json.get("output").is_none() && json["files"][0]["images"].as_array().unwrap().len() == 2, "{json}");
        let difference = if new < old { format!(", {} saved", old - new) } else { String::new() };
        let difference = if new > old { format!(", {} more", new - old) } else { difference };
        assert_eq!(sizes(&done), format!("size {old} -> {new} bytes{difference}"), "{change}");
        std::fs::remove_file(sandbox.path("out/fat")).unwrap();
    }
}

#[test]
fn a_dry_run_compresses_a_wheel() {
    let sandbox = sandbox();
    let members = [("x/fat", sandbox.read("fat")), ("x/__init__.py", b"x = 1\n".repeat(50))];
    sandbox.file("x-1.0-py3-none-any.whl", crate::check::wheel(&members));
    std::fs::create_dir(sandbox.path("out")).unwrap();
    for change in CHANGES {
        let sizes = |line: &str| changed(&sandbox, line).lines().last().unwrap().to_owned();
        let planned = sizes(&format!("{change} --dry-run x-1.0-py3-none-any.whl"));
        assert_eq!(planned, sizes(&format!("{change} -o out x-1.0-py3-none-any.whl")), "{change}");
        let size = sandbox.read("out/x-1.0-py3-none-any.whl").len();
        assert!(planned.contains(&format!(" -> {size} bytes")), "{change}: {planned}");
    }
}

#[test]
fn a_change_in_a_directory_keeps_the_name_of_the_input() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("out")).unwrap();
    for change in CHANGES {
        for directory in ["out", "out/", "./out/."] {
            let json = changed(&sandbox, &format!("{change} -o {directory} --json ./fat"));
            let json: Value = serde_json::from_str(&json).unwrap();
            check_document(&sandbox, "edit", &json);
            let output = std::path::Path::new(json["output"].as_str().unwrap());
            assert_eq!(sandbox.path(output.to_str().unwrap()).canonicalize().unwrap(), sandbox.path("out/fat"));
            std::fs::remove_file(sandbox.path("out/fat")).unwrap();
        }
        let run = sandbox.fatbin(&format!("{change} -o . fat"));
        assert_eq!((run.status, run.err.contains("use --in-place")), (2, true), "{}", run.err);
        let run = sandbox.shell(&format!("fatbin {change} -o out - <fat"));
        assert_eq!(run.err, "fatbin: out: is a directory; specify a file\n");
        let run = sandbox.fatbin(&format!("{change} -o none/ fat"));
        assert!(run.status == 2 && run.err.contains("none/fat: cannot create"), "{}", run.err);
        let run = sandbox.fatbin(&format!("{change} --json -o - fat"));
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{}", run.err);
    }
    sandbox.fatbin("split host.o -o parts").ok();
    sandbox.fatbin("join parts -o out").ok();
    assert_eq!(sandbox.read("out/host.o"), sandbox.read("host.o"));
}

#[test]
fn filters_leave_the_numbers_and_places_of_images() {
    let sandbox = sandbox();
    let numbers = |filter: &str| -> Vec<String> {
        let out = sandbox.fatbin(&format!("scan -v {filter} fat host.o")).ok();
        let images = out.lines().filter_map(|line| line.trim().strip_prefix("image "));
        images.map(|line| line.split(',').next().unwrap().to_owned()).collect()
    };
    let all = numbers("");
    assert_eq!(all.len(), 3);
    for (filter, expected) in [
        ("--arch sm_90", &all[..1]),
        ("--image 1", &all[1..2]),
        ("--device H100", &all[..2]),
        ("--kind openmp", &all[2..]),
        ("--kernel answer --triple amdgcn-amd-amdhsa", &all[2..]),
    ] {
        assert_eq!(numbers(filter), expected, "{filter}");
        let json = sandbox.fatbin(&format!("scan --json {filter} fat host.o")).ok();
        let document: Value = serde_json::from_str(&json).unwrap();
        check_document(&sandbox, "scan", &document);
        assert_eq!(json.matches("\"image\": ").count(), expected.len(), "{filter}: {json}");
        let extracted = sandbox.fatbin(&format!("extract {filter} -o images fat host.o")).ok();
        assert_eq!(extracted.lines().count(), expected.len(), "{filter}: {extracted}");
        let inspected = sandbox.fatbin(&format!("inspect {} fat host.o", filter.replace("device", "compatible-with")));
        assert_eq!(inspected.ok().matches(": image ").count(), expected.len(), "{filter}");
    }
    let run = sandbox.fatbin("scan --image 7 fat");
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.err.contains("fat: no image matches number 7; available: numbers 0 to 1"), "{}", run.err);
}
