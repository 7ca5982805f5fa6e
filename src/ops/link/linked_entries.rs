//! Offload entries of a program or library: the kernels that its wrapper registers by name.
//!
//! A linker concatenates the entries of all objects in one section. Pointers in the entries refer to the names, see
//! [`fatbin_core::scan::pointers`]. A table of the layouts is in [`crate::embed::wrap`], under `entries`.

use object::ObjectKind;
use object::read::{File, Object, ObjectSection};

use crate::embed::llvm::wrapper_abi::{EntryLayout, WrapperAbi};
use fatbin_core::base::bytes::{ObjectBytes, Resource, View};
use fatbin_core::scan::pointers::{PointerTarget, Pointers};
use fatbin_core::target::OffloadKind;

/// Kernel that an entry names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedKernel {
    /// Name in the device image.
    pub name: String,
    /// Offload kind whose runtime registers it.
    pub kind: OffloadKind,
}

/// Linkers for Windows shorten the name of a section to this number of bytes.
const PE_NAME_SIZE: usize = 8;

/// Offsets of the fields of an entry, in bytes.
struct Fields {
    kind: Option<u64>,
    name: u64,
    flags: u64,
    size: u64,
}

const fn fields(layout: EntryLayout) -> Fields {
    match layout {
        EntryLayout::Old => Fields { kind: None, name: 8, flags: 24, size: 16 },
        EntryLayout::New => Fields { kind: Some(10), name: 24, flags: 12, size: 32 },
    }
}

/// Kernels in the entries of a linked file that wrappers of some releases register; empty for any other file.
pub fn linked_kernels(view: View<'_>, abis: &[WrapperAbi]) -> Vec<LinkedKernel> {
    let Ok(file) = File::parse(ObjectBytes(view)) else { return Vec::new() };
    if !matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
        return Vec::new();
    }
    let mut kernels = Vec::new();
    for section in file.sections() {
        let of_abi = |abi| Some((section_kind(section.name().ok()?, abi)?, abi));
        let Some((kind, abi)) = abis.iter().find_map(of_abi) else { continue };
        let Some((offset, size)) = section.file_range() else { continue };
        let pointers = Pointers::read(&file, view, std::iter::once(&section));
        let places = (0..size).step_by(abi.entries.size() as usize);
        kernels.extend(places.filter_map(|at| kernel(offset.checked_add(at)?, kind, abi.entries, &pointers, view)));
    }
    kernels
}

/// Kind of the entries in a section; any kind for a section of all kinds.
fn section_kind(name: &str, abi: &WrapperAbi) -> Option<OffloadKind> {
    let is_section = |section: &str| name == section || name.len() == PE_NAME_SIZE && section.starts_with(name);
    let kinds = [OffloadKind::OpenMp, OffloadKind::Cuda, OffloadKind::Hip];
    kinds.into_iter().find(|&kind| is_section(abi.entry_section(kind)))
}

fn kernel(
    at: u64,
    of_section: OffloadKind,
    layout: EntryLayout,
    pointers: &Pointers<'_, '_>,
    view: View<'_>,
) -> Option<LinkedKernel> {
    let Fields { kind, name, flags, size } = fields(layout);
    let number = |offset: u64, size: u64| pointers.number(at.checked_add(offset)?, size);
    let kind = match kind {
        Some(offset) => OffloadKind::from_bit(u16::try_from(number(offset, 2)?).ok()?)?,
        None => of_section,
    };
    if number(flags, 4)? != 0 || number(size, 8)? != 0 {
        return None;
    }
    let PointerTarget::Offset(text) = pointers.at(at.checked_add(name)?) else { return None };
    let bytes = view.from(text).data();
    let end = bytes.iter().position(|&byte| byte == 0)?;
    view.charge("offload entry", Resource::Work, end as u64).ok()?;
    let name = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
    (!name.is_empty()).then_some(LinkedKernel { name, kind })
}
