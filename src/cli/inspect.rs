//! `fatbin inspect`.

use std::io;
use std::ops::ControlFlow;

use clap::Args;

use super::devices::DeviceArguments;
use super::failure::Result;
use super::filter::FilterArguments;
use super::format::FormatArguments;
use super::headings::OUTPUT;
use super::inputs::{InputArguments, KpackArchives, found_images, warn_of_archives};
use super::inspected::{DocumentWriter, FileWriter, ImageText, TableWriter};
use super::limit::LimitArguments;
use super::outputs::{ForceArgument, OutputArgument};
use super::problems::{ProblemArguments, Problems};
use super::{Status, terminal};
use crate::analyze;
use crate::analyze::coverage::{Coverage, InspectedImages};
use crate::analyze::inspect::{InspectedFile, InspectedImage};
use crate::analyze::size::PackedFile;
use crate::analyze::survey::{ImageSurvey, Survey, SurveyOptions};
use crate::base::bytes::{Limits, View};
use crate::base::error::Error;
use crate::base::io::{OutputKind, OutputPath};
use crate::cli::report;
use crate::cli::report::{Page, Screen};
use crate::format::ImageKind;
use crate::image;
use crate::image::{Demangler, Inspection};
use crate::scan::filter;
use crate::scan::filter::FilterResult;
use crate::scan::inspect::ImageErrors;
use crate::scan::inventory::{File, NestedImage};
use crate::scan::{CacheBudget, Options, Outcome, ScannedFile, Scanner};

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
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

/// Help of `--device`.
const MATRIX_DEVICES: &str = "Print the matrix of these devices instead of the devices that the files have code for, such as H100, \
     MI300X or sm_90; all for every GPU with a name";

pub fn run(mut arguments: Arguments) -> Result<Status> {
    let set = arguments.force.files([]);
    arguments.inputs.add_to(&set);
    let page = arguments.html.as_ref().map(|path| set.output(path.path(), OutputKind::Text)).transpose()?;
    let problems = arguments.problems.problems();
    let run = Run { arguments: &arguments, problems: &problems, screen: terminal::screen() };
    let is_filtered = !arguments.filter.filter().is_empty();
    match page {
        Some(path) if is_filtered => run.filtered_page(path),
        Some(path) => run.page(path),
        None if arguments.matrix || !arguments.devices.is_empty() => run.print_matrix(),
        None if is_filtered => run.print_filtered(),
        None => run.print(),
    }
}

/// Maximum number of images of a file that is inspected together with other files. The images of other files are
/// inspected in parallel, one file after another, and none is kept.
const FEW_IMAGES: usize = 64;

/// A run of the command.
struct Run<'a> {
    arguments: &'a Arguments,
    problems: &'a Problems,
    screen: Screen,
}

impl Run<'_> {
    fn scanner(&self) -> Scanner {
        self.arguments.limits.scanner(Options::default()).with_cache(CacheBudget::default())
    }

    fn form(&self) -> TextForm {
        let is_summed = self.screen.is_terminal() && !self.arguments.problems.is_verbose();
        TextForm { is_json: self.arguments.format.is_json(), is_summed, screen: self.screen }
    }

    fn writer(&self) -> Box<dyn FileWriter> {
        let out = terminal::output(&self.screen);
        if self.arguments.format.is_json() {
            Box::new(DocumentWriter::new(out))
        } else {
            Box::new(TableWriter::new(out))
        }
    }

    /// Prints tables or the JSON document while files are scanned.
    fn print(&self) -> Result<Status> {
        let form = self.form();
        let inspect = |_, outcome: Outcome| {
            let archives = KpackArchives::of(&outcome);
            let mut images = Vec::new();
            let mut error = None;
            if let Outcome::Scanned(scanned) = &outcome
                && scanned.file().device_images().count() <= FEW_IMAGES
            {
                let nested: Vec<NestedImage<'_>> = scanned.file().nested_images().collect();
                error = form.inspect(scanned, &nested, &mut |image| images.push(image)).err();
            }
            (outcome, archives, images, error)
        };
        let (mut status, mut all_archives) = (Status::No, KpackArchives::default());
        let mut writer = self.writer();
        let mut written = Ok(());
        self.arguments.inputs.scan_until(&self.scanner(), self.problems, &inspect, &mut |inspected| {
            let (outcome, archives, images, mut error) = inspected;
            all_archives.merge(archives);
            let Outcome::Scanned(scanned) = outcome else {
                let (file, error) = outcome.into_file();
                status = status.and(self.report(error));
                writer.begin(&file);
                written = writer.end(&file);
                return flow(&written);
            };
            let file = scanned.file();
            status = status.and(found_images(file));
            writer.begin(file);
            let mut take = |image: ImageText| {
                writer.image(&image);
                status = status.and(self.report(image.errors));
            };
            if images.is_empty() {
                let nested: Vec<NestedImage<'_>> = file.nested_images().collect();
                error = error.or(form.inspect(&scanned, &nested, &mut take).err());
            }
            images.into_iter().for_each(take);
            status = status.and(self.report(error));
            written = writer.end(file);
            flow(&written)
        })?;
        written?;
        all_archives.warn(self.problems);
        writer.finish()?;
        Ok(status)
    }

    /// Prints the images that the filter accepts. A filter that matches nothing is an error, so all files are scanned
    /// first.
    fn print_filtered(&self) -> Result<Status> {
        let (scanned, order, mut status) = scan_inputs(&self.arguments.inputs, &self.scanner(), self.problems)?;
        let filter = self.arguments.filter.filter();
        let result = filter::apply(&filter, &scanned)?;
        let mut writer = self.writer();
        for place in &order {
            let file = place.file(&scanned);
            self.problems.start_file(&file.path);
            writer.begin(file);
            if let Some(index) = place.index() {
                let images = result.of_file(index);
                let error = self.form().inspect(&scanned[index], &images, &mut |image| {
                    writer.image(&image);
                    status = status.and(self.report(image.errors));
                });
                status = status.and(self.report(error.err()));
            }
            writer.end(file)?;
        }
        writer.finish()?;
        Ok(status.and(self.report_incomplete(result)))
    }

    /// Writes the page while files are scanned.
    fn page(&self, path: OutputPath) -> Result<Status> {
        let wanted = SurveyOptions { inspection: true, own_sizes: true, ..SurveyOptions::default() };
        let survey = |_, outcome| {
            let is_scanned = matches!(outcome, Outcome::Scanned(_));
            (Survey::of_outcome(outcome, &|_| wanted), is_scanned)
        };
        let (mut status, mut archives) = (Status::No, KpackArchives::default());
        let mut page = Page::new();
        self.arguments.inputs.scan_and(&self.scanner(), self.problems, &survey, &mut |(
            (survey, error),
            is_scanned,
        )| {
            status = status.and(if is_scanned { found_images(&survey.file) } else { Status::No });
            status = status.and(self.report(error));
            archives.add(&survey.file);
            let errors = ImageErrors::new(&survey.file);
            for (number, (image, inside)) in survey.images().enumerate() {
                let problems = inside.inspection.iter().flat_map(|inspection| inspection.problems.clone());
                status = status.and(self.report(errors.of(number, image, problems)));
            }
            page.add(survey);
        })?;
        archives.warn(self.problems);
        page.write(path, None)?;
        Ok(status)
    }

    /// Writes the page of the images that the filter accepts.
    fn filtered_page(&self, path: OutputPath) -> Result<Status> {
        let (scanned, order, mut status) = scan_inputs(&self.arguments.inputs, &self.scanner(), self.problems)?;
        let mut images = self.inspect_all(&scanned, image::inspect_with_own_sizes, &mut status)?.into_iter();
        let mut page = Page::new();
        order.into_iter().for_each(|place| page.add(place.surveyed(&scanned, &mut images)));
        page.write(path, None)?;
        Ok(status)
    }

    /// Prints the matrix after all images were inspected.
    fn print_matrix(&self) -> Result<Status> {
        let (scanned, order, mut status) = scan_inputs(&self.arguments.inputs, &self.scanner(), self.problems)?;
        let mut images = self.inspect_all(&scanned, image::inspect, &mut status)?.into_iter();
        let files: Vec<InspectedFile<'_>> = order.iter().map(|place| place.inspected(&scanned, &mut images)).collect();
        let mut result = Ok(());
        terminal::print_parts(&self.screen, &mut |write| result = self.matrix(&files, write))?;
        result?;
        Ok(status)
    }

    /// Inspects the images that the filter accepts, and returns them by file.
    fn inspect_all<'s>(
        &self,
        scanned: &'s [ScannedFile],
        read: fn(ImageKind, View<'_>, &Demangler) -> Inspection,
        status: &mut Status,
    ) -> Result<Vec<Vec<InspectedImage<'s>>>> {
        let result = filter::apply(&self.arguments.filter.filter(), scanned)?;
        let inspected = scanned.iter().enumerate().map(|(index, scanned)| {
            let (mut inspected, images) = (Vec::new(), result.of_file(index));
            self.problems.start_file(&scanned.file().path);
            let work = |nested: &NestedImage<'s>, inspection| InspectedImage {
                number: nested.index,
                image: nested.image,
                inspection,
            };
            let error = if images.is_empty() {
                None
            } else {
                analyze::inspect::inspect(scanned, &images, read, &work, &mut |image| inspected.push(image)).err()
            };
            let errors = ImageErrors::new(scanned.file());
            for InspectedImage { number, image, inspection } in &inspected {
                *status = status.and(self.report(errors.of(*number, image, inspection.problems.clone())));
            }
            *status = status.and(self.report(error));
            inspected
        });
        let inspected = inspected.collect();
        *status = status.and(self.report_incomplete(result));
        Ok(inspected)
    }

    fn report(&self, errors: impl IntoIterator<Item = Error>) -> Status {
        errors.into_iter().fold(Status::No, |status, error| status.and(self.problems.report(error)))
    }

    /// Reports the images that could not be filtered.
    fn report_incomplete(&self, result: FilterResult<'_>) -> Status {
        for error in result.unknown {
            self.problems.warn(error);
        }
        result.failed.into_iter().fold(Status::No, |status, error| status.and(self.problems.report(error)))
    }

    /// Writes the kernels by device, or a line for each file where no file has images.
    fn matrix(&self, files: &[InspectedFile<'_>], write: &mut dyn FnMut(&str)) -> Result<()> {
        let Arguments { format, families, problems, devices, .. } = self.arguments;
        let is_json = format.is_json();
        if !is_json && !files.iter().any(|it| it.file.has_device_code()) {
            write(&report::without_images(files.iter().map(|it| it.file)));
            return Ok(());
        }
        let inspected: Vec<InspectedImages<'_>> = files.iter().map(InspectedImages::from).collect();
        let devices = devices.of_files(files.iter().map(|it| it.file));
        let coverage = Coverage::new(&inspected, &devices)?;
        match (is_json, families) {
            (true, _) => report::coverage_json(&coverage, files, write),
            (false, true) => report::family_table(&coverage, &self.screen, write),
            (false, false) if problems.is_verbose() => report::coverage_table(&coverage, &self.screen, write),
            (false, false) => report::coverage_rollup(&coverage, &self.screen, write),
        }
        Ok(())
    }
}

/// Form of the text about images.
struct TextForm {
    is_json: bool,
    /// Kernels are summed by family.
    is_summed: bool,
    screen: Screen,
}

impl TextForm {
    /// Inspects images of a file, and calls `take` with the text of each.
    fn inspect(
        &self,
        scanned: &ScannedFile,
        images: &[NestedImage<'_>],
        take: &mut dyn FnMut(ImageText),
    ) -> Result<(), Error> {
        if images.is_empty() {
            return Ok(());
        }
        let file = scanned.file();
        let errors = ImageErrors::new(file);
        let work = |nested: &NestedImage<'_>, inspection: Inspection| {
            let problems = inspection.problems.clone();
            let inspected = InspectedImage { number: nested.index, image: nested.image, inspection };
            let is_lto_ir = nested.image.image_kind == ImageKind::Nvvm;
            let text = match is_lto_ir {
                _ if self.is_json => report::image_json(file, &inspected),
                true => String::new(),
                false if self.is_summed => report::inspection_rollup(&file.path, &inspected, &self.screen),
                false => report::inspection_table(&file.path, &inspected, &self.screen),
            };
            ImageText { text, is_lto_ir, errors: errors.of(nested.index, nested.image, problems).collect() }
        };
        analyze::inspect::inspect(scanned, images, image::inspect, &work, take)
    }
}

/// Ends the scan if the output cannot be written.
fn flow(written: &io::Result<()>) -> ControlFlow<()> {
    if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Scans all inputs, and reports inputs that cannot be read. Returns the scanned files, and the place of each input.
fn scan_inputs(
    inputs: &InputArguments,
    scanner: &Scanner,
    problems: &Problems,
) -> Result<(Vec<ScannedFile>, Vec<Place>, Status)> {
    let mut scanned = Vec::new();
    let mut order = Vec::new();
    let mut status = Status::No;
    inputs.scan(scanner, problems, &mut |outcome| {
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
    fn file<'a>(&'a self, scanned: &'a [ScannedFile]) -> &'a File {
        match self {
            Place::Scanned(index) => scanned[*index].file(),
            Place::Empty(file) => file,
        }
    }

    /// `None` for a file without device images.
    fn index(&self) -> Option<usize> {
        if let Place::Scanned(index) = self { Some(*index) } else { None }
    }

    /// A file without device images has the default limits.
    fn limits(&self, scanned: &[ScannedFile]) -> Limits {
        self.index().map_or_else(Limits::default, |index| scanned[index].limits())
    }

    /// `images` are the images of the scanned files, in order.
    fn inspected<'a>(
        &'a self,
        scanned: &'a [ScannedFile],
        images: &mut impl Iterator<Item = Vec<InspectedImage<'a>>>,
    ) -> InspectedFile<'a> {
        let images = self.index().and_then(|_| images.next());
        InspectedFile { file: self.file(scanned), images: images.unwrap_or_default(), limits: self.limits(scanned) }
    }

    /// `images` are the images of the scanned files, in order.
    fn surveyed<'a>(
        self,
        scanned: &'a [ScannedFile],
        images: &mut impl Iterator<Item = Vec<InspectedImage<'a>>>,
    ) -> Survey {
        let index = match self {
            Place::Scanned(index) => index,
            Place::Empty(file) => return Survey::without_images(*file),
        };
        let file = scanned[index].file().clone();
        let mut image_surveys = vec![ImageSurvey::default(); file.device_images().count()];
        for inspected in images.next().unwrap_or_default() {
            image_surveys[inspected.number].inspection = Some(inspected.inspection);
        }
        let packed = PackedFile::new(&scanned[index]);
        Survey { file, image_surveys, host: None, packed, limits: scanned[index].limits() }
    }
}
