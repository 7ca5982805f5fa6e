//! Layout of the structures that host code passes to the CUDA and HIP runtimes, each with a pointer to a container.
//!
//! `__fatBinC_Wrapper_t` in CUDA's `fatbinary_section.h` and `__CudaFatBinaryWrapper` in HIP's sources: a magic and a
//! version of 32 bits each, a pointer to the container, and a pointer that is unused here.

/// Magic and section names of one runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatBinaryWrapper {
    /// First word of the structure.
    pub magic: u32,
    /// Section of the structures.
    pub section: &'static str,
    /// Section of the structures in Mach-O files: segment and section.
    pub mach_o_section: (&'static str, &'static str),
    /// Section of the containers.
    pub container_section: &'static str,
    /// Section of the containers in Mach-O files: segment and section.
    pub mach_o_container_section: (&'static str, &'static str),
}

/// CUDA's wrapper.
pub const CUDA: FatBinaryWrapper = FatBinaryWrapper {
    magic: 0x4662_43b1,
    section: ".nvFatBinSegment",
    mach_o_section: ("__NV_CUDA", "__fatbin"),
    container_section: ".nv_fatbin",
    mach_o_container_section: ("__NV_CUDA", "__nv_fatbin"),
};

/// Section of CUDA's wrappers for code from Tile IR (nvcc 13.5, `--enable-tile`).
pub const CUDA_TILE_SECTION: &str = ".nvFatBinSegmentAlt";

/// Section of the containers of relocatable CUDA code.
pub const CUDA_RELOCATABLE_SECTION: &str = "__nv_relfatbin";

/// Section of the names of modules. Each compiled object adds its name, and each device link the names of its inputs.
pub const MODULE_ID_SECTION: &str = "__nv_module_id";

/// Segment and section of the names of modules in Mach-O files.
pub const MACH_O_MODULE_ID_SECTION: (&str, &str) = ("__NV_CUDA", MODULE_ID_SECTION);

/// Maximum length of a section's name in a PE file, in bytes (PE format, section headers).
pub const PE_NAME_SIZE: usize = 8;

/// Returns whether a section is for containers of relocatable CUDA code. Its name may be truncated, as in PE files.
pub fn is_relocatable_section(name: &str) -> bool {
    name == CUDA_RELOCATABLE_SECTION || CUDA_RELOCATABLE_SECTION.get(..PE_NAME_SIZE) == Some(name)
}

/// HIP's wrapper.
pub const HIP: FatBinaryWrapper = FatBinaryWrapper {
    magic: 0x4849_5046, // "HIPF"
    section: ".hipFatBinSegment",
    mach_o_section: ("__HIP", "__fatbin"),
    container_section: ".hip_fatbin",
    mach_o_container_section: ("__HIP", "__hip_fatbin"),
};

/// rocm-kpack writes this magic over HIP's when it moves the containers of a file into a separate archive. The pointer
/// then leads to the archive's name. Source: rocm-kpack, `kpack_transform.py`.
pub const HIP_KPACK_MAGIC: u32 = 0x4b50_4948; // "HIPK"

/// Version that compilers write.
pub const VERSION: u32 = 1;

/// Version of the wrapper that nvcc's device link adds. Its container has the linked code. Its last pointer leads to an
/// array of the link's relocatable containers, which the program fills when it starts (`crt/link.stub`).
pub const LINK_VERSION: u32 = 2;

/// Every version in use.
pub const VERSIONS: [u32; 2] = [VERSION, LINK_VERSION];

/// Offset of the pointer to the container, in bytes.
pub const CONTAINER_OFFSET: u64 = 8;

/// Returns whether a section is for containers that wrappers register. The name may be a Mach-O section's, or truncated
/// as in PE files.
pub fn is_container_section(name: &str) -> bool {
    let names = [CUDA.container_section, CUDA_RELOCATABLE_SECTION, HIP.container_section];
    let mach_o_names = [CUDA.mach_o_container_section.1, HIP.mach_o_container_section.1];
    let is_truncated = |known: &str| known.get(..PE_NAME_SIZE) == Some(name);
    names.contains(&name) || mach_o_names.contains(&name) || names.into_iter().any(is_truncated)
}
