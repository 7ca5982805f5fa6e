//! `fatbin select`.

use anyhow::{Result, anyhow};
use clap::Args;

use super::inputs::InputArguments;
use super::limit::LimitArguments;
use super::problems::ProblemArguments;
use super::{Status, terminal};
use crate::report;
use crate::scan::Options;
use crate::select::AnsweredFile;
use crate::target::Device;

/// Show which image each runtime selects on a device, and why it rejects the others
///
/// Needs no device and no driver: the answers follow the documented rules and the order of each runtime. Name a device with
/// everything that code can depend on (gfx90a:sramecc+:xnack-, sm_90, x86_64, spir64, intel_gpu_pvc); for features that the
/// name leaves open, all answers are printed where they differ. Images without a container are listed, and no more: the program
/// selects from them by its own rules. For a file that is split by rocm-kpack, the answers are those of
/// its kpack archives, for the loaders of all releases.
///
/// Exit status: 0 if every container with code for such devices has an image for this one, 1 if one has none or no container
/// has such code, 2 for trouble, and where the answer is not known: only the program knows what it loads, or an image is of a kind
/// that is newer than fatbin.
#[derive(Args)]
pub struct Arguments {
    /// The device, such as gfx90a:sramecc+:xnack- or sm_90
    #[arg(long, value_name = "DEVICE")]
    device: String,

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
    let devices = Device::parse(name).map_err(|error| anyhow!("--device {name}: {error}"))?;
    let problems = arguments.problems.problems();
    let mut is_trouble = false;
    let mut files = Vec::new();
    arguments.inputs.scan(&arguments.limits.scanner(Options::default()), &problems, &mut |outcome| {
        let (file, error) = outcome.into_file();
        is_trouble |= file.is_incomplete();
        if let Some(error) = error {
            problems.report(error);
        }
        files.push(file);
    })?;
    let answered: Vec<AnsweredFile> = files.iter().map(|file| AnsweredFile::new(file, &devices)).collect();
    let screen = terminal::screen();
    let mut out = terminal::output(&screen);
    if arguments.json {
        out.write(&report::selection_json(name, &devices, &answered))?;
    } else {
        let readable = || answered.iter().filter(|it| it.file.failure.is_none());
        for it in readable() {
            out.write(&report::selection_text(it, name, &screen))?;
        }
        for it in readable() {
            out.write(&report::selection_summary(it, name, &devices[0]))?;
        }
    }
    out.flush()?;
    is_trouble |= answered.iter().any(AnsweredFile::is_undecided);
    let is_served = answered.iter().any(AnsweredFile::is_relevant) && answered.iter().all(AnsweredFile::is_served);
    Ok(match (is_trouble, is_served) {
        (true, _) => Status::Trouble,
        (false, true) => Status::Yes,
        (false, false) => Status::No,
    })
}
