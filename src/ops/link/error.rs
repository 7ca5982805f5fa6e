//! Errors of linking device code.

use std::ffi::OsString;
use std::path::PathBuf;

use super::host_line::MissingValue;
use super::refusal::{Refusal, RefusedInput};
use super::response_files::ResponseFileError;
use crate::embed::wrap::WrapError;
use fatbin_core::base::code::{Code, Coded, ErrorClass, Remedy};
use fatbin_core::base::error::Error;
use fatbin_core::base::system_error::describe_start;
use fatbin_core::host::ObjectFormat;
use fatbin_core::target::compatibility::FEATURE_RULE;
use fatbin_core::target::{InvalidTargetId, UnsupportedStyle};

/// Result of linking.
pub type Result<T, E = LinkError> = std::result::Result<T, E>;

/// Error of linking device code into a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// The images cannot be registered.
    #[error(transparent)]
    Wrap(#[from] WrapError),
    /// The processor of a device image is unknown.
    #[error("{path}: {cause}")]
    Target {
        /// Host file of the first image.
        path: String,
        /// The reason.
        cause: InvalidTargetId,
    },
    /// An image whose triple cannot be spelled as requested.
    #[error(transparent)]
    Style(#[from] UnsupportedStyle),
    /// The command line of the host linker ends after an option that needs a value.
    #[error("{}: missing argument", .0.option.display())]
    MissingValue(MissingValue),
    /// A library is in none of the directories for libraries.
    #[error("unable to find library -l{}", name.display())]
    MissingLibrary {
        /// Name of the library.
        name: OsString,
    },
    /// A target whose images cannot be linked.
    #[error("{path}: device images for {} cannot be linked", describe(.triple))]
    UnsupportedTarget {
        /// Host file of the first image.
        path: String,
        /// Triple of the image.
        triple: String,
    },
    /// A finished image and other images of its target.
    #[error("{path}: the image for {target} is linked already and cannot be linked with others; specify one of them")]
    LinkedAlready {
        /// Host file of the image.
        path: String,
        /// Triple and processor.
        target: String,
    },
    /// A link whose output is an object, for a host whose sections and symbols are not renamed.
    #[error("{host}: relocatable linking is supported for ELF only; link the program in one step")]
    Relocatable {
        /// Triple of the host.
        host: String,
        /// Format of its objects.
        format: ObjectFormat,
    },
    /// The linked image of a target has no bytes.
    #[error("{path}: the linked image for {target} is empty")]
    EmptyImage {
        /// Host file of the first image.
        path: String,
        /// Triple and processor.
        target: String,
    },
    /// A program that a link needs is not installed.
    #[error(
        "{path}: {target} needs {tool}, which was not found; install {package} or specify its path with --device-link-tool TARGET=PATH"
    )]
    MissingTool {
        /// Host file of the first image.
        path: String,
        /// Triple and processor.
        target: String,
        /// Name of the program.
        tool: &'static str,
        /// Package with the program.
        package: &'static str,
    },
    /// Conflicting images: one sets a feature of the processor, and the other leaves it open.
    #[error("conflicting targets {one} and {other}: {FEATURE_RULE}")]
    ConflictingTargets {
        /// The first ID.
        one: String,
        /// The second ID.
        other: String,
    },
    /// Images of one target for kinds that do not mix.
    #[error("SYCL images for {target} cannot be linked with images of other offload kinds")]
    MixedKinds {
        /// Triple and processor.
        target: String,
    },
    /// The inputs have images for several fat binaries.
    #[error(
        "the inputs have {one} and {other} images, each of which has a fat binary of its own; link them separately"
    )]
    SeveralKinds {
        /// Name of an offload kind.
        one: &'static str,
        /// Name of another offload kind.
        other: &'static str,
    },
    /// Host objects use kernels that no image has.
    #[error(
        "{path}: no {kind} image has kernel {name}{}; link the objects that define it{}", and_others(*.others), losses(.not_linked)
    )]
    MissingKernels {
        /// Host object.
        path: String,
        /// Name of the kernel.
        name: String,
        /// Name of its offload kind.
        kind: &'static str,
        /// Number of further kernels.
        others: usize,
        /// Inputs whose device code is not linked, with the reason.
        not_linked: Vec<String>,
    },
    /// Device code of an input is not linked, although the linker takes the input.
    #[error("{input}; link an object that has")]
    NotLinked {
        /// The input, and the reason.
        input: String,
    },
    /// A response file.
    #[error(transparent)]
    ResponseFile(#[from] ResponseFileError),
    /// Host objects of releases whose entries no single runtime reads.
    #[error(
        "{one}: its {kind} entries are of {one_release}, and those of {other} are of {other_release}: no {kind} runtime reads both; compile all objects with one release of LLVM"
    )]
    MixedEntries {
        /// Name of the offload kind.
        kind: &'static str,
        /// Host object.
        one: String,
        /// Release of its entries.
        one_release: &'static str,
        /// Another host object.
        other: String,
        /// Release of its entries.
        other_release: &'static str,
    },
    /// An image for a GPU that no runtime loads.
    #[error("{path}: the image for {target} is no device code but text or unknown data; compile the object without -S")]
    UnknownImage {
        /// Host file.
        path: String,
        /// Processor or triple.
        target: String,
    },
    /// The linked program does not register a kernel that a host object launches.
    #[error(
        "{path}: the program does not register the {kind} kernel {name}{}; the linker has dropped its offload entry", and_others(*.others)
    )]
    Unregistered {
        /// Host object.
        path: String,
        /// Name of the kernel.
        name: String,
        /// Name of its offload kind.
        kind: &'static str,
        /// Number of further kernels.
        others: usize,
    },
    /// Device code that cannot be linked here.
    #[error("{}: {}", .0.path, .0.reason)]
    Refused(RefusedInput),
    /// The host linker has found device code by itself.
    #[error("{}: the linker has found device code here by itself; name the file on its command line", path.display())]
    FoundByLinker {
        /// The file.
        path: PathBuf,
    },
    /// The target of an image is unknown.
    #[error("{}: the target of this image is unknown; specify a code object, a cubin or PTX", path.display())]
    UnknownTarget {
        /// The image.
        path: PathBuf,
    },
    /// The inputs have no images.
    #[error("no device images in the inputs")]
    NoImages,
    /// A program cannot be started.
    #[error("{}: cannot start: {}", program.display(), describe_start(cause))]
    Start {
        /// The program.
        program: PathBuf,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// A program has failed, after printing its own messages.
    #[error("{}: failed with {}", program.display(), describe_status(*status))]
    Failed {
        /// The program.
        program: PathBuf,
        /// Exit status or signal.
        status: std::process::ExitStatus,
    },
    /// A host linker has failed with the host's part of a bundle. This part is usually bitcode.
    #[error(
        "{}: failed with {}; {path} is a bundle with host code: if that is bitcode, link with lld, or compile objects without -emit-llvm and -flto",
        program.display(), describe_status(*status)
    )]
    FailedWithBundle {
        /// The program.
        program: PathBuf,
        /// Exit status or signal.
        status: std::process::ExitStatus,
        /// The bundle.
        path: String,
    },
}

impl Coded for LinkError {
    fn class(&self) -> ErrorClass {
        match self {
            LinkError::File(error) => error.class(),
            LinkError::Wrap(error) => error.class(),
            LinkError::Target { cause, .. } => cause.class(),
            LinkError::Style(error) => error.class(),
            LinkError::MissingValue(_) | LinkError::MissingLibrary { .. } | LinkError::ResponseFile(_) => {
                Code::MissingLinkInput.into()
            }
            LinkError::Refused(RefusedInput { reason: Refusal::OtherEntries { .. }, .. }) => {
                Code::UnsupportedRelease.with(Remedy::TakeReleaseOfObjects)
            }
            LinkError::UnsupportedTarget { .. }
            | LinkError::LinkedAlready { .. }
            | LinkError::Relocatable { .. }
            | LinkError::MixedKinds { .. }
            | LinkError::MixedEntries { .. }
            | LinkError::UnknownImage { .. }
            | LinkError::Refused(_)
            | LinkError::FoundByLinker { .. }
            | LinkError::SeveralKinds { .. } => Code::NotLinkable.into(),
            LinkError::ConflictingTargets { .. } => Code::ConflictingTargets.into(),
            LinkError::EmptyImage { .. } => Code::EmptyImage.into(),
            LinkError::MissingTool { .. } => Code::MissingTool.into(),
            LinkError::MissingKernels { .. } | LinkError::NotLinked { .. } | LinkError::Unregistered { .. } => {
                Code::MissingKernels.into()
            }
            LinkError::UnknownTarget { .. } => Code::UnknownTarget.into(),
            LinkError::NoImages => Code::NoImages.into(),
            LinkError::Start { .. } | LinkError::Failed { .. } | LinkError::FailedWithBundle { .. } => {
                Code::ProgramFailed.into()
            }
        }
    }
}

/// Describes a status as text within a sentence: `exit status 1`, `signal 9 (SIGKILL)`.
fn describe_status(status: std::process::ExitStatus) -> String {
    status.to_string().replacen(": ", " ", 1)
}

fn describe(triple: &str) -> &str {
    if triple.is_empty() { "an unknown target" } else { triple }
}

/// Number of inputs that a message names.
const NAMED: usize = 3;

fn losses(inputs: &[String]) -> String {
    match inputs {
        [] => String::new(),
        _ => format!(" (not linked: {})", inputs[..inputs.len().min(NAMED)].join("; ")),
    }
}

fn and_others(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " (and 1 other)".to_owned(),
        _ => format!(" (and {count} others)"),
    }
}
