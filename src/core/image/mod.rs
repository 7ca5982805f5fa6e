//! Inspection of device images: kernels, their resource usage, and debug information.
//!
//! Each kind of image stores these in a different format: a note in AMD code objects, undocumented sections in NVIDIA
//! cubins, directives in PTX, instructions in SPIR-V, a table in Tile IR, YAML in Intel's zebin, tokens in the layout before it. One module here reads
//! each format, and all of them return [`Kernel`]s. A figure that an image does not state is absent; nothing is
//! guessed.
//!
//! Images are untrusted. An error in one part of an image is reported as a problem, and all other parts are returned.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod amdgpu;
pub mod build_paths;
mod category;
pub mod code_hash;
mod cubin;
mod debug;
mod demangle;
mod elf;
mod family;
mod figure;
mod generated_names;
mod kernel;
mod kernel_bytes;
#[cfg(test)]
mod kernel_hash_tests;
mod layout;
mod metal_library;
mod parts;
mod patch_tokens;
mod ptx;
mod short_name;
mod spirv;
mod stub;
mod tile_ir;
mod yaml;
mod zebin;

pub use build_paths::build_paths;
pub use category::Category;
pub use code_hash::{ImageDigests, image_digests};
pub use cubin::listing as cubin_listing;
pub use debug::{CompileUnit, DebugInfo, DebugLevel, Frame, SourceIndex};
pub use demangle::{Demangler, demangle};
pub use family::{family, versions, without_versions};
pub use figure::Figure;
pub use generated_names::stable_name;
pub use kernel::{ConstantBank, Kernel, Parameter, SourceLine, Stub};
pub use kernel_bytes::kernel_codes;
pub use kernel_bytes::{Bodies, ByteOptions, ImageBreakdown, KernelBytes, image_breakdown};
pub use parts::{ImageParts, Part, image_parts};
pub use short_name::short_name;

use object::elf as constants;

use crate::base::bytes::{Budget, Resource, View, entries_size, record_memory, text_memory, total};
use crate::base::error::{Cause, Malformed};
pub use crate::format::KernelContent;
use crate::format::{self, DeviceImage, ImageKind, opencl_elf};
use crate::target::intel::EM_INTELGT;
use crate::target::{OffloadKind, musa};
use elf::{AnyElf, Elf, Width, with_elf};
use kernel::LocatedKernel;

/// Reason why LTO-IR is not inspected.
pub const LTO_IR: &str = "LTO-IR, compiled to machine code at link time";

/// Contents of one image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Inspection {
    /// Kernels, in the order of the image.
    pub kernels: Vec<Kernel>,
    /// Debug information.
    pub debug: DebugInfo,
    /// Reason why the image was not inspected for kernels; a phrase that follows "not inspected: ".
    pub not_inspected: Option<&'static str>,
    /// Errors in parts of the image. All other parts were read.
    pub problems: Vec<Malformed>,
    /// Defects that make HIP's runtime reject the image, although it can be read.
    #[doc(hidden)]
    pub hip_defects: Vec<Malformed>,
    /// Bytes of no kernel by category. Only set by [`inspect_with_own_sizes`].
    #[doc(hidden)]
    pub outside_kernels: Box<[(Category, u64)]>,
}

impl Inspection {
    pub(crate) fn not_inspected(reason: &'static str) -> Self {
        Inspection { not_inspected: Some(reason), ..Default::default() }
    }

    /// Defects that make the runtime of an offload kind reject the image. libomptarget needs no metadata.
    #[doc(hidden)]
    pub fn load_defects(&self, kind: Option<OffloadKind>) -> &[Malformed] {
        if kind == Some(OffloadKind::OpenMp) { &[] } else { &self.hip_defects }
    }

    /// Creates an inspection. An exhausted budget is a problem.
    fn from_kernels(view: View<'_>, found: Vec<LocatedKernel>, debug: DebugInfo, problems: Vec<Malformed>) -> Self {
        let mut kernels: Vec<Kernel> = found.into_iter().map(|found| found.kernel).collect();
        // It took the allocation of `found`. Reports about packages keep the kernels of thousands of files.
        kernels.shrink_to_fit();
        let mut inspection = Inspection { kernels, debug, problems, ..Default::default() };
        inspection.report_exhaustion(view);
        inspection
    }

    /// Demangles the names of the kernels. An exhausted budget is a problem, and the remaining kernels are left out.
    #[doc(hidden)]
    pub fn demangled(mut self, view: View<'_>, demangler: &Demangler) -> Self {
        let charged = |kernel: &mut Kernel| {
            kernel.demangled = demangler.demangle(&kernel.name);
            let size = text_memory(kernel.demangled.as_ref().map_or(0, String::len));
            view.charge(KERNEL, Resource::Memory, size).is_ok()
        };
        if let Some(end) = self.kernels.iter_mut().position(|kernel| !charged(kernel)) {
            self.kernels.truncate(end);
            self.report_exhaustion(view);
        }
        self
    }

    fn report_exhaustion(&mut self, view: View<'_>) {
        let is_reported =
            self.problems.iter().any(|it| matches!(it.cause, Cause::OverBudget { .. } | Cause::OverLimit { .. }));
        if let Some(cause) = view.budget().and_then(Budget::exhaustion)
            && !is_reported
        {
            self.problems.push(view.malformed("image", 0, cause));
        }
    }
}

/// Inspects an image like [`inspect_mangled`], and finds the number of bytes that belong to each kernel alone, and to
/// none. This reads the names of all sections.
pub fn inspect_with_own_sizes(image_kind: ImageKind, view: View<'_>) -> Inspection {
    let mut inspection = inspect_mangled(image_kind, view);
    kernel_bytes::set_own_sizes(image_kind, view, &mut inspection);
    inspection
}

/// Inspects a decompressed image of kind `image_kind`, which is all of `view`.
pub fn inspect(image_kind: ImageKind, view: View<'_>, demangler: &Demangler) -> Inspection {
    inspect_mangled(image_kind, view).demangled(view, demangler)
}

/// Inspects an image like [`inspect`], without demangled names.
pub fn inspect_mangled(image_kind: ImageKind, view: View<'_>) -> Inspection {
    match image_kind {
        ImageKind::Elf => elf_image(view, Parts::All),
        ImageKind::Ptx => ptx::inspect(view),
        ImageKind::SpirV => spirv::inspect(view),
        ImageKind::TileIr => tile_ir::inspect(view),
        ImageKind::PatchTokens => patch_tokens::inspect(view),
        ImageKind::MetalLibrary => metal_library::inspect(view),
        ImageKind::Bitcode => checked(image_kind, view, "LLVM bitcode, compiled to machine code at link time"),
        ImageKind::MetalBinary => checked(image_kind, view, "machine code of an undocumented GPU"),
        ImageKind::Nvvm => Inspection::not_inspected(LTO_IR),
        ImageKind::OptixIr => Inspection::not_inspected("OptiX IR, compiled by the OptiX library"),
        ImageKind::DxContainer => checked(image_kind, view, "a DirectX shader"),
        ImageKind::DebugElf => checked(image_kind, view, "debug information without code"),
        ImageKind::Metadata => Inspection::not_inspected("no device code"),
        ImageKind::Empty => Inspection::not_inspected("empty image"),
        ImageKind::HostObject => Inspection::not_inspected("host code"),
        ImageKind::Fatbin
        | ImageKind::OffloadBinary
        | ImageKind::Bundle
        | ImageKind::CompressedBundle
        | ImageKind::OclocArchive
        | ImageKind::SyclBin => checked(image_kind, view, "unreadable container"),
        ImageKind::Unknown => Inspection::not_inspected("unknown format"),
    }
}

/// Inspects an image that is only checked for completeness.
fn checked(image_kind: ImageKind, view: View<'_>, reason: &'static str) -> Inspection {
    let problems = format::check_image(image_kind, view).err().into_iter().collect();
    Inspection { problems, ..Inspection::not_inspected(reason) }
}

/// Inspects an image like [`inspect`] but skips debug information. It may be a hundred times the size of the kernels.
pub fn kernels(image_kind: ImageKind, view: View<'_>, demangler: &Demangler) -> Inspection {
    match image_kind {
        ImageKind::Elf => elf_image(view, Parts::Kernels).demangled(view, demangler),
        _ => inspect(image_kind, view, demangler),
    }
}

impl Inspection {
    /// Returns what the image holds.
    #[doc(hidden)]
    pub fn content(&self) -> KernelContent {
        if self.not_inspected.is_some() || !self.problems.is_empty() {
            KernelContent::Kernels
        } else if self.kernels.is_empty() {
            KernelContent::Nothing
        } else if self.kernels.iter().all(|kernel| kernel.stub.is_some()) {
            KernelContent::Stubs
        } else {
            KernelContent::Kernels
        }
    }
}

/// Reads what an image holds.
pub fn kernel_content(image_kind: ImageKind, view: View<'_>) -> KernelContent {
    match image_kind {
        ImageKind::Elf => elf_image(view, Parts::Kernels).content(),
        _ => inspect_mangled(image_kind, view).content(),
    }
}

/// Parts of an image to inspect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Kernels,
    /// Kernels and debug information.
    All,
}

impl Parts {
    fn debug(self, elf: &Elf<'_, impl Width>, found: &mut [LocatedKernel], problems: &mut Vec<Malformed>) -> DebugInfo {
        match self {
            Parts::All => debug::read(elf, found, problems),
            Parts::Kernels => DebugInfo::default(),
        }
    }
}

fn elf_image(view: View<'_>, parts: Parts) -> Inspection {
    if let Some(code) = opencl_elf::machine_code(view) {
        return inspect_mangled(DeviceImage::identify(code).image_kind, code);
    }
    match AnyElf::read(view) {
        Ok(AnyElf::Elf32(cubin)) => cubin_32(&cubin, parts),
        Ok(AnyElf::Elf64(elf)) => elf_64(&elf, parts),
        Err(problem) => Inspection { problems: vec![problem], ..Default::default() },
    }
}

fn cubin_32(elf: &Elf<'_, impl Width>, parts: Parts) -> Inspection {
    let mut problems = Vec::new();
    let mut found = cubin::kernels(elf, &mut problems);
    let debug = parts.debug(elf, &mut found, &mut problems);
    Inspection::from_kernels(elf.view, found, debug, problems)
}

fn elf_64(elf: &Elf<'_>, parts: Parts) -> Inspection {
    let mut problems = Vec::new();
    let mut hip_defects = Vec::new();
    let mut not_inspected = None;
    let mut found = match elf.machine() {
        constants::EM_AMDGPU => amdgpu::kernels(elf, &mut problems, &mut hip_defects),
        constants::EM_CUDA => cubin::kernels(elf, &mut problems),
        EM_INTELGT => zebin::kernels(elf, &mut problems),
        musa::EM_MTGPU => {
            not_inspected = Some("machine code for MUSA");
            Vec::new()
        }
        _ => host_kernels(elf),
    };
    let debug = parts.debug(elf, &mut found, &mut problems);
    Inspection { not_inspected, hip_defects, ..Inspection::from_kernels(elf.view, found, debug, problems) }
}

/// Mangled names of the functions in the symbol table of an ELF image.
pub fn function_names(view: View<'_>) -> Result<Vec<String>, Malformed> {
    let functions = with_elf!(AnyElf::read(view)?, elf => elf.functions());
    Ok(functions.into_iter().map(|function| function.name.to_owned()).collect())
}

/// Prefix of clang's names for kernels of target regions (`getTargetEntryUniqueInfo` and the names of offload entries
/// in its OpenMP documentation).
const OPENMP_KERNEL: &str = "__omp_offloading_";

/// Kernels of an OpenMP image for the host: the functions with a kernel's name. Host code does not state its resource
/// usage.
fn host_kernels(elf: &Elf<'_>) -> Vec<LocatedKernel> {
    let is_kernel = |symbol: &elf::ElfFunction<'_>| symbol.name.starts_with(OPENMP_KERNEL);
    let kernel = |symbol: elf::ElfFunction<'_>| LocatedKernel {
        kernel: Kernel { name: symbol.name.to_owned(), code_size: Some(symbol.size), ..Default::default() },
        entry: Some(symbol.entry),
    };
    let charged = |symbol: &elf::ElfFunction<'_>| charge_kernel(elf.view, [symbol.name.len()], 0).is_ok();
    elf.functions().into_iter().filter(is_kernel).take_while(charged).map(kernel).collect()
}

/// Name of kernels in errors.
const KERNEL: &str = "kernel";

/// Charges a kernel that is kept. `texts` are the lengths of its strings.
fn charge_kernel(view: View<'_>, texts: impl IntoIterator<Item = usize>, parameters: usize) -> Result<(), Malformed> {
    let parameters_size = entries_size(parameters as u64, size_of::<kernel::Parameter>() as u64);
    let size = total([record_memory(size_of::<LocatedKernel>(), texts), parameters_size]);
    view.charge(KERNEL, Resource::Memory, size)
}

#[cfg(test)]
mod tests;
