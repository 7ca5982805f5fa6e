//! `fatbin requires`.

use clap::Args;

use super::devices::DeviceArguments;
use super::failure::Result;
use super::format::FormatArguments;
use super::inputs::{InputArguments, found_images, warn_of_archives};
use super::limit::LimitArguments;
use super::problems::{ProblemArguments, Problems};
use super::{Status, negative, terminal};
use crate::scan::inventory::File;

use crate::analyze::select::{FileFloors, NamedDevice};
use crate::analyze::survey::{Survey, SurveyOptions};
use crate::cli::report;
use crate::cli::report::RequiredFile;
use crate::scan::Options;

/// Print the oldest NVIDIA driver, ROCm and LLVM that load the device code
///
/// For each device of the code, or of --device, prints the release that loads the image preferred by the runtime. If an
/// older release loads some image, prints that release, too. The column BECAUSE OF has the property that decides it:
/// compression, PTX ISA, toolkit and architecture of a cubin, version of a container, triple of an entry ID. Driver
/// versions are for Linux. A release that no document states is unknown, never guessed.
///
/// Exit status: 0 if there is device code that runs on the devices, 1 if there is none, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    devices: DeviceArguments,

    #[command(flatten)]
    format: FormatArguments,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

/// Analyses of images that floors need.
const WANTED: SurveyOptions =
    SurveyOptions { inspection: false, without_kernels: false, own_sizes: false, build_paths: false, toolkit: true };

pub fn run(arguments: Arguments) -> Result<Status> {
    let requested = &arguments.devices;
    let problems = arguments.problems.problems();
    let mut status = Status::No;
    let mut files: Vec<Survey> = Vec::new();
    let scanner = arguments.limits.scanner(Options::default());
    let analyze = |_, outcome| Survey::of_outcome(outcome, &|_| WANTED);
    arguments.inputs.scan_and(&scanner, &problems, &analyze, &mut |(file, error)| {
        status = status.and(if file.file.failure.is_some() { Status::Trouble } else { found_images(&file.file) });
        if let Some(error) = error {
            status = status.and(problems.report(error));
        }
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
        for file in required.iter().filter(|it| it.floors.file.has_device_code()) {
            out.write(&report::requires_text(file, &screen))?;
        }
        out.write(&report::without_images(required.iter().map(|it| it.floors.file)))?;
    }
    Ok(out.flush()?)
}

/// True if a file has code for one of the devices, if the user named any.
fn runs_somewhere(required: &RequiredFile<'_>, are_named: bool) -> bool {
    !are_named || !required.without_floor.is_empty() || required.devices.iter().any(|(_, needs)| !needs.is_empty())
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
    let of = |device: &NamedDevice| (device.name.clone(), floors.on_all(&device.devices));
    let runs = |device: &&NamedDevice| floors.on_all(&device.devices).is_empty() && floors.runs_on(&device.devices);
    let without_floor = devices.unwrap_or_default().iter().filter(runs).map(|device| device.name.clone()).collect();
    let (devices, omitted_devices) = match devices {
        Some(devices) => (devices.iter().map(of).collect(), 0),
        None => {
            let (devices, omitted) = floors.devices();
            (devices.iter().map(of).collect(), omitted)
        }
    };
    RequiredFile { floors, devices, without_floor, omitted_devices }
}
