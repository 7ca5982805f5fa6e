//! `fatbin inspect`.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::filter::FilterArguments;
use super::inputs::{InputArguments, found_images, warn_of_archives};
use super::limit::LimitArguments;
use super::problems::{ProblemArguments, Problems};
use super::terminal::TextOutput;
use super::{Status, terminal};
use crate::coverage::{Coverage, InspectedImages};
use crate::format::ImageKind;
use crate::inspect;
use crate::inventory::File;
use crate::ops;
use crate::report::{self, Screen};
use crate::scan::{CacheBudget, Options, Outcome, ScannedFile};
use crate::select::NamedDevice;
use crate::survey::{AnalyzedFile, ImageAnalysis, InspectedFile, InspectedImage};

/// List kernels in device images, with resource usage and source lines
///
/// Reads AMD code objects, NVIDIA cubins, PTX and SPIR-V. SHARED is LDS on AMD devices, SCRATCH is stack on NVIDIA devices;
/// a + means that it may grow. Sizes are bytes. Filters may be repeated: values of one option are alternatives. A filter
/// that matches nothing is an error.
///
/// Exit status: 0 if there are device images, 1 if none match, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// Print one JSON document (schema fatbin.inspect/1) instead of tables
    #[arg(long)]
    json: bool,

    /// Print the devices on which each kernel runs, over all files
    #[arg(long)]
    matrix: bool,

    /// Devices of the matrix, instead of those that the files have code for
    #[arg(long, value_name = "DEVICE", value_delimiter = ',', value_parser = NamedDevice::parse, requires = "matrix")]
    device: Vec<NamedDevice>,

    /// Print one row for all instances of a template
    #[arg(long, requires = "matrix", conflicts_with = "json")]
    families: bool,

    /// Write an HTML page instead: sizes, kernels by arch, tables; self-contained
    #[arg(long, value_name = "OUT.html", conflicts_with_all = ["json", "matrix"])]
    html: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArguments,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let problems = arguments.problems.problems();
    let (scanned, order, mut status) = scan_inputs(&arguments.inputs, &arguments.limits, &problems)?;
    let screen = terminal::screen();
    let mut out = terminal::output(&screen);
    let mut tables = Tables { out: &mut out, screen: &screen, lto_ir: None, written: Ok(()) };
    let is_table = !arguments.json && !arguments.matrix && arguments.html.is_none();
    let mut images: Vec<Vec<InspectedImage<'_>>> = scanned.iter().map(|_| Vec::new()).collect();
    let read = if arguments.html.is_some() { inspect::inspect_with_own_sizes } else { inspect::inspect };
    let incomplete = ops::inspect(&scanned, &arguments.filter.filter(), read, &mut |found, inspection| {
        let path = &scanned[found.file].file().path;
        problems.start_file(path);
        let inspected = InspectedImage { number: found.nested.index, image: found.nested.image, inspection };
        for problem in &inspected.inspection.problems {
            let error = ops::image_error(path, inspected.number, inspected.image, problem.clone());
            status = status.and(problems.report(error));
        }
        if !is_table {
            images[found.file].push(inspected);
        } else {
            tables.add(path, &inspected);
        }
    })?;
    tables.finish()?;
    for error in incomplete.failed {
        status = status.and(problems.report(error));
    }
    for error in incomplete.unknown {
        problems.warn(error);
    }
    let mut images = images.into_iter();
    if let Some(path) = &arguments.html {
        let files: Vec<AnalyzedFile> = order.into_iter().map(|place| place.surveyed(&scanned, &mut images)).collect();
        report::write_page(path, &files.iter().collect::<Vec<_>>(), None)?;
        return Ok(status);
    }
    let files: Vec<InspectedFile> = order.iter().map(|place| place.inspected(&scanned, &mut images)).collect();
    out.write(&arguments.text(&files, &screen))?;
    out.flush()?;
    Ok(status)
}

/// Writes a table for each image. LTO-IR has none, and one line for all images of a file.
struct Tables<'a> {
    out: &'a mut TextOutput,
    screen: &'a Screen,
    /// File with LTO-IR, and the number of such images so far.
    lto_ir: Option<(String, usize)>,
    written: io::Result<()>,
}

impl Tables<'_> {
    fn add(&mut self, path: &str, inspected: &InspectedImage<'_>) {
        if self.lto_ir.as_ref().is_some_and(|(file, _)| file != path) {
            self.end_file();
        }
        if inspected.image.image_kind == ImageKind::Nvvm {
            self.lto_ir.get_or_insert((path.to_owned(), 0)).1 += 1;
        } else {
            self.write(&report::inspection_table(path, inspected, self.screen));
        }
    }

    fn end_file(&mut self) {
        if let Some((path, count)) = self.lto_ir.take() {
            self.write(&report::lto_ir_line(&path, count));
        }
    }

    fn write(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = self.out.write(text);
        }
    }

    fn finish(mut self) -> io::Result<()> {
        self.end_file();
        self.written
    }
}

impl Arguments {
    /// Returns the text about all files. Tables of images are already printed.
    fn text(&self, files: &[InspectedFile<'_>], screen: &Screen) -> String {
        let has_images = files.iter().any(|it| it.file.has_device_code());
        if self.matrix && (has_images || self.json) {
            let inspected: Vec<InspectedImages<'_>> = files.iter().map(InspectedImages::from).collect();
            let coverage = Coverage::new(&inspected, &self.device);
            return match (self.json, self.families) {
                (true, _) => report::coverage_json(&coverage, files),
                (false, true) => report::family_table(&coverage, screen),
                (false, false) => report::coverage_table(&coverage, screen),
            };
        }
        if self.json { report::inspection_json(files) } else { report::without_images(files.iter().map(|it| it.file)) }
    }
}

/// Scans all inputs, reports those that cannot be read, and returns the scanned files with the place of each input.
fn scan_inputs(
    inputs: &InputArguments,
    limits: &LimitArguments,
    problems: &Problems,
) -> Result<(Vec<ScannedFile>, Vec<Place>, Status)> {
    let scanner = limits.scanner(Options::default()).with_cache(CacheBudget::default());
    let (mut scanned, mut order, mut status) = (Vec::new(), Vec::new(), Status::No);
    inputs.scan(&scanner, problems, &mut |outcome| {
        order.push(match outcome {
            Outcome::Scanned(file) => {
                status = status.and(found_images(file.file()));
                scanned.push(file);
                Place::Scanned(scanned.len() - 1)
            }
            other => {
                let (file, error) = other.into_file();
                if let Some(error) = error {
                    status = status.and(problems.report(error));
                }
                Place::Empty(Box::new(file))
            }
        });
    })?;
    warn_of_archives(scanned.iter().map(ScannedFile::file), problems);
    Ok((scanned, order, status))
}

/// Place of the result for an input; results are printed in the order of the inputs.
enum Place {
    /// Index among the scanned files.
    Scanned(usize),
    /// A file without device images.
    Empty(Box<File>),
}

impl Place {
    /// `images` are those of the scanned files, in order.
    fn inspected<'a>(
        &'a self,
        scanned: &'a [ScannedFile],
        images: &mut impl Iterator<Item = Vec<InspectedImage<'a>>>,
    ) -> InspectedFile<'a> {
        match self {
            Place::Scanned(index) => {
                InspectedFile { file: scanned[*index].file(), images: images.next().unwrap_or_default() }
            }
            Place::Empty(file) => InspectedFile { file, images: Vec::new() },
        }
    }

    /// `images` are those of the scanned files, in order.
    fn surveyed<'a>(
        self,
        scanned: &'a [ScannedFile],
        images: &mut impl Iterator<Item = Vec<InspectedImage<'a>>>,
    ) -> AnalyzedFile {
        let index = match self {
            Place::Scanned(index) => index,
            Place::Empty(file) => return AnalyzedFile { file: *file, analyses: Vec::new() },
        };
        let file = scanned[index].file().clone();
        let mut analyses = vec![ImageAnalysis::default(); file.device_images().count()];
        for inspected in images.next().unwrap_or_default() {
            analyses[inspected.number].inspection = Some(inspected.inspection);
        }
        AnalyzedFile { file, analyses }
    }
}
