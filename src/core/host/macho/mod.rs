//! Emission of a plan as a Mach-O object for macOS.
//!
//! Functions have compact unwind information. The linker has no order of constructors by priority: they run in the
//! order of the objects on its command line.
//! Source: Apple, `mach-o/loader.h`, `mach-o/nlist.h`, `mach-o/reloc.h`.

mod layout;
#[cfg(test)]
mod tests;
mod write;

use super::architecture::MachOMachine;
use super::error::HostError;
use super::layout::Code;
use super::plan::ObjectPlan;
use crate::base::io::Sink;

/// Writes the object that `plan` describes for a machine into `sink`.
pub fn emit(plan: &ObjectPlan, machine: &MachOMachine, sink: &mut Sink) -> Result<(), HostError> {
    let code = Code::new(machine.architecture, plan.functions.iter().map(machine.compile).collect());
    let (sections, places) = layout::MachOLayout { plan, machine, code: &code }.sections();
    write::write(plan, machine, &code, &sections, &places, sink)
}
