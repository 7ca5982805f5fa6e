//! `fatbin requires`.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use clap::Args;

use super::Status;
use super::devices::DeviceArguments;
use super::failure::Result;
use super::format::FormatArguments;
use super::inputs::{KpackArchives, survey_status};
use super::problems::Problems;
use super::scan_arguments::ScanArguments;
use super::session::Session;
use super::terminal::TextOutput;
use crate::report::{self, Block, JoinedBlocks, RequiredDevice, RequiredFile, Screen};
use fatbin_core::base::json::JsonWriter;
use fatbin_core::scan::Options;
use fatbin_ops::analyze::select::{FileFloors, NamedDevice};
use fatbin_ops::analyze::survey::{Survey, SurveyOptions};

/// Print the oldest driver, ROCm and LLVM that load the code
///
/// The first line has the release that loads what the devices of the code prefer, the value of `fatbin metadata`. For
/// each device of the code, or of --device, a row has the release that loads the best image: the one that the runtime
/// prefers. If an older release loads some image, that release has a row, too. The column BECAUSE OF has the property that decides it:
/// compression, PTX ISA, toolkit and architecture of a cubin, version of a container, triple of an entry ID. Sentences
/// about the devices follow, then the libraries of CUDA and ROCm that host code needs. Driver versions are for Linux, or for Windows in files for Windows. A release that no document states is unknown, never guessed.
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
    SurveyOptions { toolkit: true, host: true, empty_images: true, ..SurveyOptions::default() }
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let requested = &arguments.devices;
    let problems = arguments.scan.problems.problems(session);
    let screen = session.screen();
    let form = Form { is_json: arguments.format.is_json(), screen };
    // `all` stands for the platforms of all files.
    let devices = if requested.is_empty() { None } else { Some(requested.named()) };
    let mut surveys = Vec::new();
    let mut status = Status::No;
    let mut archives = KpackArchives::default();
    let mut report = Report::new(form, session);
    let scanner = arguments.scan.limits.scanner(session, Options::default());
    let keeps = requested.are_all();
    let analyze = |_, outcome| {
        let (file, error) = Survey::of_outcome(outcome, &|_| wanted(), &mut |_| ());
        let answer = (!keeps).then(|| form.answer(&file, devices.as_deref()));
        (file, error, answer)
    };
    let mut written = Ok(());
    arguments.scan.inputs.scan_until(&scanner, &problems, &analyze, &mut |(file, error, answer)| {
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
        session.record_answer(answer.to_owned());
    }
    Ok(if status == Status::Yes && !has_floors { Status::No } else { status })
}

/// Returns the first line of the report about a file; `None` if it has no device code.
pub fn heading(path: &Path, session: &Session) -> Option<String> {
    let mut outcomes = session.scanner(Options::default()).scan([path.to_owned()]);
    let survey = Survey::of(outcomes.next()?.ok()?, wanted(), &mut |_| ()).ok()?;
    let has_code = survey.file.has_device_code();
    has_code.then(|| report::requires_text(&required(&survey, None), &Screen::default()).heading)
}

/// Form of the report.
#[derive(Clone, Copy)]
struct Form {
    is_json: bool,
    screen: Screen,
}

/// Text about a file. Of files that could not be read, only the JSON has one.
struct Answer {
    /// In JSON, the heading is the whole text.
    text: Block,
    /// The text follows all others.
    is_last: bool,
    has_code: bool,
    has_floors: bool,
}

impl Form {
    /// Returns the text about a file, for its own devices if none are named.
    fn answer(self, survey: &Survey, devices: Option<&[NamedDevice]>) -> Answer {
        let file = &survey.file;
        let whole = |heading| Block { heading, body: String::new() };
        if file.failure.is_some() {
            let text = whole(if self.is_json { report::unread_json(file) } else { String::new() });
            return Answer { text, is_last: true, has_code: false, has_floors: false };
        }
        let required = required(survey, devices);
        let has_code = file.has_device_code();
        let text = match (self.is_json, has_code) {
            (true, _) => whole(report::required_json(&required)),
            (false, true) => report::requires_text(&required, &self.screen),
            (false, false) => whole(report::without_images(std::iter::once(file))),
        };
        let has_floors = required.floors.loaded() > 0 && runs_somewhere(&required, devices.is_some());
        Answer { text, is_last: !self.is_json && !has_code, has_code, has_floors }
    }
}

/// The report, which is written while files are scanned.
struct Report {
    out: TextOutput,
    document: Option<JsonWriter>,
    blocks: JoinedBlocks,
    last: Vec<String>,
    has_code: bool,
    has_floors: bool,
}

impl Report {
    fn new(form: Form, session: &Session) -> Self {
        Report {
            out: session.output(&form.screen),
            document: if form.is_json { Some(report::requires_document()) } else { None },
            blocks: JoinedBlocks::new(&form.screen),
            last: Vec::new(),
            has_code: false,
            has_floors: false,
        }
    }

    fn add(&mut self, answer: Answer) -> io::Result<()> {
        self.has_code |= answer.has_code;
        self.has_floors |= answer.has_floors;
        if answer.is_last {
            self.last.push(answer.text.heading);
            return Ok(());
        }
        let text = match &mut self.document {
            Some(document) => {
                document.element(&answer.text.heading);
                document.take()
            }
            None => self.blocks.add(&answer.text),
        };
        self.out.write(&text)
    }

    /// Writes what follows the last file. Returns whether a file has device code, and whether any has floors.
    fn finish(mut self) -> io::Result<(bool, bool)> {
        let text = match &mut self.document {
            Some(document) => {
                self.last.iter().for_each(|text| document.element(text));
                document.end();
                document.end();
                document.take()
            }
            None => self.blocks.end() + &self.last.concat(),
        };
        self.out.write(&text)?;
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
            status.and(problems.report(fatbin_core::scan::image_error(&file.file.path, number, image, problem.clone())))
        }
        _ => status,
    })
}

fn required<'a>(analyzed: &'a Survey, devices: Option<&[NamedDevice]>) -> RequiredFile<'a> {
    let floors = FileFloors::new(&analyzed.file, &analyzed.cuda_codes());
    let (devices, omitted_devices) = devices.map_or_else(|| floors.devices(), |devices| (devices.to_vec(), 0));
    let required = |device: NamedDevice| {
        let needs = floors.on_all(&device.devices);
        RequiredDevice { runs: floors.runs_on(&device.devices), needs, device }
    };
    let devices = devices.into_iter().map(required).collect();
    RequiredFile { floors, devices, omitted_devices, host: analyzed.host.as_ref() }
}
