//! `fatbin select`.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use clap::builder::StringValueParser;

use super::failure::{Context, Result};
use super::inputs::InputArguments;
use super::limit::LimitArguments;
use super::problems::{ProblemArguments, Problems};
use super::{Status, known_names, negative, terminal};
use crate::analyze::requires::Driver;
use crate::scan::inventory::{CudaCode, File};

use crate::analyze::select::{AnsweredFile, DriverCheck, ImageRequirements};
use crate::cli::report;
use crate::cli::report::KernelGap;
use crate::scan::{Options, Outcome, ScannedFile};
use crate::target::Device;

/// Show which image each runtime selects on a device, and why it rejects the others
///
/// Needs no device and no driver: the answers follow the documented rules and the order of each runtime. Name a device
/// with everything that code can depend on (gfx90a:sramecc+:xnack-, sm_90, x86_64, spir64, intel_gpu_pvc); for features
/// that the name leaves open, all answers are printed where they differ. Images without a container are only listed,
/// because the program selects them by its own rules. For a file that is split by rocm-kpack, the answers come from its
/// kpack archives, for the loaders of all releases. With --driver, images that this NVIDIA driver cannot load are
/// rejected.
///
/// Exit status: 0 if every container with code for such devices has an image for this one, 1 if one has none or no
/// container has such code, 2 for trouble, and where the answer is not known: only the program knows what it loads, or
/// an image is of a kind that is newer than fatbin.
#[derive(Args)]
pub struct Arguments {
    /// The device, such as gfx90a:sramecc+:xnack- or sm_90
    #[arg(
        long,
        value_name = "DEVICE",
        value_parser = known_names::device(StringValueParser::new()),
        hide_possible_values = true
    )]
    device: String,

    /// NVIDIA driver, or the release of CUDA that it belongs to: 550, 550.54.14, 12.4. Images that it cannot load are
    /// rejected
    #[arg(long, value_name = "DRIVER", value_parser = parse_driver)]
    driver: Option<Driver>,

    /// Require an image from every container with code for such devices, also from containers with specialized code
    #[arg(long)]
    every: bool,

    /// Print one JSON document (schema fatbin.select/1) instead of tables
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let name = &arguments.device;
    let devices = Device::parse(name).with_context(|| format!("--device {name}"))?;
    let problems = arguments.problems.problems();
    let mut is_trouble = false;
    let mut outcomes = Vec::new();
    arguments.inputs.scan(&arguments.limits.scanner(Options::default()), &problems, &mut |outcome| {
        let scanned = Scanned::new(outcome, &problems);
        is_trouble |= scanned.file().is_incomplete();
        outcomes.push(scanned);
    })?;
    let mut answered: Vec<(AnsweredFile<'_>, Vec<KernelGap<'_>>)> = Vec::new();
    for scanned in &outcomes {
        let answers = match &arguments.driver {
            None => AnsweredFile::new(scanned.file(), &devices),
            Some(driver) => {
                let (requirements, is_read) = scanned.requirements(&problems);
                is_trouble |= !is_read;
                let check = DriverCheck { driver, requirements: &requirements };
                AnsweredFile::with_driver(scanned.file(), &devices, Some(check))
            }
        };
        let mut answers = answers;
        let gaps = scanned.gaps(&mut answers, &problems);
        answered.push((answers, gaps));
    }
    let screen = terminal::screen();
    let mut out = terminal::output(&screen);
    let driver = arguments.driver.as_ref().map(Driver::to_string);
    if arguments.json {
        out.write(&report::selection_json(name, driver.as_deref(), &devices, &answered))?;
    } else {
        let name = &driver.map_or(name.clone(), |driver| format!("{name} with {driver}"));
        let readable = || answered.iter().filter(|(it, _)| it.file.failure.is_none());
        for (it, _) in readable() {
            out.write(&report::selection_text(it, name, &screen))?;
        }
        for (it, gaps) in readable() {
            out.write(&report::selection_summary(it, name, &devices[0]))?;
            out.write(&report::selection_gaps(gaps))?;
        }
    }
    out.flush()?;
    let answered = || answered.iter().map(|(it, _)| it);
    is_trouble |= answered().any(AnsweredFile::is_undecided);
    let is_file_served = if arguments.every { AnsweredFile::is_served_everywhere } else { AnsweredFile::is_served };
    let is_served = answered().any(AnsweredFile::is_relevant) && answered().all(is_file_served);
    let unserved = answered().filter(|it| !it.is_relevant() || !is_file_served(it));
    let unlinked: Option<BTreeSet<String>> =
        unserved.map(|it| report::to_be_linked(it.file, devices[0].platform())).collect();
    if let Some(answer) = unlinked.and_then(|mut answers| answers.pop_first()) {
        negative::record_answer(answer);
    }
    Ok(match (is_trouble, is_served) {
        (true, _) => Status::Trouble,
        (false, true) => Status::Yes,
        (false, false) => Status::No,
    })
}

fn parse_driver(text: &str) -> Result<Driver> {
    Driver::parse(text).context("expected a driver such as 550 or 550.54.14, or a release of CUDA such as 12.4")
}

/// A file that was scanned, or the record of one that could not be.
enum Scanned {
    Open(ScannedFile),
    Closed(File),
}

impl Scanned {
    fn new(outcome: Outcome, problems: &Problems) -> Self {
        match outcome {
            Outcome::Scanned(scanned) => Scanned::Open(scanned),
            outcome => {
                let (file, error) = outcome.into_file();
                if let Some(error) = error {
                    problems.report(error);
                }
                Scanned::Closed(file)
            }
        }
    }

    fn file(&self) -> &File {
        match self {
            Scanned::Open(scanned) => scanned.file(),
            Scanned::Closed(file) => file,
        }
    }

    /// Reads the properties of the images, including compressed cubins. Returns false if a cubin cannot be read.
    fn requirements(&self, problems: &Problems) -> (ImageRequirements, bool) {
        let file = self.file();
        let codes = match self {
            Scanned::Open(scanned) => {
                crate::analyze::survey::cuda_codes(scanned).map_err(|error| problems.report(error))
            }
            Scanned::Closed(_) => Ok(Vec::new()),
        };
        let mut is_read = codes.is_ok();
        let codes = codes.unwrap_or_default();
        for (number, (image, code)) in file.device_images().zip(&codes).enumerate() {
            if let Some(Err(problem)) = code {
                problems.report(crate::scan::image_error(&file.path, number, image, problem.clone()));
                is_read = false;
            }
        }
        let codes: Vec<Option<CudaCode>> = codes.into_iter().map(|code| code?.ok()).collect();
        (ImageRequirements::new(file, &codes), is_read)
    }

    /// Reads the images in the gaps of a file to list the kernels in them. Sets without kernels have no gaps: nvcc's
    /// link step adds such a set to every program.
    fn gaps<'a>(&self, answered: &mut AnsweredFile<'a>, problems: &Problems) -> Vec<KernelGap<'a>> {
        let unserved: BTreeSet<usize> = answered.gaps().into_iter().flat_map(|gap| gap.images).collect();
        let kernels = match self {
            Scanned::Open(scanned) if !unserved.is_empty() => crate::scan::inspect::kernels_of(scanned, &unserved),
            Scanned::Open(_) | Scanned::Closed(_) => Ok(BTreeMap::new()),
        };
        let kernels = kernels.unwrap_or_else(|error| {
            problems.report(error);
            BTreeMap::new()
        });
        answered.leave_out_sets(|number| kernels.get(&number).is_some_and(BTreeSet::is_empty));
        let gaps = answered.gaps().into_iter().map(|gap| {
            let own = gap.images.iter().filter_map(|number| kernels.get(number));
            KernelGap { kernels: own.flatten().cloned().collect(), gap }
        });
        gaps.collect()
    }
}
