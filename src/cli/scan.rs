//! `fatbin scan`.

use std::ops::ControlFlow;

use clap::Args;

use super::failure::Result;
use super::inputs::{InputArguments, found};
use super::limit::LimitArguments;
use super::problems::Problems;
use super::{Status, negative, terminal};
use crate::analyze::size::ArchTotals;
use crate::cli::report;
use crate::cli::report::{Nothing, ScanDocument, Screen};
use crate::scan::Options;
use crate::scan::inventory::File;

/// Minimum number of images for a summary at the end of the table.
const MANY_IMAGES: usize = 32;

/// List device images in object files, executables, libraries and packages
///
/// On a terminal, many images are summarized instead of listed, unless --images or -v is set. Text in files and pipes
/// always has the images.
///
/// Exit status: 0 if any image was found, 1 if none, 2 if a file cannot be read or is truncated, if a container in it
/// is malformed, or if none was found and a file was not opened.
#[derive(Args)]
pub struct Arguments {
    /// Print one JSON document (schema fatbin.scan/1) instead of a table
    #[arg(long)]
    json: bool,

    /// Print one line of JSON per file, as soon as the file is scanned
    ///
    /// Each line is an element of the document's array `files` with the field `schema`. A file that cannot be read has
    /// a line with `errors`. Every file that is specified or listed has at least one line.
    #[arg(long, conflicts_with = "json")]
    ndjson: bool,

    /// Print only the summary by arch that ends a table of many images
    #[arg(long, conflicts_with_all = ["json", "ndjson", "verbose"])]
    summary: bool,

    /// List every image on a terminal, also if there are many
    #[arg(long, conflicts_with_all = ["json", "ndjson", "summary"])]
    images: bool,

    /// Add the SHA-256 of every decompressed image to the JSON
    #[arg(long)]
    hash: bool,

    /// Follow headers only; containers in other places are not found
    #[arg(long)]
    fast: bool,

    /// Also print section contents, image locations and registrations, and every problem
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

impl Arguments {
    /// Returns whether images are listed only if they are few.
    fn lists_few(&self) -> bool {
        !(self.json || self.ndjson || self.summary || self.images || self.verbose)
    }
}

/// Tables of files that are held back until it is known whether the images are many.
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
    fn new(is_holding: bool) -> Self {
        HeldTables { is_holding, full: String::new(), short: String::new(), files: 0, are_many: false }
    }

    fn is_holding(&self) -> bool {
        self.is_holding
    }

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
pub fn run(arguments: Arguments) -> Result<Status> {
    let options = Options { structure_only: arguments.fast, hash: arguments.hash, ..Options::default() };
    let (mut status, problems) = (Status::No, Problems::new(arguments.verbose));
    let (mut document, mut totals) = (ScanDocument::new(), ArchTotals::default());
    let screen = terminal::screen();
    let mut out = terminal::output(&screen);
    let mut held = HeldTables::new(screen.is_terminal() && arguments.lists_few());
    let mut nothing = Nothing::default();
    let mut written = Ok(());
    let scanner = arguments.limits.scanner(options);
    arguments.inputs.scan_until(&scanner, &problems, &|_, outcome| outcome.into_file(), &mut |(file, error)| {
        if let Some(error) = error {
            status = status.and(problems.report(error));
        }
        status = status.and(found(&file));
        nothing.add(&file);
        if arguments.json {
            document.file(&file);
            written = out.write(&document.take());
        } else if arguments.ndjson {
            written = out.write(&report::json_line(&file));
        } else if file.failure.is_none() {
            totals.add(&file);
            if held.is_holding() {
                held.add(&file, totals.images(), &screen);
            } else if !arguments.summary {
                written = out.write(&report::table(&file, arguments.verbose, &screen));
            }
        }
        // The output cannot be written: the other files need not be scanned.
        if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    written?;
    let is_held = held.is_holding() && totals.images() >= MANY_IMAGES;
    if is_held {
        out.write(&report::arch_summary(&totals, &screen))?;
    }
    out.write(&held.text())?;
    let summarized = if arguments.summary { 0 } else { MANY_IMAGES };
    if arguments.json {
        document.end();
        out.write(&document.take())?;
    } else if totals.images() >= summarized && !is_held {
        out.write(&report::arch_summary(&totals, &screen))?;
    }
    if nothing.is_answer() && !(arguments.json || arguments.ndjson || arguments.summary) {
        out.write(&nothing.text(&negative::inputs(), &screen))?;
    }
    out.flush()?;
    Ok(status)
}
