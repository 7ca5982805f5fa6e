//! `fatbin check`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::access;
use super::inputs::InputArguments;
use super::limit::LimitArgument;
use super::{Status, status};
use crate::check::{self, CheckedFile, Policy, Verdict};
use crate::error::Error;
use crate::inventory::File;
use crate::io::Input;
use crate::ops;
use crate::report;
use crate::scan::{CacheBudget, Options, Outcome};
use crate::survey::{AnalysisOptions, AnalyzedFile};

/// Check device code against a policy: architectures, kernels, sizes, debug information and more
///
/// A policy is a TOML file: --init generates one from a known-good build, `fatbin schema policy` documents all keys. Every
/// file is checked on its own, and an input without device code is a violation.
///
/// Exit status: 0 if all requirements are met, 1 if one is violated, 2 if one cannot be decided or for trouble.
#[derive(Args)]
pub struct Arguments {
    /// The policy, a TOML file
    #[arg(long, value_name = "POLICY", required_unless_present = "init")]
    policy: Option<PathBuf>,

    /// Generate a policy from known-good files and print it
    #[arg(long, conflicts_with_all = ["policy", "format"])]
    init: bool,

    /// Format of the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// Also write an HTML page with findings, sizes, kernels by arch and tables; it loads nothing
    #[arg(long, value_name = "OUT.html", conflicts_with = "init")]
    html: Option<PathBuf>,

    #[command(flatten)]
    limit: LimitArgument,

    #[command(flatten)]
    inputs: InputArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text
    Human,
    /// One document (schema fatbin.check/1)
    Json,
    /// JUnit XML with a test case for each rule and file
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Markdown table for the summary of a CI job
    Markdown,
    /// CycloneDX 1.6 with files and their images as components
    Cyclonedx,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let inputs = arguments.inputs.with_listed()?;
    let options = arguments.limit.options();
    let Some(path) = arguments.policy else { return init(&inputs, options) };
    let policy = read_policy(&path)?;
    let format = arguments.format;
    let options = Options { hash: policy.needs_hashes() || format == Format::Cyclonedx, ..options };
    let wanted = |path: &str| {
        let wanted = policy.analysis_options(path);
        // The page shows kernels even if the policy does not require them.
        AnalysisOptions { inspection: wanted.inspection || arguments.html.is_some(), ..wanted }
    };
    let subjects = survey(&inputs, options, &wanted)?;
    let verdict = check::check(&policy, &inputs.names(), &subjects);
    let surveys = || subjects.iter().map(|subject| &subject.survey).collect::<Vec<_>>();
    if let Some(path) = &arguments.html {
        report::write_page(path, &surveys(), Some(&verdict))?;
    }
    let text = match format {
        Format::Human => report::verdict_text(&verdict),
        Format::Json => report::verdict_json(&verdict),
        Format::Junit => report::verdict_junit(&verdict),
        Format::Sarif => report::verdict_sarif(&verdict),
        Format::Markdown => report::verdict_markdown(&verdict),
        Format::Cyclonedx => report::verdict_cyclonedx(&verdict, &surveys()),
    };
    print(&text)?;
    Ok(status_of(&verdict))
}

/// Returns the exit status for a verdict.
fn status_of(verdict: &Verdict) -> Status {
    match verdict.outcome() {
        check::Outcome::Passed | check::Outcome::Warned => Status::Yes,
        check::Outcome::Violated => Status::No,
        check::Outcome::Undecided => Status::Trouble,
    }
}

fn init(inputs: &InputArguments, options: Options) -> Result<Status> {
    let everything = AnalysisOptions { inspection: true, build_paths: true, ..AnalysisOptions::default() };
    let subjects = survey(inputs, options, &|_| everything)?;
    let is_readable = |file: &File| file.failure.is_none() && file.errors.is_empty();
    let readable = subjects.iter().all(|subject| is_readable(&subject.survey.file));
    let files: Vec<&AnalyzedFile> = subjects.iter().map(|subject| &subject.survey).collect();
    let Some(policy) = check::generate_policy(&files).filter(|_| readable) else {
        // Errors of unreadable files are already reported.
        return Ok(if readable { Status::No } else { Status::Trouble });
    };
    print(&policy)?;
    Ok(Status::Yes)
}

fn read_policy(path: &Path) -> Result<Policy> {
    let input = Input::open(path, access::get())?;
    let text = std::str::from_utf8(input.view().data()).with_context(|| format!("{}: not UTF-8", path.display()))?;
    Ok(Policy::parse(&path.to_string_lossy(), text)?)
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Scans and analyzes all inputs, several files at a time.
fn survey(
    inputs: &InputArguments,
    options: Options,
    wanted: &(dyn Fn(&str) -> AnalysisOptions + Sync),
) -> Result<Vec<CheckedFile>> {
    let names = inputs.names();
    let mut subjects = Vec::new();
    let scanner = access::scanner(options).with_cache(CacheBudget::default());
    inputs.scan_and(&scanner, &|_, outcome| survey_one(outcome, options, wanted), &mut |(survey, error): (
        AnalyzedFile,
        Option<Error>,
    )| {
        if let Some(error) = error {
            status::report(&error.into());
        }
        // Every path begins with that of its input.
        let input = check::input_of(&survey.file.path, &names).unwrap_or_default();
        subjects.push(CheckedFile { survey, input });
    })?;
    Ok(subjects)
}

/// Analyzes a file. Returns the error if it cannot be read.
fn survey_one(
    outcome: Outcome,
    options: Options,
    wanted: &(dyn Fn(&str) -> AnalysisOptions + Sync),
) -> (AnalyzedFile, Option<Error>) {
    let without_images = |file| AnalyzedFile { file, analyses: Vec::new() };
    let unreadable = |path, error: Error| (without_images(File::unreadable(path, error.to_string())), Some(error));
    match outcome {
        Outcome::Empty(file) => (without_images(file), None),
        Outcome::Unreadable { path, error } => unreadable(path, error),
        Outcome::Scanned(scanned) => {
            let path = scanned.file().path.clone();
            match ops::survey(scanned, options, wanted(&path)) {
                Ok(survey) => (survey, None),
                Err(error) => unreadable(path, error),
            }
        }
    }
}
