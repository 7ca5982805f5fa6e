//! Steps of a link, reported to the caller.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::account::AccountedInput;
use super::linked_image::{DeviceLink, ExtractedImage, LinkedImage};
use super::missing_kernels::MissingKernel;
use super::programs::CommandLine;
use super::refusal::RefusedInput;
use super::unused_archives::UnusedArchive;
use fatbin_core::target::OffloadKind;

/// A step of a link before it runs, or something that was found on the way.
#[derive(Debug)]
pub enum LinkEvent<'a> {
    /// An archive has device images, but none of them is linked.
    UnusedArchive(&'a UnusedArchive),
    /// Images of a host file are written to files.
    Extract(&'a [ExtractedImage<'a>]),
    /// The images of a target are linked.
    Device(&'a DeviceLink<'a>),
    /// The device linkers of a target have printed this.
    Printed(&'a str),
    /// The host linker has printed this to its standard output.
    HostPrinted(&'a str),
    /// Device code that cannot be linked here.
    Refused(&'a RefusedInput),
    /// An input whose device code is not linked, although the host linker takes it. No image of its kind is linked.
    Lost(&'a AccountedInput),
    /// Files with device code that the host linker has found by itself. The link is repeated with them.
    Found(&'a [PathBuf]),
    /// State of the inputs with device code.
    Account(&'a [AccountedInput]),
    /// A kernel that a host object uses is in no image.
    MissingKernel(&'a MissingKernel),
    /// An image in the output that no runtime loads: host file and target.
    UnknownImage(&'a str, &'a str),
    /// A kernel of a host object that the output does not register.
    Unregistered(&'a MissingKernel),
    /// The images of an offload kind are combined in a file, or inside the object that registers them.
    FatBinary {
        /// The offload kind.
        kind: OffloadKind,
        /// The images, in the order of the file.
        images: &'a [LinkedImage<'a>],
        /// Path of the file, whether or not it is written.
        path: &'a Path,
    },
    /// An object registers images.
    Wrapper {
        /// The offload kind.
        kind: OffloadKind,
        /// The images, in the order of the object.
        images: &'a [LinkedImage<'a>],
        /// Path of the object.
        path: &'a Path,
    },
    /// LLVM IR of an object that registers images.
    Ir(&'a str),
    /// The program is linked.
    Host(&'a CommandLine),
    /// Sections of the output, an object, are renamed.
    Isolate {
        /// Path of the output.
        output: &'a Path,
        /// Sections of entries.
        entry_sections: &'a BTreeSet<&'static str>,
        /// Hash of the output, which is added to the names.
        hash: u64,
    },
}
