//! `fatbin requires`.

use std::io;
use std::ops::ControlFlow;

use clap::Args;

use super::devices::DeviceArguments;
use super::failure::Result;
use super::format::FormatArguments;
use super::inputs::{InputArguments, KpackArchives, survey_status};
use super::limit::LimitArguments;
use super::problems::{ProblemArguments, Problems};
use super::terminal::TextOutput;
use super::{Status, negative, terminal};
use crate::analyze::select::{FileFloors, NamedDevice};
use crate::analyze::survey::{Survey, SurveyOptions};
use crate::base::json::JsonWriter;
use crate::cli::report;
use crate::cli::report::{Block, JoinedBlocks, RequiredDevice, RequiredFile, Screen};
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
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

/// Analyses of images that floors need.
const WANTED: SurveyOptions = SurveyOptions {
    inspection: false,
    without_kernels: false,
    own_sizes: false,
    build_paths: false,
    toolkit: true,
    host: true,
};

pub fn run(arguments: Arguments) -> Result<Status> {
    let requested = &arguments.devices;
    let problems = arguments.problems.problems();
    let screen = terminal::screen();
    let form = Form { is_json: arguments.format.is_json(), screen };
    // `all` stands for the platforms of all files.
    let devices = if requested.is_empty() { None } else { Some(requested.named()) };
    let mut surveys = Vec::new();
    let mut status = Status::No;
    let mut archives = KpackArchives::default();
    let mut report = Report::new(form);
    let scanner = arguments.limits.scanner(Options::default());
    let keeps = requested.are_all();
    let analyze = |_, outcome| {
        let (file, error) = Survey::of_outcome(outcome, &|_| WANTED);
        let answer = (!keeps).then(|| form.answer(&file, devices.as_deref()));
        (file, error, answer)
    };
    let mut written = Ok(());
    arguments.inputs.scan_until(&scanner, &problems, &analyze, &mut |(file, error, answer)| {
        status = status.and(survey_status(&file, error, &problems));
        status = status.and(report_unread(&file, &problems));
        archives.add(&file.file);
        match answer {
            Some(answer) => written = report.add(answer),
            None => surveys.push(file),
        }
        if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    written?;
    archives.warn(&problems);
    let devices = requested.of_files(surveys.iter().map(|it| &it.file));
    for file in &surveys {
        report.add(form.answer(file, Some(&devices)))?;
    }
    let (has_code, has_floors) = report.finish()?;
    if has_code {
        let is_for_devices = !requested.is_empty();
        let answer =
            if is_for_devices { "no code that runs on the devices" } else { "nothing that a driver or runtime loads" };
        negative::record_answer(answer.to_owned());
    }
    Ok(if status == Status::Yes && !has_floors { Status::No } else { status })
}

/// Form of the report.
#[derive(Clone, Copy)]
struct Form {
    is_json: bool,
    screen: Screen,
}

/// Text about a file.
enum Answer {
    /// The file has device code.
    WithCode { text: Block, has_floors: bool },
    /// The file has none, and is named after all others.
    WithoutCode(String),
    /// The file could not be read; only the JSON has it, after all others.
    Unread(String),
}

impl Form {
    /// Returns the text about a file, for its own devices if none are named.
    fn answer(self, survey: &Survey, devices: Option<&[NamedDevice]>) -> Answer {
        let file = &survey.file;
        if file.failure.is_some() {
            return Answer::Unread(if self.is_json { report::unread_json(file) } else { String::new() });
        }
        let required = required(survey, devices);
        let has_floors = required.floors.loaded() > 0 && runs_somewhere(&required, devices.is_some());
        match self.is_json {
            true => {
                let text = Block { heading: report::required_json(&required), body: String::new() };
                let has_code = file.has_device_code();
                if has_code { Answer::WithCode { text, has_floors } } else { Answer::WithoutCode(text.heading) }
            }
            false if file.has_device_code() => {
                Answer::WithCode { text: report::requires_text(&required, &self.screen), has_floors }
            }
            false => Answer::WithoutCode(report::without_images(std::iter::once(file))),
        }
    }
}

/// The report, which is written while files are scanned.
struct Report {
    form: Form,
    out: TextOutput,
    document: JsonWriter,
    blocks: JoinedBlocks,
    /// Texts that follow all others.
    last: Vec<String>,
    has_code: bool,
    has_floors: bool,
}

impl Report {
    fn new(form: Form) -> Self {
        Report {
            form,
            out: terminal::output(&form.screen),
            document: report::requires_document(),
            blocks: JoinedBlocks::new(&form.screen),
            last: Vec::new(),
            has_code: false,
            has_floors: false,
        }
    }

    fn add(&mut self, answer: Answer) -> io::Result<()> {
        match answer {
            Answer::WithCode { text, has_floors } => {
                self.has_code = true;
                self.has_floors |= has_floors;
                if self.form.is_json { self.element(&text.heading) } else { self.out.write(&self.blocks.add(&text)) }
            }
            Answer::WithoutCode(text) if self.form.is_json => self.element(&text),
            Answer::WithoutCode(text) | Answer::Unread(text) => {
                self.last.push(text);
                Ok(())
            }
        }
    }

    fn element(&mut self, text: &str) -> io::Result<()> {
        self.document.element(text);
        self.out.write(&self.document.take())
    }

    /// Writes what follows the last file. Returns whether a file has device code, and whether any has floors.
    fn finish(mut self) -> io::Result<(bool, bool)> {
        let last = std::mem::take(&mut self.last);
        if self.form.is_json {
            last.iter().try_for_each(|text| self.element(text))?;
            self.document.end();
            self.document.end();
            self.out.write(&self.document.take())?;
        } else {
            self.out.write(&self.blocks.end())?;
            self.out.write(&last.concat())?;
        }
        self.out.flush()?;
        Ok((self.has_code, self.has_floors))
    }
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
