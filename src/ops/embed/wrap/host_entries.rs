//! Offload entries of a host object: the kernels and variables that its code uses by name.
//!
//! The name is read from the entry's symbol, so that no relocation needs to be followed: clang calls the symbol after
//! the kernel or variable. Source: objects compiled by clang 14 to 22.

use std::path::Path;

use object::read::{File, FileKind, Object, ObjectSection, ObjectSymbol};

use super::error::WrapError;
use crate::embed::llvm::RELEASES;
use crate::embed::llvm::wrapper_abi::{ENTRY_SYMBOLS, EntryLayout};
use fatbin_core::base::bytes::{ObjectBytes, View};
use fatbin_core::target::OffloadKind;

/// An offload entry in a host object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// Name of the kernel or variable.
    pub name: String,
    /// Offload kind whose runtime registers it.
    pub kind: OffloadKind,
    /// True for a kernel, false for a variable or a function that is called through a pointer.
    pub is_kernel: bool,
}

/// Offsets of the fields that distinguish entries; see the table in [`super::entries`].
struct Offsets {
    kind: Option<u64>,
    flags: u64,
    size: u64,
}

const fn offsets(layout: EntryLayout) -> Offsets {
    match layout {
        EntryLayout::Old => Offsets { kind: None, flags: 24, size: 16 },
        EntryLayout::New => Offsets { kind: Some(10), flags: 12, size: 32 },
    }
}

/// Returns the entries of a relocatable host object in the order of its symbols; none for any other file.
pub fn read(view: View<'_>, path: &Path) -> Result<Vec<HostEntry>, WrapError> {
    let kind = FileKind::parse(view.data());
    if !matches!(kind, Ok(FileKind::Elf32 | FileKind::Elf64 | FileKind::Coff | FileKind::CoffBig)) {
        return Ok(Vec::new());
    }
    let file = File::parse(ObjectBytes(view))
        .map_err(|error| WrapError::UnreadableHostObject { path: path.to_owned(), source: Box::new(error) })?;
    Ok(file.symbols().filter_map(|symbol| entry(&file, &symbol)).collect())
}

fn entry<'data>(file: &File<'data, ObjectBytes<'data>>, symbol: &impl ObjectSymbol<'data>) -> Option<HostEntry> {
    let symbol_name = symbol.name().ok()?;
    let name = ENTRY_SYMBOLS.iter().find_map(|prefix| symbol_name.strip_prefix(prefix))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    // COFF orders sections by the text after the dollar sign.
    let of_section = section.name().ok()?.split('$').next().and_then(section_kind)?;
    // COFF has no sizes of symbols; clang writes a section for each entry.
    let size = if symbol.size() == 0 { section.size() } else { symbol.size() };
    let layout = [EntryLayout::Old, EntryLayout::New].into_iter().find(|layout| u64::from(layout.size()) == size)?;
    let data = View::new(section.data().ok()?);
    let at = |offset: u64| symbol.address().checked_sub(section.address())?.checked_add(offset);
    let Offsets { kind, flags, size } = offsets(layout);
    let kind = match kind {
        Some(offset) => {
            let value = data.u16("kind of an offload entry", at(offset)?).ok()?;
            OffloadKind::from_bit(if file.is_little_endian() { value } else { value.swap_bytes() })?
        }
        None => of_section,
    };
    let flags = data.u32("flags of an offload entry", at(flags)?).ok()?;
    let size = data.u64("size of an offload entry", at(size)?).ok()?;
    Some(HostEntry { name: name.to_owned(), kind, is_kernel: flags == 0 && size == 0 })
}

/// Returns the kind whose entries are in a section, in any release. If all kinds share the section, returns any of
/// them.
fn section_kind(section: &str) -> Option<OffloadKind> {
    let kinds = [OffloadKind::OpenMp, OffloadKind::Cuda, OffloadKind::Hip];
    kinds.into_iter().find(|&kind| RELEASES.iter().any(|release| release.wrapper.entry_section(kind) == section))
}
