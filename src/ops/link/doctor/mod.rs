//! Predicts what goes wrong in a link with device code, before the link.
//!
//! ```text
//! command line of a linker (a compiler prints its linker's)
//!    |  inputs: objects, members of archives -> sections, symbols, device images
//!    v
//! resolve: the members and sections that the linker takes
//!    |  layout: addresses, by the rules of a linker (linkers) and the scripts of the line (script)
//!    v
//! overflow: relocations that do not reach their targets
//! registration, entries, host_half, modules: what the offload runtimes will not find, or find twice
//!    |
//!    v
//! problems, and a linker script that moves large device sections out of the way
//! ```
//!
//! Only headers, symbols and relocations are read, and images if kernels are compared with entries.

mod device_object;
mod driver;
mod entries;
mod host_half;
mod inputs;
mod kernels;
mod layout;
mod line;
mod linkers;
mod lto_bytecode;
mod lto_objects;
mod modules;
mod nvlink;
mod object_file;
mod overflow;
mod problem;
mod registration;
mod relocations;
mod remedy;
mod resolve;
mod script;
mod shared_entries;
mod suggestion;
mod targets;
mod tile_kernels;

use std::ffi::OsString;

use fatbin_core::base::bytes::Limits;
use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::base::error::Error;
use fatbin_core::base::io::Access;

pub use driver::DriverError;
pub use layout::OutputSection;
pub use line::{LineError, OutputType};
pub use linkers::Linker;
pub use problem::Problem;
pub use problem::ProblemKind;
pub use suggestion::SuggestedScript;

use inputs::Inputs;
use layout::Layout;
use line::{LinkLine, Placement};
use resolve::Resolution;

/// Options of a diagnosis.
#[derive(Debug, Clone)]
pub struct DoctorOptions {
    /// Linker or compiler, and its arguments. If it is empty, only `objects` are linked.
    pub line: Vec<OsString>,
    /// Objects and archives that are linked in addition to the line.
    pub objects: Vec<OsString>,
    /// Linker whose layout is predicted, in place of the one that the line calls.
    pub linker: Option<Linker>,
    /// Access to inputs.
    pub access: Access,
    /// Limits on reading each input.
    pub limits: Limits,
}

/// Result of a diagnosis.
#[derive(Debug)]
pub struct Diagnosis {
    /// Linker whose layout was predicted.
    pub linker: Linker,
    /// Type of the output.
    pub output_type: OutputType,
    /// Number of objects that are linked, members of archives included.
    pub objects: usize,
    /// Predicted sections of the output, sorted by address; empty for a relocatable output.
    pub layout: Vec<OutputSection>,
    /// Problems, in the order of their kinds.
    pub problems: Vec<Problem>,
    /// Script that places large device sections after all others; absent if there are none.
    pub script: Option<SuggestedScript>,
}

/// Error of a diagnosis.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoctorError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] Error),
    /// The command line is not understood.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The compiler does not print its linker's command line.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// An object with invalid headers.
    #[error("{path}: invalid object: {cause}")]
    InvalidObject {
        /// Path.
        path: String,
        /// The reason.
        cause: object::read::Error,
    },
    /// The inputs are not objects.
    #[error("no objects in the inputs; specify the objects and archives of the link, or its command after --")]
    NoObjects,
    /// The reach of a machine's relocations is unknown, in a link so large that they could be out of reach.
    #[error("{path}: the reach of relocations for {machine:?} is not known; supported are x86-64 and AArch64")]
    UnknownMachine {
        /// Host object.
        path: String,
        /// Its machine.
        machine: object::Architecture,
    },
    /// A host object cannot be read.
    #[error(transparent)]
    Wrap(#[from] crate::embed::wrap::WrapError),
}

impl Coded for DoctorError {
    fn class(&self) -> ErrorClass {
        match self {
            DoctorError::File(error) => error.class(),
            DoctorError::Line(error) => error.class(),
            DoctorError::Driver(error) => error.class(),
            DoctorError::InvalidObject { .. } => Code::InvalidField.into(),
            DoctorError::NoObjects => Code::MissingLinkInput.into(),
            DoctorError::UnknownMachine { .. } => Code::UnknownLayout.into(),
            DoctorError::Wrap(error) => error.class(),
        }
    }
}

/// Result of functions of this module.
pub type Result<T, E = DoctorError> = std::result::Result<T, E>;

/// Predicts the problems of a link.
pub fn diagnose(options: &DoctorOptions) -> Result<Diagnosis> {
    let line = LinkLine::new(options)?;
    let inputs = Inputs::read(&line, options)?;
    if inputs.objects.is_empty() {
        return Err(DoctorError::NoObjects);
    }
    let resolution = Resolution::new(&inputs.objects);
    let mut problems = Vec::new();
    let mut sections = Vec::new();
    let mut suggested = None;
    if line.placement.output_type != OutputType::Relocatable {
        let layout = Layout::new(&inputs.objects, &resolution, line.placement, &line.scripts);
        let overflows = overflow::find(&layout, &inputs.objects, &resolution, &line, options)?;
        suggested = suggestion::suggest(&layout, &inputs, &resolution, &line, options)?;
        let has_remedy = suggested.as_ref().is_some_and(|script| script.remaining == 0);
        problems.extend(overflows.iter().map(|overflow| overflow.problem(&layout, line.placement.linker, has_remedy)));
        if overflows.is_empty() {
            suggested = None;
        }
        sections = layout.into_sections();
    }
    problems.extend(registration::find(&inputs, &resolution, &line));
    problems.extend(entries::find(&inputs, &resolution, &line));
    problems.extend(host_half::find(&inputs, &resolution, &line));
    problems.extend(modules::find(&inputs, &resolution, &line));
    problems.extend(targets::find(&inputs, &resolution));
    problems.extend(lto_objects::find(&inputs, &resolution));
    problems.extend(nvlink::find(&inputs, &line));
    let objects = resolution.linked().count();
    let Placement { linker, output_type, .. } = line.placement;
    Ok(Diagnosis { linker, output_type, objects, layout: sections, problems, script: suggested })
}
