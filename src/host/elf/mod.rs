//! Emission of a plan as an ELF64 relocatable.
//!
//! `object`'s high-level writer wants each section as one slice; here a section is a sequence of runs, most of whose
//! bytes stay in the file that they came from (see [`crate::io::Sink`]), so its low-level writer is used.

mod layout;
mod write;

use super::architecture::Architecture;
use super::assembler::Code;
use super::plan::ObjectPlan;
use crate::io::Sink;

/// Writes the object that `plan` describes for `architecture` into `sink`. An error is what `gimli` or `object` say;
/// plans of this crate have not caused one.
pub fn emit(plan: &ObjectPlan, architecture: &Architecture, sink: &mut Sink) -> Result<(), String> {
    let code: Vec<Code> = plan.functions.iter().map(architecture.compile).collect();
    let layout = layout::Layout::new(plan, architecture, &code);
    let sections = layout.sections(&code).map_err(|error| error.to_string())?;
    write::write(plan, architecture, &layout, &sections, sink).map_err(|error| error.to_string())
}
