//! The host half of device code: what a host file launches, registers and passes to runtimes, next to what it holds.
//!
//! Every command asks [`defects`], so that a program that was damaged by a linker or by a tool that changes finished
//! files is the same for all of them.

mod entries;
mod glibc;
mod image_tables;
pub mod imports;
mod lost;
mod objects;
mod registration;
mod segments;
mod stubs;

use self::imports::{HostRuntime, Imports};
pub use self::imports::{LINKED_BINARY, STUB};
use super::inventory::{File, WrapperKind};
use super::structure::Structure;
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::format::ContainerType;

/// Returns whether a host file has offload entries of LLVM 20 or later.
pub fn has_versioned_entries(view: View<'_>, structure: &Structure<'_>) -> bool {
    entries::tables(view, structure).any(|table| table.is_versioned && table.runtimes.contains(&HostRuntime::OpenMp))
}

/// Returns the defects of a host file that make its loader or a runtime refuse it, or that leave its kernels without
/// code, sorted by offset. `file` is its inventory so far.
pub fn defects(view: View<'_>, structure: &Structure<'_>, file: &File) -> Vec<Malformed> {
    let mut defects: Vec<Malformed> = structure.hosts.iter().flat_map(|&host| segments::defects(host)).collect();
    defects.extend(image_tables::row_defects(structure));
    let has_code = !file.containers.is_empty() || !file.wrappers.is_empty();
    if has_code || entries::tables(view, structure).next().is_some() {
        defects.extend(of_calls(view, structure, file));
    }
    defects.sort_by_cached_key(|defect| defect.offset);
    defects
}

/// Returns the defects that the names of functions show.
fn of_calls(view: View<'_>, structure: &Structure<'_>, file: &File) -> Vec<Malformed> {
    let imports: Vec<Imports<'_>> =
        structure.hosts.iter().map(|&host| Imports::read(host, structure.is_object)).collect();
    let mut defects = lost::defects(view, structure, &imports);
    for (&host, imports) in structure.hosts.iter().zip(&imports) {
        defects.extend(registration::defects(&file.wrappers, imports, structure.is_object));
        if structure.is_object {
            defects.extend(objects::defects(view, structure, host));
            continue;
        }
        defects.extend(glibc::defects(host));
        defects.extend(stubs::undefined(host, imports));
        if file.wrappers.iter().any(|wrapper| wrapper.kind == WrapperKind::Cuda) {
            defects.extend(stubs::shared(host));
        }
    }
    let passes_descriptors = imports.iter().any(|it| it.registers(HostRuntime::OpenMp) || it.registers_sycl());
    let is_described = |kind| [ContainerType::OffloadBinary, ContainerType::SyclImage].contains(&kind);
    let has_images = file.containers.iter().any(|container| is_described(container.container_type));
    if passes_descriptors && has_images && !structure.is_object {
        defects.extend(image_tables::descriptor_defects(view, structure, file));
    }
    defects
}
