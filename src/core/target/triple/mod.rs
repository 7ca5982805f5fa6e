//! Target triples: triples derived from an image's ELF header, and comparison of triples that users write.
//!
//! An ELF header states a machine and not a triple. NVIDIA's and Intel's machines have one triple each, and AMD's
//! triples depend on the system ([`super::amdgpu::Header`]). For host machines, whose images OpenMP's host plugins run,
//! it is LLVM's normalized triple for Linux.

mod names;
mod normalize;

use object::elf;

use super::{amdgpu, intel, subarch};
pub use normalize::{Triple, names_architecture};

/// Triple of AMD GPUs with the HSA runtime.
pub const AMDGCN: &str = amdgpu::HSA_TRIPLE;
/// Triple of NVIDIA GPUs with CUDA.
pub const NVPTX64: &str = "nvptx64-nvidia-cuda";

/// Triple of NVIDIA code with 32-bit addresses, which CUDA up to 12.0 compiles.
pub const NVPTX: &str = "nvptx-nvidia-cuda";

/// Triple of code for a GPU of Intel (DPC++, `-fsycl-targets`).
pub const VULKAN: &str = "spirv-unknown-vulkan";

/// Returns whether code with a triple is a shader, which every driver for Vulkan compiles. Source: LLVM,
/// `Triple::Vulkan`; Khronos, Vulkan Specification, `VkShaderModuleCreateInfo`.
pub fn is_vulkan(triple: &str) -> bool {
    triple.starts_with("spirv") && triple.split('-').nth(2).is_some_and(|system| system.starts_with("vulkan"))
}

/// Triple of machine code for Intel's graphics processors.
pub const INTELGT: &str = "spir64_gen-unknown-unknown";

/// ELF machine, `true` for little-endian data, and the triple.
const TRIPLES: [(elf::Machine, bool, &str); 9] = [
    (elf::EM_CUDA, true, NVPTX64),
    (intel::EM_INTELGT, true, INTELGT),
    (elf::EM_X86_64, true, "x86_64-unknown-linux-gnu"),
    (elf::EM_AARCH64, true, "aarch64-unknown-linux-gnu"),
    (elf::EM_RISCV, true, "riscv64-unknown-linux-gnu"),
    (elf::EM_PPC64, true, "powerpc64le-unknown-linux-gnu"),
    (elf::EM_PPC64, false, "powerpc64-unknown-linux-gnu"),
    (elf::EM_S390, false, "s390x-unknown-linux-gnu"),
    (elf::EM_LOONGARCH, true, "loongarch64-unknown-linux-gnu"),
];

/// Returns the canonical name of the architecture at the start of a triple; `None` for an unknown one. For AMD's GPUs,
/// it is `amdgcn`, with or without a subarchitecture.
pub fn architecture(triple: &str) -> Option<&str> {
    names::architecture(triple.split('-').next()?)
}

/// Returns whether two triples are equal, or are compatible triples of AMD's GPUs: two spellings of one target, or a
/// triple without a subarchitecture or for a family.
pub fn are_compatible(one: &str, other: &str) -> bool {
    let are_amdgpu = || subarch::is_amdgpu(one) && subarch::is_amdgpu(other);
    one == other || are_amdgpu() && Triple::normalize(one).is_compatible_with(&Triple::normalize(other))
}

/// Returns whether code that states one triple cannot be for the other: the architectures differ, or the systems that
/// load code for AMD's GPUs. Words that are unknown or missing contradict nothing, and vendors have several names.
pub fn contradict(one: &str, other: &str) -> bool {
    let (Some(own), Some(others)) = (architecture(one), architecture(other)) else { return false };
    let systems = || [one, other].map(|triple| Triple::normalize(triple).system());
    own != others || subarch::is_amdgpu(one) && matches!(systems(), [Some(own), Some(others)] if own != others)
}

/// Returns the triple of a 64-bit ELF file for this machine and byte order.
pub const fn of_machine(machine: elf::Machine, little_endian: bool) -> Option<&'static str> {
    // A loop, because iterators cannot be used in constants.
    let mut index = 0;
    while index < TRIPLES.len() {
        let (other, is_little_endian, triple) = TRIPLES[index];
        if other.0 == machine.0 && is_little_endian == little_endian {
            return Some(triple);
        }
        index += 1;
    }
    None
}
