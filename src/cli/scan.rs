//! `fatbin scan`.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;

use clap::Args;

use super::Status;
use super::failure::Result;
use super::filter::FilterArguments;
use super::format::{Format, FormatArguments, among};
use super::headings::{INPUT, OUTPUT};
use super::inputs::{InputArguments, found};
use super::limit::LimitArguments;
use super::problems::Problems;
use super::session::Session;
use super::terminal::TextOutput;
use crate::report::{self, Nothing, ScanDocument, Screen};
use fatbin_core::base::archive::zip::reader::RecordUse;
use fatbin_core::base::error::Error;
use fatbin_core::scan::filter::FilterRun;
use fatbin_core::scan::inventory::File;
use fatbin_core::scan::{CacheBudget, Options, Outcome};
use fatbin_ops::analyze::size::ArchTotals;

/// Minimum number of images for a summary at the end of the table.
const MANY_IMAGES: usize = 32;

/// List the device images in files and packages
///
/// On a terminal, many images are summarized instead of listed, unless --images or -v is set. Text in files and pipes
/// always has the images.
///
/// Exit status: 0 if any image was found, 1 if none, 2 if a file cannot be read or is truncated, if a container in it
/// is malformed, or if none was found and a file was not opened.
#[derive(Args)]
#[command(mut_arg("format", |option| option.value_parser(among(&[Format::Table, Format::Json, Format::Ndjson]))))]
pub struct Arguments {
    #[command(flatten)]
    format: FormatArguments,

    /// Short form of --format ndjson
    #[arg(long, conflicts_with_all = ["json", "format"], help_heading = OUTPUT)]
    ndjson: bool,

    /// Print only the summary by arch that ends a table of many images
    #[arg(long, conflicts_with_all = ["json", "format", "ndjson", "verbose"], help_heading = OUTPUT)]
    summary: bool,

    /// List every image on a terminal, also if there are many
    #[arg(long, conflicts_with_all = ["json", "ndjson", "summary"], help_heading = OUTPUT)]
    images: bool,

    /// Add the SHA-256 of every decompressed image to the JSON
    #[arg(long, help_heading = OUTPUT)]
    hash: bool,

    /// Follow headers only; containers in other places are not found
    #[arg(help_heading = INPUT, long)]
    fast: bool,

    /// Also print section contents, image locations and registrations, and every problem
    #[arg(help_heading = OUTPUT, short, long)]
    verbose: bool,

    #[command(flatten)]
    filter: FilterArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

impl Arguments {
    /// Returns whether images are listed only if they are few.
    fn lists_few(&self) -> bool {
        self.format() == Format::Table && !(self.summary || self.images || self.verbose)
    }

    fn format(&self) -> Format {
        if self.ndjson { Format::Ndjson } else { self.format.format() }
    }
}

/// Tables of files that are held back until it is known whether the images are many.
#[derive(Default)]
struct HeldTables {
    is_holding: bool,
    /// With the images, while they are few.
    full: String,
    /// Without the images.
    short: String,
    /// Number of files, and of files that are left out.
    files: usize,
    are_many: bool,
}

/// Maximum number of files that are printed with a summary of many images.
const MAX_FILES: usize = 16;

impl HeldTables {
    /// Adds a file; `images` is the number of images so far.
    fn add(&mut self, file: &File, images: usize, screen: &Screen) {
        self.files += 1;
        self.are_many |= images >= MANY_IMAGES;
        if self.are_many {
            self.full.clear();
        } else {
            self.full += &report::table(file, false, screen);
        }
        if self.files <= MAX_FILES {
            self.short += &report::table_without_images(file, screen);
        }
    }

    fn text(self) -> String {
        if !self.are_many {
            return self.full;
        }
        let more = self.files.saturating_sub(MAX_FILES);
        let more = if more == 0 { String::new() } else { format!("  and {more} more files\n") };
        self.short + &more + "  use --images to list the images, or -v\n"
    }
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let problems = Problems::new(session, arguments.verbose);
    let screen = session.screen();
    let filter = arguments.filter.filter();
    let mut report = Report {
        arguments: &arguments,
        is_filtered: !filter.is_empty(),
        format: arguments.format(),
        screen,
        out: session.output(&screen),
        document: ScanDocument::new(),
        totals: ArchTotals::default(),
        held: HeldTables { is_holding: screen.is_terminal() && arguments.lists_few(), ..HeldTables::default() },
        nothing: Nothing::default(),
        with_code: 0,
    };
    if report.is_filtered {
        // A filter that matches nothing is an error.
        report.out.hold();
    }
    let mut status = Status::No;
    let mut written = Ok(());
    let mut take = |(file, error): (File, Option<Error>)| {
        if let Some(error) = error {
            status = status.and(problems.report(error));
        }
        status = status.and(found(&file));
        written = report.file(&file);
        // The output cannot be written: the other files need not be scanned.
        if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = Options::default().with_structure_only(arguments.fast).with_hash(arguments.hash);
    let scanner = arguments.limits.scanner(session, options);
    // A list of images is not worth the hashes of all files in a wheel.
    let record_use = if arguments.hash { RecordUse::Bytes } else { RecordUse::Sizes };
    let scanner = scanner.with_record_use(record_use);
    if filter.is_empty() {
        arguments.inputs.scan_until(&scanner, &problems, &|_, outcome| outcome.into_file(), &mut take)?;
    } else {
        let scanner = scanner.with_cache(CacheBudget::default());
        let mut run = FilterRun::new(&filter);
        arguments.inputs.scan_until(&scanner, &problems, &|_, outcome| outcome, &mut |outcome| {
            let Outcome::Scanned(scanned) = outcome else { return take(outcome.into_file()) };
            let accepted: BTreeSet<usize> = run.accept(&scanned).iter().map(|nested| nested.index).collect();
            let mut file = scanned.into_file();
            file.leave_out(|index| accepted.contains(&index));
            take((file, None))
        })?;
        let result = run.finish()?;
        for error in result.failed {
            problems.report(error);
        }
        result.unknown.into_iter().for_each(|error| problems.warn(error));
    }
    written?;
    report.finish(session)?;
    Ok(status)
}

/// The report, as it is written.
struct Report<'a> {
    arguments: &'a Arguments,
    is_filtered: bool,
    format: Format,
    screen: Screen,
    out: TextOutput,
    document: ScanDocument,
    totals: ArchTotals,
    held: HeldTables,
    nothing: Nothing,
    /// Number of files with device code.
    with_code: usize,
}

impl Report<'_> {
    /// Writes a file, or holds it back.
    fn file(&mut self, file: &File) -> io::Result<()> {
        self.nothing.add(file);
        self.with_code += usize::from(file.has_device_code());
        match self.format {
            Format::Json => {
                self.document.file(file);
                return self.out.write(&self.document.take());
            }
            Format::Ndjson => return self.out.write(&report::json_line(file)),
            _ if file.failure.is_some() || self.is_left_out(file) => return Ok(()),
            _ => {}
        }
        self.totals.add(file);
        if self.held.is_holding {
            self.held.add(file, self.totals.images(), &self.screen);
        } else if !self.arguments.summary {
            self.out.write(&report::table(file, self.arguments.verbose, &self.screen))?;
        }
        Ok(())
    }

    /// Returns whether a filter accepts none of the images of a file, which has no errors.
    fn is_left_out(&self, file: &File) -> bool {
        self.is_filtered && !file.is_incomplete() && file.device_images().next().is_none()
    }

    /// Writes what follows the last file.
    fn finish(mut self, session: &Session) -> io::Result<()> {
        let summary = || report::arch_summary(&self.totals, &self.screen);
        let is_held = self.held.is_holding && self.totals.images() >= MANY_IMAGES;
        if is_held {
            self.out.write(&summary())?;
        }
        self.out.write(&self.held.text())?;
        let summarized = if self.arguments.summary { 0 } else { MANY_IMAGES };
        if self.format == Format::Json {
            self.document.end();
            self.out.write(&self.document.take())?;
        } else if self.totals.images() >= summarized && !is_held {
            self.out.write(&summary())?;
        }
        let is_text = self.format == Format::Table && !self.is_filtered && !self.arguments.summary;
        match session.files() {
            // The answer is that there are no files.
            Some(0) => {}
            files if self.nothing.is_answer() && is_text => {
                self.out.write(&self.nothing.text(&session.inputs(), files, &self.screen))?;
            }
            Some(files) if is_text && self.screen.is_terminal() && self.with_code < files => {
                self.out.write(&format!(
                    "{} of {} with device code\n",
                    self.with_code,
                    report::counted(files, "file")
                ))?;
            }
            _ => {}
        }
        self.out.flush()
    }
}
