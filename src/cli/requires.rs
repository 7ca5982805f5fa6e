//! `fatbin requires`.

use clap::Args;

use super::devices::DeviceArguments;
use super::failure::Result;
use super::format::FormatArguments;
use super::inputs::{survey_status, warn_of_archives};
use super::problems::Problems;
use super::scan_arguments::ScanArguments;
use super::{Status, negative, terminal};
use crate::scan::inventory::File;

use crate::analyze::select::{FileFloors, NamedDevice};
use crate::analyze::survey::{Survey, SurveyOptions};
use crate::cli::report;
use crate::cli::report::{Block, RequiredDevice, RequiredFile};
use crate::scan::Options;

/// Print the oldest driver, ROCm and LLVM that load the code
///
/// The first line has the release that loads what the devices of the code prefer, the value of `fatbin metadata`. For
/// each device of the code, or of --device, a row has the release that loads the best image: the one that the runtime
/// prefers. If an older release loads some image, that release has a row, too. The column BECAUSE OF has the property that decides it:
/// compression, PTX ISA, toolkit and architecture of a cubin, version of a container, triple of an entry ID. Sentences
/// about the devices follow, then the libraries of CUDA and ROCm that host code needs. Driver versions are for Linux. A release that no document states is unknown, never guessed.
///
/// Exit status: 0 if there is device code that runs on the devices, 1 if there is none, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    devices: DeviceArguments,

    #[command(flatten)]
    format: FormatArguments,

    #[command(flatten)]
    scan: ScanArguments,
}

/// Analyses of images that floors need.
fn wanted() -> SurveyOptions {
    SurveyOptions { toolkit: true, host: true, ..SurveyOptions::default() }
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let requested = &arguments.devices;
    let problems = arguments.scan.problems.problems();
    let mut status = Status::No;
    let mut files: Vec<Survey> = Vec::new();
    let scanner = arguments.scan.limits.scanner(Options::default());
    let analyze = |_, outcome| Survey::of_outcome(outcome, &|_| wanted());
    arguments.scan.inputs.scan_and(&scanner, &problems, &analyze, &mut |(file, error)| {
        status = status.and(survey_status(&file, error, &problems));
        status = status.and(report_unread(&file, &problems));
        files.push(file);
    })?;
    warn_of_archives(files.iter().map(|it| &it.file), &problems);
    let (readable, unread): (Vec<_>, Vec<_>) = files.into_iter().partition(|it| it.file.failure.is_none());
    let devices = requested.of_files(readable.iter().map(|it| &it.file));
    let devices = if requested.is_empty() { None } else { Some(devices) };
    let required: Vec<RequiredFile<'_>> = readable.iter().map(|file| required(file, devices.as_deref())).collect();
    let unread: Vec<File> = unread.into_iter().map(|it| it.file).collect();
    print(&required, &unread, arguments.format.is_json())?;
    if required.iter().any(|it| it.floors.file.has_device_code()) {
        let is_for_devices = devices.is_some();
        let answer =
            if is_for_devices { "no code that runs on the devices" } else { "nothing that a driver or runtime loads" };
        negative::record_answer(answer.to_owned());
    }
    let has_floors = required.iter().any(|it| it.floors.loaded() > 0 && runs_somewhere(it, devices.is_some()));
    Ok(if status == Status::Yes && !has_floors { Status::No } else { status })
}

/// Prints the floors of files. The JSON also has the files that could not be read.
fn print(required: &[RequiredFile<'_>], unread: &[File], json: bool) -> Result<()> {
    let screen = terminal::screen();
    let mut out = terminal::output(&screen);
    if json {
        out.write(&report::requires_json(required, unread))?;
    } else {
        let with_code = required.iter().filter(|it| it.floors.file.has_device_code());
        let files: Vec<Block> = with_code.map(|file| report::requires_text(file, &screen)).collect();
        out.write(&report::blocks(&files, &screen))?;
        out.write(&report::without_images(required.iter().map(|it| it.floors.file)))?;
    }
    Ok(out.flush()?)
}

/// True if a file has code for one of the devices, if the user named any.
fn runs_somewhere(required: &RequiredFile<'_>, are_named: bool) -> bool {
    !are_named || required.devices.iter().any(|it| it.runs)
}

/// Reports the cubins that could not be decompressed.
fn report_unread(file: &Survey, problems: &Problems) -> Status {
    let images = file.file.device_images().zip(&file.image_surveys).enumerate();
    images.fold(Status::No, |status, (number, (image, analysis))| match &analysis.cuda {
        Some(Err(problem)) => {
            status.and(problems.report(crate::scan::image_error(&file.file.path, number, image, problem.clone())))
        }
        _ => status,
    })
}

fn required<'a>(analyzed: &'a Survey, devices: Option<&[NamedDevice]>) -> RequiredFile<'a> {
    let floors = FileFloors::new(&analyzed.file, &analyzed.cuda_codes());
    let (devices, omitted_devices) = devices.map_or_else(|| floors.devices(), |devices| (devices.to_vec(), 0));
    let required = |device: NamedDevice| {
        let needs = floors.on_all(&device.devices);
        RequiredDevice { runs: !needs.is_empty() || floors.runs_on(&device.devices), needs, device }
    };
    let devices = devices.into_iter().map(required).collect();
    RequiredFile { floors, devices, omitted_devices, host: analyzed.host.as_ref() }
}
