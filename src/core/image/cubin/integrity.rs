//! References between the tables of a cubin. LLVM's strip and objcopy, and eu-strip, break them with status 0:
//! they renumber sections and symbols, and do not know the sections that have the old numbers.
//!
//! Source: the outputs of these tools, which cuobjdump 13.4 and 13.5 refuse or misread.

use std::collections::HashSet;

use object::read::elf::{SectionHeader, Sym};
use object::{Object, ObjectSection, elf};

use super::FunctionInfo;
use crate::base::bytes::{NameMap, Resource, text_work};
use crate::base::error::{Cause, Malformed};
use crate::image::elf::{Elf, ElfFunction, Width};

/// Prefixes of the names of sections with the code and the attributes of a function.
const TEXT: &str = ".text.";
const INFO: &str = ".nv.info.";

/// Returns the first reference that leads to something else. `infos` are the attributes of functions by their symbols.
pub fn defect(
    elf: &Elf<'_, impl Width>,
    functions: &[ElfFunction<'_>],
    infos: &NameMap<usize, FunctionInfo>,
) -> Result<(), Malformed> {
    let with_functions: HashSet<usize> = functions.iter().filter_map(|it| Some(it.section?.0)).collect();
    for section in elf.file.sections() {
        let name = section.name().unwrap_or_default();
        elf.view.charge("ELF section", Resource::Work, text_work(name.len()))?;
        if name.starts_with(TEXT) && !with_functions.contains(&section.index().0) {
            let cause = format!("no function symbol is in {name}");
            return Err(elf.bytes(&section)?.malformed("code section", 0, Cause::Described(cause)));
        }
        let Some(function) = name.strip_prefix(INFO) else { continue };
        let code = elf.section(&format!("{TEXT}{function}")).map(|code| code.index().0);
        let stated = section.elf_section_header().sh_info(elf.file.endian());
        if let Some(code) = code
            && u64::from(stated) != code as u64
        {
            let cause = format!("{name} is about section {stated}, and the code of {function} is section {code}");
            return Err(elf.bytes(&section)?.malformed("NVIDIA attributes", 0, Cause::Described(cause)));
        }
    }
    match infos.keys().filter(|&&symbol| !is_function(elf, symbol)).min() {
        Some(symbol) => {
            let cause = format!("symbol {symbol} has registers or a stack, and is no function");
            Err(elf.view.malformed("NVIDIA attribute", 0, Cause::Described(cause)))
        }
        None => Ok(()),
    }
}

/// Returns whether a symbol is a function, or is defined elsewhere.
fn is_function(elf: &Elf<'_, impl Width>, symbol: usize) -> bool {
    let found = elf.file.elf_symbol_table().symbol(object::SymbolIndex(symbol));
    found.is_ok_and(|symbol| symbol.st_type() == elf::STT_FUNC || symbol.is_undefined(elf.file.endian()))
}
