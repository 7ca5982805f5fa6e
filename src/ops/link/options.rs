//! Command line of a host linker, and how its device code is linked.

use std::path::{Path, PathBuf};

use super::device::DeviceArguments;
use super::host_line::HostLine;
use super::programs::ProgramPaths;
use crate::embed::llvm::Release;
use fatbin_core::base::bytes::Limits;
use fatbin_core::base::codec::Compression;
use fatbin_core::base::io::Access;
use fatbin_core::format::ccob;
use fatbin_core::target::{IdStyle, OffloadKind};

/// Command line of a host linker, and the properties of the device code in its output.
#[derive(Debug, Clone)]
pub struct LinkOptions {
    /// The host linker, or a compiler that calls it.
    pub linker: PathBuf,
    /// Its arguments.
    pub line: HostLine,
    /// Spelling of the arguments that the linker gets.
    pub spelling: Spelling,
    /// Output of the link.
    pub product: Product,
    /// Triple of the host.
    pub host: String,
    /// Release of LLVM whose rules the link follows.
    pub release: Release,
    /// Release of LLVM whose runtime registers the images; `None` to read it from
    /// the objects' offload entries.
    pub abi: Option<Release>,
    /// Spelling of the triples in HIP's bundles.
    pub id_style: IdStyle,
    /// True if triples with a subarchitecture, `amdgpu9.0a-amd-amdhsa`, are linked.
    pub accepts_subarchs: bool,
    /// Image that replaces the images in the inputs, with its offload kind.
    pub override_image: Option<(OffloadKind, PathBuf)>,
    /// Treatment of kernels that host objects use but no image has.
    pub entry_check: EntryCheck,
    /// Processors. Members of archives for them are linked even if no other image is for them.
    pub requested: Vec<String>,
    /// Arguments for the device linkers.
    pub device: DeviceArguments,
    /// Places of the device linkers.
    pub programs: ProgramPaths,
    /// True if conflicting HIP images are an error: one sets a feature that another leaves open.
    pub rejects_conflicts: bool,
    /// True if a fat binary without images is an error. Otherwise no fat binary is written.
    pub requires_images: bool,
    /// Compression of HIP's bundles.
    pub compression: Option<(Compression, ccob::Version)>,
    /// Maximum number of device linkers that run at the same time.
    pub jobs: usize,
    /// True if files between the steps are kept, in the working directory.
    pub keeps_files: bool,
    /// True if no program is called and nothing is written.
    pub is_dry_run: bool,
    /// True if the LLVM IR of the objects that register images is reported.
    pub reports_ir: bool,
    /// True if the standard output is for the caller's own results. What the host linker prints there is reported.
    pub reserves_output: bool,
    /// Access to inputs.
    pub access: Access,
    /// Limits on reading each input.
    pub limits: Limits,
}

impl LinkOptions {
    /// True for a program that links nothing and runs unchanged, such as an archiver.
    pub fn is_unchanged(&self) -> bool {
        self.product == Product::Program && self.line.links_nothing
    }

    /// Output of the host linker.
    pub fn output(&self) -> &Path {
        self.line.output().map_or(Path::new("a.out"), Path::new)
    }
}

/// Spelling of a host linker's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// The user's spelling. Objects precede the first library.
    AsWritten,
    /// The spelling of clang-linker-wrapper. Objects follow every output.
    Respelled,
}

/// Output of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// The output of the host linker.
    Program,
    /// The fat binary that would be registered. The host linker is not called.
    FatBinary,
}

/// Treatment of kernels that host objects use but no image has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryCheck {
    /// They are not searched for.
    Off,
    /// They are reported.
    Warn,
    /// They are an error.
    Deny,
}
