//! Which code runs on which device: every answer of `fatbin select`, compared with NVIDIA's and LLVM's tools.
//!
//! | module | pairs | decided by |
//! |---|---|---|
//! | [`asked`] | what `all` and `all-major` ask for | nvcc, and the architectures that ptxas lists |
//! | [`ptx`] | PTX and NVIDIA's devices | ptxas, which compiles it or not |
//! | [`cubins`] | cubins and NVIDIA's devices | nvlink, which links them or not |
//! | [`target_ids`] | names of AMD's processors and their features | clang, option `--offload-arch` |
//! | [`code_object_names`] | names and kernels of code objects | comgr of ROCm 5.2, llvm-readelf |
//! | [`code_objects`] | code objects and AMD's devices | ld.lld, the inliner of LLVM for generic ones, clang-offload-bundler |
//! | [`stubs`] | kernels that only end or trap | ptxas and clang, which compile them |
//! | [`rubin`] | a family of three in all commands | ptxas and nvlink |
//!
//! The tools are asked for the architectures that they know, too. So a new release of a tool that knows more, or that
//! disagrees, fails here with the names. Pairs that no tool decides are listed by name in the modules, with the source
//! of fatbin's answer.

mod asked;
mod code_object_names;
mod code_objects;
mod cubins;
mod nvidia_tools;
mod ptx;
mod rubin;
mod stubs;
mod target_ids;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::parallel::parallel;
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("asked", asked::agrees_with_nvcc),
        trial("ptxas", ptx::agrees_with_ptxas),
        trial("nvlink", cubins::agrees_with_nvlink),
        trial("offload-arch", target_ids::agrees_with_clang),
        trial("offload-arch-combinations", target_ids::combinations_agree_with_clang),
        trial("code-object-names", code_object_names::agree_with_comgr_and_readelf),
        trial("lld", code_objects::agrees_with_lld),
        trial("inliner", code_objects::agrees_with_the_inliner),
        trial("bundler", code_objects::agrees_with_the_bundler),
        trial("stubs", stubs::agree_with_ptxas_and_clang),
        trial("rubin", rubin::is_a_member_of_the_family_in_every_command),
    ]
}

fn trial(name: &'static str, test: fn(&Path) -> Result<()>) -> Trial {
    Trial::ignorable_test(format!("compatibility/{name}"), move || {
        completion(fresh_directory("compatibility", name).and_then(|directory| test(&directory)))
    })
}

/// Code and a device.
type Pair = (String, String);

/// Answers of a program: true for the pairs whose code runs on the device.
type Answers = BTreeMap<Pair, bool>;

/// A pair whose code a tool accepts, and the device rejects.
struct TooLenient {
    code: &'static str,
    device: &'static str,
    /// Source of the fact that the device rejects the code.
    source: &'static str,
}

/// Requires that both programs answer for the same pairs, and equally, except for the pairs of `exceptions`. An exception that
/// is none is an error, too.
fn agree(trial: &str, ours: &Answers, theirs: &Answers, exceptions: &[TooLenient]) -> Result<()> {
    ensure!(ours.keys().eq(theirs.keys()), "{trial}: {} pairs and {} pairs", ours.len(), theirs.len());
    let is_exception = |(code, device): &Pair| exceptions.iter().any(|it| it.code == code && it.device == device);
    let mut contradictions = Vec::new();
    let mut met = 0;
    for ((pair, own), tools) in ours.iter().zip(theirs.values()) {
        match (*own, *tools) {
            (false, true) if is_exception(pair) => met += 1,
            (own, tools) if own == tools && !is_exception(pair) => {}
            (own, tools) => contradictions.push(format!("{} on {}: fatbin {own}, the tool {tools}", pair.0, pair.1)),
        }
    }
    ensure!(
        contradictions.is_empty(),
        "{trial}: {} contradictions:\n{}",
        contradictions.len(),
        contradictions.join("\n")
    );
    ensure!(met == exceptions.len(), "{trial}: {met} of {} exceptions are met", exceptions.len());
    for TooLenient { code, device, source } in exceptions {
        println!("compatibility/{trial}: {code} on {device}: the tool accepts the code; {source}");
    }
    let running = ours.values().filter(|runs| **runs).count();
    println!("compatibility/{trial}: {} pairs, {running} of them run, 0 contradictions, {met} exceptions", ours.len());
    Ok(())
}

/// Requires that a list has exactly the names that the tool does not know.
fn equal_names(what: &str, found: &BTreeSet<String>, listed: &str) -> Result<()> {
    let listed: BTreeSet<String> = listed.split_whitespace().map(str::to_owned).collect();
    let surplus: Vec<&String> = found.difference(&listed).collect();
    let missing: Vec<&String> = listed.difference(found).collect();
    ensure!(
        surplus.is_empty() && missing.is_empty(),
        "{what}: not listed: {surplus:?}; listed, but not found: {missing:?}"
    );
    Ok(())
}

/// Returns whether a tool accepts its input. If not, its message contains one of `rejections`; any other failure is an error.
fn accepts(directory: &Path, program: &Path, arguments: &[&str], rejections: &[&str]) -> Result<bool> {
    let output = command(program).args(arguments).current_dir(directory).output()?;
    if output.status.success() {
        return Ok(true);
    }
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let line = format!("in {}: {} {}", directory.display(), program.display(), arguments.join(" "));
    ensure!(rejections.iter().any(|rejection| text.contains(rejection)), "{line}: {}: {text}", output.status);
    Ok(false)
}

/// Returns whether each device runs the code of each file, by `fatbin select`. A file holds the code of one architecture.
fn selected(directory: &Path, codes: &BTreeMap<String, PathBuf>, devices: &BTreeSet<String>) -> Result<Answers> {
    let devices: Vec<&String> = devices.iter().collect();
    let answers =
        parallel(&devices, |device| on_device(directory, codes, device).with_context(|| format!("device {device}")))?;
    Ok(answers.into_iter().flatten().collect())
}

fn on_device(directory: &Path, codes: &BTreeMap<String, PathBuf>, device: &str) -> Result<Vec<(Pair, bool)>> {
    let mut fatbin = command(fatbin_program());
    fatbin.args(["select", "--json", "--device", device]).args(codes.values()).current_dir(directory);
    // The exit status is about all files together.
    let output = fatbin.output()?;
    let document: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr)))?;
    let files = document["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    ensure!(files.len() == codes.len(), "{} files", files.len());
    let mut found = Vec::new();
    for (code, file) in codes.keys().zip(files) {
        let answers = &file["choices"][0]["answers"];
        let is_single = answers[1].is_null() && answers[0]["images"][1].is_null();
        let arch = &answers[0]["images"][0]["arch"];
        ensure!(is_single && arch == code, "{code}: select states {arch}:\n{file:#}");
        let runs = match answers[0]["answer"].as_str() {
            Some("nothing") => false,
            Some("native" | "compatible" | "generic" | "jit-ptx") => true,
            other => bail!("{code}: {other:?}"),
        };
        found.push(((code.clone(), device.to_owned()), runs));
    }
    Ok(found)
}
