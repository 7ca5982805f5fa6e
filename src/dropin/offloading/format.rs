//! Names of object formats and architectures. Source: the tools' output for an ELF header of every machine.

use object::read::Object;
use object::{AddressSize, Architecture, BinaryFormat, elf};

use super::objects::ObjectFile;
use fatbin_core::base::bytes::View;
use fatbin_core::base::elf_layout::ELF64;

/// Names of an object's format.
#[derive(Debug)]
pub struct ObjectFormat {
    pub name: String,
    pub arch: &'static str,
    /// Width of addresses.
    pub bits: u8,
}

impl ObjectFormat {
    pub fn of(file: &ObjectFile<'_>, view: View<'_>) -> Self {
        let architecture = file.architecture();
        let is_64 = match file.format() {
            BinaryFormat::Coff => architecture.address_size() == Some(AddressSize::U64),
            _ => file.is_64(),
        };
        let bits = if is_64 { 64 } else { 32 };
        let (name, arch) = match (file.format(), architecture) {
            (BinaryFormat::Elf, _) => {
                let (suffix, arch) = elf_names(machine(file, view), bits, file.is_little_endian());
                (format!("elf{bits}-{suffix}"), arch)
            }
            (BinaryFormat::MachO, Architecture::X86_64) => ("Mach-O 64-bit x86-64".to_owned(), "x86_64"),
            (BinaryFormat::MachO, Architecture::Aarch64) => ("Mach-O arm64".to_owned(), "aarch64"),
            (BinaryFormat::MachO, _) => (format!("Mach-O {bits}-bit unknown"), "unknown"),
            (_, Architecture::X86_64) => ("COFF-x86-64".to_owned(), "x86_64"),
            (_, Architecture::I386) => ("COFF-i386".to_owned(), "i386"),
            (_, Architecture::Aarch64) => ("COFF-ARM64".to_owned(), "aarch64"),
            (_, Architecture::Arm) => ("COFF-ARM".to_owned(), "thumb"),
            _ => ("COFF-<unknown arch>".to_owned(), "unknown"),
        };
        ObjectFormat { name, arch, bits }
    }
}

fn machine(file: &ObjectFile<'_>, view: View<'_>) -> elf::Machine {
    let stated = view.u16("ELF machine", ELF64.e_machine).unwrap_or_default();
    elf::Machine(if file.is_little_endian() { stated } else { stated.swap_bytes() })
}

/// Names of an ELF format, without its width, and of its architecture.
fn elf_names(machine: elf::Machine, bits: u8, is_little: bool) -> (&'static str, &'static str) {
    match (machine, bits, is_little) {
        (elf::EM_X86_64, ..) => ("x86-64", "x86_64"),
        (elf::EM_386, ..) => ("i386", "i386"),
        (elf::EM_AARCH64, 64, true) => ("littleaarch64", "aarch64"),
        (elf::EM_ARM, 32, true) => ("littlearm", "arm"),
        (elf::EM_RISCV, 64, true) => ("littleriscv", "riscv64"),
        (elf::EM_PPC64, 64, true) => ("powerpcle", "powerpc64le"),
        (elf::EM_PPC64, 64, false) => ("powerpc", "powerpc64"),
        (elf::EM_S390, 64, _) => ("s390", "s390x"),
        (elf::EM_LOONGARCH, 64, _) => ("loongarch", "loongarch64"),
        (elf::EM_AMDGPU, _, true) => ("amdgpu", "amdgcn"),
        (elf::EM_CUDA, 64, _) => ("unknown", "nvptx64"),
        _ => ("unknown", "unknown"),
    }
}
