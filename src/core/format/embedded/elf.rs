//! ELF files for devices: NVIDIA's cubins, AMD's code objects, Intel's zebin and code for MUSA.
//!
//! Sources of the values: cubins of ptxas 11.8 to 13.5; code objects of clang 14 to 22 and of HSA's own kernels;
//! Intel's zebin documentation (compute-runtime) and the built-in kernels of its OpenCL driver 22.43.

use object::LittleEndian as LE;
use object::elf::{self, FileHeader64, SectionHeader64};
use object::read::elf::{FileHeader, SectionHeader};

use super::{EmbeddedImage, Region, unexpected};
use crate::base::bytes::{Resource, View, text_work};
use crate::base::elf_layout::{EI_OSABI, EI_PAD, ELF64};
use crate::base::error::{Cause, Malformed};
use crate::format::device_elf;
use crate::target::intel::EM_INTELGT;
use crate::target::nvptx::Cubin;
use crate::target::{amdgpu, musa};

/// `e_type` of zebin: relocatable, executable and shared (compute-runtime, `zebin.md`), and the type that ocloc writes.
const ZEBIN_TYPES: [u16; 4] = [0xff11, 0xff12, 0xff13, elf::ET_REL.0];

/// `EI_OSABI` of cubins up to ABI 7, and of later cubins.
const OSABI_CUDA: u8 = 0x33;
const OSABI_CUDA_8: u8 = 0x41;

/// Reads the image that begins at an offset of the region.
pub fn find(region: Region<'_>, at: u64) -> Result<EmbeddedImage<'_>, Malformed> {
    let view = region.view.from(at);
    let machine = elf::Machine(view.u16("ELF machine", ELF64.e_machine)?);
    let check = match machine {
        elf::EM_CUDA => check_cubin,
        elf::EM_AMDGPU => check_code_object,
        EM_INTELGT => check_zebin,
        musa::EM_MTGPU => check_musa,
        _ => return Err(unexpected(view, "ELF machine", ELF64.e_machine, machine.0.into(), "that of a GPU")),
    };
    let header = FileHeader64::<LE>::parse(view.data());
    let header = header.map_err(|error| view.malformed("ELF header", 0, Cause::object_file(error)))?;
    check_header(view, header)?;
    check(view, header)?;
    let device_elf::DeviceElf { size, is_debug_only, .. } = device_elf::read(view)?;
    let image = view.prefix("ELF file", size)?;
    if is_debug_only {
        return Err(image.malformed("ELF sections", 0, Cause::Described("debug information only".to_owned())));
    }
    let names = section_names(image, header)?;
    let is_known = |name: &[u8]| match machine {
        elf::EM_CUDA => {
            name == b".nv.info" || [&b".text."[..], b".nv.constant", b".note.nv."].iter().any(|it| name.starts_with(it))
        }
        EM_INTELGT => name == b".ze_info" || name.starts_with(b".text."),
        // The note has been checked.
        musa::EM_MTGPU => true,
        _ => name == b".note" || name == b".text" || name.starts_with(b".hsatext"),
    };
    if !names.into_iter().any(is_known) {
        return Err(image.malformed("ELF sections", 0, Cause::Described("no section of device code".to_owned())));
    }
    Ok(EmbeddedImage::new(image))
}

/// Checks the fields that have the same value on every device.
fn check_header(view: View<'_>, header: &FileHeader64<LE>) -> Result<(), Malformed> {
    if let Some(&value) = header.e_ident.padding.iter().find(|&&byte| byte != 0) {
        return Err(unexpected(view, "ELF padding", EI_PAD, value.into(), "0"));
    }
    let phnum = header.e_phnum.get(LE);
    let shnum = header.e_shnum.get(LE);
    let sizes = [
        ("ELF header size", ELF64.e_ehsize, header.e_ehsize.get(LE), true, ELF64.header_size),
        (
            "ELF program header size",
            ELF64.e_phentsize,
            header.e_phentsize.get(LE),
            phnum > 0,
            ELF64.segment_header_size,
        ),
        (
            "ELF section header size",
            ELF64.e_shentsize,
            header.e_shentsize.get(LE),
            shnum > 0,
            ELF64.section_header_size,
        ),
    ];
    for (field, at, value, is_used, expected) in sizes {
        if is_used && u64::from(value) != expected {
            return Err(unexpected(view, field, at, value.into(), "the size of the structure"));
        }
    }
    let shstrndx = header.e_shstrndx.get(LE).0;
    // Without a section table, nothing in the file could be recognized as device code.
    if shstrndx >= shnum {
        return Err(unexpected(view, "ELF section of names", ELF64.e_shstrndx, shstrndx.into(), "a section"));
    }
    Ok(())
}

fn check_cubin(view: View<'_>, header: &FileHeader64<LE>) -> Result<(), Malformed> {
    let os_abi = header.e_ident.os_abi.0;
    let abi = header.e_ident.abi_version;
    let version = header.e_version.get(LE);
    // Up to ABI 7, the version is 1 or the number of the toolkit in hexadecimal digits: 0x76 to 0x81 were seen.
    let is_known = match (os_abi, abi) {
        (OSABI_CUDA, 2..=7) => version == 1 || (0x20..=0xff).contains(&version),
        (OSABI_CUDA_8, 8) => version == 1,
        _ => return Err(unexpected(view, "ELF ABI", EI_OSABI, os_abi.into(), "that of a cubin")),
    };
    if !is_known {
        return Err(unexpected(view, "ELF version", ELF64.e_version, version.into(), "that of a toolkit"));
    }
    check_type(view, header, &[elf::ET_REL.0, elf::ET_EXEC.0])?;
    let e_flags = header.e_flags.get(LE).0;
    let cubin = Cubin { abi_version: abi, e_flags, compat: None, command_arch: None };
    cubin
        .arch()
        .map(|_| ())
        .ok_or_else(|| unexpected(view, "ELF flags", ELF64.e_flags, e_flags.into(), "an architecture"))
}

fn check_code_object(view: View<'_>, header: &FileHeader64<LE>) -> Result<(), Malformed> {
    let os_abi = header.e_ident.os_abi.0;
    let abi = header.e_ident.abi_version;
    let version = header.e_version.get(LE);
    if header.e_ident.os_abi != amdgpu::ELFOSABI_HSA || abi > 4 {
        return Err(unexpected(view, "ELF ABI", EI_OSABI, os_abi.into(), "that of a code object"));
    }
    if version != 1 {
        return Err(unexpected(view, "ELF version", ELF64.e_version, version.into(), "1"));
    }
    check_type(view, header, &[elf::ET_REL.0, elf::ET_DYN.0])?;
    let e_flags = header.e_flags.get(LE).0;
    // Code objects before version 3 state the processor in a note.
    match (amdgpu::Header { os_abi, abi_version: abi, e_flags }).target_id() {
        None if abi > 0 || e_flags != 0 => {
            Err(unexpected(view, "ELF flags", ELF64.e_flags, e_flags.into(), "a processor"))
        }
        _ => Ok(()),
    }
}

fn check_zebin(view: View<'_>, header: &FileHeader64<LE>) -> Result<(), Malformed> {
    let os_abi = header.e_ident.os_abi.0;
    let version = header.e_version.get(LE);
    if (os_abi, version) != (0, 1) {
        return Err(unexpected(view, "ELF ABI", EI_OSABI, os_abi.into(), "0, with version 1"));
    }
    check_type(view, header, &ZEBIN_TYPES)
}

fn check_musa(view: View<'_>, header: &FileHeader64<LE>) -> Result<(), Malformed> {
    check_type(view, header, &[elf::ET_REL.0, elf::ET_DYN.0])?;
    if device_elf::read(view)?.triple != Some(musa::TRIPLE) {
        return Err(view.malformed("ELF note", 0, Cause::Described("no note of MUSA".to_owned())));
    }
    Ok(())
}

fn check_type(view: View<'_>, header: &FileHeader64<LE>, known: &[u16]) -> Result<(), Malformed> {
    let value = header.e_type.get(LE).0;
    if known.contains(&value) {
        Ok(())
    } else {
        Err(unexpected(view, "ELF type", ELF64.e_type, value.into(), "that of device code"))
    }
}

/// Reads the names of the sections. The first section is empty, and every name ends within the section of names.
fn section_names<'data>(view: View<'data>, header: &FileHeader64<LE>) -> Result<Vec<&'data [u8]>, Malformed> {
    let invalid =
        |error: object::Error| view.malformed("ELF section names", ELF64.e_shstrndx, Cause::object_file(error));
    let sections: &[SectionHeader64<LE>] = header.section_headers(LE, view.data()).map_err(invalid)?;
    if sections.first().is_none_or(|first| first.sh_type(LE) != elf::SHT_NULL) {
        return Err(view.malformed("ELF section 0", 0, Cause::Described("not a null section".to_owned())));
    }
    let strings = header.section_strings(LE, view.data(), sections).map_err(invalid)?;
    let mut names = Vec::new();
    for section in sections.iter().skip(1) {
        let name = section.name(LE, strings).map_err(invalid)?;
        view.charge("ELF section names", Resource::Work, text_work(name.len()))?;
        names.push(name);
    }
    Ok(names)
}
