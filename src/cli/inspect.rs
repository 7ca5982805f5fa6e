//! `fatbin inspect`.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;

use clap::Args;

use super::Status;
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
use super::session::Session;
use crate::report::{self, Page, Screen};
use fatbin_core::base::bytes::{View, total};
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{OutputKind, OutputPath};
use fatbin_core::format::ImageKind;
use fatbin_core::image::{self, Demangler, Inspection};
use fatbin_core::scan::filter::FilterRun;
use fatbin_core::scan::inspect::ImageErrors;
use fatbin_core::scan::inventory::{File, NestedImage};
use fatbin_core::scan::{CacheBudget, Options, Outcome, ScannedFile};
use fatbin_ops::analyze;
use fatbin_ops::analyze::coverage::{Coverage, InspectedImages};
use fatbin_ops::analyze::inspect::InspectedImage;
use fatbin_ops::analyze::size::PackedFile;
use fatbin_ops::analyze::survey::{ImageSurvey, PackageSurvey, Survey, content};

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

pub fn run(mut arguments: Arguments, session: &Session) -> Result<Status> {
    let set = arguments.force.files([]);
    arguments.scan.inputs.add_to(&set);
    let page = arguments.html.as_ref().map(|path| set.output(path.path(), OutputKind::Text)).transpose()?;
    let problems = arguments.scan.problems.problems(session);
    let run = Run { arguments: &arguments, problems: &problems, screen: session.screen() };
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

/// Reads an image.
type Read = fn(ImageKind, View<'_>, &Demangler) -> Inspection;

/// Work on an image that was read. It runs in parallel.
type Work<'w, R> = dyn Fn(&File, &NestedImage<'_>, Inspection) -> R + Sync + 'w;

/// Passes each result to a function, in order.
type EachResult<'e, R> = dyn FnMut(&mut dyn FnMut(R)) + 'e;

/// Visits a file, which was scanned unless it is an error or empty, the images that the filter accepts, and their results.
type Visit<'v, R> =
    dyn FnMut(&File, Option<&ScannedFile>, &[NestedImage<'_>], &mut EachResult<'_, R>) -> io::Result<()> + 'v;

/// Maximum size of the images of a file, in bytes, whose results are kept until the file is visited.
const KEPT: u64 = 256 << 10;

impl Run<'_> {
    /// Calls `visit` with each file while files are scanned. The thread that scanned a small file reads its images. A filter
    /// that matches nothing is an error at the end.
    fn each_file<R: Send>(&self, read: Read, work: &Work<'_, R>, visit: &mut Visit<'_, R>) -> Result<Status> {
        let filter = self.arguments.filter.filter();
        let scanner = self
            .arguments
            .scan
            .limits
            .scanner(self.problems.session(), Options::default())
            .with_cache(CacheBudget::default());
        let (mut status, mut archives) = (Status::No, KpackArchives::default());
        let mut run = FilterRun::new(&filter);
        let mut visited = Ok(());
        let inspect = |scanned: &ScannedFile, images: &[NestedImage<'_>], take: &mut dyn FnMut((R, Vec<Error>))| {
            let file = scanned.file();
            let errors = ImageErrors::new(file);
            let work = |nested: &NestedImage<'_>, inspection: Inspection| {
                let errors = errors.of(nested.index, nested.image, inspection.problems.clone()).collect();
                (work(file, nested, inspection), errors)
            };
            analyze::inspect::inspect(scanned, images, read, &work, take)
        };
        let scanned = |_, outcome| {
            let Outcome::Scanned(scanned) = &outcome else { return (outcome, None) };
            let images: Vec<NestedImage<'_>> = scanned.file().nested_images().collect();
            let size = total(images.iter().map(|nested| nested.image.decompressed_size().unwrap_or(u64::MAX)));
            if !filter.is_empty() || size > KEPT {
                return (outcome, None);
            }
            let mut results = Vec::new();
            let end = inspect(scanned, &images, &mut |result| results.push(result));
            (outcome, Some((results, end)))
        };
        self.arguments.scan.inputs.scan_until(&scanner, self.problems, &scanned, &mut |(outcome, mut kept)| {
            archives.merge(KpackArchives::of(&outcome));
            match outcome {
                Outcome::Scanned(file) => {
                    status = status.and(found_images(file.file()));
                    let images = run.accept(&file);
                    let mut end = Ok(());
                    visited = visit(file.file(), Some(&file), &images, &mut |take| {
                        let mut take = |(result, errors)| {
                            take(result);
                            status = status.and(self.report(errors));
                        };
                        end = match kept.take() {
                            None => inspect(&file, &images, &mut take),
                            Some((results, end)) => {
                                results.into_iter().for_each(take);
                                end
                            }
                        };
                    });
                    status = status.and(self.report(end.err().filter(|_| visited.is_ok())));
                }
                other => {
                    let (file, error) = other.into_file();
                    status = status.and(self.report(error));
                    visited = visit(&file, None, &[], &mut |_| ());
                }
            }
            // If the output cannot be written, the other files need not be scanned.
            if visited.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
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
        let mut out = self.problems.session().output(&self.screen);
        if !self.arguments.filter.filter().is_empty() {
            out.hold();
        }
        let is_json = self.arguments.format.is_json();
        let mut writer = ImageWriter::new(out, is_json);
        let is_summed = self.screen.is_terminal() && !self.arguments.scan.problems.is_verbose();
        let screen = self.screen;
        let work = |file: &File, nested: &NestedImage<'_>, inspection: Inspection| {
            let inspected = InspectedImage { number: nested.index, image: nested.image, inspection };
            let is_lto_ir = nested.image.image_kind == ImageKind::Nvvm;
            let text = match is_lto_ir {
                _ if is_json => report::image_json(file, &inspected),
                true => String::new(),
                false if is_summed => report::inspection_rollup(&file.path, &inspected, &screen),
                false => report::inspection_table(&file.path, &inspected, &screen),
            };
            ImageText { text, is_lto_ir }
        };
        let status = self.each_file(image::inspect, &work, &mut |file, _, _, each| {
            let mut written = Ok(());
            writer.begin(file);
            each(&mut |image| {
                if written.is_ok() {
                    written = writer.image(&image);
                }
            });
            written.and_then(|()| writer.end(file))
        })?;
        writer.finish()?;
        Ok(status)
    }

    /// Calls `take` with the parts of the survey of each file.
    fn each_survey(&self, read: Read, take: &mut dyn FnMut(SurveyPart<'_>)) -> Result<Status> {
        self.each_file(read, &|_, _, inspection| inspection, &mut |file, scanned, images, each| {
            let mut survey = Survey::without_images(file.clone());
            take(SurveyPart::Begin(file));
            if let Some(scanned) = scanned {
                survey.image_surveys = vec![ImageSurvey::default(); file.device_images().count()];
                (survey.packed, survey.limits) = (PackedFile::new(scanned), scanned.limits());
            }
            let mut nested = images.iter();
            each(&mut |inspection| {
                let Some(nested) = nested.next() else { return };
                let inside = &mut survey.image_surveys[nested.index];
                inside.content = content(nested.image, &inspection);
                inside.inspection = Some(inspection);
                take(SurveyPart::Image(nested, inside));
            });
            survey.set_contents(BTreeMap::new());
            take(SurveyPart::End(Box::new(survey)));
            Ok(())
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
        page.write(path, None, self.problems.session().access())?;
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
        self.problems.session().print_parts(&self.screen, |write| result = self.matrix(&package, write))?;
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
            (true, _) => report::coverage_json(&coverage, &files().collect::<Vec<_>>(), package.vendored(), write),
            (false, true) => report::family_table(&coverage, &self.screen, write),
            (false, false) if scan.problems.is_verbose() => report::coverage_table(&coverage, &self.screen, write),
            (false, false) => report::coverage_rollup(&coverage, &self.screen, write),
        }
        if !is_json {
            write(&report::not_judged(package.vendored(), &self.screen));
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
