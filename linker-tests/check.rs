//! `fatbin check` with the published schemas of the reports that other programs read, and with packages that people install.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use jsonschema::{Registry, Validator};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::tools::{fetched, find_in, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Name of a trial, and its test in a separate directory.
type Test = (&'static str, fn(&Path) -> Result<()>);

const TRIALS: [Test; 5] = [
    ("sarif-schema", sarif_follows_its_schema),
    ("cyclonedx-schema", cyclonedx_follows_its_schema),
    ("libraries-of-a-wheel", each_library_of_a_wheel_is_checked_on_its_own),
    ("ptxas", ptxas_assembles_ptx_or_names_the_line),
    ("wheel-passes-its-own-policy", a_wheel_passes_its_generated_policy),
];

/// A wheel with libraries for eight releases of CUDA and seven of ROCm, with different processors.
const WHEEL: &str = "bitsandbytes-0.50.2-py3-none-manylinux_2_24_x86_64";

pub fn trials() -> Vec<Trial> {
    let trial = |&(name, test): &Test| {
        Trial::ignorable_test(format!("check/{name}"), move || {
            completion(fresh_directory("check", name).and_then(|directory| test(&directory)))
        })
    };
    TRIALS.iter().map(trial).collect()
}

/// Exit status and output of a run.
struct Checked {
    status: Option<i32>,
    out: String,
}

/// Checks files by a policy.
fn check(directory: &Path, policy: &str, arguments: &[&str]) -> Result<Checked> {
    std::fs::write(directory.join("policy.toml"), policy)?;
    fatbin(directory, &[&["check", "--policy", "policy.toml"], arguments].concat())
}

fn fatbin(directory: &Path, arguments: &[&str]) -> Result<Checked> {
    let mut command = command(fatbin_program());
    let output = command.args(arguments).current_dir(directory).output()?;
    Ok(Checked { status: output.status.code(), out: String::from_utf8(output.stdout)? })
}

/// PTX that ptxas accepts, that it refuses, that its instruction set refuses, and that is newer than ptxas 12.9.
fn ptxas_assembles_ptx_or_names_the_line(directory: &Path) -> Result<()> {
    let source = |version: &str, target: &str, body: &str| {
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry kernel()\n{{\n{body}\nret;\n}}\n"
        )
    };
    let cases = [
        ("good", source("7.0", "sm_80", ""), Some(0), ""),
        ("bad", source("7.0", "sm_80", "frobnicate.u32;"), Some(1), "line 6: "),
        ("old", source("6.0", "sm_90", ""), Some(1), "PTX .version 6.0 does not support .target sm_90"),
        ("new", source("9.9", "sm_90", ""), Some(2), "older than the code: Unsupported .version 9.9"),
    ];
    let ptxas = find_in(&fetched("ptxas-12.9"), "ptxas").ok_or_else(|| not_fetched("ptxas-12.9"))?;
    let ptxas = ptxas.to_str().context("UTF-8")?;
    for (name, text, status, expected) in cases {
        let file = format!("{name}.ptx");
        std::fs::write(directory.join(&file), text)?;
        let alone = fatbin(directory, &["check", "--ptxas", ptxas, &file])?;
        ensure!(alone.status == status && alone.out.contains(expected), "{name}: {:?}: {}", alone.status, alone.out);
        ensure!(status != Some(1) || alone.out.contains("ptx-assembles"), "{name}: {}", alone.out);
    }
    // The driver compiles the PTX on sm_90 only if there is no machine code for it.
    let link = |images: &[&str]| fatbin(directory, &[&["wrap", "--kind", "cuda", "-o", "linked.o"], images].concat());
    let cubin = crate::harness::directives::fixture("answer-sm_90.cubin")?;
    ensure!(link(&["bad.ptx", cubin.to_str().context("UTF-8")?])?.status == Some(0), "wrap fails");
    let policy = "archs.devices = ['sm_86', 'sm_90']\narchs.ptx-fallback = 'compute_80'\nimages.ptx-assembles = true";
    let linked = check(directory, policy, &["--ptxas", ptxas, "linked.o"])?;
    let found: Vec<&str> = linked.out.lines().filter(|line| line.contains("ptx-assembles")).collect();
    ensure!(
        found.len() == 1 && found[0].contains("kernel kernel: ") && found[0].contains("for sm_86: line 6: "),
        "{}",
        linked.out
    );
    Ok(())
}

fn schema(name: &str) -> Result<Value> {
    let path = fetched("report-schemas").join(name);
    let text = std::fs::read(&path).map_err(|_| not_fetched(name))?;
    serde_json::from_slice(&text).with_context(|| path.display().to_string())
}

/// Returns a report with findings of every outcome, images and kernels, and names that must be encoded.
fn report(directory: &Path, format: &str) -> Result<Value> {
    let fixture = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    std::fs::copy(fixture("answer-sm_90.cubin"), directory.join("a <b> c%20.cubin"))?;
    std::fs::copy(fixture("answer-gfx90a-debug.hsaco"), directory.join("debug.hsaco"))?;
    let policy = "warn = ['only-archs']\narchs = { require = ['gfx90a'], only = ['gfx90a'] }\n\
                  kernels = [{ max-registers = 1, max-spills = 0 }]\nimages.debug = 'none'\n";
    let checked = check(directory, policy, &["--format", format, "a <b> c%20.cubin", "debug.hsaco", "missing"])?;
    ensure!(checked.status == Some(2), "{:?}: {}", checked.status, checked.out);
    Ok(serde_json::from_str(&checked.out)?)
}

fn follows(validator: &Validator, document: &Value) -> Result<()> {
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    ensure!(errors.is_empty(), "{errors:#?}\n{document:#}");
    Ok(())
}

fn sarif_follows_its_schema(directory: &Path) -> Result<()> {
    // One pattern of the published schema is an invalid regular expression with an unmatched bracket.
    let text = schema("sarif-2.1.0.schema.json")?.to_string();
    let fixed = text.replace("^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$", "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$");
    ensure!(fixed != text, "the schema has been fixed; remove the workaround");
    let schema: Value = serde_json::from_str(&fixed)?;
    let validator = jsonschema::validator_for(&schema)?;
    let document = report(directory, "sarif")?;
    follows(&validator, &document)?;
    let results = document["runs"][0]["results"].as_array().context("no results")?;
    for rule in ["required-archs", "only-archs", "kernel-limits", "debug-information", "readable"] {
        ensure!(results.iter().any(|result| result["ruleId"] == rule), "no result of {rule}: {document:#}");
    }
    // The schema must reject an invalid document.
    let mut wrong = document.clone();
    wrong["runs"][0]["results"][0]["level"] = "bad".into();
    ensure!(!validator.is_valid(&wrong), "the schema accepts an invalid document");
    Ok(())
}

fn cyclonedx_follows_its_schema(directory: &Path) -> Result<()> {
    let base = "http://cyclonedx.org/schema/";
    let mut registry = Registry::new();
    for name in ["spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json"] {
        registry = registry.add(format!("{base}{name}"), schema(name)?)?;
    }
    let registry = registry.prepare()?;
    let main = schema("bom-1.6.SNAPSHOT.schema.json")?;
    let validator = jsonschema::options().with_registry(&registry).build(&main)?;
    let document = report(directory, "cyclonedx")?;
    follows(&validator, &document)?;
    ensure!(document["components"].as_array().is_some_and(|it| it.len() == 2), "{document:#}");
    let mut wrong = document.clone();
    wrong["components"][0]["type"] = "bad".into();
    ensure!(!validator.is_valid(&wrong), "the schema accepts an invalid document");
    Ok(())
}

fn wheel() -> Result<PathBuf> {
    Ok(find_in(&fetched("real-files"), WHEEL).ok_or_else(|| not_fetched(WHEEL))?)
}

/// Returns the libraries with findings of a rule, by the version in their names.
fn found_in(checked: &Checked, rule: &str) -> Vec<String> {
    let lines = checked.out.lines().filter(|line| line.contains(&format!(".so: {rule}: ")));
    let name = |line: &str| Some(line.split(".so: ").next()?.rsplit("libbitsandbytes_").next()?.to_owned());
    lines.filter_map(name).collect()
}

/// The wheel as a whole has code for sm_100 and gfx950; its libraries for CUDA 12.6 and ROCm 6.4 have neither.
fn each_library_of_a_wheel_is_checked_on_its_own(directory: &Path) -> Result<()> {
    let path = wheel()?;
    let path = path.to_str().context("a path that is not UTF-8")?;
    let policy = "skip = ['*_xpu*']\nimages.build-paths = false\n[files.'libbitsandbytes_cuda*'.archs]\n\
                  devices = ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_100']\n\
                  [files.'libbitsandbytes_rocm*'.archs]\nrequire = ['gfx90a', 'gfx942', 'gfx950', 'gfx1100']\n";
    let checked = check(directory, policy, &[path])?;
    ensure!(checked.status == Some(1), "{:?}: {}", checked.status, checked.out);
    let only_ptx = found_in(&checked, "devices");
    ensure!(only_ptx == ["cuda118", "cuda121", "cuda124", "cuda126"], "{only_ptx:?}\n{}", checked.out);
    let message = "no machine code that runs on sm_100 (only PTX, which is compiled when it is loaded); available: compute_90, sm_60,";
    ensure!(checked.out.contains(message), "{}", checked.out);
    ensure!(found_in(&checked, "required-archs") == ["rocm64"], "{}", checked.out);
    ensure!(
        checked.out.contains("required-archs: no code for gfx950; available: gfx90a, gfx908, gfx942,"),
        "{}",
        checked.out
    );
    // Status 1 means that no rule is undecided: the relocatable cubins of CUDA 11.8 are searched, too. ROCm's compilers
    // leave a path.
    let with_paths: BTreeSet<String> = found_in(&checked, "build-paths").into_iter().collect();
    ensure!(with_paths.iter().eq(["rocm64", "rocm70", "rocm71", "rocm72"]), "{with_paths:?}\n{}", checked.out);
    // If PTX is accepted, only the finding about ROCm 6.4 remains.
    let with_ptx = policy.replace("'sm_100']\n", "'sm_100']\nptx-fallback = 'compute_90'\n");
    let checked = check(directory, &with_ptx, &[path])?;
    ensure!(found_in(&checked, "devices").is_empty(), "{}", checked.out);
    Ok(())
}

fn a_wheel_passes_its_generated_policy(directory: &Path) -> Result<()> {
    let path = wheel()?;
    let path = path.to_str().context("a path that is not UTF-8")?;
    let policy = fatbin(directory, &["check", "--init", path])?;
    ensure!(policy.status == Some(0), "{:?}: {}", policy.status, policy.out);
    let checked = check(directory, &policy.out, &[path])?;
    ensure!(checked.status == Some(0), "{:?}: {}\n{}", checked.status, checked.out, policy.out);
    Ok(())
}
