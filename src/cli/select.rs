//! `fatbin select`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Status;
use super::devices::DeviceArguments;
use super::failure::{Context, Result};
use super::format::FormatArguments;
use super::headings::{JUDGEMENT, SELECTION};
use super::problems::Problems;
use super::scan_arguments::ScanArguments;
use super::scanned::Scanned;
use super::select_set::SetRequest;
use super::session::Session;
use crate::report::{self, KernelGap};
use fatbin_core::base::io::{Access, Input};
use fatbin_core::scan::Options;
use fatbin_core::scan::inventory::File;
use fatbin_core::target::machine;
use fatbin_ops::analyze::requires::Driver;
use fatbin_ops::analyze::select::{AnsweredFile, FileAnswer, NamedDevice, RequestedDevice, Service};
use fatbin_ops::analyze::vendored::{self, VendoredLibrary};

/// Maximum number of files that have a line each without `--verbose`.
const MAX_FILES: usize = 8;

/// Maximum number of lists of images that are printed without `--verbose`.
const MAX_LISTS: usize = 3;

/// Show which image runs on a device, and why others do not
///
/// Needs no device and no driver: the answers follow the documented rules and the order of each runtime. The verdict on
/// each device comes first. Name a device by its GPU (H100, RTX-4090, MI300X), or with everything that code can depend on
/// (gfx90a:sramecc+:xnack-, sm_90, x86_64, spir64, intel_gpu_pvc); for features that the name leaves open, all answers
/// are printed where they differ. Of many files, those that lack something have a line. -v prints a line for each file and all
/// lists of images. Images without a container have one answer, because the program selects from them by its own rules:
/// the best of them. A container without kernels asks for nothing. For a file that is split by rocm-kpack, the answers come from its
/// kpack archives, for the loaders of all releases. With --driver, images that this NVIDIA driver cannot load are
/// rejected.
///
/// Several packages, several devices with several files, and --machine have one answer: for each device how the libraries
/// run, for each package the same, and what no package has. Files whose paths differ only by processors are one library.
///
/// Exit status: 0 if every container with code for such devices has an image for each of them, 1 if one has none or no
/// container has such code, 2 for trouble, and where the answer is not known, as for an image of a kind that is newer than
/// fatbin.
#[derive(Args)]
#[command(mut_arg("device", |option| option.required_unless_present("machine")))]
pub struct Arguments {
    #[command(flatten)]
    devices: DeviceArguments,

    /// List of the GPUs of a machine: the output of nvidia-smi -L, rocminfo, rocm_agent_enumerator or vulkaninfo
    ///
    /// Also of nvidia-smi --query-gpu=name,compute_cap --format=csv, or a device on each line.
    #[arg(long, value_name = "FILE", help_heading = SELECTION)]
    machine: Option<PathBuf>,

    /// NVIDIA driver, or the release of CUDA that it belongs to: 550, 550.54.14, 12.4. Images that it cannot load are
    /// rejected
    #[arg(long, value_name = "DRIVER", value_parser = parse_driver, help_heading = JUDGEMENT)]
    driver: Option<Driver>,

    /// Require an image from some container with code for such devices instead of from every one: libraries have
    /// containers with specialized code for few devices
    #[arg(long, help_heading = JUDGEMENT)]
    some: bool,

    /// Require an image from every container with code for such devices, which is the default
    #[arg(long, hide = true, conflicts_with = "some", help_heading = JUDGEMENT)]
    every: bool,

    #[command(flatten)]
    format: FormatArguments,

    #[command(flatten)]
    scan: ScanArguments,
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let machine = arguments.machine.as_deref().map(read_machine).transpose()?.unwrap_or_default();
    let problems = arguments.scan.problems.problems(session);
    let mut is_trouble = false;
    let mut outcomes = Vec::new();
    arguments.scan.inputs.scan(
        &arguments.scan.limits.scanner(session, Options::for_answers()),
        &problems,
        &mut |outcome| {
            let scanned = Scanned::new(outcome, &problems);
            is_trouble |= scanned.file().is_incomplete();
            warn_of_damage(scanned.file(), &problems);
            outcomes.push(scanned);
        },
    )?;
    let vendored = vendored::take(&mut outcomes, Scanned::file);
    let devices = arguments.devices.of_files(outcomes.iter().map(Scanned::file));
    let request = SetRequest {
        devices: requested(&devices, machine),
        driver: arguments.driver.as_ref(),
        names: &arguments.scan.inputs.names(),
        is_machine: arguments.machine.is_some(),
        some: arguments.some,
        vendored: &vendored,
    };
    let is_json = arguments.format.is_json();
    let is_one = arguments.devices.named().len() == 1 && !arguments.devices.are_all();
    if request.is_machine || (is_json && !is_one) || (!is_json && request.is_about_set(&outcomes)) {
        let set = request.answer(&outcomes, &problems);
        let status = set.print(&request, session, is_json, arguments.scan.problems.is_verbose())?;
        return Ok(if is_trouble { Status::Trouble } else { status });
    }
    let mut answers = Answers { devices: &devices, by_device: Vec::new(), is_trouble, vendored: &vendored };
    for device in &devices {
        answers.add(device, &arguments, &outcomes, &problems);
    }
    answers.print(&arguments, session)?;
    Ok(answers.status(&request, &outcomes, session))
}

/// Reports why a runtime may not see the images that the answers are about.
fn warn_of_damage(file: &File, problems: &Problems) {
    if file.has_device_code() || file.lacks_its_code() {
        for defect in file.load_defects() {
            problems.warn(defect.in_file(file.path.printed()));
        }
    }
}

/// Reads the list of GPUs of a machine.
fn read_machine(path: &Path) -> Result<Vec<RequestedDevice>> {
    let input = Input::open_any(path, Access::read())?;
    let text = std::str::from_utf8(input.view().data()).with_context(|| format!("{}: not UTF-8", path.display()))?;
    let gpus = machine::gpus(text).with_context(|| path.display().to_string())?;
    let requested =
        gpus.iter().map(|gpu| Ok(RequestedDevice { device: NamedDevice::of_listed(gpu)?, count: Some(gpu.count) }));
    requested.collect()
}

/// Returns the devices of options and of a machine, each once.
fn requested(devices: &[NamedDevice], machine: Vec<RequestedDevice>) -> Vec<RequestedDevice> {
    let named = devices.iter().filter(|device| !machine.iter().any(|listed| listed.device == **device));
    let mut requested: Vec<RequestedDevice> =
        named.map(|device| RequestedDevice { device: device.clone(), count: None }).collect();
    requested.extend(machine);
    requested
}

/// A file on a device, and the kernels that the device does not get.
type Answer<'a> = (AnsweredFile<'a>, Vec<KernelGap<'a>>);

/// Answers about all files on each device.
struct Answers<'a> {
    devices: &'a [NamedDevice],
    by_device: Vec<Vec<Answer<'a>>>,
    is_trouble: bool,
    /// Libraries of others, which are not judged.
    vendored: &'a [VendoredLibrary],
}

impl<'a> Answers<'a> {
    fn add(&mut self, device: &'a NamedDevice, arguments: &Arguments, files: &'a [Scanned], problems: &Problems) {
        let mut answered = Vec::new();
        for scanned in files {
            let (answers, gaps, is_complete) = scanned.answers(device, arguments.driver.as_ref(), problems);
            self.is_trouble |= !is_complete;
            answered.push((answers, gaps));
        }
        self.by_device.push(answered);
    }

    /// Prints the verdicts of each file first, then the lists of images.
    fn print(&self, arguments: &Arguments, session: &Session) -> Result<()> {
        let screen = session.screen();
        let mut out = session.output(&screen);
        let driver = arguments.driver.as_ref().map(Driver::to_string);
        let mut devices = self.devices.iter().zip(&self.by_device);
        if arguments.format.is_json() {
            if let Some((device, answered)) = devices.next() {
                out.write(&report::selection_json(
                    &device.name,
                    driver.as_deref(),
                    &device.devices,
                    answered,
                    self.vendored,
                ))?;
            }
            return Ok(out.flush()?);
        }
        let with_driver =
            |name: &str| driver.as_ref().map_or(name.to_owned(), |driver| format!("{name} with {driver}"));
        let mut lists = Vec::new();
        let is_verbose = arguments.scan.problems.is_verbose();
        for (device, answered) in devices {
            let readable: Vec<_> = answered.iter().filter(|(it, _)| it.file.failure.is_none()).collect();
            let are_many = readable.len() > MAX_FILES && !is_verbose;
            if are_many {
                let files: Vec<_> = readable.iter().map(|(it, _)| it).collect();
                out.write(&report::selection_total(&files, &with_driver(&device.title()), &screen))?;
            }
            for (it, gaps) in readable {
                if are_many && (it.is_served_everywhere() || !it.has_code()) {
                    continue;
                }
                out.write(&report::selection_summary(it, &with_driver(&device.title()), &device.devices[0], &screen))?;
                out.write(&report::selection_gaps(gaps))?;
                lists.extend(report::selection_lists(it, &with_driver(&device.name), &screen));
            }
        }
        lists.dedup_by(|next, list| screen.is_terminal() && next == list);
        let bodies = lists.chunk_by(|one, next| screen.is_terminal() && one.body == next.body).count();
        if is_verbose || bodies <= MAX_LISTS {
            out.write(&report::blocks(&lists, &screen))?;
        } else {
            out.write(&format!("  {} lists of images; use -v to print them\n", lists.len()))?;
        }
        out.write(&report::not_judged(self.vendored.iter(), &screen))?;
        Ok(out.flush()?)
    }

    fn status(&self, request: &SetRequest<'_>, files: &[Scanned], session: &Session) -> Status {
        let readable = || files.iter().zip(0..).filter(|(scanned, _)| scanned.file().failure.is_none());
        let mut unlinked = BTreeSet::new();
        let mut unserved = Vec::new();
        let mut is_trouble = self.is_trouble;
        for (index, (device, answered)) in self.devices.iter().zip(&self.by_device).enumerate() {
            let on_device = request.about(device);
            let mut answers = readable().map(|(_, number): (_, usize)| FileAnswer::of(&answered[number].0));
            let set = on_device.joined(files, &mut |_, _| answers.next().flatten());
            let own = on_device.status(&set);
            is_trouble |= own == Status::Trouble;
            if own == Status::No {
                unserved.push(index);
                let lacking = answered.iter().filter(|(it, _)| !it.is_served_everywhere() || !it.has_code());
                unlinked.extend(lacking.map(|(it, _)| report::to_be_linked(it.file, device.devices[0].platform())));
            }
        }
        match (unlinked.first(), unserved.as_slice()) {
            (Some(Some(answer)), _) if !unlinked.contains(&None) => session.record_answer(answer.clone()),
            (_, &[first, ref others @ ..]) => session.record_answer(self.without_code(first, others.len())),
            _ => {}
        }
        match (is_trouble, unserved.is_empty()) {
            (true, _) => Status::Trouble,
            (false, true) => Status::Yes,
            (false, false) => Status::No,
        }
    }

    /// Returns the answer that a device, and this number of others, lacks code: in the files, or in some containers.
    fn without_code(&self, device: usize, others: usize) -> String {
        let (mut all, mut without) = (0, 0);
        for answer in self.by_device[device].iter().filter_map(|(it, _)| FileAnswer::of(it)) {
            all += answer.choices.values().sum::<usize>();
            without += answer.choices.get(&Service::Nothing).copied().unwrap_or_default();
        }
        let more =
            if others == 0 { String::new() } else { format!(" and {}", report::counted(others, "other device")) };
        let title = self.devices[device].title();
        if without == 0 || without == all {
            format!("no code for {title}{more}")
        } else {
            format!("{without} of {} have no code for {title}{more}", report::counted(all, "choice"))
        }
    }
}

fn parse_driver(text: &str) -> Result<Driver> {
    Driver::parse(text).context("expected a driver such as 550 or 550.54.14, or a release of CUDA such as 12.4")
}
