//! Emission of a plan as an ELF64 relocatable.
//!
//! `object`'s high-level writer needs each section as one slice. Here a section is a sequence of runs, most of whose
//! bytes stay in the file that they came from (see [`crate::base::io::Sink`]), so this uses the low-level writer.

mod layout;
mod write;

use super::architecture::Architecture;
use super::error::HostError;
use super::layout::Code;
use super::plan::ObjectPlan;
use crate::base::io::Sink;

/// Writes the object that `plan` describes for a machine into `sink`.
pub fn emit(plan: &ObjectPlan, architecture: &Architecture, sink: &mut Sink) -> Result<(), HostError> {
    let code = Code::new(architecture, plan.functions.iter().map(architecture.elf.compile).collect());
    let layout = layout::ObjectLayout::new(plan, architecture, &code);
    let sections = layout.sections().map_err(HostError::unwind_information)?;
    write::write(plan, architecture, &layout, &sections, sink).map_err(HostError::object_file)
}
