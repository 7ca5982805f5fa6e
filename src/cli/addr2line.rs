//! `fatbin addr2line`.

use std::collections::BTreeSet;
use std::io::{BufRead, stdin};
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use super::Status;
use super::failure::{Context, Result, coded, ensure, parser};
use super::filter::FilterArguments;
use super::format::FormatArguments;
use super::inputs::InputArguments;
use super::limit::LimitArguments;
use super::problems::{ProblemArguments, Problems};
use super::session::Session;
use super::terminal::TextOutput;
use crate::codes::Code;
use crate::report;
use fatbin_core::scan::filter::FilterRun;
use fatbin_core::scan::{CacheBudget, Options, Outcome, ScannedFile};
use fatbin_ops::analyze::locate::{LocateError, Located, Location, Locator};

/// Find functions, files and lines of device instructions
///
/// A location is FUNCTION+OFFSET, as debuggers and profilers print it, or an address in an AMD code object. FUNCTION is
/// mangled or demangled; numbers are decimal, or hexadecimal after 0x. Each location is followed by its functions, the
/// innermost inlined call first. Needs debug information: -lineinfo or -G for nvcc, -g or -gline-tables-only for clang.
///
/// Exit status: 0 if all locations have a source, 1 if one has none, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    format: FormatArguments,

    #[command(flatten)]
    filter: FilterArguments,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    /// Host file, archive, container or device image
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Locations; without any, one per line of standard input
    #[arg(value_name = "LOCATION", value_parser = parser(parse_location))]
    locations: Vec<(String, Location)>,
}

/// Parses FUNCTION+OFFSET or an address. Names of operators contain a `+` themselves.
fn parse_location(text: &str) -> Result<(String, Location)> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let (function, offset) = match text.rsplit_once('+') {
        Some((function, offset)) => (Some(function.trim()), offset.trim()),
        None => (None, text.trim()),
    };
    let context = || format!("{text:?}: expected FUNCTION+OFFSET or 0xADDRESS, such as kernel+0x40");
    let offset = number(offset).ok().with_context(context)?;
    ensure!(function != Some(""), "{}", context());
    Ok((text.to_owned(), Location { function: function.map(str::to_owned), offset }))
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let problems = arguments.problems.problems(session);
    let (files, mut status) = scan(&arguments, &problems)?;
    if files.is_empty() && status == Status::Trouble {
        return Ok(status);
    }
    let filter = arguments.filter.filter();
    let mut run = FilterRun::new(&filter);
    let mut scans = Vec::new();
    for file in &files {
        let accepted: BTreeSet<usize> = run.accept(file).iter().map(|nested| nested.index).collect();
        if !accepted.is_empty() {
            scans.push((accepted, file.open()?));
        }
    }
    for error in run.finish()?.failed {
        status = status.and(problems.report(error));
    }
    let images = scans.iter();
    let images = images.flat_map(|(own, scan)| scan.images().filter(move |image| own.contains(&image.index())));
    let locator = Locator::new(images).map_err(|error| about(error, arguments.file.display()))?;
    let screen = session.screen();
    let mut out = session.output(&screen);
    let file = arguments.file.display().to_string();
    let mut run = Run {
        file,
        locator,
        is_json: arguments.format.is_json(),
        document: report::LocationDocument::new(),
        has_sources: true,
        out: &mut out,
    };
    if arguments.locations.is_empty() {
        for line in stdin().lock().lines() {
            let line = line?;
            if !line.trim().is_empty() {
                status = status.and(run.locate(&parse_location(&line)?, &problems)?);
            }
        }
    }
    for location in &arguments.locations {
        status = status.and(run.locate(location, &problems)?);
    }
    run.finish()?;
    let Run { file, locator, has_sources, .. } = run;
    for (number, problem) in locator.problems() {
        problems.warn(coded(Code::InvalidField, format!("{file}: image {number}: {problem}")));
    }
    out.flush()?;
    Ok(if status == Status::Yes && !has_sources { Status::No } else { status })
}

fn scan(arguments: &Arguments, problems: &Problems) -> Result<(Vec<ScannedFile>, Status)> {
    let scanner = arguments.limits.scanner(problems.session(), Options::default()).with_cache(CacheBudget::default());
    let mut files = Vec::new();
    let mut status = Status::Yes;
    InputArguments::single(arguments.file.clone()).scan(&scanner, problems, &mut |outcome| match outcome {
        Outcome::Scanned(scanned) => files.push(scanned),
        Outcome::Unreadable { error, .. } => status = status.and(problems.report(error)),
        Outcome::Empty(_) => {}
    })?;
    Ok((files, status))
}

fn about(error: LocateError, context: impl std::fmt::Display) -> super::failure::Failure {
    super::failure::Failure::from(error).about(context)
}

/// The search for locations one after the other.
struct Run<'a, 'scan> {
    file: String,
    locator: Locator<'scan>,
    is_json: bool,
    document: report::LocationDocument,
    /// False if a location has none.
    has_sources: bool,
    out: &'a mut TextOutput,
}

impl Run<'_, '_> {
    fn locate(&mut self, (text, location): &(String, Location), problems: &Problems) -> Result<Status> {
        let located = match self.locator.locate(location) {
            Ok(located) => located,
            Err(error @ LocateError::Several { .. }) => {
                problems.report(anyhow!("{}: {text}: {error} with --arch or --image", self.file));
                return Ok(Status::Trouble);
            }
            Err(error) => return Ok(problems.report(about(error, format!("{}: {text}", self.file)))),
        };
        let Located { frames, image } = &located;
        self.has_sources &= frames.iter().any(|frame| frame.file.is_some());
        let text = if self.is_json {
            self.document.location(text, image, frames)
        } else {
            report::location_text(text, frames)
        };
        self.out.write(&text)?;
        Ok(Status::Yes)
    }

    fn finish(&mut self) -> Result<()> {
        if self.is_json {
            self.out.write(&self.document.end())?;
        }
        Ok(())
    }
}
