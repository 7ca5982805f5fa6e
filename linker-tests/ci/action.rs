//! The action, with its steps run like GitHub's runner does: with the step's shell and environment, and a file for its outputs.
//! Steps that use other actions are omitted, and their inputs are recorded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use yaml_rust2::{Yaml, YamlLoader};

use super::{Ended, end, project, root};
use crate::harness::command::command;
use crate::harness::fatbin_program;

/// Result of a run.
struct Job {
    /// Exit status of the last step.
    last: Ended,
    /// Input of the code scanning step, if that step would run.
    uploaded: Option<PathBuf>,
    log: String,
    summary: String,
    outputs: HashMap<String, String>,
}

/// Runs the action in `directory` with these inputs.
fn run(directory: &Path, inputs: &[(&str, &str)]) -> Result<Job> {
    let text = std::fs::read_to_string(root().join("action.yml"))?;
    let action = YamlLoader::load_from_str(&text)?.pop().context("action.yml is empty")?;
    let mut values = HashMap::from([("github.action_path".to_owned(), root().display().to_string())]);
    let stated = action["inputs"].as_hash().context("no inputs")?;
    for (name, input) in stated {
        let name = name.as_str().context("an input has a name")?;
        let given = inputs.iter().find(|(given, _)| *given == name).map(|(_, value)| *value);
        ensure!(given.is_some() || !input["required"].as_bool().unwrap_or(false), "{name} is required");
        values.insert(format!("inputs.{name}"), given.or(input["default"].as_str()).unwrap_or_default().to_owned());
    }
    ensure!(inputs.iter().all(|(name, _)| values.contains_key(&format!("inputs.{name}"))), "an input is not known");
    std::fs::create_dir_all(directory.join("runner"))?;
    std::fs::write(directory.join("summary"), "")?;
    let (mut log, mut uploaded, mut last) = (String::new(), None, None);
    for step in action["runs"]["steps"].as_vec().context("no steps")? {
        if step["uses"].as_str().is_some() {
            let file =
                with_values(step["with"]["sarif_file"].as_str().context("only one step is an action")?, &values)?;
            // Its condition: a report exists, and its upload is enabled.
            ensure!(step["if"].as_str() == Some("inputs.upload-sarif == 'true' && steps.check.outputs.sarif != ''"));
            uploaded = (values["inputs.upload-sarif"] == "true" && !file.is_empty()).then(|| directory.join(file));
            continue;
        }
        let ended = run_step(step, directory, &mut values)?;
        log += &ended.text;
        let failed = ended.status != 0;
        last = Some(ended);
        if failed {
            break;
        }
    }
    let mut outputs = HashMap::new();
    for (name, output) in action["outputs"].as_hash().context("no outputs")? {
        let value = with_values(output["value"].as_str().context("a value")?, &values)?;
        outputs.insert(name.as_str().context("a name")?.to_owned(), value);
    }
    let summary = std::fs::read_to_string(directory.join("summary"))?;
    Ok(Job { last: last.context("no step was run")?, uploaded, log, summary, outputs })
}

fn run_step(step: &Yaml, directory: &Path, values: &mut HashMap<String, String>) -> Result<Ended> {
    let script = with_values(step["run"].as_str().context("a step runs something")?, values)?;
    ensure!(step["shell"].as_str() == Some("bash"), "a composite action has to say its shell");
    let output = directory.join("output");
    std::fs::write(&output, "")?;
    let mut command = command("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script]).current_dir(directory);
    for (name, value) in step["env"].as_hash().into_iter().flatten() {
        let (name, value) = (name.as_str().context("a name")?, value.as_str().context("a value")?);
        command.env(name, with_values(value, values)?);
    }
    command.env("GITHUB_OUTPUT", &output).env("GITHUB_STEP_SUMMARY", directory.join("summary"));
    let ended = end(command.env("RUNNER_TEMP", directory.join("runner")))?;
    for line in std::fs::read_to_string(&output)?.lines() {
        let (name, value) = line.split_once('=').context("outputs are NAME=VALUE")?;
        let step = step["id"].as_str().context("a step with outputs has an id")?;
        values.insert(format!("steps.{step}.outputs.{name}"), value.to_owned());
    }
    Ok(ended)
}

/// Replaces every `${{ ... }}` in a text; missing outputs are empty, as on GitHub.
fn with_values(text: &str, values: &HashMap<String, String>) -> Result<String> {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once("${{") {
        let (expression, after) = behind.split_once("}}").context("an expression ends")?;
        let name = expression.trim();
        done += before;
        match values.get(name) {
            Some(value) => done += value,
            None if name.starts_with("steps.") => {}
            None => bail!("{name} is no value"),
        }
        rest = after;
    }
    Ok(done + rest)
}

fn inputs() -> [(&'static str, &'static str); 3] {
    [("policy", "gpu.toml"), ("files", "dist/**/*.hsaco\n"), ("fatbin", fatbin_program())]
}

pub fn a_passing_policy_is_reported_everywhere(directory: &Path) -> Result<()> {
    project(directory, "gfx90a")?;
    let job = run(directory, &[&inputs()[..], &[("report", "junit.xml")]].concat())?;
    job.last.must_be(0, "")?;
    ensure!(job.outputs["status"] == "0" && job.log.contains("fatbin "), "{}", job.log);
    ensure!(!job.summary.is_empty() && job.uploaded.is_some_and(|file| file.exists()), "{}", job.log);
    ensure!(std::fs::read_to_string(directory.join("junit.xml"))?.contains("<testsuite"), "no JUnit");
    Ok(())
}

pub fn a_violated_policy_fails_after_the_reports(directory: &Path) -> Result<()> {
    project(directory, "gfx942")?;
    let job = run(directory, &inputs())?;
    job.last.must_be(1, "")?;
    ensure!(job.log.contains("::error title=fatbin check::device code violates gpu.toml"), "{}", job.log);
    ensure!(job.log.contains("dist/in here/a.hsaco") && job.summary.contains("gfx942"), "{}{}", job.log, job.summary);
    let sarif = std::fs::read(job.uploaded.context("nothing for code scanning")?)?;
    let sarif: serde_json::Value = serde_json::from_slice(&sarif)?;
    ensure!(sarif["runs"][0]["results"].as_array().is_some_and(|results| !results.is_empty()), "{sarif}");
    let job = run(directory, &[&inputs()[..], &[("upload-sarif", "false")]].concat())?;
    ensure!(job.uploaded.is_none() && job.outputs["sarif"] == "fatbin.sarif", "it is written and not handed on");
    Ok(())
}

pub fn a_pattern_that_matches_nothing_fails(directory: &Path) -> Result<()> {
    project(directory, "gfx90a")?;
    let [policy, _, program] = inputs();
    for files in ["dist/**/*.hsaco\nwheels/*.whl", " \n", "missing.so"] {
        let job = run(directory, &[("files", files), policy, program])?;
        job.last.must_be(2, "")?;
        ensure!(job.outputs["status"] == "2" && job.log.contains("::error "), "{}", job.log);
    }
    Ok(())
}

pub fn an_invalid_policy_writes_no_report_for_code_scanning(directory: &Path) -> Result<()> {
    project(directory, "gfx90a")?;
    std::fs::write(directory.join("gpu.toml"), "archs = what\n")?;
    let job = run(directory, &inputs())?;
    job.last.must_be(2, "")?;
    ensure!(job.uploaded.is_none() && job.log.contains("gpu.toml"), "{}", job.log);
    Ok(())
}

pub fn sizes_are_compared_and_written_for_a_comment(directory: &Path) -> Result<()> {
    project(directory, "gfx90a")?;
    let fatbin = fatbin_program();
    end(command(fatbin).args(["lock", "dist", "-o", "old.lock"]).current_dir(directory))?.must_be(0, "")?;
    let inputs = [&inputs()[..], &[("baseline", "old.lock"), ("comment", "comment.md")]].concat();
    let job = run(directory, &inputs)?;
    job.last.must_be(0, "")?;
    let comment = std::fs::read_to_string(directory.join("comment.md"))?;
    ensure!(job.outputs["comment"] == "comment.md" && comment == job.summary, "{comment}{}", job.summary);
    ensure!(comment.contains("| gfx90a | 1 | 3.4 KiB | none |"), "{comment}");
    Ok(())
}
