//! `fatbin strip`.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;

use super::destination::DestinationArguments;
use super::limit::LimitArguments;
use super::problems::ProblemArguments;
use super::{Status, access, terminal};
use crate::edit::{ApplyOptions, Strip, apply};
use crate::io::Input;
use crate::report;

/// Remove debug information from device images in finished files
///
/// Removes DWARF, line tables, embedded PTX sources and the paths in them from NVIDIA cubins and AMD code objects, in their
/// containers. Code, symbols, kernels' metadata and everything else that a runtime reads stay as they are. Linked files are changed
/// in place: all addresses stay, and space that is left becomes holes.
///
/// The result is scanned again and compared with the input before it gets its name.
///
/// Exit status: 0 if the output was written, also if there was no debug information; 1 if the input has no device images; 2 for
/// trouble.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Remove debug information of device code
    #[arg(long, required = true)]
    device_debug: bool,

    /// Write zeros instead of leaving holes in the output
    #[arg(long)]
    no_punch: bool,

    #[command(flatten)]
    destination: DestinationArguments,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    /// Object, executable, library, or file of containers
    #[arg(value_name = "INPUT")]
    input: PathBuf,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<Status> {
    let problems = arguments.problems.problems();
    let input = Input::open(&arguments.input, access::get())?;
    let mut output = arguments.destination.create(&arguments.input)?;
    let options = ApplyOptions {
        limits: arguments.limits.limits(),
        access: access::get(),
        holes: !arguments.no_punch,
        shrinks: false,
    };
    let strip = Strip::default();
    let mut text = String::new();
    let applied = apply(input, &strip, options, output.as_mut().map(|output| &mut output.output), &mut |edited| {
        text += &report::stripped(edited.scan.file(), &edited.edited.containers, &strip.images());
    })?;
    let Some(applied) = applied else {
        problems.report(anyhow!("{}: no device images", arguments.input.display()));
        return Ok(Status::No);
    };
    if let Some(output) = output {
        output.commit(&problems)?;
    }
    if !arguments.destination.is_standard_output() {
        terminal::print(&(text + &report::edit_sizes(applied.size, applied.new_size, None)))?;
    }
    Ok(Status::Yes)
}
