//! Contents of a cubin as NVIDIA's cuobjdump lists them: the resources of every function, symbols and code sections.
//!
//! cuobjdump lists every function with a separate code section, so it prints more functions than kernels. The register
//! count of a kernel comes from `EIATTR_REGCOUNT`; for other functions it comes only from their section. Source: the
//! output of cuobjdump 13.5 for 419 cubins of four libraries.

use object::read::elf::Sym;
use object::{Object, ObjectSection, elf};

use super::{FunctionInfo, STO_CUDA_ENTRY, UNKNOWN_STACK, function_info, section_banks};
use crate::base::bytes::{View, total};
use crate::base::error::Malformed;
use crate::image::charge_kernel;
use crate::image::elf::{AnyElf, Elf, ElfFunction, Width, with_elf};
use crate::image::kernel::ConstantBank;

/// Prefix of the names of code sections.
const TEXT: &str = ".text.";

/// Sections for variables in global memory.
const GLOBALS: [&str; 2] = [".nv.global", ".nv.global.init"];

/// Prefix of the names of sections for constant memory; the number of the bank follows.
const CONSTANT: &str = ".nv.constant";

/// Resources of a cubin and of its functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Size of the variables in global memory.
    pub global: u64,
    /// Constant banks of the whole cubin, in the order of its sections.
    pub constant_banks: Vec<ConstantBank>,
    /// Functions that have a separate code section, in section order.
    pub functions: Vec<FunctionUsage>,
}

/// Resources of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionUsage {
    /// Name.
    pub name: String,
    /// Index in the symbol table.
    pub number: usize,
    /// Number of registers.
    pub registers: u64,
    /// Stack size of a kernel. It is 0 if the cubin does not state it, and `None` for a recursive kernel.
    pub stack: Option<u64>,
    /// Size of shared memory.
    pub shared: u64,
    /// Size of local memory.
    pub local: u64,
    /// Constant banks, in the order of the sections.
    pub constant_banks: Vec<ConstantBank>,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CubinSymbol<'data> {
    /// Name.
    pub name: &'data str,
    /// Type: the lower half of `st_info`.
    pub symbol_type: u8,
    /// Binding: the upper half of `st_info`.
    pub binding: u8,
    /// Field `st_other`.
    pub other: u8,
    /// False if another file defines it.
    pub is_defined: bool,
}

/// Returns the resources of the functions of a cubin.
pub fn resource_usage(view: View<'_>) -> Result<ResourceUsage, Malformed> {
    let elf = AnyElf::read(view)?;
    with_elf!(elf, elf => usage_of(&elf))
}

fn usage_of(elf: &Elf<'_, impl Width>) -> Result<ResourceUsage, Malformed> {
    let function_info = function_info(elf, &mut Vec::new());
    let mut banks = section_banks(elf);
    let mut functions = Vec::new();
    let mut own: Vec<_> = elf.functions().into_iter().filter(|function| has_own_section(elf, function)).collect();
    own.sort_by_cached_key(|function| function.section.map(|section| section.0));
    for function in own {
        charge_kernel(elf.view, [function.name.len()], 0)?;
        let info = function_info.get(&function.number).copied().unwrap_or_default();
        let constant_banks = banks.remove(function.name).unwrap_or_default();
        functions.push(function_usage(elf, &function, info, constant_banks));
    }
    // Sizes in memory are numbers from the file.
    let global = total(GLOBALS.iter().filter_map(|name| elf.size_of(name)));
    Ok(ResourceUsage { global, constant_banks: common_banks(elf), functions })
}

fn has_own_section(elf: &Elf<'_, impl Width>, function: &ElfFunction<'_>) -> bool {
    let section = function.section.and_then(|section| elf.file.section_by_index(section).ok());
    let name = section.as_ref().and_then(|section| section.name().ok());
    name.and_then(|name| name.strip_prefix(TEXT)) == Some(function.name)
}

fn function_usage(
    elf: &Elf<'_, impl Width>,
    function: &ElfFunction<'_>,
    info: FunctionInfo,
    constant_banks: Vec<ConstantBank>,
) -> FunctionUsage {
    let is_kernel = function.other & STO_CUDA_ENTRY != 0;
    let stated = if is_kernel { info.registers.map(u64::from) } else { None };
    let of_section = || function.section.and_then(|section| elf.info_byte(section)).map_or(0, u64::from);
    let stack = info.stack.unwrap_or(0);
    let size_of = |prefix: &str| elf.size_of(&format!("{prefix}{}", function.name)).unwrap_or(0);
    FunctionUsage {
        name: function.name.to_owned(),
        number: function.number,
        registers: stated.unwrap_or_else(of_section),
        stack: if stack == UNKNOWN_STACK { None } else { Some(stack.into()) },
        shared: size_of(".nv.shared."),
        local: size_of(".nv.local."),
        constant_banks,
    }
}

/// Sizes of the sections `.nv.constantN`, which belong to the whole cubin.
fn common_banks(elf: &Elf<'_, impl Width>) -> Vec<ConstantBank> {
    let bank = |name: &str| name.strip_prefix(CONSTANT)?.parse().ok();
    let banks = elf
        .file
        .sections()
        .filter_map(|section| Some(ConstantBank { bank: bank(section.name().ok()?)?, size: section.size() }));
    banks.collect()
}

/// Symbols of a cubin, without the empty first symbol and section symbols.
pub fn symbols(view: View<'_>) -> Result<Vec<CubinSymbol<'_>>, Malformed> {
    let elf = AnyElf::read(view)?;
    with_elf!(elf, elf => symbols_of(&elf))
}

fn symbols_of<'data>(elf: &Elf<'data, impl Width>) -> Result<Vec<CubinSymbol<'data>>, Malformed> {
    let mut symbols = Vec::new();
    for symbol in elf.file.symbols() {
        elf.charge_symbol(&symbol)?;
        charge_kernel(elf.view, [], 0)?;
        let own = symbol.elf_symbol();
        let name = object::ObjectSymbol::name(&symbol).unwrap_or_default();
        let section = own.st_shndx(elf.file.endian());
        if own.st_type() != elf::STT_SECTION {
            symbols.push(CubinSymbol {
                name,
                symbol_type: own.st_type().0,
                binding: own.st_bind().0,
                other: own.st_other().0,
                is_defined: section != elf::SHN_UNDEF,
            });
        }
    }
    Ok(symbols)
}

/// Code sections of a cubin, by function name.
pub fn code_sections(view: View<'_>) -> Result<Vec<(String, View<'_>)>, Malformed> {
    let elf = AnyElf::read(view)?;
    with_elf!(elf, elf => code_sections_of(&elf))
}

fn code_sections_of<'data>(elf: &Elf<'data, impl Width>) -> Result<Vec<(String, View<'data>)>, Malformed> {
    let mut sections = Vec::new();
    for section in elf.file.sections() {
        let function = section.name().ok().and_then(|name| name.strip_prefix(TEXT));
        if let Some(function) = function {
            charge_kernel(elf.view, [function.len()], 0)?;
            sections.push((function.to_owned(), elf.bytes(&section)?));
        }
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBIN: &[u8] = include_bytes!("../../../../fixtures/answer-sm_90.cubin");

    /// The output of cuobjdump 13.5 for the fixture.
    #[test]
    fn lists_a_cubin_as_cuobjdump_does() {
        let view = View::new(CUBIN);
        let usage = resource_usage(view).unwrap();
        assert_eq!((usage.global, usage.constant_banks.len(), usage.functions.len()), (0, 0, 1));
        let kernel = &usage.functions[0];
        assert_eq!((kernel.name.as_str(), kernel.registers, kernel.stack), ("answer_kernel", 8, Some(0)));
        assert_eq!((kernel.shared, kernel.local), (0, 0));
        assert_eq!(kernel.constant_banks, [ConstantBank { bank: 0, size: 536 }]);
        let symbols = symbols(view).unwrap();
        let kernel = symbols.iter().find(|symbol| symbol.name == "answer_kernel").unwrap();
        assert_eq!((kernel.symbol_type, kernel.binding, kernel.other, kernel.is_defined), (2, 1, 0x10, true));
        let sections = code_sections(view).unwrap();
        assert_eq!(sections.len(), 1);
        assert_eq!((sections[0].0.as_str(), sections[0].1.size()), ("answer_kernel", 256));
    }

    #[test]
    fn truncated_cubins_are_errors_or_partial() {
        for size in 0..CUBIN.len() {
            let view = View::new(&CUBIN[..size]);
            let _ = resource_usage(view);
            let _ = symbols(view);
            let _ = code_sections(view);
        }
        assert!(resource_usage(View::new(&CUBIN[..60])).is_err());
    }
}
