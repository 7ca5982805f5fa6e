//! `fatbin FILE...`: what a person asks first about a file.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use clap::Args;

use super::failure::Result;
use super::inputs::{KpackArchives, survey_status};
use super::scan_arguments::ScanArguments;
use super::session::Session;
use super::{Status, shell};
use crate::report::{self, FileTotals, Overview};
use fatbin_core::scan::{CacheBudget, Options};
use fatbin_ops::analyze::coverage::{Coverage, InspectedImages};
use fatbin_ops::analyze::select::NamedDevice;
use fatbin_ops::analyze::size::Packages;
use fatbin_ops::analyze::survey::{PackageSurvey, Survey, SurveyOptions};

/// Name of the command that [`insert`] adds.
pub const NAME: &str = "overview";

/// Print on one screen what files are, on which devices they run, and what to ask next
///
/// Exit status: 0 if there are device images, 1 if there are none, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    scan: ScanArguments,
}

/// The analyses that the screen prints.
fn wanted() -> SurveyOptions {
    SurveyOptions { inspection: true, toolkit: true, ..SurveyOptions::default() }
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let inputs = arguments.scan.inputs.with_listed()?;
    let problems = arguments.scan.problems.problems(session);
    let scanner = arguments.scan.limits.scanner(session, Options::default()).with_cache(CacheBudget::default());
    let files = Mutex::new(PackageSurvey::default());
    let package = || files.lock().unwrap_or_else(PoisonError::into_inner);
    // The kernels of one library may take hundreds of megabytes.
    let analyze = |_, outcome| Survey::of_outcome(outcome, &|_| wanted(), &mut |inside| package().take_kernels(inside));
    let mut status = Status::No;
    let mut totals = FileTotals::default();
    let mut packages = Packages::default();
    let mut archives = KpackArchives::default();
    inputs.scan_and(&scanner, &problems, &analyze, &mut |(file, error)| {
        status = status.and(survey_status(&file, error, &problems));
        totals.add(&file);
        file.packed.iter().for_each(|packed| packages.add(packed));
        archives.add(&file.file);
        if file.file.failure.is_none() {
            package().add(file);
        }
    })?;
    archives.warn(&problems);
    if totals.readable == 0 && (totals.unreadable > 0 || session.files() == Some(0)) {
        return Ok(status);
    }
    let package = files.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
    let surveys = package.files().map(|(survey, _)| survey);
    let devices = NamedDevice::of_interest(surveys.clone().map(|it| &it.file));
    let names = inputs.names();
    let overview = Overview {
        searched: session.files(),
        size: inputs.size_on_disk(),
        words: names.iter().map(|name| shell::quoted(name)).collect(),
        patterns: names.iter().map(|name| shell::pattern(name).unwrap_or_else(|| shell::quoted(name))).collect(),
        names,
        needs: report::needs(surveys),
        vendored: package.vendored().cloned().collect(),
        packages: packages.finish(session.access())?,
        totals,
        coverage: Coverage::new(&InspectedImages::of_package(&package), &devices)?,
        devices,
    };
    let screen = session.screen();
    let mut out = session.output(&screen);
    out.write(&report::overview_text(&overview, &screen))?;
    out.flush()?;
    Ok(status)
}

/// Options of all commands that take a value.
const WITH_VALUE: [&str; 2] = ["--color", "--threads"];

/// Adds the name of the command before the arguments, if the first is the path of a file instead of a command.
pub fn insert(arguments: &mut Vec<OsString>, is_command: impl Fn(&str) -> bool) {
    let word = first_word(arguments).map(|at| &arguments[at]);
    if word.is_some_and(|word| !is_command(&word.to_string_lossy()) && names_a_file(word)) {
        arguments.insert(1, NAME.into());
    }
}

/// Index of the command, or of what is there instead: the first argument that is no option of all commands.
pub fn first_word(arguments: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = arguments.get(at) {
        if WITH_VALUE.iter().any(|option| word == option) {
            at += 1;
        } else if !word.to_string_lossy().starts_with("--") {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Returns whether a word is a path rather than a misspelled command.
fn names_a_file(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    let is_option = text.len() > 1 && text.starts_with('-');
    !is_option && (text == "-" || text.contains(['/', '.']) || Path::new(word).exists())
}
