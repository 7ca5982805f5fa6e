//! Wrapping: device images and an offload kind in, the plan of a host object out.
//!
//! What differs from one LLVM release to the next stands in [`abi`] as a table; what differs from one offload kind to
//! the next is a file each. Nothing here knows machines or file formats of the host.

pub mod abi;
mod embedded;
mod openmp;

pub use embedded::{EmbeddedImage, Stated, embed};

use crate::host::ObjectPlan;
use abi::Generation;

/// The plan of an object that registers `images` with libomptarget when its program or library is loaded.
pub fn openmp<'data>(images: Vec<EmbeddedImage<'data>>, generation: &Generation) -> ObjectPlan<'data> {
    openmp::plan(images, generation)
}
