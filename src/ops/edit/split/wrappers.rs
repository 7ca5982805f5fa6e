//! The wrappers of a host file, and the bundles that they register.

use std::collections::BTreeMap;

use super::Result;
use super::error::SplitProblem;
use fatbin_core::base::bytes::View;
use fatbin_core::base::range::offset_from;
use fatbin_core::format::ContainerType;
use fatbin_core::format::fat_binary_wrapper::{CONTAINER_OFFSET, HIP_KPACK_MAGIC};
use fatbin_core::scan::inventory::{Container, File, FileFormat, WrapperKind};

/// Offset of a word that HIP leaves unused. rocm-kpack stores the index of the code object in it.
const INDEX_OFFSET: u64 = CONTAINER_OFFSET + 8;

/// A bundle, and the indices of the wrappers that register it.
pub struct RegisteredBundle<'a> {
    pub container: &'a Container,
    pub indices: Vec<u32>,
}

/// Registrations of a host file.
pub struct Registrations<'a> {
    /// Bundles by their offsets.
    pub bundles: BTreeMap<u64, RegisteredBundle<'a>>,
    /// New bytes by offsets: the magic of rocm-kpack and the index in each wrapper.
    pub patches: Vec<(u64, [u8; 4])>,
}

/// Returns the bundles that HIP's wrappers register. The index of a code object is its wrapper's index in the section.
pub fn registrations<'a>(file: &'a File, view: View<'_>) -> Result<Registrations<'a>> {
    if !matches!(file.format, Some(FileFormat::Elf | FileFormat::Pe)) {
        return Err(SplitProblem::HostFormat.into());
    }
    let mut registrations = Registrations { bundles: BTreeMap::new(), patches: Vec::new() };
    let wrappers = file.wrappers.iter().filter(|wrapper| wrapper.kind == WrapperKind::Hip);
    for (index, wrapper) in (0_u32..).zip(wrappers) {
        let offset = wrapper.offset;
        let container = wrapper.target.container().and_then(|at| file.container_at(at));
        let container = container
            .filter(|it| matches!(it.container_type, ContainerType::Bundle | ContainerType::Ccob))
            .ok_or(SplitProblem::WrapperTarget { offset })?;
        let index_at = offset_from(offset, INDEX_OFFSET);
        if view.u64("HIP wrapper", index_at)? != 0 {
            return Err(SplitProblem::WrapperInUse { offset }.into());
        }
        registrations.patches.push((offset, HIP_KPACK_MAGIC.to_le_bytes()));
        registrations.patches.push((index_at, index.to_le_bytes()));
        let bundle = registrations.bundles.entry(container.start);
        bundle.or_insert(RegisteredBundle { container, indices: Vec::new() }).indices.push(index);
    }
    if registrations.bundles.is_empty() {
        return Err(SplitProblem::NoWrappers.into());
    }
    Ok(registrations)
}
