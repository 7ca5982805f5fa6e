//! Properties of an image that determine its floor.

use std::fmt;

use super::{CodeProperty, DriverSystem, Floor, Release, cuda};
use fatbin_core::base::codec::Codec;
use fatbin_core::format::ContainerType;
use fatbin_core::format::readers::{Product, Reader};
use fatbin_core::target::bundle_entry_id::FoundByHip;
use fatbin_core::target::metal::{self, LanguageSupport, System};
use fatbin_core::target::nvptx::Arch;

/// A property of an image or of its container that old releases of a product do not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// An entry of a CUDA fat binary is compressed.
    Codec(Codec),
    /// Several images are compressed as one.
    Group,
    /// PTX, of a version if one is stated.
    Ptx(Option<(u16, u16)>),
    /// A cubin of the tools of a release of CUDA.
    Toolkit((u16, u16)),
    /// A cubin with ABI 8 for an architecture below 10.0. For these architectures, ptxas up to CUDA 12.9 writes ABI 7.
    /// ptxas of CUDA 13.0 to 13.5 writes ABI 8 for all architectures.
    AbiOfCuda13,
    /// A cubin that does not state its tools.
    UnknownToolkit,
    /// Machine code for an architecture of NVIDIA.
    Arch(Arch),
    /// The device itself.
    Device(Arch),
    /// Tile IR, of a version if one is stated.
    TileIr(Option<(u16, u16)>),
    /// A kind of image that is newer than this program.
    UnknownKind(u64),
    /// LLVM bitcode.
    Bitcode,
    /// LLVM bitcode that libomptarget compiles when it loads it.
    OpenMpBitcode,
    /// A Metal library for a system since a release.
    System(System, metal::Release),
    /// A function of a Metal library for a system, compiled from a version of the Metal language.
    MetalLanguage(System, metal::Language),
    /// A version of a container, with the first release of a product that reads it, if any.
    Container {
        /// The product.
        product: Product,
        /// Type of the container.
        container_type: ContainerType,
        /// Version of its format.
        version: Option<u32>,
        /// First release that reads it.
        first: Option<Reader>,
    },
    /// A bundle entry ID that some releases of HIP's runtime do not find.
    EntryId(FoundByHip),
    /// An AMD code object of version 5.
    CodeObject5,
    /// An AMD code object of version 6.
    CodeObject6,
    /// Code that not every libomptarget loads.
    OpenMp(CodeProperty),
    /// Offload entries with a version, which libomptarget reads since LLVM 20.
    VersionedEntries,
}

/// The newest release of ROCm that is known not to load code objects of version 5.
const ROCM_WITHOUT_CODE_OBJECT_5: Release = Release::new(Product::Rocm, (5, 2));

/// First release of ROCm that loads code objects of version 6.
const ROCM_WITH_CODE_OBJECT_6: Release = Release::new(Product::Rocm, (6, 3));

/// First release of LLVM that reads offload entries with a version. Source: `offload/include/Shared/APITypes.h` of LLVM
/// 20; libomptarget 19 reads entries of 32 bytes.
const LLVM_WITH_VERSIONED_ENTRIES: Release = Release::new(Product::Llvm, (20, 0));

/// The newest release of ROCm with a HIP runtime that is known to compare the triple of entry IDs as text (llvm-project
/// #214841, #217640).
const ROCM_WITH_ONE_TRIPLE: Release = Release::new(Product::Rocm, (7, 2));

/// The newest release of ROCm that is known to look up SPIR-V by one ID.
const ROCM_WITH_ONE_SPIRV_ID: Release = Release::new(Product::Rocm, (6, 4));

/// First release of LLVM whose libomptarget compiles bitcode (`-fopenmp-target-jit`).
const LLVM_WITH_COMPILER: Release = Release::new(Product::Llvm, (16, 0));

/// The newest release of CUDA whose driver is known to ignore images that are compressed together.
const LAST_WITHOUT_GROUPS: (u32, u32) = (13, 0);

/// First architecture that CUDA 12 writes cubins with ABI 8 for.
pub const FIRST_WITH_ABI_8: u32 = 100;

impl Requirement {
    /// Returns the product that has the requirement.
    pub fn product(self) -> Product {
        match self {
            Requirement::Container { product, .. } => product,
            Requirement::EntryId(_) | Requirement::CodeObject5 | Requirement::CodeObject6 => Product::Rocm,
            Requirement::Bitcode
            | Requirement::OpenMpBitcode
            | Requirement::OpenMp(_)
            | Requirement::VersionedEntries => Product::Llvm,
            Requirement::System(system, _) | Requirement::MetalLanguage(system, _) => Product::Apple(system),
            _ => Product::Cuda,
        }
    }

    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Requirement::Codec(_) | Requirement::Group => "codec",
            Requirement::Ptx(_) => "ptx-isa",
            Requirement::Toolkit(_) | Requirement::AbiOfCuda13 | Requirement::UnknownToolkit => "toolkit",
            Requirement::Arch(_) => "arch",
            Requirement::Device(_) => "device",
            Requirement::TileIr(_)
            | Requirement::UnknownKind(_)
            | Requirement::Bitcode
            | Requirement::OpenMpBitcode => "kind",
            Requirement::Container { .. } => "container-version",
            Requirement::EntryId(_) => "entry-id",
            Requirement::CodeObject5 | Requirement::CodeObject6 | Requirement::OpenMp(_) => "code",
            Requirement::VersionedEntries => "offload-entries",
            Requirement::System(..) => "system",
            Requirement::MetalLanguage(..) => "language",
        }
    }

    /// Returns whether only some functions of an image have the property, so that the image loads without it.
    pub fn is_of_functions(self) -> bool {
        matches!(self, Requirement::MetalLanguage(..))
    }

    /// Returns the floor of an image with this property.
    pub fn floor(self) -> Floor {
        match self {
            Requirement::Codec(Codec::Opaque) => Floor::UNKNOWN,
            Requirement::Codec(codec) => {
                Reader::first_cuda(codec).map_or(Floor::NONE, |first| Floor::since(release_of(first)))
            }
            Requirement::Ptx(Some(version)) => cuda::ptx(version),
            Requirement::TileIr(Some(version)) => cuda::tile_ir(version),
            Requirement::Toolkit(release) => cuda::toolkit(release),
            Requirement::AbiOfCuda13 => cuda::toolkit((13, 0)),
            Requirement::Arch(arch) | Requirement::Device(arch) => cuda::arch(arch),
            Requirement::Container { first: Some(first), .. } => Floor::since(release_of(first)),
            Requirement::EntryId(FoundByHip::AfterRocm6_4) => Floor::after(ROCM_WITH_ONE_SPIRV_ID),
            Requirement::EntryId(_) => Floor::after(ROCM_WITH_ONE_TRIPLE),
            Requirement::System(system, release) => Floor::since(Release::of_system(system, release)),
            Requirement::MetalLanguage(system, language) => match system.supports(language) {
                Some(LanguageSupport::Since(release)) => Floor::since(Release::of_system(system, release)),
                Some(LanguageSupport::After(release)) => Floor::after(Release::of_system(system, release)),
                None => Floor::NONE,
            },
            Requirement::CodeObject5 => Floor::after(ROCM_WITHOUT_CODE_OBJECT_5),
            Requirement::CodeObject6 => Floor::since(ROCM_WITH_CODE_OBJECT_6),
            Requirement::OpenMp(property) => Floor::of_llvm(property.llvm()),
            // Later bitcode than a release's own may be unreadable.
            Requirement::OpenMpBitcode => Floor { most: None, ..Floor::since(LLVM_WITH_COMPILER) },
            Requirement::VersionedEntries => Floor::since(LLVM_WITH_VERSIONED_ENTRIES),
            Requirement::Group => Floor::after(cuda::release(LAST_WITHOUT_GROUPS)),
            Requirement::Container { first: None, .. }
            | Requirement::Ptx(None)
            | Requirement::UnknownToolkit
            | Requirement::TileIr(None)
            | Requirement::UnknownKind(_)
            | Requirement::Bitcode => Floor::UNKNOWN,
        }
    }

    /// Returns the floor with the numbers of the drivers for a system.
    pub fn floor_on(self, system: DriverSystem) -> Floor {
        let is_family = matches!(self, Requirement::Toolkit(_) | Requirement::AbiOfCuda13);
        match system {
            DriverSystem::Linux => self.floor(),
            DriverSystem::Windows => self.floor().map(|release| cuda::on_windows(release, is_family)),
        }
    }

    /// Returns the source of the floor.
    pub fn source(self) -> &'static str {
        match self {
            Requirement::Codec(_) => "nvcc manual, --compress-mode",
            Requirement::Group => "driver 580.159.04 on an H100, which does not read them",
            Requirement::Ptx(_) => "cuda-bindings 13.5, table of PTX versions",
            Requirement::Toolkit((11.., _)) | Requirement::AbiOfCuda13 => {
                "CUDA Compatibility, Minor Version Compatibility"
            }
            Requirement::Toolkit(_) | Requirement::UnknownToolkit => {
                "CUDA Toolkit Release Notes, Corresponding Driver Versions"
            }
            Requirement::Arch(_) | Requirement::Device(_) => "LLVM, NVPTXTargetParser.def",
            Requirement::Container { .. } => "releases of LLVM and ROCm that read the version",
            Requirement::EntryId(FoundByHip::AfterRocm6_4) => "llvm-project #139112, and ROCm/clr, hip_fatbin.cpp",
            Requirement::EntryId(_) => "llvm-project #214841 and #217640",
            Requirement::CodeObject5 => "libamdhip64 5.2.3 above a recording runtime",
            Requirement::CodeObject6 => "release notes of LLVM 21, AMDGPU",
            Requirement::OpenMp(_) => "libomptarget 15, 16, 19 and 22 above recording drivers",
            Requirement::OpenMpBitcode => "release notes of OpenMP 16",
            Requirement::VersionedEntries => "struct __tgt_offload_entry of LLVM 19 and 20",
            Requirement::System(..) => "the header of the Metal library",
            Requirement::MetalLanguage(..) => "Apple, MTLLibrary.h, MTLLanguageVersion",
            Requirement::TileIr(Some(_)) => "Tile IR (CUDA 13.5), section Stability",
            Requirement::TileIr(None) | Requirement::UnknownKind(_) | Requirement::Bitcode => "no document states it",
        }
    }
}

fn release_of(reader: Reader) -> Release {
    let version = reader.release();
    match reader.product() {
        Product::Cuda => cuda::release(version),
        product => Release::new(product, version),
    }
}

/// Formats the property as a clause.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requirement::Codec(Codec::Opaque) => f.write_str("compressed with an unknown codec"),
            Requirement::Codec(codec) => write!(f, "compressed with {}", codec.name()),
            Requirement::Group => f.write_str("compressed together with others"),
            Requirement::Ptx(Some((major, minor))) => write!(f, "PTX ISA {major}.{minor}"),
            Requirement::Ptx(None) => f.write_str("PTX that states no version"),
            Requirement::Toolkit((major, minor)) => write!(f, "cubin of CUDA {major}.{minor}"),
            Requirement::AbiOfCuda13 => f.write_str("cubin with ABI 8, of CUDA 13"),
            Requirement::UnknownToolkit => f.write_str("cubin that does not state its toolkit"),
            Requirement::Arch(arch) => write!(f, "code for {arch}"),
            Requirement::Device(arch) => write!(f, "device {arch}"),
            Requirement::TileIr(Some((major, minor))) => write!(f, "Tile IR {major}.{minor}"),
            Requirement::TileIr(None) => f.write_str("Tile IR that states no version"),
            Requirement::UnknownKind(kind) => write!(f, "unknown kind {kind:#x}, newer than this program"),
            Requirement::Bitcode => f.write_str("LLVM bitcode, whose readers no document dates"),
            Requirement::Container { container_type, version, first, .. } => {
                let name = container_type.name();
                let unread = if first.is_none() { ", which no known release reads" } else { "" };
                match version {
                    Some(version) => write!(f, "{name} version {version}{unread}"),
                    None => write!(f, "{name} without a version{unread}"),
                }
            }
            Requirement::System(system, release) => write!(f, "Metal library for {} {release}", system.name()),
            Requirement::MetalLanguage(_, (major, minor)) => write!(f, "Metal language {major}.{minor}"),
            Requirement::OpenMpBitcode => f.write_str("LLVM bitcode, which libomptarget compiles since LLVM 16"),
            Requirement::CodeObject5 => f.write_str("code object version 5"),
            Requirement::CodeObject6 => f.write_str("code object version 6"),
            Requirement::OpenMp(property) => write!(f, "{property}"),
            Requirement::VersionedEntries => f.write_str("offload entries with a version"),
            Requirement::EntryId(FoundByHip::AfterRocm6_4) => f.write_str("entry ID of SPIR-V with -unknown-"),
            Requirement::EntryId(_) => f.write_str("entry ID whose triple is not amdgcn-amd-amdhsa"),
        }
    }
}
