//! Figures of a kernel: the numbers that an image may state about it.

use super::Kernel;
use crate::base::bytes::total;

/// A number that an image may state about a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// [`Kernel::registers`].
    Registers,
    /// [`Kernel::max_registers`].
    MaxRegisters,
    /// [`Kernel::vgprs`].
    Vgprs,
    /// [`Kernel::agprs`].
    Agprs,
    /// [`Kernel::sgprs`].
    Sgprs,
    /// [`Kernel::vgpr_spills`].
    VgprSpills,
    /// [`Kernel::sgpr_spills`].
    SgprSpills,
    /// [`Kernel::scratch`]; the only figure that may be a minimum.
    Scratch,
    /// [`Kernel::shared`].
    Shared,
    /// Sum of [`Kernel::constant_banks`].
    Constant,
    /// [`Kernel::parameter_size`].
    ParameterSize,
    /// [`Kernel::wave_size`].
    WaveSize,
    /// [`Kernel::max_threads`].
    MaxThreads,
    /// [`Kernel::min_blocks`].
    MinBlocks,
    /// [`Kernel::code_size`].
    CodeSize,
}

impl Figure {
    /// All figures, in print order.
    pub const ALL: &[Figure] = &[
        Figure::Registers,
        Figure::MaxRegisters,
        Figure::Vgprs,
        Figure::Agprs,
        Figure::Sgprs,
        Figure::VgprSpills,
        Figure::SgprSpills,
        Figure::Scratch,
        Figure::Shared,
        Figure::Constant,
        Figure::ParameterSize,
        Figure::WaveSize,
        Figure::MaxThreads,
        Figure::MinBlocks,
        Figure::CodeSize,
    ];

    /// Key of the figure in JSON documents and in locks.
    pub const fn key(self) -> &'static str {
        match self {
            Figure::Registers => "registers",
            Figure::MaxRegisters => "max_registers",
            Figure::Vgprs => "vgprs",
            Figure::Agprs => "agprs",
            Figure::Sgprs => "sgprs",
            Figure::VgprSpills => "vgpr_spills",
            Figure::SgprSpills => "sgpr_spills",
            Figure::Scratch => "scratch",
            Figure::Shared => "shared",
            Figure::Constant => "constant",
            Figure::ParameterSize => "parameter_size",
            Figure::WaveSize => "wave_size",
            Figure::MaxThreads => "max_threads",
            Figure::MinBlocks => "min_blocks",
            Figure::CodeSize => "code_size",
        }
    }

    /// Value that the image states for a kernel.
    pub fn value(self, kernel: &Kernel) -> Option<u64> {
        match self {
            Figure::Registers => kernel.registers,
            Figure::MaxRegisters => kernel.max_registers,
            Figure::Vgprs => kernel.vgprs,
            Figure::Agprs => kernel.agprs,
            Figure::Sgprs => kernel.sgprs,
            Figure::VgprSpills => kernel.vgpr_spills,
            Figure::SgprSpills => kernel.sgpr_spills,
            Figure::Scratch => kernel.scratch,
            Figure::Shared => kernel.shared,
            Figure::Constant => constant_size(kernel),
            Figure::ParameterSize => kernel.parameter_size,
            Figure::WaveSize => kernel.wave_size,
            Figure::MaxThreads => kernel.max_threads,
            Figure::MinBlocks => kernel.min_blocks,
            Figure::CodeSize => kernel.code_size,
        }
    }
}

fn constant_size(kernel: &Kernel) -> Option<u64> {
    if kernel.constant_banks.is_empty() {
        return None;
    }
    // Sizes of sections are numbers from the file.
    Some(total(kernel.constant_banks.iter().map(|bank| bank.size)))
}
