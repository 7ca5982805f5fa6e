//! Objects of nvcc whose host compiler optimizes at link time.
//!
//! nvcc passes the fat binary as text of the assembler, and GCC's bytecode keeps it compressed. Each object defines
//! `fatbinData` there, so two objects cannot be linked. Source: objects of nvcc 13.5 with GCC 12 and `-Xcompiler -flto`.

use object::read::{File, Object, ObjectSection};

use super::inputs::{Inputs, LinkedFile};
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;
use fatbin_core::base::bytes::{ObjectBytes, Resource, View, text_work};

/// Starts of the names of sections with symbols of the bytecode, and with text of the assembler.
const SYMBOLS: &str = ".gnu.lto_.symtab";
const ASSEMBLY: &str = ".gnu.lto_.asm";

/// Function that the bytecode of an object of CUDA calls.
const REGISTRATION: &[u8] = b"__cudaRegisterFatBinary";

/// Symbol that each fat binary defines.
const FAT_BINARY: &str = "fatbinData";

/// Returns whether a host object has a fat binary of CUDA in the text of its bytecode.
pub fn has_fat_binary(view: View<'_>) -> bool {
    let Ok(file) = File::parse(ObjectBytes(view)) else { return false };
    let mut has_assembly = false;
    let mut registers = false;
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        has_assembly |= name.starts_with(ASSEMBLY);
        if name.starts_with(SYMBOLS) {
            let data = section.data().unwrap_or_default();
            let is_charged = view.charge("symbols of bytecode", Resource::Work, text_work(data.len())).is_ok();
            registers |= is_charged && data.windows(REGISTRATION.len()).any(|window| window == REGISTRATION);
        }
    }
    has_assembly && registers
}

/// Finds the objects that define the same symbol in the text of their bytecode.
pub fn find(inputs: &Inputs, resolution: &Resolution) -> Option<Problem> {
    let linked = resolution.linked().map(|number| &inputs.objects[number]);
    let files: Vec<&LinkedFile> = linked.filter(|file| file.has_lto_fat_binary).collect();
    let (first, others) = files.split_first()?;
    let others: Vec<&str> = others.iter().map(|file| file.path.as_str()).collect();
    let section = first.object.sections.iter().find(|section| section.name.starts_with(ASSEMBLY))?;
    (!others.is_empty()).then(|| Problem {
        kind: ProblemKind::SymbolCollision,
        effect: Effect::LinkFails,
        path: first.path.clone(),
        section: Some(section.name.clone()),
        offset: Some(section.offset),
        symbol: Some(FAT_BINARY.to_owned()),
        count: files.len(),
        message: format!("its bytecode defines {FAT_BINARY} of nvcc, as that of {}", others.join(", ")),
        remedy: remedy::WITHOUT_ASSEMBLY.to_owned(),
    })
}
