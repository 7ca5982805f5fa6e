//! Device images in programs that cargo builds: the helper for build scripts (`build.rs`).
//!
//! A build script turns device images into a static library and passes it to the linker. [`RegisteredImages`] are
//! passed to the runtime of OpenMP, CUDA, HIP or SYCL when the program starts; [`EmbeddedFiles`] are data that the
//! program reads through a generated Rust module. The target of the build is the host of the objects, and cargo runs
//! the script again when an image changes.
//!
//! ```toml
//! [build-dependencies]
//! fatbin = { version = "0.1", default-features = false, features = ["files"] }
//! ```
//!
//! ```no_run
//! // build.rs
//! use fatbin::OffloadKind;
//! use fatbin::embed::{EmbeddedFiles, RegisteredImages};
//!
//! fn main() {
//!     RegisteredImages::new(OffloadKind::OpenMp).image("kernels/saxpy-gfx90a.hsaco").compile("kernels");
//!     EmbeddedFiles::new().file("reduce", "kernels/reduce-sm_90.cubin").compile("modules");
//! }
//! ```
//!
//! The program includes the module, and calls a function with the name of each file, which returns its bytes:
//!
//! ```ignore
//! mod modules {
//!     include!(concat!(env!("OUT_DIR"), "/modules.rs"));
//! }
//! let cubin: &'static [u8] = modules::reduce();
//! ```
//!
//! # Libraries and constructors
//!
//! A linker takes a member of a static library only if something refers to one of its symbols. Nothing refers to an
//! object that registers images: it has a constructor, which calls the runtime. So its library is linked with the
//! modifier `+whole-archive`, which takes all members. `cargo::rustc-link-arg` with the object would have the same
//! effect in the programs of the package itself, but cargo does not pass it on to packages that depend on a library;
//! `cargo::rustc-link-lib` is part of the library's metadata. Objects with embedded files are ordinary members: the
//! generated module refers to their symbols.

mod embedded_files;
mod environment;
mod error;
mod library;
mod registered_images;

pub use embedded_files::EmbeddedFiles;
pub use error::BuildError;
pub use registered_images::RegisteredImages;

/// Prints the error of a build script as cargo displays it, and ends the script.
fn fail(error: &BuildError) -> ! {
    environment::print_error(error);
    std::process::exit(1)
}
