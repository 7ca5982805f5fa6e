//! The figures of a kernel: what each is called in JSON and in a table's heading.

use crate::inspect::Kernel;

/// A number that a kernel may have.
pub struct Figure {
    /// In JSON.
    pub key: &'static str,
    /// Over a column.
    pub heading: &'static str,
    pub of: fn(&Kernel) -> Option<u64>,
}

const fn figure(key: &'static str, heading: &'static str, of: fn(&Kernel) -> Option<u64>) -> Figure {
    Figure { key, heading, of }
}

/// In the order in which they are told.
pub const FIGURES: [Figure; 15] = [
    figure("registers", "REGS", |kernel| kernel.registers),
    figure("max_registers", "MAXREGS", |kernel| kernel.max_registers),
    figure("vgprs", "VGPRS", |kernel| kernel.vgprs),
    figure("agprs", "AGPRS", |kernel| kernel.agprs),
    figure("sgprs", "SGPRS", |kernel| kernel.sgprs),
    figure("vgpr_spills", "VSPILLS", |kernel| kernel.vgpr_spills),
    figure("sgpr_spills", "SSPILLS", |kernel| kernel.sgpr_spills),
    figure("scratch", SCRATCH, |kernel| kernel.scratch),
    figure("shared", "SHARED", |kernel| kernel.shared),
    figure("constant", "CONST", constant),
    figure("parameter_size", "PARAMS", |kernel| kernel.parameter_size),
    figure("wave_size", "WAVE", |kernel| kernel.wave_size),
    figure("max_threads", "THREADS", |kernel| kernel.max_threads),
    figure("min_blocks", "BLOCKS", |kernel| kernel.min_blocks),
    figure("code_size", "CODE", |kernel| kernel.code_size),
];

/// The heading of the one figure that may be a minimum.
pub const SCRATCH: &str = "SCRATCH";

/// All constant banks together.
fn constant(kernel: &Kernel) -> Option<u64> {
    let sizes = kernel.constant_banks.iter().map(|bank| bank.size);
    (!kernel.constant_banks.is_empty()).then(|| sizes.fold(0, u64::saturating_add))
}
