//! Kernels whose body only ends or traps.
//!
//! Code behind `#if __CUDA_ARCH__ == 900` leaves such bodies for all other architectures. A launch then succeeds and
//! computes nothing, or it traps. The first instructions decide, if all before the end have no effect. Encodings are
//! undocumented for NVIDIA: these were read from the output of ptxas 11.8 to 13.5 for sm_35 to sm_121, and the tests of
//! the project compile such kernels with four releases. AMD documents its encodings, and clang 14 to 22 writes them.
//! For Intel, and for NVIDIA before sm_35, no body is known to be a stub.

mod gcn;
mod sass;

use super::elf::{Elf, ElfFunction, Width};
use super::kernel::Stub;
use super::kernel_bytes::range_in;
use crate::base::bytes::View;
use object::Object;

/// Size of the code that is read, in bytes. Unoptimized code copies every parameter first.
const MAX_READ: u64 = 4096;

/// Meaning of an instruction for the search of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It changes only registers, or waits.
    NoEffect,
    Ends(Stub),
    /// It may have an effect, or branches.
    Body,
}

impl Step {
    /// Returns the end that instructions without effect lead to.
    fn end(steps: impl Iterator<Item = Step>) -> Option<Stub> {
        for step in steps {
            match step {
                Step::NoEffect => {}
                Step::Ends(stub) => return Some(stub),
                Step::Body => return None,
            }
        }
        None
    }
}

/// Returns what a kernel of a cubin for this architecture does, if it has no body.
pub fn of_cubin(elf: &Elf<'_, impl Width>, function: &ElfFunction<'_>, arch: u32) -> Option<Stub> {
    sass::stub(code(elf, function)?, arch)
}

/// Returns what a kernel of an AMD code object for this processor does, if it has no body.
pub fn of_code_object(elf: &Elf<'_>, function: &ElfFunction<'_>, processor: &str) -> Option<Stub> {
    gcn::stub(code(elf, function)?, processor)
}

fn code<'data, W: Width>(elf: &Elf<'data, W>, function: &ElfFunction<'data>) -> Option<View<'data>> {
    let section = elf.file.section_by_index(function.section?).ok()?;
    let range = range_in(&section, elf.without_base(function.entry), function.size.min(MAX_READ), elf)?;
    elf.view.between("function", range).ok()
}
