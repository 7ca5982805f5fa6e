//! What is inside a device image: its kernels, what each of them takes of the device, and its debug information.
//!
//! Every kind of image states that in a form of its own: AMD's code objects in a note, NVIDIA's cubins in sections that
//! no document describes, PTX in directives, SPIR-V in instructions. Each form is a file here; what they give is one
//! [`Kernel`]. A figure that an image does not state stays absent, for nothing is computed that a tool would have to
//! guess.
//!
//! An image comes from anyone. What is wrong with one part of it is told as a problem, and the rest is still there.

mod amdgpu;
mod build_paths;
mod code_hash;
mod cubin;
mod debug;
mod demangle;
mod elf;
mod figure;
mod kernel;
mod ptx;
mod spirv;

pub use build_paths::build_paths;
pub use code_hash::code_hash;
pub use debug::{CompileUnit, DebugInfo, DebugLevel};
pub use figure::Figure;
pub use kernel::{ConstantBank, Kernel, Parameter, SourceLine};

use object::elf as constants;

use crate::bytes::View;
use crate::codec::Limit;
use crate::error::Malformed;
use crate::format::ImageKind;
use elf::Elf;
use kernel::LocatedKernel;

/// What is inside one image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inspection {
    /// In the order in which the image names them.
    pub kernels: Vec<Kernel>,
    pub debug: DebugInfo,
    /// Why kernels were not looked for, where they were not; in words that follow "not looked into: ".
    pub not_inspected: Option<&'static str>,
    /// What could not be read. Everything else is there.
    pub problems: Vec<Malformed>,
}

impl Inspection {
    fn not_inspected(reason: &'static str) -> Self {
        Inspection { not_inspected: Some(reason), ..Default::default() }
    }

    /// Kernels with names for people, and what else was seen on the way to them.
    fn of(found: Vec<LocatedKernel>, debug: DebugInfo, problems: Vec<Malformed>) -> Self {
        let named = |found: LocatedKernel| Kernel { demangled: demangle::demangle(&found.kernel.name), ..found.kernel };
        Inspection { kernels: found.into_iter().map(named).collect(), debug, not_inspected: None, problems }
    }
}

/// Looks into an image that is `image_kind`, all of `view`, decompressed. `limit` holds for each compressed section in it.
pub fn inspect(image_kind: ImageKind, view: View<'_>, limit: Limit) -> Inspection {
    match image_kind {
        ImageKind::Elf => elf_image(view, Some(limit)),
        ImageKind::Ptx => ptx::inspect(view),
        ImageKind::SpirV => spirv::inspect(view),
        ImageKind::Bitcode => Inspection::not_inspected("LLVM bitcode, which becomes machine code when it is linked"),
        ImageKind::Nvvm => Inspection::not_inspected("NVVM, which becomes machine code when it is linked"),
        ImageKind::Empty => Inspection::not_inspected("an empty image"),
        ImageKind::HostObject => Inspection::not_inspected("code for the host"),
        ImageKind::Fatbin | ImageKind::OffloadBinary | ImageKind::Bundle | ImageKind::CompressedBundle => {
            Inspection::not_inspected("a container that cannot be read")
        }
        ImageKind::Unknown => Inspection::not_inspected("of unknown form"),
    }
}

/// The same without debug information, which may be a hundred times the kernels.
pub fn kernels(image_kind: ImageKind, view: View<'_>) -> Inspection {
    match image_kind {
        ImageKind::Elf => elf_image(view, None),
        _ => inspect(image_kind, view, Limit::default()),
    }
}

/// Debug information is read where there is a limit for it.
fn elf_image(view: View<'_>, limit: Option<Limit>) -> Inspection {
    let elf = match Elf::read(view) {
        Ok(elf) => elf,
        Err(problem) => return Inspection { problems: vec![problem], ..Default::default() },
    };
    let mut problems = Vec::new();
    let mut not_inspected = None;
    let mut found = match elf.machine() {
        constants::EM_AMDGPU => amdgpu::kernels(&elf, &mut not_inspected, &mut problems),
        constants::EM_CUDA => cubin::kernels(&elf, &mut problems),
        _ => host_kernels(&elf),
    };
    let debug = limit.map(|limit| debug::read(&elf, &mut found, limit, &mut problems)).unwrap_or_default();
    Inspection { not_inspected, ..Inspection::of(found, debug, problems) }
}

/// How clang names the kernels of target regions (`getTargetEntryUniqueInfo` and the offload entries' names in its
/// OpenMP documentation).
const OPENMP_KERNEL: &str = "__omp_offloading_";

/// Kernels in an image for the host itself, as OpenMP has them: functions whose name says so. Nothing states what a
/// processor's function uses.
fn host_kernels(elf: &Elf<'_>) -> Vec<LocatedKernel> {
    let is_kernel = |symbol: &elf::ElfFunction<'_>| symbol.name.starts_with(OPENMP_KERNEL);
    let kernel = |symbol: elf::ElfFunction<'_>| LocatedKernel {
        kernel: Kernel { name: symbol.name.to_owned(), code_size: Some(symbol.size), ..Default::default() },
        entry: Some(symbol.entry),
    };
    elf.functions().into_iter().filter(is_kernel).map(kernel).collect()
}

#[cfg(test)]
mod tests;
