//! NVIDIA cubins: kernels by their symbols, resource usage by their attributes and sections.
//!
//! The format is undocumented. It was determined from 12,000 real cubins of CUDA 11.8 to 13.2 and from the output of
//! ptxas 13.5. Every figure was compared with `cuobjdump -res-usage` 13.5: `REG` is from `EIATTR_REGCOUNT`, `STACK`
//! from `EIATTR_MIN_STACK_SIZE`, and `SHARED` and `CONSTANT[n]` are the sizes of `.nv.shared.NAME` and
//! `.nv.constantN.NAME`. For `sm_90` and later, `.nv.shared.NAME` includes 1024 bytes that are reserved for the system.
//!
//! A figure differs from cuobjdump's only where cuobjdump is known to be wrong. For files that are not linked yet it
//! prints `STACK:0` regardless of the frame, because they have no `EIATTR_MIN_STACK_SIZE`.

mod info;
mod integrity;
pub mod listing;

use object::{Object, ObjectSection};

use super::elf::{Elf, ElfFunction, Width};
use super::kernel::{ConstantBank, Kernel, LocatedKernel, Parameter};
use super::{charge_kernel, stub};
use crate::base::bytes::{NameMap, Resource};
use crate::base::error::Malformed;
use crate::target::nvptx::{Arch, Cubin};

/// Bit of `st_other` of a function symbol. It marks an entry that the host can launch. cuobjdump prints it as `ENTRY`.
const STO_CUDA_ENTRY: u8 = 0x10;

/// Number of threads in lockstep. It is the same in every architecture so far (CUDA C++ Programming Guide, section
/// Hardware Implementation).
const WARP_SIZE: u64 = 32;

/// Marks the stack size of a recursive kernel as unknown.
const UNKNOWN_STACK: u32 = u32::MAX;

/// `EIATTR_MAXREG_COUNT` if only the architecture limits the registers.
const NO_REGISTER_LIMIT: u16 = 0xff;

/// Attributes of a function in `.nv.info`.
#[derive(Default, Clone, Copy)]
struct FunctionInfo {
    registers: Option<u32>,
    frame: Option<u32>,
    /// Stack size of the function and all functions that it calls; in linked files only.
    stack: Option<u32>,
}

/// Returns the kernels of a cubin.
pub fn kernels(elf: &Elf<'_, impl Width>, problems: &mut Vec<Malformed>) -> Vec<LocatedKernel> {
    let function_info = function_info(elf, problems);
    let banks = constant_banks(elf);
    let mut kernels = Vec::new();
    let functions = elf.functions();
    problems.extend(integrity::defect(elf, &functions, &function_info).err());
    let arch = arch(elf);
    for function in functions.into_iter().filter(|function| function.other & STO_CUDA_ENTRY != 0) {
        // Any number of symbols can share a name of any length, and the attributes that belong to it.
        if charge_kernel(elf.view, [function.name.len()], 0).is_err() {
            break;
        }
        let function_info = function_info.get(&function.number).copied().unwrap_or_default();
        let mut kernel = kernel_of(elf, &function, function_info);
        kernel.constant_banks = banks.get(function.name).cloned().unwrap_or_default();
        attributes_of(elf, &function, &mut kernel, problems);
        kernel.stub = arch.and_then(|arch| stub::of_cubin(elf, &function, arch.number));
        kernels.push(LocatedKernel { kernel, entry: Some(function.entry) });
    }
    kernels
}

/// Returns the architecture in the header of the file.
fn arch(elf: &Elf<'_, impl Width>) -> Option<Arch> {
    let header = elf.file.elf_header();
    let (abi_version, e_flags) = (header.e_ident().abi_version, header.e_flags(elf.file.endian()).0);
    Cubin { abi_version, e_flags, compat: None, command_arch: None }.arch()
}

/// Creates a kernel from its symbol, its attributes in `.nv.info` and the sizes of its sections.
fn kernel_of(elf: &Elf<'_, impl Width>, function: &ElfFunction<'_>, function_info: FunctionInfo) -> Kernel {
    // Before this attribute existed, the number of registers was stored in the header of the code section. Cubins up to
    // CUDA 12 still have it there.
    let of_section = || function.section.and_then(|section| elf.info_byte(section)).filter(|&registers| registers > 0);
    let registers = function_info.registers.map(u64::from).or_else(|| of_section().map(u64::from));
    let known_stack = function_info.stack.filter(|&stack| stack != UNKNOWN_STACK && !elf.is_relocatable());
    Kernel {
        name: function.name.to_owned(),
        registers,
        scratch: known_stack.or(function_info.frame).map(u64::from),
        scratch_is_minimum: known_stack.is_none() && function_info.frame.is_some(),
        shared: Some(elf.size_of(&format!(".nv.shared.{}", function.name)).unwrap_or(0)),
        wave_size: Some(WARP_SIZE),
        code_size: Some(function.size),
        ..Default::default()
    }
}

fn function_info(elf: &Elf<'_, impl Width>, problems: &mut Vec<Malformed>) -> NameMap<usize, FunctionInfo> {
    let mut function_info = NameMap::<usize, FunctionInfo>::default();
    for_each_attribute(elf, ".nv.info", problems, |attribute| {
        let field = |function_info: &mut FunctionInfo, value| match attribute.number {
            info::EIATTR_REGCOUNT => function_info.registers = Some(value),
            info::EIATTR_FRAME_SIZE => function_info.frame = Some(value),
            info::EIATTR_MIN_STACK_SIZE => function_info.stack = Some(value),
            _ => {}
        };
        if let info::EIATTR_REGCOUNT | info::EIATTR_FRAME_SIZE | info::EIATTR_MIN_STACK_SIZE = attribute.number {
            let [symbol, value] = attribute.words()?;
            field(function_info.entry(symbol as usize).or_default(), value);
        }
        Ok(())
    });
    function_info
}

fn attributes_of(
    elf: &Elf<'_, impl Width>,
    function: &ElfFunction<'_>,
    kernel: &mut Kernel,
    problems: &mut Vec<Malformed>,
) {
    for_each_attribute(elf, &format!(".nv.info.{}", function.name), problems, |attribute| {
        match attribute.number {
            info::EIATTR_MAX_THREADS => {
                // PTX ISA, directive `.maxntid`: the limit is the product.
                let dimensions: [u32; 3] = attribute.words()?;
                kernel.max_threads = dimensions.iter().try_fold(1_u64, |all, &one| all.checked_mul(one.into()));
            }
            info::EIATTR_REQNTID => kernel.required_threads = Some(attribute.words()?.map(u64::from)),
            info::EIATTR_MAXREG_COUNT if attribute.half != NO_REGISTER_LIMIT => {
                kernel.max_registers = Some(attribute.half.into());
            }
            info::EIATTR_CBANK_PARAM_SIZE => kernel.parameter_size = Some(attribute.half.into()),
            info::EIATTR_KPARAM_INFO => {
                let [_, place, layout] = attribute.words()?;
                charge_parameter(elf)?;
                kernel.parameters.extend(parameter(place, layout >> 18));
            }
            info::EIATTR_KPARAM_INFO_V2 => {
                let [_, place, layout] = attribute.words()?;
                charge_parameter(elf)?;
                kernel.parameters.extend(parameter(place, layout & 0xffff));
            }
            _ => {}
        }
        Ok(())
    });
    // The section lists them from the last to the first.
    kernel.parameters.sort_by_cached_key(|parameter| parameter.offset);
}

fn charge_parameter(elf: &Elf<'_, impl Width>) -> Result<(), Malformed> {
    elf.view.charge("NVIDIA attribute", Resource::Memory, size_of::<Parameter>() as u64)
}

/// Decodes a parameter. `place` holds its ordinal number and its offset. Textures are passed differently and have no
/// offset.
fn parameter(place: u32, size: u32) -> Option<Parameter> {
    const NO_OFFSET: u32 = 0xffff;
    let offset = place >> 16;
    (offset != NO_OFFSET).then(|| Parameter { name: None, offset: offset.into(), size: size.into() })
}

fn for_each_attribute(
    elf: &Elf<'_, impl Width>,
    section: &str,
    problems: &mut Vec<Malformed>,
    mut take: impl FnMut(&info::Attribute<'_>) -> Result<(), Malformed>,
) {
    let Some(section) = elf.section(section) else { return };
    let read = elf.bytes(&section).and_then(|bytes| {
        info::attributes(bytes).try_for_each(|attribute| attribute.and_then(|attribute| take(&attribute)))
    });
    problems.extend(read.err());
}

/// Sizes of the sections `.nv.constantN.NAME`, by kernel name and sorted by bank.
fn constant_banks<'data>(elf: &Elf<'data, impl Width>) -> NameMap<&'data str, Vec<ConstantBank>> {
    let mut banks = section_banks(elf);
    for banks in banks.values_mut() {
        banks.sort_by_cached_key(|bank| bank.bank);
    }
    banks
}

/// Sizes of the sections `.nv.constantN.NAME`, by function name and in section order.
fn section_banks<'data>(elf: &Elf<'data, impl Width>) -> NameMap<&'data str, Vec<ConstantBank>> {
    let mut banks: NameMap<&str, Vec<ConstantBank>> = NameMap::default();
    for section in elf.file.sections() {
        let name = section.name().ok().and_then(|name| name.strip_prefix(".nv.constant"));
        let Some((bank, function)) = name.and_then(|name| name.split_once('.')) else { continue };
        if let Ok(bank) = bank.parse() {
            banks.entry(function).or_default().push(ConstantBank { bank, size: section.size() });
        }
    }
    banks
}
