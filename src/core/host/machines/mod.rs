//! The host machines, one file per machine: its numbers and its instructions.

mod aarch64;
mod fixed_width;
mod loongarch64;
mod powerpc64le;
mod riscv64;
mod s390x;
mod stack_frame;
#[cfg(test)]
mod tests;
mod x86_64;

pub use aarch64::{AARCH64, AARCH64_COFF, AARCH64_MACHO};
pub use loongarch64::LOONGARCH64;
pub use powerpc64le::POWERPC64LE;
pub use riscv64::RISCV64;
pub use s390x::S390X;
pub use x86_64::{X86_64, X86_64_COFF, X86_64_MACHO};
