//! PTX in the objects of a link, which the driver links for devices that the linked code does not serve.
//!
//! Source: fatbinary 13.5 and libnvfatbin 13.5 with objects of nvcc 13.5.

use std::borrow::Cow;

use object::elf::ELFMAG;
use object::read::{File, Object, ObjectSection};

use super::{NvFatbinError, Result};
use fatbin_core::base::archive::{ArchiveFormat, MemberContent};
use fatbin_core::base::bytes::{Extent, ObjectBytes, View};
use fatbin_core::format::cuda_fatbin::{CudaFatbin, FatbinEntry, FatbinMember, MAGIC, kind};

/// Section with the name of the module.
const MODULE_ID: &str = "__nv_module_id";

/// Section of relocatable code.
const RELOCATABLE: &str = "__nv_relfatbin";

/// Name of a module in a static library, before the member's.
const LIBRARY: &str = "unnamed library:";

/// Size of the shortest input.
const SHORTEST: usize = 16;

/// A host object, a static library or a container.
#[derive(Debug, Clone)]
pub struct Relocatable<'data>(Cow<'data, [u8]>);

/// PTX of an object.
pub struct Entry<'a> {
    entry: FatbinEntry<'a>,
    /// Name of the module, for an entry without an identifier.
    module: Cow<'a, [u8]>,
}

impl<'data> Relocatable<'data> {
    pub fn new(object: Cow<'data, [u8]>) -> Self {
        Relocatable(object)
    }

    /// Its PTX, in its order.
    pub fn entries(&self) -> Result<Vec<Entry<'_>>> {
        if self.0.len() < SHORTEST {
            return Err(NvFatbinError::EmptyInput);
        }
        let view = View::new(&self.0);
        match ArchiveFormat::of(view) {
            Some(format) if format.is_library() => of_library(format, view),
            _ if view.starts_with(&ELFMAG) => of_object(view),
            _ => of_container(view),
        }
    }
}

impl<'a> Entry<'a> {
    /// What no two entries of a container share.
    pub fn key(&self) -> (Vec<u8>, Option<String>) {
        let name = self.entry.identifier.map_or(&*self.module, |identifier| identifier.data());
        (name.to_vec(), self.entry.header.arch().map(|arch| arch.to_string()))
    }

    /// The entry to write.
    pub fn member(self) -> FatbinMember<'a> {
        FatbinMember::Relocatable { entry: self.entry, module: self.module }
    }
}

/// The PTX of the members, up to the first that is not an object. A damaged object has none.
fn of_library<'a>(format: &ArchiveFormat, view: View<'a>) -> Result<Vec<Entry<'a>>> {
    let mut entries = Vec::new();
    for member in format.members(view).members {
        let MemberContent::Here(object) = member.content else { return Err(NvFatbinError::Internal) };
        if !object.starts_with(&ELFMAG) {
            break;
        }
        let name = format!("{LIBRARY}{}", member.name.unwrap_or_default()).into_bytes();
        let own = of_object(object).unwrap_or_default();
        entries.extend(own.into_iter().map(|entry| Entry { module: Cow::Owned(name.clone()), ..entry }));
    }
    Ok(entries)
}

fn of_object(view: View<'_>) -> Result<Vec<Entry<'_>>> {
    let file = File::parse(ObjectBytes(view)).map_err(|_| NvFatbinError::Internal)?;
    let section = |name: &str| {
        let (offset, size) = file.section_by_name(name).and_then(|section| section.file_range())?;
        view.part("section", Extent { offset, size }).ok()
    };
    let module = section(MODULE_ID).map(|id| id.data().split(|&byte| byte == 0).next().unwrap_or_default());
    let mut entries = Vec::new();
    let mut rest = section(RELOCATABLE).unwrap_or(view.from(view.size())).skip_zeros();
    while rest.size() > 0 {
        let container = CudaFatbin::read(rest).map_err(|_| NvFatbinError::Internal)?;
        rest = rest.from(container.view.size()).skip_zeros();
        entries.extend(ptx_of(container, module.unwrap_or_default()));
    }
    Ok(entries)
}

/// The PTX of one container.
fn of_container(view: View<'_>) -> Result<Vec<Entry<'_>>> {
    if !view.starts_with(&MAGIC) {
        return Err(NvFatbinError::Internal);
    }
    let container = CudaFatbin::read(view).map_err(|_| NvFatbinError::Internal)?;
    Ok(ptx_of(container, b"").collect())
}

fn ptx_of<'a>(container: CudaFatbin<'a>, module: &'a [u8]) -> impl Iterator<Item = Entry<'a>> {
    let entries = container.entries.into_iter().filter(|entry| kind::is_ptx(entry.header.kind));
    entries.map(move |entry| Entry { entry, module: Cow::Borrowed(module) })
}
