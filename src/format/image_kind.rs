//! Kinds of images.

/// Kind of an image's content; the names are those of `fatbin scan --json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageKind {
    /// An ELF file.
    Elf,
    /// PTX text.
    Ptx,
    /// NVIDIA's intermediate representation for link-time optimisation.
    Nvvm,
    /// LLVM bitcode.
    Bitcode,
    /// A SPIR-V module.
    SpirV,
    /// A CUDA fat binary.
    Fatbin,
    /// An offload binary in another container.
    OffloadBinary,
    /// A bundle in another container.
    Bundle,
    /// A compressed bundle in another container.
    CompressedBundle,
    /// An ELF file for the host, as contained in bundles.
    HostObject,
    /// No bytes.
    Empty,
    /// Anything else.
    #[default]
    Unknown,
}

impl ImageKind {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ImageKind::Elf => "elf",
            ImageKind::Ptx => "ptx",
            ImageKind::Nvvm => "nvvm",
            ImageKind::Bitcode => "bitcode",
            ImageKind::SpirV => "spirv",
            ImageKind::Fatbin => "fatbin",
            ImageKind::OffloadBinary => "offload-binary",
            ImageKind::Bundle => "bundle",
            ImageKind::CompressedBundle => "ccob",
            ImageKind::HostObject => "host-object",
            ImageKind::Empty => "empty",
            ImageKind::Unknown => "unknown",
        }
    }

    /// Returns the file name extension that tools use for this kind.
    pub fn extension(self) -> &'static str {
        match self {
            ImageKind::Elf => "elf",
            ImageKind::Ptx => "ptx",
            // Used by nvcc for the output of --ltoir.
            ImageKind::Nvvm => "ltoir",
            ImageKind::Bitcode => "bc",
            ImageKind::SpirV => "spv",
            ImageKind::Fatbin => "fatbin",
            // Used by clang's driver.
            ImageKind::OffloadBinary => "out",
            ImageKind::Bundle | ImageKind::CompressedBundle => "hipfb",
            ImageKind::HostObject => "o",
            ImageKind::Empty | ImageKind::Unknown => "bin",
        }
    }
}
