//! The types of containers, with one descriptor each.
//!
//! Code that depends on the container type reads [`Descriptor`]. A new type does not compile until its descriptor is
//! complete.

use super::ImageKind;
use crate::base::bytes::View;

/// First bytes of an offload binary.
pub const OFFLOAD_BINARY_MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// First bytes of a bundle in its binary form.
pub const BUNDLE_MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";

/// First bytes of a compressed bundle.
pub const CCOB_MAGIC: [u8; 4] = *b"CCOB";

/// First bytes of a CUDA fat binary.
pub const CUDA_FATBIN_MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

/// First bytes of a kpack archive.
pub const KPACK_MAGIC: [u8; 4] = *b"KPAK";

/// First bytes of an artifact bundle.
pub const OXART_MAGIC: [u8; 8] = *b"OXIDEART";

/// First bytes of a Metal library.
pub const METAL_LIBRARY_MAGIC: [u8; 4] = *b"MTLB";

/// First bytes of a SYCLBIN file of version 1.
pub const SYCLBIN_MAGIC: [u8; 4] = *b"IBYS";

/// First bytes of a container of DirectX.
pub const DX_CONTAINER_MAGIC: [u8; 4] = *b"DXBC";

/// First bytes of an HCF container.
pub const HCF_MAGIC: &[u8; 10] = b"object-id=";
/// First bytes of an archive of compiled Metal pipelines.
pub const METAL_ARCHIVE_MAGIC: [u8; 4] = [0xcb, 0xfe, 0xba, 0xbe];

/// Defines [`ContainerType`] and the list of its variants from one list.
macro_rules! container_types {
    ($($(#[$documentation:meta])* $variant:ident,)*) => {
        /// Type of a container, named as in `fatbin scan --json`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ContainerType {
            $($(#[$documentation])* $variant,)*
        }

        impl ContainerType {
            /// Every type.
            #[doc(hidden)]
            pub const ALL: [ContainerType; [$(stringify!($variant)),*].len()] = [$(ContainerType::$variant),*];
        }
    };
}

container_types! {
    /// `10 FF 10 AD`, written by clang-offload-packager.
    OffloadBinary,
    /// `__CLANG_OFFLOAD_BUNDLE__`, written by clang-offload-bundler, in its binary form.
    Bundle,
    /// `CCOB`, a compressed bundle.
    Ccob,
    /// `50 ED 55 BA`, written by NVIDIA's fatbinary.
    CudaFatbin,
    /// `KPAK`, an archive of code objects, written by ROCm's rocm-kpack.
    Kpack,
    /// `OXIDEART`, an artifact bundle, written by cuda-oxide.
    Oxart,
    /// `MTLB`, a Metal library, written by Apple's metal.
    MetalLibrary,
    /// `IBYS`, a SYCLBIN file of version 1, written by DPC++.
    SyclBin,
    /// `DXBC`, a container of a DirectX shader, written by DXC and FXC.
    DxContainer,
    /// An HCF container, written by AdaptiveCpp.
    Hcf,
    /// `CB FE BA BE`, an archive of compiled pipelines, written by Metal.
    MetalArchive,
    /// Machine code for a GPU in a Mach-O file, without a container.
    MetalBinary,
    /// An archive of code for several Intel GPUs, written by ocloc.
    OclocArchive,
    /// A SYCL image in a section of images.
    SyclImage,
    /// A section that is one entry of a bundle.
    BundleSection,
    /// A device ELF file without a container, at a place where containers are expected.
    DeviceElf,
    /// PTX without a container, at a place where containers are expected.
    Ptx,
    /// LLVM bitcode without a container, at a place where containers are expected.
    Bitcode,
    /// SPIR-V without a container, at a place where containers are expected.
    SpirV,
    /// LTO-IR without a container, at a place where containers are expected.
    LtoIr,
    /// OptiX IR without a container, at a place where containers are expected.
    OptixIr,
    /// Tile IR without a container, at a place where containers are expected.
    TileIr,
    /// Code with patch tokens without a container, at a place where containers are expected.
    PatchTokens,
    /// A device image without a container, anywhere in the data of a file.
    Embedded,
}

/// Properties of a type of container.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor {
    /// Name in reports and on the command line.
    pub name: &'static str,
    /// How a container of this type is recognized.
    pub recognition: Recognition,
    /// Kind of an image whose bytes are a container of this type; `None` if an image cannot be one.
    pub image_kind: Option<ImageKind>,
    /// Runtime that registers such containers through a wrapper structure in host code, if any.
    pub registered_with: Option<RegisteringRuntime>,
    /// Set of images; a runtime selects one of them.
    pub selection_scope: SelectionScope,
    /// Treatment of a file of this type by `fatbin wrap`.
    pub wrap_input: WrapInput,
    /// `true` if the container states the target of its images; else only their own headers do.
    pub states_target: bool,
}

/// How a container is recognized.
#[derive(Debug, Clone, Copy)]
pub enum Recognition {
    /// Its first bytes, anywhere in a file.
    Magic(&'static [u8]),
    /// Its first bytes and the name of its first member, as an image.
    ImageContents,
    /// The name of the section that holds it.
    SectionName,
    /// The header of the image that is stored without a container.
    ImageHeader,
}

/// Runtimes that register containers through a wrapper structure in host code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisteringRuntime {
    /// NVIDIA's CUDA runtime.
    Cuda,
    /// AMD's HIP runtime.
    Hip,
}

/// Set of images; a runtime selects one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionScope {
    /// The images of one container.
    Container,
    /// The images of all such containers in the file, which are registered together. Each offload binary in a program
    /// holds one image. So does each section of a bundled object or of SYCL images.
    File,
    /// The images of a container with the same ID: versions of one code object for several processors.
    Id,
    /// None: the program chooses an image by its own rules and passes it to the driver.
    Program,
}

/// Treatment of a file by `fatbin wrap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapInput {
    /// Each image in it is embedded, with the properties that the container states.
    EmbedEntries,
    /// Rejected where single images are expected. It is a fat binary; its images must be extracted first.
    FatBinary,
    /// Embedded as one image.
    Image,
}

impl ContainerType {
    /// Returns the type with this name.
    #[doc(hidden)]
    pub fn named(name: &str) -> Option<ContainerType> {
        ContainerType::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the type whose magic the view begins with.
    pub(crate) fn of_magic(view: View<'_>) -> Option<ContainerType> {
        ContainerType::ALL
            .into_iter()
            .find(|it| matches!(it.descriptor().recognition, Recognition::Magic(magic) if view.starts_with(magic)))
    }

    /// Returns the name in reports and on the command line.
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// Returns the properties of this type.
    #[doc(hidden)]
    pub const fn descriptor(self) -> Descriptor {
        match self {
            ContainerType::OffloadBinary => Descriptor {
                image_kind: Some(ImageKind::OffloadBinary),
                selection_scope: SelectionScope::File,
                wrap_input: WrapInput::EmbedEntries,
                ..with_magic("offload-binary", &OFFLOAD_BINARY_MAGIC)
            },
            ContainerType::Bundle => Descriptor {
                image_kind: Some(ImageKind::Bundle),
                registered_with: Some(RegisteringRuntime::Hip),
                ..with_magic("bundle", BUNDLE_MAGIC)
            },
            ContainerType::Ccob => Descriptor {
                image_kind: Some(ImageKind::CompressedBundle),
                registered_with: Some(RegisteringRuntime::Hip),
                ..with_magic("ccob", &CCOB_MAGIC)
            },
            ContainerType::CudaFatbin => Descriptor {
                image_kind: Some(ImageKind::Fatbin),
                registered_with: Some(RegisteringRuntime::Cuda),
                ..with_magic("cuda-fatbin", &CUDA_FATBIN_MAGIC)
            },
            ContainerType::Kpack => {
                Descriptor { selection_scope: SelectionScope::Id, ..with_magic("kpack", &KPACK_MAGIC) }
            }
            ContainerType::Oxart => {
                Descriptor { selection_scope: SelectionScope::Program, ..with_magic("oxart", &OXART_MAGIC) }
            }
            ContainerType::MetalLibrary => Descriptor {
                wrap_input: WrapInput::Image,
                states_target: false,
                ..with_magic("metallib", &METAL_LIBRARY_MAGIC)
            },
            ContainerType::SyclBin => {
                Descriptor { image_kind: Some(ImageKind::SyclBin), ..with_magic("syclbin", &SYCLBIN_MAGIC) }
            }
            ContainerType::MetalArchive => with_magic("metal-archive", &METAL_ARCHIVE_MAGIC),
            ContainerType::DxContainer => Descriptor {
                selection_scope: SelectionScope::Program,
                wrap_input: WrapInput::Image,
                states_target: false,
                ..with_magic("dxbc", &DX_CONTAINER_MAGIC)
            },
            ContainerType::Hcf => Descriptor {
                selection_scope: SelectionScope::Program,
                states_target: false,
                ..with_magic("hcf", HCF_MAGIC)
            },
            ContainerType::MetalBinary => bare_image("metal-binary", ImageKind::MetalBinary),
            ContainerType::OclocArchive => Descriptor {
                name: "ocloc-archive",
                recognition: Recognition::ImageContents,
                image_kind: Some(ImageKind::OclocArchive),
                registered_with: None,
                selection_scope: SelectionScope::File,
                wrap_input: WrapInput::Image,
                states_target: true,
            },
            ContainerType::SyclImage => section("sycl-image"),
            ContainerType::BundleSection => section("bundle-section"),
            ContainerType::DeviceElf => bare_image("device-elf", ImageKind::Elf),
            ContainerType::Ptx => bare_image("ptx", ImageKind::Ptx),
            ContainerType::Bitcode => bare_image("bitcode", ImageKind::Bitcode),
            ContainerType::SpirV => bare_image("spirv", ImageKind::SpirV),
            ContainerType::LtoIr => bare_image("ltoir", ImageKind::Nvvm),
            ContainerType::OptixIr => bare_image("optixir", ImageKind::OptixIr),
            ContainerType::TileIr => bare_image("tileir", ImageKind::TileIr),
            ContainerType::PatchTokens => bare_image("patchtokens", ImageKind::PatchTokens),
            ContainerType::Embedded => Descriptor {
                name: "embedded",
                recognition: Recognition::ImageHeader,
                image_kind: None,
                registered_with: None,
                selection_scope: SelectionScope::Program,
                wrap_input: WrapInput::Image,
                states_target: false,
            },
        }
    }
}

/// A fat binary recognized by its first bytes, which states the targets of its images.
const fn with_magic(name: &'static str, magic: &'static [u8]) -> Descriptor {
    Descriptor {
        name,
        recognition: Recognition::Magic(magic),
        image_kind: None,
        registered_with: None,
        selection_scope: SelectionScope::Container,
        wrap_input: WrapInput::FatBinary,
        states_target: true,
    }
}

/// Images recognized by the name of their section, which also states their target.
const fn section(name: &'static str) -> Descriptor {
    Descriptor {
        name,
        recognition: Recognition::SectionName,
        image_kind: None,
        registered_with: None,
        selection_scope: SelectionScope::File,
        wrap_input: WrapInput::Image,
        states_target: true,
    }
}

const fn bare_image(name: &'static str, image_kind: ImageKind) -> Descriptor {
    Descriptor {
        name,
        recognition: Recognition::ImageHeader,
        image_kind: Some(image_kind),
        registered_with: None,
        selection_scope: SelectionScope::Container,
        wrap_input: WrapInput::Image,
        states_target: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back_to_their_type() {
        for container_type in ContainerType::ALL {
            assert_eq!(ContainerType::named(container_type.name()), Some(container_type));
        }
    }

    #[test]
    fn an_image_kind_belongs_to_one_type_at_most() {
        for container_type in ContainerType::ALL {
            let Some(kind) = container_type.descriptor().image_kind else { continue };
            let of_kind = ContainerType::ALL.iter().filter(|other| other.descriptor().image_kind == Some(kind));
            assert_eq!(of_kind.count(), 1, "{kind:?}");
        }
    }
}
