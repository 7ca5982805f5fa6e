//! Parts of a relocatable object that its linker must find: device code by the type of its section, and constructors
//! and offload entries by their relocations. objcopy changes types, and `strip` removes relocations.

use object::read::{Object, ObjectSection};
use object::{SectionFlags, elf};

use super::entries;
use crate::base::bytes::{ObjectBytes, View};
use crate::base::error::{Cause, Malformed};
use crate::format::offload_binary;
use crate::scan::structure::Structure;
use crate::scan::structure::pointers::{HostFile, HostSection};

/// Section whose type tells LLVM's tools that it holds device code. Source: LLVM, `OffloadBinary.cpp`
/// (`extractOffloadBinaries`).
const OFFLOADING: &str = ".llvm.offloading";

/// Returns the defects of an ELF object.
pub fn defects(view: View<'_>, structure: &Structure<'_>, host: View<'_>) -> Vec<Malformed> {
    let Ok(file) = HostFile::parse(ObjectBytes(host)) else { return Vec::new() };
    let tables: Vec<u64> = entries::tables(view, structure).map(|table| table.range.start).collect();
    let mut defects = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_type, .. } = section.flags() else { continue };
        let Some((offset, size)) = section.file_range() else { continue };
        let described = |cause: &str| host.malformed("ELF section", offset, Cause::Described(cause.to_owned()));
        if size == 0 {
            continue;
        }
        let is_offloading = section.name().is_ok_and(|name| name == OFFLOADING);
        if is_offloading && sh_type != offload_binary::SECTION_TYPE {
            defects
                .push(described(".llvm.offloading has another type than SHT_LLVM_OFFLOADING, so LLVM's links drop it"));
        }
        let is_array = sh_type == elf::SHT_INIT_ARRAY;
        let is_table = host.start().checked_add(offset).is_some_and(|start| tables.contains(&start));
        if (is_array || is_table) && !has_relocations(&section) {
            let what = if is_array { "constructor" } else { "offload entries" };
            defects.push(described(&format!("{what} without relocations: the linker cannot complete them")));
        }
    }
    defects
}

fn has_relocations<'data>(section: &HostSection<'data, '_>) -> bool {
    section.relocations().next().is_some()
}
