//! What is asked for, and every reason why it cannot be asked so, in the order in which the tool finds them.

use std::ffi::{OsStr, OsString};

use super::targets::{self, Target};
use super::{Diagnostics, Line, Result};

/// What to do with which files.
#[derive(Debug)]
pub struct Request {
    pub action: Action,
    /// The name of a type of files; whether there is such a type shows when the inputs are there.
    pub file_type: String,
    pub inputs: Vec<OsString>,
    pub outputs: Vec<OsString>,
    pub targets: Vec<Target>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Bundle,
    Unbundle,
    List,
}

impl Request {
    /// Reads it from a command line.
    pub fn read(line: &Line, diagnostics: Diagnostics) -> Result<Request> {
        let inputs = files(line, ["input", "inputs"], diagnostics)?;
        let outputs = files(line, ["output", "outputs"], diagnostics)?;
        let utf8 = |text: &OsStr| text.to_str().map(str::to_owned).ok_or_else(|| format!("{text:?} is not UTF-8"));
        let file_type = utf8(line.text("type").unwrap_or_default())?;
        let names = line.texts("targets").map(utf8).collect::<Result<Vec<String>>>()?;
        let unbundle = line.flag("unbundle");
        let action = match (line.flag("list"), unbundle) {
            (true, _) => Action::List,
            (_, true) => Action::Unbundle,
            _ => Action::Bundle,
        };
        let counts = Counts { inputs: inputs.len(), outputs: outputs.len(), targets: names.len() };
        let refusal = match action {
            Action::List => counts.of_list(unbundle),
            _ => archive_check(line.flag("check-input-archive"), unbundle, &file_type)
                .or_else(|| counts.of_files())
                .or_else(|| if unbundle { counts.of_unbundle() } else { counts.of_bundle(&file_type) }),
        };
        if let Some(message) = refusal {
            return Err(message.to_owned());
        }
        let targets = targets::read(&names)?;
        let hosts = targets.iter().filter(|target| target.is_host).count();
        // HIP bundles the code of its devices alone.
        let is_hip = targets.iter().all(|target| target.id.starts_with("hip"));
        let may_be = if unbundle || is_hip { 0..=1 } else { 1..=1 };
        if action != Action::List && !may_be.contains(&hosts) {
            return Err(format!("expecting exactly one host target but got {hosts}"));
        }
        Ok(Request { action, file_type, inputs, outputs, targets })
    }
}

/// The files of an option that may repeat, or of the old one that takes them all at once.
fn files(line: &Line, [option, old]: [&str; 2], diagnostics: Diagnostics) -> Result<Vec<OsString>> {
    let all = |option: &str| -> Vec<OsString> { line.texts(option).map(OsStr::to_owned).collect() };
    let (files, deprecated) = (all(option), all(old));
    match (files.is_empty(), deprecated.is_empty()) {
        (false, false) => Err(format!("-{old} and -{option} cannot be used together, use only -{option} instead")),
        (true, false) => {
            diagnostics.warning(&format!("-{old} is deprecated, use -{option} instead"));
            Ok(deprecated)
        }
        _ => Ok(files),
    }
}

fn archive_check(asked: bool, unbundle: bool, file_type: &str) -> Option<&'static str> {
    match (asked, unbundle) {
        (true, false) => Some("-check-input-archive cannot be used while bundling"),
        (true, true) if file_type != "a" => {
            Some("-check-input-archive can only be used for unbundling archives (-type=a)")
        }
        _ => None,
    }
}

/// How many there are of everything, and what is wrong with that.
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

    fn of_files(&self) -> Option<&'static str> {
        first([
            (self.outputs == 0, "no output file specified!"),
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

/// The message of the first that is so.
fn first<const N: usize>(wrong: [(bool, &'static str); N]) -> Option<&'static str> {
    wrong.into_iter().find(|(is_wrong, _)| *is_wrong).map(|(_, message)| message)
}
