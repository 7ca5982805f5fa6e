//! Target triples: what an image's own header can tell of them, and how those that people write compare.
//!
//! An ELF header names a machine and not a triple. For device machines there is only one triple in use; for host
//! machines, whose images OpenMP's host plugins run, it is the one that LLVM normalises to on Linux.

mod names;
mod normalize;

use object::elf;

pub use normalize::{Triple, names_architecture};

/// The triple of AMD GPUs under the HSA runtime.
pub const AMDGCN: &str = "amdgcn-amd-amdhsa";
/// The triple of NVIDIA GPUs under CUDA.
pub const NVPTX64: &str = "nvptx64-nvidia-cuda";

/// ELF machine, whether its data is little-endian, and the triple.
const TRIPLES: [(elf::Machine, bool, &str); 9] = [
    (elf::EM_AMDGPU, true, AMDGCN),
    (elf::EM_CUDA, true, NVPTX64),
    (elf::EM_X86_64, true, "x86_64-unknown-linux-gnu"),
    (elf::EM_AARCH64, true, "aarch64-unknown-linux-gnu"),
    (elf::EM_RISCV, true, "riscv64-unknown-linux-gnu"),
    (elf::EM_PPC64, true, "powerpc64le-unknown-linux-gnu"),
    (elf::EM_PPC64, false, "powerpc64-unknown-linux-gnu"),
    (elf::EM_S390, false, "s390x-unknown-linux-gnu"),
    (elf::EM_LOONGARCH, true, "loongarch64-unknown-linux-gnu"),
];

/// The architecture that a triple begins with, under the first of its names; `None` where it is not known.
pub fn architecture(triple: &str) -> Option<&str> {
    names::architecture(triple.split('-').next()?)
}

/// The triple for a 64-bit ELF file of this machine and byte order.
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
