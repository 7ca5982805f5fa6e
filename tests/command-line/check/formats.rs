//! The reports of a check, and hostile file names in them.

use roxmltree::Document;
use serde_json::{Value, json};

use super::Sandbox;

const POLICY: &str = "warn = ['only-archs']\n\
                      archs = { require = ['sm_89'], only = ['gfx90a', 'sm_89'], forbid = ['sm_50'] }\nimages.registered = true\n";

/// A name with the closing delimiters of every report.
const HOSTILE: &str = "a]]>\"'<script>&amp;|`x`](y)\u{1b}[31m\n## @all \u{fffe}";

fn report(sandbox: &Sandbox, format: &str, files: &str) -> String {
    let run = sandbox.check(POLICY, &format!("--format {format} {files}"));
    assert_eq!((run.status, run.err.as_str()), (2, ""), "{}", run.out);
    run.out
}

#[test]
fn json_has_every_finding_and_every_evaluated_rule() {
    let sandbox = Sandbox::with_device_code();
    let document: Value = serde_json::from_str(&report(&sandbox, "json", "cuda.o v2.hipfb")).unwrap();
    let schema: Value = serde_json::from_str(&sandbox.fatbin("schema check").ok()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::validate(&schema, &document).unwrap();
    assert_eq!((&document["schema"], &document["outcome"]), (&json!("fatbin.check/1"), &json!("undecided")));
    let finding = json!({
        "rule": "required-archs", "outcome": "violated", "path": "cuda.o",
        "message": "no code for sm_89", "there": "available: compute_80, sm_90"
    });
    assert_eq!(document["findings"][0], finding);
    let second = &document["findings"][1];
    assert_eq!((&second["outcome"], &second["image"]["arch"]), (&json!("warned"), &json!("sm_90")));
    let judged = document["judged"].as_array().unwrap();
    let passed = json!({ "path": "cuda.o", "rule": "wrappers", "outcome": "passed" });
    let undecided = json!({ "path": "v2.hipfb", "rule": "wrappers", "outcome": "undecided" });
    assert!(judged.contains(&passed) && judged.contains(&undecided), "{judged:?}");
}

#[test]
fn junit_has_a_suite_per_file_and_a_case_per_rule() {
    let sandbox = Sandbox::with_device_code();
    let text = report(&sandbox, "junit", "cuda.o v2.hipfb");
    let document = Document::parse(&text).unwrap();
    let suite = |name: &str| {
        document.descendants().find(|it| it.has_tag_name("testsuite") && it.attribute("name") == Some(name)).unwrap()
    };
    let counts =
        |name: &str| ["tests", "failures", "errors"].map(|count| suite(name).attribute(count).unwrap().to_owned());
    assert_eq!(counts("cuda.o"), ["7", "1", "0"]);
    assert_eq!(counts("v2.hipfb"), ["7", "1", "1"]);
    let failure = suite("cuda.o").descendants().find(|it| it.has_tag_name("failure")).unwrap();
    assert_eq!(failure.text(), Some("no code for sm_89; available: compute_80, sm_90"));
    assert_eq!(failure.parent().unwrap().attribute("name"), Some("required-archs"));
    assert_eq!(suite("cuda.o").children().filter(|it| it.has_tag_name("testcase")).count(), 7);
}

#[test]
fn sarif_points_into_the_repository_and_keeps_its_fingerprints_when_offsets_change() {
    let sandbox = Sandbox::with_device_code();
    let results = |sandbox: &Sandbox| -> Value {
        let document: Value = serde_json::from_str(&report(sandbox, "sarif", "cuda.o v2.hipfb")).unwrap();
        assert_eq!(document["version"], "2.1.0");
        document["runs"][0]["results"].clone()
    };
    let before = results(&sandbox);
    assert_eq!((&before[0]["ruleId"], &before[0]["level"]), (&json!("required-archs"), &json!("error")));
    assert_eq!(before[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "cuda.o");
    assert_eq!((&before[1]["ruleId"], &before[1]["level"]), (&json!("only-archs"), &json!("warning")));
    // The same image after another one.
    sandbox.fatbin("wrap --kind cuda -o cuda.o sm80.ptx sm90").ok();
    let after = results(&sandbox);
    let fingerprints = |results: &Value| -> Vec<Value> {
        let mut all: Vec<Value> =
            results.as_array().unwrap().iter().map(|it| it["partialFingerprints"].clone()).collect();
        all.sort_by_key(Value::to_string);
        all
    };
    assert_ne!(before, after);
    assert_eq!(fingerprints(&before), fingerprints(&after));
}

#[test]
fn cyclonedx_lists_files_and_their_images_with_hashes() {
    let sandbox = Sandbox::with_device_code();
    let document: Value = serde_json::from_str(&report(&sandbox, "cyclonedx", "cuda.o v2.hipfb")).unwrap();
    assert_eq!((&document["bomFormat"], &document["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    let image = &document["components"][0]["components"][0];
    assert_eq!(
        (&document["components"][0]["name"], &image["name"]),
        (&json!("cuda.o"), &json!("nvptx64-nvidia-cuda sm_90 elf"))
    );
    let sum = crate::run(sandbox.command("sha256sum").arg("sm90")).ok();
    assert_eq!(image["hashes"], json!([{ "alg": "SHA-256", "content": sum.split_whitespace().next().unwrap() }]));
}

#[test]
fn undecided_rules_hide_no_violation_in_any_report() {
    let sandbox = Sandbox::with_device_code();
    let of = |format: &str| report(&sandbox, format, "cuda.o v2.hipfb");
    assert!(of("human").ends_with("\n15 checks: 11 passed, 1 warned, 2 violated, 1 undecided\n"), "{}", of("human"));
    let markdown = of("markdown");
    let heading = "## Device code violates the policy, and not all of it could be evaluated\n\n15 checks: 11 passed, ";
    assert!(markdown.starts_with(heading), "{markdown}");
    let parsed = |format: &str| -> Value { serde_json::from_str(&of(format)).unwrap() };
    assert_eq!(parsed("json")["counts"], json!({ "passed": 11, "warned": 1, "violated": 2, "undecided": 1 }));
    let text = of("junit");
    let document = Document::parse(&text).unwrap();
    let counts = ["tests", "failures", "errors"].map(|count| document.root_element().attribute(count).unwrap());
    assert_eq!(counts, ["15", "2", "1"]);
    let sarif = parsed("sarif");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let with = |outcome: &str| results.iter().filter(|it| it["properties"]["outcome"] == outcome).count();
    assert_eq!([with("violated"), with("undecided")], [2, 1]);
    let components = parsed("cyclonedx").to_string();
    assert!(components.contains("violated") && components.contains("undecided"), "{components}");
}

#[test]
fn escapes_names_in_every_report() {
    let sandbox = Sandbox::with_device_code();
    std::fs::create_dir(sandbox.path("dist")).unwrap();
    sandbox.file(&format!("dist/{HOSTILE}"), sandbox.read("v2.hipfb"));
    let text = report(&sandbox, "junit", "dist");
    let document = Document::parse(&text).unwrap();
    let known = ["testsuites", "testsuite", "testcase", "failure", "error", "system-out"];
    assert!(
        document.descendants().filter(roxmltree::Node::is_element).all(|it| known.contains(&it.tag_name().name())),
        "{text}"
    );
    for format in ["human", "markdown", "github"] {
        let text = report(&sandbox, format, "dist");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(!text.contains("\n## @"), "{text}");
    }
    let text = report(&sandbox, "markdown", "dist");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| dist")).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.matches('|').count() == 5), "{text}");
    assert!(!text.contains("<script>") && !text.contains("@all") && !text.contains("](y)"), "{text}");
    for format in ["json", "sarif", "gitlab", "cyclonedx"] {
        serde_json::from_str::<Value>(&report(&sandbox, format, "dist")).unwrap();
    }
    let document: Value = serde_json::from_str(&report(&sandbox, "sarif", "dist")).unwrap();
    let uri = &document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert!(uri.as_str().unwrap().starts_with("dist/a%5D%5D%3E%22%27%3Cscript%3E%26amp%3B%7C%60x"), "{uri}");
}

#[test]
fn github_has_an_annotation_for_each_group_of_findings() {
    let sandbox = Sandbox::with_device_code();
    sandbox.file("a,b:c%.o", sandbox.read("cuda.o"));
    let text = report(&sandbox, "github", "a,b:c%.o v2.hipfb");
    let lines: Vec<&str> = text.lines().collect();
    let first =
        "::error file=a%2Cb%3Ac%25.o,title=fatbin required-archs::no code for sm_89; available: compute_80, sm_90";
    assert_eq!(lines[0], first, "{text}");
    assert!(lines[1].starts_with("::warning file=a%2Cb%3Ac%25.o,title=fatbin only-archs::image "), "{text}");
    assert!(text.contains(",title=fatbin wrappers (undecided)::"), "{text}");
    assert!(lines.last().unwrap().starts_with("15 checks: "), "{text}");
}

#[test]
fn gitlab_has_an_issue_for_each_group_of_findings_with_a_fingerprint_of_its_own() {
    let sandbox = Sandbox::with_device_code();
    let issues: Value = serde_json::from_str(&report(&sandbox, "gitlab", "cuda.o v2.hipfb")).unwrap();
    let issues = issues.as_array().unwrap();
    let first = json!({
        "type": "issue",
        "description": "no code for sm_89; available: compute_80, sm_90",
        "check_name": "required-archs",
        "fingerprint": issues[0]["fingerprint"],
        "severity": "major",
        "location": { "path": "cuda.o", "lines": { "begin": 1 } },
    });
    assert_eq!(issues[0], first);
    let severities: Vec<_> = issues.iter().map(|issue| issue["severity"].as_str().unwrap()).collect();
    assert_eq!(severities, ["major", "minor", "minor", "major", "critical"]);
    let fingerprints: std::collections::BTreeSet<_> = issues.iter().map(|it| it["fingerprint"].to_string()).collect();
    assert_eq!(fingerprints.len(), issues.len());
}

#[test]
fn markdown_has_sizes_by_arch_and_their_changes_since_another_build() {
    let sandbox = Sandbox::with_device_code();
    let alone = report(&sandbox, "markdown", "cuda.o v2.hipfb");
    assert!(alone.contains("\n\n| arch | images | decompressed |\n|---|--:|--:|\n| "), "{alone}");
    assert!(alone.contains("\n| all | ") && alone.contains("\nas stored: "), "{alone}");
    sandbox.fatbin("lock v2.hipfb -o old.lock").ok();
    let with = |baseline: &str| {
        let run = sandbox.check(POLICY, &format!("--format markdown --baseline {baseline} cuda.o v2.hipfb"));
        assert_eq!((run.status, run.err.as_str()), (2, ""), "{}", run.out);
        run.out
    };
    let compared = with("old.lock");
    assert_eq!(compared, with("v2.hipfb"), "a lock and the file that it is of");
    let row = |arch: &str| compared.lines().find(|line| line.starts_with(&format!("| {arch} "))).unwrap().to_owned();
    assert!(row("gfx90a").ends_with(" | none |") && row("sm\\_90").ends_with(" | new |"), "{compared}");
    assert!(row("all").contains(" | +"), "{compared}");
    let missing = sandbox.check(POLICY, "--format markdown --baseline missing cuda.o");
    assert!(missing.status == 2 && missing.err.starts_with("fatbin: missing: cannot open"), "{}", missing.err);
    let other = sandbox.check(POLICY, "--format json --baseline old.lock v2.hipfb");
    assert_eq!(other.err, "fatbin: warning: --baseline has no effect; use --format markdown\n");
}

#[test]
fn markdown_fits_into_a_comment() {
    let sandbox = Sandbox::with_device_code();
    std::fs::create_dir(sandbox.path("many")).unwrap();
    for number in 0..400 {
        sandbox.file(&format!("many/a-library-with-a-longer-name-{number}.o"), sandbox.read("cuda.o"));
    }
    let run = sandbox.check(POLICY, "--format markdown many");
    assert!(run.status == 1 && run.out.len() < 65_536 - 4_096, "{}: {} bytes", run.status, run.out.len());
    assert_eq!(run.out.matches(" | violated | ").count(), 400, "warnings do not take the place of violations");
    let shown = run.out.lines().filter(|line| line.starts_with("| many/")).count();
    assert!(shown > 200, "{shown}");
    assert!(run.out.contains(&format!("\n{shown} of 1200 findings are shown.\n\n| arch |")), "{}", run.out);
}
