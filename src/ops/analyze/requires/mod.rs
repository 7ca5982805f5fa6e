//! Floors: the oldest releases of drivers and runtimes that load device code, and the properties of the code that
//! determine them.
//!
//! Each row of the tables has its source. A property without a known source makes a floor unknown, with the reason.
//! Releases are never guessed. Versions of containers are in `format::readers`.

mod bounds;
mod cuda;
mod driver;
mod image;
mod llvm_releases;
mod loaders;
mod lto_ir;
mod release;
mod requirement;

pub use bounds::{Floor, Limit};
pub use driver::Driver;
pub use image::{ToolkitBytes, products, requirements, unread_toolkit};
pub use llvm_releases::LlvmReleases;
pub use loaders::{CodeProperty, HIP_5_2, LIBOMPTARGET_16, LIBOMPTARGET_19, LIBOMPTARGET_22, Loader, left_out_by_llvm};
pub use lto_ir::nvjitlink;
pub use release::{DriverNumber, DriverSystem, Release};
pub use requirement::Requirement;
