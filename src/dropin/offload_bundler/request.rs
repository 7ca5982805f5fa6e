//! Requests, and the errors in their options, checked in the tool's order.

use std::ffi::{OsStr, OsString};

use super::targets::{self, Target};
use super::{Diagnostics, Line, Result, StandIn};
use fatbin_ops::embed::llvm::bundler::{BundlerRules, FileOptions};

/// An action with its files and targets.
#[derive(Debug)]
pub struct Request {
    /// Action to perform.
    pub action: BundlerAction,
    /// Name of the file type; it is checked after the inputs are opened.
    pub file_type: String,
    /// True if `hipi` is a file type.
    pub has_hipi: bool,
    /// Input files.
    pub inputs: Vec<OsString>,
    /// Output files.
    pub outputs: Vec<OsString>,
    /// Targets, in the order of the files.
    pub targets: Vec<Target>,
}

/// Action of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundlerAction {
    /// Bundle the inputs into one file.
    Bundle,
    /// Unbundle the input.
    Unbundle,
    /// List the IDs in the input.
    List,
}

impl Request {
    /// Reads a request from a command line.
    pub fn read(line: &Line, stand_in: &StandIn, diagnostics: Diagnostics) -> Result<Request> {
        let rules = &stand_in.release.bundler;
        let inputs = files(line, ["input", "inputs"], rules, diagnostics)?;
        let outputs = files(line, ["output", "outputs"], rules, diagnostics)?;
        let utf8 = |text: &OsStr| text.to_str().map(str::to_owned).ok_or_else(|| format!("{text:?} is not UTF-8"));
        let file_type = utf8(line.text("type").unwrap_or_default())?;
        let names = line.texts("targets").map(utf8).collect::<Result<Vec<String>>>()?;
        let unbundle = line.flag("unbundle");
        let action = match (line.flag("list"), unbundle) {
            (true, _) => BundlerAction::List,
            (_, true) => BundlerAction::Unbundle,
            _ => BundlerAction::Bundle,
        };
        let counts = Counts { inputs: inputs.len(), outputs: outputs.len(), targets: names.len() };
        let refusal = match action {
            BundlerAction::List => counts.of_list(unbundle),
            _ => archive_check(line.flag("check-input-archive"), unbundle, &file_type)
                .or_else(|| counts.of_files(rules.file_options))
                .or_else(|| if unbundle { counts.of_unbundle() } else { counts.of_bundle(&file_type) }),
        };
        if let Some(message) = refusal {
            return Err(message.to_owned());
        }
        let targets = targets::read(&names, stand_in)?;
        let hosts = targets.iter().filter(|target| target.is_host).count();
        // HIP bundles device code only.
        let is_hip = targets.iter().all(|target| target.id.starts_with("hip"));
        let permitted = if unbundle || is_hip { 0..=1 } else { 1..=1 };
        if action != BundlerAction::List && !permitted.contains(&hosts) {
            return Err(format!("expecting exactly one host target but got {hosts}"));
        }
        Ok(Request { action, file_type, has_hipi: rules.has_hipi, inputs, outputs, targets })
    }
}

/// Files of a repeatable option, or of the option that lists them all. If a release has both, the latter is deprecated
/// there.
fn files(
    line: &Line,
    [option, old]: [&str; 2],
    rules: &BundlerRules,
    diagnostics: Diagnostics,
) -> Result<Vec<OsString>> {
    let all = |option: &str| -> Vec<OsString> { line.texts(option).map(OsStr::to_owned).collect() };
    let files = all(option);
    let deprecated = all(old);
    match (files.is_empty(), deprecated.is_empty()) {
        (false, false) => Err(format!("-{old} and -{option} cannot be used together, use only -{option} instead")),
        (true, false) if rules.file_options == FileOptions::Repeated => {
            diagnostics.warning(&format!("-{old} is deprecated, use -{option} instead"));
            Ok(deprecated)
        }
        (true, false) => Ok(deprecated),
        (_, true) => Ok(files),
    }
}

fn archive_check(requested: bool, unbundle: bool, file_type: &str) -> Option<&'static str> {
    match (requested, unbundle) {
        (true, false) => Some("-check-input-archive cannot be used while bundling"),
        (true, true) if file_type != "a" => {
            Some("-check-input-archive can only be used for unbundling archives (-type=a)")
        }
        _ => None,
    }
}

/// Numbers of inputs, outputs and targets, and the errors in them.
struct Counts {
    inputs: usize,
    outputs: usize,
    targets: usize,
}

impl Counts {
    fn of_list(&self, unbundle: bool) -> Option<&'static str> {
        let wrong = [
            (unbundle, "-unbundle and -list cannot be used together"),
            (self.inputs != 1, "only one input file supported for -list"),
            (self.outputs != 0, "-outputs option is invalid for -list"),
            (self.targets != 0, "-targets option is invalid for -list"),
        ];
        first(wrong)
    }

    fn of_files(&self, options: FileOptions) -> Option<&'static str> {
        let no_output = match options {
            FileOptions::Lists => "for the --outputs option: must be specified at least once!",
            FileOptions::Repeated => "no output file specified!",
        };
        first([
            (self.outputs == 0, no_output),
            (self.targets == 0, "for the --targets option: must be specified at least once!"),
        ])
    }

    fn of_unbundle(&self) -> Option<&'static str> {
        first([
            (self.inputs != 1, "only one input file supported in unbundling mode"),
            (self.outputs != self.targets, "number of output files and targets should match in unbundling mode"),
        ])
    }

    fn of_bundle(&self, file_type: &str) -> Option<&'static str> {
        first([
            (file_type == "a", "Archive files are only supported for unbundling"),
            (self.outputs != 1, "only one output file supported in bundling mode"),
            (self.inputs != self.targets, "number of input files and targets should match in bundling mode"),
        ])
    }
}

/// Message of the first condition that is true.
fn first<const N: usize>(wrong: [(bool, &'static str); N]) -> Option<&'static str> {
    wrong.into_iter().find(|(is_wrong, _)| *is_wrong).map(|(_, message)| message)
}
