//! Objects of nvcc whose host compiler optimizes at link time.
//!
//! nvcc passes the fat binary as text of the assembler, and GCC's bytecode keeps it compressed. Each object defines
//! `fatbinData` there, so two objects cannot be linked. Source: objects of nvcc 13.5 with GCC 12 and `-Xcompiler -flto`.

use super::inputs::{Inputs, LinkedFile};
use super::lto_bytecode::ASSEMBLY;
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;

/// Symbol that each fat binary defines.
const FAT_BINARY: &str = "fatbinData";

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
