//! Wrapping: device images and an offload kind in, the plan of a host object out.
//!
//! What differs from one LLVM release to the next stands in [`abi`] as a table; what differs from one offload kind to
//! the next is a file each. Nothing here knows machines or file formats of the host.

pub mod abi;
mod embedded;
mod entries;
mod error;
mod fat_binary;
mod fat_binary_image;
pub mod matching;
mod openmp;
mod registration;
mod sycl;
mod wrapper;

pub use embedded::{EmbeddedForm, SourceImage, TargetOverride};
pub use entries::OffloadEntry;
pub use error::{ImageError, WrapError};
pub use wrapper::{LargeImages, Wrapper};

use crate::host::{Definition, ObjectPlan, SymbolId};
use crate::target::OffloadKind;
use abi::Generation;
use embedded::EmbeddedImage;

/// What to register.
#[derive(Debug)]
struct Request<'data> {
    kind: OffloadKind,
    generation: Generation,
    /// One for CUDA and HIP, any number for the others.
    images: Vec<EmbeddedImage<'data>>,
    /// Entries for host programs that no compiler has given any.
    entries: Vec<OffloadEntry>,
    /// Symbols of host objects whose sections must survive `--gc-sections`: their entries.
    keep: Vec<String>,
    /// Whether the images are to stand where large sections do.
    large: bool,
}

/// The plan of an object that registers everything in `request` when its program or library is loaded. `None` where
/// this generation never had the kind.
fn plan(request: Request<'_>) -> Option<ObjectPlan<'_>> {
    let priority = request.generation.constructor_priority(request.kind)?;
    let mut plan = ObjectPlan { source_name: request.generation.source_name, ..Default::default() };
    match request.kind {
        OffloadKind::OpenMp => openmp::add(&mut plan, request, priority),
        OffloadKind::Cuda | OffloadKind::Hip => fat_binary::add(&mut plan, request, priority),
        OffloadKind::Sycl => {
            let abi = request.generation.sycl?;
            sycl::add(&mut plan, request, abi, priority);
        }
        OffloadKind::Host => return None,
    }
    Some(plan)
}

/// References to symbols that may or may not be in the link.
fn kept(plan: &mut ObjectPlan, names: &[String]) -> Vec<SymbolId> {
    names.iter().map(|name| plan.reference(name, Definition::UndefinedWeak)).collect()
}
