//! Wrapping: from device images and an offload kind to a host object that registers them.
//!
//! [`crate::embed::llvm`] has the differences between LLVM releases. Each offload kind has a separate file. The plans
//! that they build are independent of machines and file formats of the host.

mod embedded;
mod entries;
mod error;
mod fat_binary;
mod fat_binary_image;
#[cfg(feature = "files")]
pub mod files;
pub(crate) mod host_entries;
pub mod matching;
mod openmp;
mod registration;
mod sycl;
mod wrapper;

pub(crate) use embedded::spirv_triple;
pub use embedded::{EmbeddedForm, SourceImage, TargetOverride};
pub use entries::OffloadEntry;
pub use error::{ImageError, WrapError};
pub(crate) use fat_binary_image::describe;
pub(crate) use wrapper::LARGE;
pub use wrapper::{LargeImages, WrapperBuilder, WrapperFormat};

use crate::embed::llvm::Release;
use crate::embed::llvm::wrapper_abi::{Unregister, WrapperAbi};
use embedded::EmbeddedImage;
use fatbin_core::host::{Definition, ObjectFormat, ObjectPlan, SymbolId};
use fatbin_core::target::OffloadKind;

/// Images and entries to register.
#[derive(Debug, Clone)]
struct Request<'data> {
    kind: OffloadKind,
    abi: WrapperAbi,
    /// Format of the host's objects.
    format: ObjectFormat,
    /// Number of the kind in the offload entries.
    kind_number: u16,
    /// Further releases whose entries CUDA's and HIP's wrapper registers.
    further_releases: Vec<Release>,
    /// One for CUDA and HIP, any number for the others.
    images: Vec<EmbeddedImage<'data>>,
    /// Entries for host programs that no offload compiler has compiled.
    entries: Vec<OffloadEntry>,
    /// Symbols of host objects whose sections must survive `--gc-sections`: their entries.
    keep: Vec<String>,
    /// True if the section of entries must survive `--gc-sections` even without entries.
    keep_entries: bool,
    /// True if the images are placed among large sections.
    large: bool,
    /// True if a later link must leave the images in their section alone.
    relocatable: bool,
    /// Symbols of HIP's fat binary for objects that register it by themselves.
    fat_binary_symbols: FatBinarySymbols,
}

/// Symbols of HIP's fat binary in objects of clang's old offload driver, which register it by themselves.
#[derive(Debug, Clone, Default)]
pub(crate) struct FatBinarySymbols {
    /// Names of the fat binary.
    pub fat_binaries: Vec<String>,
    /// Names of handles, each for the registration by one object.
    pub handles: Vec<String>,
    /// True if the fat binary has no other registration.
    pub is_alone: bool,
}

impl Request<'_> {
    /// Returns the way to unregister; `of_release` is the release's way. Only ELF has destructors that run in every
    /// program and library. Microsoft's runtime runs the destructors of programs that contain it, but not of programs
    /// that use its library.
    fn unregistration(&self, of_release: Unregister) -> Unregister {
        match self.format {
            ObjectFormat::Elf => of_release,
            ObjectFormat::Coff | ObjectFormat::MachO => Unregister::AtExit,
        }
    }
}

/// Returns the plan of an object that registers everything in `request` when its program or library is loaded; `None`
/// if the release does not support the kind.
fn plan(request: Request<'_>) -> Option<ObjectPlan<'_>> {
    let priority = request.abi.constructor_priority(request.kind)?;
    let mut plan = ObjectPlan { source_name: request.abi.source_name, ..Default::default() };
    match request.kind {
        OffloadKind::OpenMp => openmp::add(&mut plan, request, priority),
        OffloadKind::Cuda | OffloadKind::Hip => fat_binary::add(&mut plan, request, priority),
        OffloadKind::Sycl => {
            let interface = request.abi.sycl?;
            sycl::add(&mut plan, request, interface, priority);
        }
        OffloadKind::Musa | OffloadKind::Host => return None,
    }
    Some(plan)
}

/// Returns weak references to symbols, which may be missing from the link.
fn weak_references(plan: &mut ObjectPlan, names: &[String]) -> Vec<SymbolId> {
    names.iter().map(|name| plan.reference(name, Definition::UndefinedWeak)).collect()
}
