//! `fatbin inspect`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::inputs::{InputArguments, Outcome, found};
use super::limit::LimitArgument;
use super::selection::SelectionArguments;
use super::{Status, status, terminal};
use crate::inventory::{File, Image};
use crate::ops::{self, Scanned};
use crate::report;
use crate::scan::Options;
use crate::survey::{Inside, Inspected, InspectedFile, Matrix, SurveyedFile};

/// Tell which kernels are inside device images, what they take of a device, and where they come from
///
/// Of AMD code objects, NVIDIA cubins, PTX and SPIR-V. SHARED is what AMD calls LDS, SCRATCH what NVIDIA calls stack, with
/// a + where it may become more; sizes are bytes. Options that select may be repeated: values of one option are
/// alternatives, and each has to be there.
///
/// Exit status: 0 if there are device images, 1 if there are none or something asked for is not there, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// Print one JSON document (schema fatbin.inspect/1) instead of tables
    #[arg(long)]
    json: bool,

    /// Tell which kernel is there for which arch, over all files
    #[arg(long)]
    matrix: bool,

    /// Write one HTML page with everything instead: sizes, kernels by arch, tables; it loads nothing
    #[arg(long, value_name = "OUT.html", conflicts_with_all = ["json", "matrix"])]
    html: Option<PathBuf>,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    limit: LimitArgument,

    #[command(flatten)]
    inputs: InputArguments,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let options = Options { keep: true, ..arguments.limit.options() };
    let mut status = Status::No;
    let (mut scanned, mut order) = (Vec::new(), Vec::new());
    arguments.inputs.scan(options, &mut |outcome| {
        let said = match outcome {
            Outcome::Scanned(file) => {
                status = status.and(found(&file.file));
                scanned.push(file);
                Place::Scanned(scanned.len() - 1)
            }
            Outcome::Nothing(file) => Place::Empty(file),
            Outcome::Unreadable(path, error) => {
                let file = File::unreadable(path, error.to_string());
                status = status.and(status::report(&error.into()));
                Place::Empty(file)
            }
        };
        order.push(said);
    })?;
    let screen = terminal::screen();
    let mut out = terminal::output(&screen);
    let mut written = Ok(());
    let is_table = !arguments.json && !arguments.matrix && arguments.html.is_none();
    let mut images: Vec<Vec<Inspected<'_>>> = scanned.iter().map(|_| Vec::new()).collect();
    let device_images: Vec<Vec<&Image>> = scanned.iter().map(|it| it.file.device_images().collect()).collect();
    let unseen = ops::inspect(&scanned, &arguments.selection.selection(), options, &mut |file, number, inspection| {
        let path = &scanned[file].file.path;
        let inspected = Inspected { number, image: device_images[file][number], inspection };
        for problem in &inspected.inspection.problems {
            let error = ops::problem(path, inspected.number, inspected.image, problem.clone());
            status = status.and(status::report(&error.into()));
        }
        if !is_table {
            images[file].push(inspected);
        } else if written.is_ok() {
            written = out.write_all(report::inspection_table(path, &inspected, &screen).as_bytes());
        }
    })?;
    written?;
    for error in unseen.failed {
        status = status.and(status::report(&error.into()));
    }
    unseen.unknown.into_iter().for_each(|error| status::warn(&error.into()));
    let mut images = images.into_iter();
    if let Some(path) = &arguments.html {
        let files: Vec<SurveyedFile> = order.into_iter().map(|place| place.surveyed(&scanned, &mut images)).collect();
        report::write_page(path, &files.iter().collect::<Vec<_>>(), None)?;
        return Ok(status);
    }
    let files: Vec<InspectedFile> = order.iter().map(|place| place.inspected(&scanned, &mut images)).collect();
    let text = match (arguments.matrix, arguments.json) {
        (true, true) => report::matrix_json(&Matrix::new(&files)),
        (true, false) => report::matrix_table(&Matrix::new(&files), &screen),
        (false, true) => report::inspection_json(&files),
        (false, false) => report::without_images(files.iter().map(|it| it.file)),
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(status)
}

/// Where what is known of an input stands; they are told in the order in which they were named.
enum Place {
    /// Among those that were scanned.
    Scanned(usize),
    /// Here, since there is nothing in it.
    Empty(File),
}

impl Place {
    /// `images` are those of the scanned files, in order.
    fn inspected<'a>(
        &'a self,
        scanned: &'a [Scanned],
        images: &mut impl Iterator<Item = Vec<Inspected<'a>>>,
    ) -> InspectedFile<'a> {
        match self {
            Place::Scanned(index) => {
                InspectedFile { file: &scanned[*index].file, images: images.next().unwrap_or_default() }
            }
            Place::Empty(file) => InspectedFile { file, images: Vec::new() },
        }
    }

    /// `images` are those of the scanned files, in order.
    fn surveyed<'a>(
        self,
        scanned: &'a [Scanned],
        images: &mut impl Iterator<Item = Vec<Inspected<'a>>>,
    ) -> SurveyedFile {
        let index = match self {
            Place::Scanned(index) => index,
            Place::Empty(file) => return SurveyedFile { file, insides: Vec::new() },
        };
        let file = scanned[index].file.clone();
        let mut insides = vec![Inside::default(); file.device_images().count()];
        for inspected in images.next().unwrap_or_default() {
            insides[inspected.number].inspection = Some(inspected.inspection);
        }
        SurveyedFile { file, insides }
    }
}
