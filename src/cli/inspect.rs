//! `fatbin inspect`.

use clap::Args;

use super::devices::DeviceArguments;
use super::failure::Result;
use super::filter::FilterArguments;
use super::format::FormatArguments;
use super::headings::OUTPUT;
use super::inputs::{InputArguments, found_images, warn_of_archives};
use super::inspected::{DocumentWriter, ImageWriter, TableWriter};
use super::limit::LimitArguments;
use super::outputs::{ForceArgument, OutputArgument};
use super::problems::Problems;
use super::scan_arguments::ScanArguments;
use super::{Status, terminal};
use crate::analyze::coverage::{Coverage, InspectedImages};
use crate::analyze::inspect::{InspectedFile, InspectedImage};
use crate::analyze::survey::{ImageSurvey, Survey};
use crate::base::bytes::{Limits, View};
use crate::base::io::{OutputKind, OutputPath};
use crate::cli::report;
use crate::cli::report::Screen;
use crate::format::ImageKind;
use crate::image;
use crate::image::{Demangler, Inspection};
use crate::scan::filter::FoundImage;
use crate::scan::inspect::ImageErrors;
use crate::scan::inventory::File;
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
    let (scanned, order, status) = scan_inputs(&arguments.scan.inputs, &arguments.scan.limits, &problems)?;
    let screen = terminal::screen();
    let run = Run { arguments: &arguments, scanned: &scanned, problems: &problems, screen };
    let has_matrix = arguments.matrix || !arguments.devices.is_empty();
    if has_matrix || page.is_some() { run.keep(order, status, page) } else { run.stream(&order, status) }
}

/// A run of the command, after its inputs were scanned.
struct Run<'a> {
    arguments: &'a Arguments,
    scanned: &'a [ScannedFile],
    problems: &'a Problems,
    screen: Screen,
}

impl<'a> Run<'a> {
    /// Writes tables or the JSON document while images are inspected.
    fn stream(&self, order: &'a [Place], mut status: Status) -> Result<Status> {
        let mut out = terminal::output(&self.screen);
        let is_json = self.arguments.format.is_json();
        let scanned = self.scanned;
        let screen = &self.screen;
        let mut writer: Box<dyn ImageWriter + '_> = if is_json {
            Box::new(DocumentWriter::new(
                &mut out,
                scanned,
                order.iter().map(|place| (place.file(scanned), place.index())),
            ))
        } else {
            Box::new(TableWriter::new(&mut out, self.scanned))
        };
        let is_summed = screen.is_terminal() && !self.arguments.scan.problems.is_verbose();
        let format = |found: &FoundImage<'a>, inspected: InspectedImage<'_>| {
            let file = scanned[found.file].file();
            match inspected.image.image_kind {
                _ if is_json => report::image_json(file, &inspected),
                ImageKind::Nvvm => String::new(),
                _ if is_summed => report::inspection_rollup(&file.path, &inspected, screen),
                _ => report::inspection_table(&file.path, &inspected, screen),
            }
        };
        self.inspect(image::inspect, &mut status, &format, &mut |found, text: String| writer.image(found, &text))?;
        writer.finish()?;
        drop(writer);
        if !is_json {
            let files = || order.iter().map(|place| place.file(self.scanned));
            out.write(&report::metadata_lines(files()))?;
            out.write(&report::without_images(files()))?;
        }
        out.flush()?;
        Ok(status)
    }

    /// Writes the page or the matrix after all images were inspected.
    fn keep(&self, order: Vec<Place>, mut status: Status, page: Option<OutputPath>) -> Result<Status> {
        let read = if page.is_some() { image::inspect_with_own_sizes } else { image::inspect };
        let mut images: Vec<Vec<InspectedImage<'_>>> = self.scanned.iter().map(|_| Vec::new()).collect();
        self.inspect(read, &mut status, &|_, inspected| inspected, &mut |found, inspected| {
            images[found.file].push(inspected);
        })?;
        let mut images = images.into_iter();
        if let Some(path) = page {
            let files = order.into_iter().map(|place| place.surveyed(self.scanned, &mut images));
            let files: Vec<Survey> = files.collect();
            report::write_page(path, &files.iter().collect::<Vec<_>>(), None)?;
            return Ok(status);
        }
        let files: Vec<InspectedFile> = order.iter().map(|place| place.inspected(self.scanned, &mut images)).collect();
        let mut out = terminal::output(&self.screen);
        let mut written = Ok(());
        self.matrix(&files, &mut |text| {
            if written.is_ok() {
                written = out.write(text);
            }
        })?;
        written?;
        out.flush()?;
        Ok(status)
    }

    /// Inspects the images with `read`, reports their problems, and calls `take` with the result of `work` on each, in
    /// order.
    fn inspect<R: Send>(
        &self,
        read: fn(ImageKind, View<'_>, &Demangler) -> Inspection,
        status: &mut Status,
        work: &(dyn Fn(&FoundImage<'a>, InspectedImage<'a>) -> R + Sync),
        take: &mut dyn FnMut(&FoundImage<'a>, R),
    ) -> Result<()> {
        let inspect = |found: &FoundImage<'a>, inspection: Inspection| {
            let problems = inspection.problems.clone();
            let inspected = InspectedImage { number: found.nested.index, image: found.nested.image, inspection };
            (work(found, inspected), problems)
        };
        let filter = self.arguments.filter.filter();
        let image_errors: Vec<_> = self.scanned.iter().map(|scanned| ImageErrors::new(scanned.file())).collect();
        let incomplete =
            crate::analyze::inspect::inspect(self.scanned, &filter, read, &inspect, &mut |found, (result, errors)| {
                self.problems.start_file(&self.scanned[found.file].file().path);
                for error in image_errors[found.file].of(found.nested.index, found.nested.image, errors) {
                    *status = status.and(self.problems.report(error));
                }
                take(found, result);
            })?;
        for error in incomplete.failed {
            *status = status.and(self.problems.report(error));
        }
        for error in incomplete.unknown {
            self.problems.warn(error);
        }
        Ok(())
    }

    /// Writes the kernels by device, or a line for each file where no file has images.
    fn matrix(&self, files: &[InspectedFile<'_>], write: &mut dyn FnMut(&str)) -> Result<()> {
        let Arguments { format, families, scan, devices, .. } = self.arguments;
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
            (false, false) if scan.problems.is_verbose() => report::coverage_table(&coverage, &self.screen, write),
            (false, false) => report::coverage_rollup(&coverage, &self.screen, write),
        }
        Ok(())
    }
}

/// Scans all inputs, and reports inputs that cannot be read. Returns the scanned files, and the place of each input.
pub fn scan_inputs(
    inputs: &InputArguments,
    limits: &LimitArguments,
    problems: &Problems,
) -> Result<(Vec<ScannedFile>, Vec<Place>, Status)> {
    let scanner = limits.scanner(Options::default()).with_cache(CacheBudget::default());
    let mut scanned = Vec::new();
    let mut order = Vec::new();
    let mut status = Status::No;
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
pub enum Place {
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
        Survey { file, image_surveys, host: None, limits: scanned[index].limits() }
    }
}
