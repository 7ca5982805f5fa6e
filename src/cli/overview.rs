//! `fatbin FILE...`: what a person asks first about a file.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;

use super::failure::Result;
use super::inputs::{survey_status, warn_of_archives};
use super::scan_arguments::ScanArguments;
use super::{Status, access, negative, shell, terminal};
use crate::analyze::coverage::{Coverage, InspectedImages};
use crate::analyze::select::NamedDevice;
use crate::analyze::size::{PackageSizes, PackedFile};
use crate::analyze::survey::{Survey, SurveyOptions};
use crate::cli::report;
use crate::cli::report::Overview;
use crate::scan::{CacheBudget, Options, Outcome};

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

pub fn run(arguments: Arguments) -> Result<Status> {
    let inputs = arguments.scan.inputs.with_listed()?;
    let problems = arguments.scan.problems.problems();
    let scanner = arguments.scan.limits.scanner(Options::default()).with_cache(CacheBudget::default());
    let analyze = |_, outcome: Outcome| {
        let packed = if let Outcome::Scanned(file) = &outcome { PackedFile::new(file) } else { None };
        (Survey::of_outcome(outcome, &|_| wanted()), packed)
    };
    let mut status = Status::No;
    let mut files = Vec::new();
    let mut packed_files = Vec::new();
    let mut loose = 0_u64;
    inputs.scan_and(&scanner, &problems, &analyze, &mut |((file, error), packed)| {
        status = status.and(survey_status(&file, error, &problems));
        if packed.is_none() {
            loose = loose.saturating_add(file.file.size);
        }
        files.push(file);
        packed_files.extend(packed);
    })?;
    warn_of_archives(files.iter().map(|it| &it.file), &problems);
    let readable: Vec<&Survey> = files.iter().filter(|it| it.file.failure.is_none()).collect();
    if readable.is_empty() && (!files.is_empty() || negative::files() == Some(0)) {
        return Ok(status);
    }
    let images: Vec<InspectedImages<'_>> = readable.iter().map(|it| InspectedImages::from(*it)).collect();
    let devices = NamedDevice::of_interest(readable.iter().map(|it| &it.file));
    let names = inputs.names();
    let overview = Overview {
        searched: negative::files(),
        size: names.iter().filter_map(|name| size_on_disk(name)).sum(),
        words: names.iter().map(|name| shell::quoted(name)).collect(),
        patterns: names.iter().map(|name| shell::pattern(name).unwrap_or_else(|| shell::quoted(name))).collect(),
        names,
        files: readable,
        packages: PackageSizes::of(&packed_files, access::get())?,
        loose,
        unreadable: files.iter().filter(|it| it.file.failure.is_some()).count(),
        coverage: Coverage::new(&images, &devices)?,
        devices,
    };
    let screen = terminal::screen();
    let mut out = terminal::output(&screen);
    out.write(&report::overview_text(&overview, &screen))?;
    out.flush()?;
    Ok(status)
}

/// Size of a file, or of all files in a directory.
fn size_on_disk(name: &str) -> Option<u64> {
    let (inputs, _) = crate::scan::expand_paths(&[name.into()]);
    Some(inputs.iter().map(crate::scan::InputPath::size).sum())
}

/// Options of all commands that take a value.
const WITH_VALUE: [&str; 2] = ["--color", "--threads"];

/// Adds the name of the command before the arguments, if the first is the path of a file instead of a command.
pub fn insert(arguments: &mut Vec<OsString>, is_command: impl Fn(&str) -> bool) {
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        if WITH_VALUE.iter().any(|option| word == option) {
            words.next();
        } else if !word.to_string_lossy().starts_with("--") {
            if names_a_file(word) && !is_command(&word.to_string_lossy()) {
                arguments.insert(1, NAME.into());
            }
            return;
        }
    }
}

/// Returns whether a word is a path rather than a misspelled command.
fn names_a_file(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    let is_option = text.len() > 1 && text.starts_with('-');
    !is_option && (text == "-" || text.contains(['/', '.']) || Path::new(word).exists())
}
