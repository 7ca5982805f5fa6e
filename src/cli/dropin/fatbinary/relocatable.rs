//! PTX in the objects of a link. `--image2=kind=reloc` adds it to the output, and the driver links it for devices that
//! the linked code does not serve. Source: fatbinary 13.5 with objects of nvcc 13.5.

use std::collections::BTreeSet;

use object::elf::ELFMAG;
use object::read::{File, Object, ObjectSection};

use super::{ToolFailure, fatal, library_error};
use crate::base::archive::ArchiveFormat;
use crate::base::bytes::{Extent, ObjectBytes, View};
use crate::format::cuda_fatbin::{CudaFatbin, FatbinMember, MAGIC, kind};

/// Section with the name of the module.
const MODULE_ID: &str = "__nv_module_id";

/// Section of relocatable code.
const RELOCATABLE: &str = "__nv_relfatbin";

/// Entries of an object, in its order; none for a cubin or a container.
pub fn members(view: View<'_>) -> Result<Vec<FatbinMember<'_>>, ToolFailure> {
    if ArchiveFormat::of(view).is_some_and(ArchiveFormat::is_library) {
        let failure = library_error("internal error");
        return Err(ToolFailure {
            message: format!("{}{}", fatal("unexpected archive format").message, failure.message),
            ..failure
        });
    }
    if !view.starts_with(&ELFMAG) {
        return if view.starts_with(&MAGIC) { Ok(Vec::new()) } else { Err(library_error("empty input")) };
    }
    let damaged = || library_error("internal error");
    let file = File::parse(ObjectBytes(view)).map_err(|_| damaged())?;
    let section = |name: &str| {
        let (offset, size) = file.section_by_name(name).and_then(|section| section.file_range())?;
        view.part("section", Extent { offset, size }).ok()
    };
    let module = section(MODULE_ID).map(|id| id.data().split(|&byte| byte == 0).next().unwrap_or_default());
    let mut members = Vec::new();
    let mut rest = section(RELOCATABLE).unwrap_or(view.from(view.size())).skip_zeros();
    while rest.size() > 0 {
        let container = CudaFatbin::read(rest).map_err(|_| damaged())?;
        rest = rest.from(container.view.size()).skip_zeros();
        for entry in container.entries.into_iter().filter(|entry| kind::is_ptx(entry.header.kind)) {
            members.push(FatbinMember::Relocatable { entry, module: module.unwrap_or_default() });
        }
    }
    Ok(members)
}

/// Checks that no two entries have the same identifier and architecture.
pub fn require_unique_names(members: &[FatbinMember<'_>]) -> Result<(), ToolFailure> {
    let mut names = BTreeSet::new();
    for member in members {
        if let FatbinMember::Relocatable { entry, module } = member {
            let name = entry.identifier.map_or(*module, |identifier| identifier.data());
            if !names.insert((name, entry.header.arch().map(|arch| arch.to_string()))) {
                let message = "each relocatable entry must have a unique identifier name per architecture";
                return Err(library_error(message));
            }
        }
    }
    Ok(())
}
