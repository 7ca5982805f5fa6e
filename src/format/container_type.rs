//! The types of containers and what the rest of the crate asks of each.

/// What kind of container images were found in; the names are those of `fatbin scan --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerType {
    /// `10 FF 10 AD`, written by clang-offload-packager.
    OffloadBinary,
    /// `__CLANG_OFFLOAD_BUNDLE__`, written by clang-offload-bundler, in its binary form.
    Bundle,
    /// `CCOB`, a compressed bundle.
    Ccob,
    /// `50 ED 55 BA`, written by NVIDIA's fatbinary.
    CudaFatbin,
    /// A section that is an entry of a bundle.
    BundleSection,
    /// An image of SYCL in a section of images.
    SyclImage,
    /// No container at all: a device ELF file that stands where containers are looked for.
    DeviceElf,
    /// The same of PTX, LLVM bitcode and SPIR-V.
    Ptx,
    Bitcode,
    SpirV,
}

impl ContainerType {
    pub const ALL: [ContainerType; 10] = [
        ContainerType::OffloadBinary,
        ContainerType::Bundle,
        ContainerType::Ccob,
        ContainerType::CudaFatbin,
        ContainerType::SyclImage,
        ContainerType::BundleSection,
        ContainerType::DeviceElf,
        ContainerType::Ptx,
        ContainerType::Bitcode,
        ContainerType::SpirV,
    ];

    /// The type with this name.
    pub fn named(name: &str) -> Option<ContainerType> {
        ContainerType::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            ContainerType::OffloadBinary => "offload-binary",
            ContainerType::Bundle => "bundle",
            ContainerType::Ccob => "ccob",
            ContainerType::CudaFatbin => "cuda-fatbin",
            ContainerType::BundleSection => "bundle-section",
            ContainerType::SyclImage => "sycl-image",
            ContainerType::DeviceElf => "device-elf",
            ContainerType::Ptx => "ptx",
            ContainerType::Bitcode => "bitcode",
            ContainerType::SpirV => "spirv",
        }
    }
}
