//! `fatbin strip`.

use clap::{ArgGroup, Args};

use super::Status;
use super::editing::EditArguments;
use super::failure::Result;
use super::headings::SELECTION;
use super::session::Session;
use crate::report;
use fatbin_ops::edit::{Strip, Stripped};

/// Remove debug information and unread symbols of device code
///
/// Removes DWARF, line tables, embedded PTX sources and the paths in them from NVIDIA cubins and AMD code objects, in their
/// containers. Code, symbols, kernels' metadata and everything else that a runtime reads stay as they are. In
/// executables and libraries all addresses stay, and space that is left becomes holes.
///
/// --device-symbols removes absolute symbols without a type, such as NAME.num_vgpr, from linked AMD code objects. ROCm's
/// loader finds kernels and variables in the same table, so the table stays. In cubins nothing can go: the driver finds
/// kernels by their symbols, and NVIDIA's sections refer to symbols by index.
///
/// The result is scanned again and compared with the input before it gets its name.
///
/// Exit status: 0 if the output was written, also if there was nothing to remove; 1 if the input has no device images; 2 for
/// trouble.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["device_debug", "device_symbols"])))]
pub struct Arguments {
    /// Remove debug information of device code
    #[arg(help_heading = SELECTION, long)]
    device_debug: bool,

    /// Remove symbols of AMD code objects that no loader, linker, debugger or profiler reads
    #[arg(help_heading = SELECTION, long)]
    device_symbols: bool,

    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let mut editing = arguments.edit.start(session, &[])?;
    let strip = Strip::new(
        arguments.edit.options(session).limits,
        Stripped { debug: arguments.device_debug, symbols: arguments.device_symbols },
    );
    let mut text = String::new();
    let applied = editing.apply(&strip, &mut |edited| {
        text += &report::stripped(edited.scan.file(), &edited.edited.containers, &strip, &session.screen());
    })?;
    let Some(applied) = applied else { return Ok(Status::No) };
    editing.finish("strip", &applied, &text)?;
    Ok(Status::Yes)
}
