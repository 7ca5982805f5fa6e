//! Emission of a plan as a COFF object for Windows.
//!
//! Source: Microsoft, PE Format; names of sections: objects of LLVM 22.

mod layout;
#[cfg(test)]
mod tests;
mod unwind;
mod write;

use super::architecture::CoffMachine;
use super::error::HostError;
use super::layout::Code;
use super::plan::ObjectPlan;
use super::systems::WindowsRuntime;
use crate::base::io::Sink;

/// Writes the object that `plan` describes for a machine and a C runtime into `sink`.
pub fn emit(
    plan: &ObjectPlan,
    machine: &CoffMachine,
    runtime: WindowsRuntime,
    sink: &mut Sink,
) -> Result<(), HostError> {
    let code = Code::new(machine.architecture, plan.functions.iter().map(machine.compile).collect());
    let sections = layout::CoffLayout { plan, machine, runtime, code: &code }.sections();
    write::write(plan, machine, &code, &sections, sink)
}
