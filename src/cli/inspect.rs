//! `fatbin inspect`.

use std::io;
use std::ops::ControlFlow;

use clap::Args;

use super::devices::DeviceArguments;
use super::failure::Result;
use super::filter::FilterArguments;
use super::format::FormatArguments;
use super::headings::OUTPUT;
use super::inputs::{KpackArchives, found_images};
use super::inspected::{ImageText, ImageWriter};
use super::outputs::{ForceArgument, OutputArgument};
use super::problems::Problems;
use super::scan_arguments::ScanArguments;
use super::{Status, terminal};
use crate::analyze;
use crate::analyze::coverage::{Coverage, InspectedImages};
use crate::analyze::inspect::InspectedImage;
use crate::analyze::size::PackedFile;
use crate::analyze::survey::{ImageSurvey, PackageSurvey, Survey};
use crate::base::bytes::View;
use crate::base::error::Error;
use crate::base::io::{OutputKind, OutputPath};
use crate::cli::report::{self, Page, Screen};
use crate::format::ImageKind;
use crate::image::{self, Demangler, Inspection};
use crate::scan::filter::FilterRun;
use crate::scan::inspect::ImageErrors;
use crate::scan::inventory::{File, NestedImage};
use crate::scan::{CacheBudget, Options, Outcome, ScannedFile};

/// List kernels with their resource usage and source lines
///
/// Reads AMD code objects, NVIDIA cubins, PTX and SPIR-V. SHARED is LDS on AMD devices, SCRATCH is stack on NVIDIA
/// devices; a + means that it may grow. Sizes are bytes. On a terminal, many kernels are summed by family, unless -v is
/// set. Filters may be repeated: values of one option are
/// alternatives. A filter that matches nothing is an error.
///
/// Exit status: 0 if there are device images, 1 if none match, 2 for trouble.
#[derive(Args)]
#[command(mut_arg("device", |option| option.conflicts_with("html").help(MATRIX_DEVICES)))]
#[command(mut_arg("runs_on", |option| option.long("compatible-with")))]
pub struct Arguments {
    #[command(flatten)]
    format: FormatArguments,

    /// Print the devices that kernels do not run on as native code, by family over all files; -v lists each kernel
    #[arg(help_heading = OUTPUT, long)]
    matrix: bool,

    #[command(flatten)]
    devices: DeviceArguments,

    /// Print the devices of every family: one row for all instances of a template
    #[arg(help_heading = OUTPUT, long, requires = "matrix", conflicts_with = "json")]
    families: bool,

    /// Write an HTML page instead: sizes, kernels by arch, tables; self-contained
    #[arg(long, value_name = "OUT.html", conflicts_with_all = ["json", "format", "matrix"], help_heading = OUTPUT)]
    html: Option<OutputArgument>,

    #[command(flatten)]
    force: ForceArgument,

    #[command(flatten)]
    filter: FilterArguments,

    #[command(flatten)]
    scan: ScanArguments,
}

/// Help of `--device`.
const MATRIX_DEVICES: &str = "Print the matrix of these devices instead of the devices that the files have code for, such as H100, \
     MI300X or sm_90; all for every GPU with a name";

pub fn run(mut arguments: Arguments) -> Result<Status> {
    let set = arguments.force.files([]);
    arguments.scan.inputs.add_to(&set);
    let page = arguments.html.as_ref().map(|path| set.output(path.path(), OutputKind::Text)).transpose()?;
    let problems = arguments.scan.problems.problems();
    let run = Run { arguments: &arguments, problems: &problems, screen: terminal::screen() };
    match page {
        Some(path) => run.page(path),
        None if arguments.matrix || !arguments.devices.is_empty() => run.print_matrix(),
        None => run.print(),
    }
}

/// A run of the command.
struct Run<'a> {
    arguments: &'a Arguments,
    problems: &'a Problems,
    screen: Screen,
}

/// Visits a file, which was scanned unless it is an error or empty, and the images that the filter accepts.
type Visit<'v> = dyn FnMut(&File, Option<&ScannedFile>, &[NestedImage<'_>]) -> io::Result<Status> + 'v;

impl Run<'_> {
    /// Calls `visit` with each file while files are scanned. A filter that matches nothing is an error at the end.
    fn each_file(&self, visit: &mut Visit<'_>) -> Result<Status> {
        let filter = self.arguments.filter.filter();
        let scanner = self.arguments.scan.limits.scanner(Options::default()).with_cache(CacheBudget::default());
        let (mut status, mut archives) = (Status::No, KpackArchives::default());
        let mut run = FilterRun::new(&filter);
        let mut visited = Ok(Status::No);
        self.arguments.scan.inputs.scan_until(&scanner, self.problems, &|_, outcome| outcome, &mut |outcome| {
            archives.merge(KpackArchives::of(&outcome));
            match outcome {
                Outcome::Scanned(file) => {
                    status = status.and(found_images(file.file()));
                    visited = visit(file.file(), Some(&file), &run.accept(&file));
                }
                other => {
                    let (file, error) = other.into_file();
                    status = status.and(self.report(error));
                    visited = visit(&file, None, &[]);
                }
            }
            match &visited {
                Ok(found) => status = status.and(*found),
                // The output cannot be written: the other files need not be scanned.
                Err(_) => return ControlFlow::Break(()),
            }
            ControlFlow::Continue(())
        })?;
        visited?;
        archives.warn(self.problems);
        let result = run.finish()?;
        result.unknown.into_iter().for_each(|error| self.problems.warn(error));
        Ok(result.failed.into_iter().fold(status, |status, error| status.and(self.problems.report(error))))
    }

    fn report(&self, errors: impl IntoIterator<Item = Error>) -> Status {
        errors.into_iter().fold(Status::No, |status, error| status.and(self.problems.report(error)))
    }

    /// Prints tables or the JSON document.
    fn print(&self) -> Result<Status> {
        let mut out = terminal::output(&self.screen);
        if !self.arguments.filter.filter().is_empty() {
            out.hold();
        }
        let is_json = self.arguments.format.is_json();
        let mut writer = ImageWriter::new(out, is_json);
        let is_summed = self.screen.is_terminal() && !self.arguments.scan.problems.is_verbose();
        let screen = self.screen;
        let status = self.each_file(&mut |file, scanned, images| {
            let errors = ImageErrors::new(file);
            let work = |nested: &NestedImage<'_>, inspection: Inspection| {
                let problems = inspection.problems.clone();
                let inspected = InspectedImage { number: nested.index, image: nested.image, inspection };
                let is_lto_ir = nested.image.image_kind == ImageKind::Nvvm;
                let text = match is_lto_ir {
                    _ if is_json => report::image_json(file, &inspected),
                    true => String::new(),
                    false if is_summed => report::inspection_rollup(&file.path, &inspected, &screen),
                    false => report::inspection_table(&file.path, &inspected, &screen),
                };
                ImageText { text, is_lto_ir, errors: errors.of(nested.index, nested.image, problems).collect() }
            };
            let mut status = Status::No;
            let mut written = Ok(());
            writer.begin(file);
            let error = analyze::inspect::inspect(scanned, images, image::inspect, &work, &mut |image| {
                if written.is_ok() {
                    written = writer.image(&image);
                }
                status = status.and(self.report(image.errors));
            });
            written.and_then(|()| writer.end(file))?;
            Ok(status.and(self.report(error.err())))
        })?;
        writer.finish()?;
        Ok(status)
    }

    /// Calls `take` with the parts of the survey of each file.
    fn each_survey(
        &self,
        read: fn(ImageKind, View<'_>, &Demangler) -> Inspection,
        take: &mut dyn FnMut(SurveyPart<'_>),
    ) -> Result<Status> {
        self.each_file(&mut |file, scanned, images| {
            let errors = ImageErrors::new(file);
            let mut status = Status::No;
            let mut survey = Survey::without_images(file.clone());
            take(SurveyPart::Begin(file));
            if let Some(scanned) = scanned {
                survey.image_surveys = vec![ImageSurvey::default(); file.device_images().count()];
                (survey.packed, survey.limits) = (PackedFile::new(scanned), scanned.limits());
            }
            let work = |nested: &NestedImage<'_>, inspection: Inspection| {
                let errors = errors.of(nested.index, nested.image, inspection.problems.clone());
                (errors.collect::<Vec<Error>>(), inspection)
            };
            let mut nested = images.iter();
            let error = analyze::inspect::inspect(scanned, images, read, &work, &mut |(errors, inspection)| {
                status = status.and(self.report(errors));
                let Some(nested) = nested.next() else { return };
                let inside = &mut survey.image_surveys[nested.index];
                inside.inspection = Some(inspection);
                take(SurveyPart::Image(nested, inside));
            });
            take(SurveyPart::End(Box::new(survey)));
            Ok(status.and(self.report(error.err())))
        })
    }

    fn page(&self, path: OutputPath) -> Result<Status> {
        let mut page = Page::new();
        let status =
            self.each_survey(|kind, view, _| image::inspect_with_own_sizes(kind, view), &mut |part| match part {
                SurveyPart::Begin(file) => page.begin(file),
                SurveyPart::Image(nested, inside) => page.image(nested, inside),
                SurveyPart::End(survey) => page.end(*survey),
            })?;
        page.write(path, None)?;
        Ok(status)
    }

    /// Prints the matrix after all images were inspected.
    fn print_matrix(&self) -> Result<Status> {
        let mut package = PackageSurvey::default();
        let status = self.each_survey(|kind, view, _| image::inspect_mangled(kind, view), &mut |part| match part {
            SurveyPart::Begin(_) => {}
            SurveyPart::Image(_, inside) => package.take_kernels(inside),
            SurveyPart::End(survey) => package.add(*survey),
        })?;
        let package = package.finish();
        let mut result = Ok(());
        terminal::print_parts(&self.screen, |write| result = self.matrix(&package, write))?;
        result?;
        Ok(status)
    }

    /// Writes the kernels by device, or a line for each file where no file has images.
    fn matrix(&self, package: &PackageSurvey, write: &mut dyn FnMut(&str)) -> Result<()> {
        let Arguments { format, families, scan, devices, .. } = self.arguments;
        let is_json = format.is_json();
        let files = || package.files().map(|(survey, _)| &survey.file);
        if !is_json && !files().any(File::has_device_code) {
            write(&report::without_images(files()));
            return Ok(());
        }
        let devices = devices.of_files(files());
        let coverage = Coverage::new(&InspectedImages::of_package(package), &devices)?;
        match (is_json, families) {
            (true, _) => report::coverage_json(&coverage, &files().collect::<Vec<_>>(), write),
            (false, true) => report::family_table(&coverage, &self.screen, write),
            (false, false) if scan.problems.is_verbose() => report::coverage_table(&coverage, &self.screen, write),
            (false, false) => report::coverage_rollup(&coverage, &self.screen, write),
        }
        Ok(())
    }
}

/// A part of the survey of a file. The kernels of an image may be taken.
enum SurveyPart<'p> {
    Begin(&'p File),
    Image(&'p NestedImage<'p>, &'p mut ImageSurvey),
    End(Box<Survey>),
}
