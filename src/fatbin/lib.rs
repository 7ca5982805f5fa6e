//! Embeds GPU device images in host files, finds them in finished programs and extracts them, without LLVM.
//!
//! Programs that use GPUs carry *device images* inside *host files*. This crate writes the host objects that register
//! them with a runtime ([`embed`]), finds them in finished files ([`scan`]), and checks what is shipped ([`check`]).
//! The program `fatbin` is a command line around it.
//!
//! ```
//! use fatbin::{Access, Input, Scan};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-gfx90a.hsaco");
//! let input = Input::open(path, Access::read())?;
//! for image in Scan::new(&input)?.images() {
//!     let bytes = image.bytes()?;
//!     println!("image {} for {:?}: {} bytes", image.index(), image.arch, bytes.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` has seven programs of this size. Scanning, reading and wrapping work on bytes in memory; only functions that
//! take paths access files.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | scanning, reading images, wrapping, the images that devices load, in memory |
//! | `files` | mapped inputs, outputs that appear whole, directories, static libraries, packages, build script helper |
//! | `full` | the inside of images, extraction to files, policies; includes `files`; the default |

#![deny(missing_docs, unsafe_code)]

pub mod analyze {
    //! Analyses of device images, without a policy: the image that a device runs, its requirements, and where bytes and
    //! gaps are.

    #[doc(inline)]
    pub use fatbin_ops::analyze::CandidateVerdict;
    #[doc(inline)]
    pub use fatbin_ops::analyze::runtime_selection::{ImageVerdict, RuntimeSelection, select};
}

#[cfg(feature = "full")]
pub mod check {
    //! Policies, the rules that evaluate files by them, and the verdict as plain data.
    //!
    //! [`Policy::parse`] reads a policy, and [`check_paths`] evaluates files by it. Every rule is evaluated file by file:
    //! code that one library lacks is not replaced by code of another.
    //!
    //! A verdict lists everything that was evaluated and not only violations, because a check that found nothing wrong must
    //! differ from a check of nothing. A requirement that cannot be decided is a separate kind of finding: a library that
    //! cannot be read has not passed.

    #[doc(inline)]
    pub use fatbin_ops::check::{
        Evaluation, Finding, ImageLocation, Outcome, Policy, PolicyError, Rule, Verdict, check_paths,
    };
}

pub mod embed {
    //! Host objects and containers from device images, and host objects from any files.

    #[cfg(feature = "files")]
    #[doc(inline)]
    pub use fatbin_ops::embed::{
        BuildError, BundleBuilder, BundleEntry, CudaFatbinBuilder, EmbeddedFiles, NvFatbin, NvFatbinError,
        OffloadBinaryBuilder, ProducerError, RegisteredImages, embed_bytes, unbundle,
    };
    #[doc(inline)]
    pub use fatbin_ops::embed::{
        EmbeddedForm, ImageError, LargeImages, OffloadEntry, Release, TargetOverride, WrapError, WrapperBuilder,
        WrapperFormat,
    };
}

#[cfg(feature = "full")]
pub mod image {
    //! Inspection of device images: kernels, their resource usage, and debug information.
    //!
    //! Each kind of image stores these in a different format: a note in AMD code objects, undocumented sections in NVIDIA
    //! cubins, directives in PTX, instructions in SPIR-V, a table in Tile IR, YAML in Intel's zebin. One module here reads
    //! each format, and all of them return [`Kernel`]s. A figure that an image does not state is absent; nothing is
    //! guessed.
    //!
    //! Images are untrusted. An error in one part of an image is reported as a problem, and all other parts are returned.

    #[doc(inline)]
    pub use fatbin_core::image::{
        CompileUnit, ConstantBank, DebugInfo, DebugLevel, Figure, Frame, Inspection, Kernel, Parameter, SourceIndex,
        SourceLine,
    };
}

pub mod scan {
    //! Finding device images in a file: by structure first, then by magic in all bytes that no structure explains.
    //!
    //! The headers of a host file lead to the sections where tools store containers, so scanning a library of gigabytes
    //! reads a few kilobytes. The structures that register containers lead to them as well, in any section. But real
    //! libraries also keep containers in `.rodata` without either, linkers rename sections, and files lose their section
    //! headers. Hence the second pass over all other bytes. There, a container counts only if everything that it states
    //! holds: four bytes that look like a magic occur in any large file.
    //!
    //! A [`Scan`] is a file with its inventory, and an iterator of its images. A [`Scanner`] scans many paths.

    #[doc(inline)]
    pub use fatbin_core::base::file_path::FilePath;
    #[cfg(feature = "full")]
    #[doc(inline)]
    pub use fatbin_core::scan::extract::extract_files as extract;
    #[doc(inline)]
    pub use fatbin_core::scan::{
        CacheBudget, Container, ContainerType, File, FileFormat, Image, ImageBytes, ImageKind, ImageRef, Options,
        Registration, Scan, Source,
    };
    #[cfg(feature = "full")]
    #[doc(inline)]
    pub use fatbin_core::scan::{
        Destination, ExtractError, ExtractOptions, Extraction, FilterError, ImageFilter, NameTemplate, TemplateError,
    };
    #[cfg(feature = "files")]
    #[doc(inline)]
    pub use fatbin_core::scan::{InputSlice, OpenOptions, ScannedFile, ScannedFiles, Scanner, each_input};
}

pub mod target {
    //! Targets of images: offload kinds, triples, processors and bundle entry IDs. Values only; no files.

    #[doc(inline)]
    pub use fatbin_core::target::{AppleSystem, Device, InvalidDevice, OffloadKind};
}

pub use embed::WrapperBuilder;
#[doc(inline)]
pub use fatbin_core::base::bytes::{Budget, Limits, View};
#[doc(inline)]
pub use fatbin_core::base::codec::Codec;
#[doc(inline)]
pub use fatbin_core::base::error::{Cause, Error, Malformed, Resource, Result};
#[doc(inline)]
pub use fatbin_core::base::io::{Access, Input};
#[doc(inline)]
pub use fatbin_core::host::{Host, HostError};
#[cfg(feature = "full")]
#[doc(inline)]
pub use fatbin_ops::edit::{Editor, transcode::ContainerForm};
pub use scan::{Container, File, Image, ImageBytes, ImageRef, Scan};
#[cfg(feature = "files")]
pub use scan::{ScannedFile, Scanner};
pub use target::OffloadKind;
