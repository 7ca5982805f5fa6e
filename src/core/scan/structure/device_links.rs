//! The relocatable containers that are inputs of each device link of a program.
//!
//! Every object that nvcc compiles adds the name of its module to `__nv_module_id`. The stub of a device link adds a
//! definition, `def NAME`, for each of its inputs (`crt/link.stub`). Linkers keep the order of objects in this section
//! and in the section of the wrappers. The nth name therefore belongs to the nth wrapper of version 1, and the nth run
//! of definitions to the nth wrapper of version 2.

use std::collections::HashSet;

use super::wrappers::StoredWrapper;
use crate::base::bytes::{Resource, View, record_memory, text_work};
use crate::format::fat_binary_wrapper::{CUDA_TILE_SECTION, LINK_VERSION};
use crate::scan::inventory::WrapperKind;

/// Start of a definition.
const DEFINITION: &[u8] = b"def ";

/// Records the number of its device link in each wrapper. `modules` is the section of module names. The links remain
/// unknown if the names do not fit the wrappers. Links are numbered from `first`.
pub fn record<'data>(modules: Option<View<'data>>, wrappers: &mut [StoredWrapper<'data>], first: usize) {
    let is_link = |wrapper: &StoredWrapper<'_>| wrapper.version == LINK_VERSION;
    let is_cuda = |it: &&mut StoredWrapper<'_>| it.kind == WrapperKind::Cuda && it.section.name != CUDA_TILE_SECTION;
    let (links, inputs): (Vec<_>, Vec<_>) = wrappers.iter_mut().filter(is_cuda).partition(|wrapper| is_link(wrapper));
    if links.is_empty() {
        return;
    }
    let Some(Modules { names, links: definitions }) = modules.and_then(Modules::read) else { return };
    if names.len() != inputs.len() || definitions.len() != links.len() {
        return;
    }
    let link_of = |name: &[u8]| definitions.iter().position(|link| link.contains(name));
    for (wrapper, name) in inputs.into_iter().zip(names) {
        wrapper.link = link_of(name).and_then(|number| number.checked_add(first));
        wrapper.module = if wrapper.link.is_some() { std::str::from_utf8(name).ok() } else { None };
    }
    for (number, wrapper) in (first..).zip(links) {
        wrapper.link = Some(number);
    }
}

/// The contents of the section of module names.
struct Modules<'data> {
    /// Names of the compiled objects, in the order of the section.
    names: Vec<&'data [u8]>,
    /// Inputs of each device link.
    links: Vec<HashSet<&'data [u8]>>,
}

impl<'data> Modules<'data> {
    /// Reads the section; `None` if a limit was exceeded.
    fn read(view: View<'data>) -> Option<Self> {
        view.charge("module names", Resource::Work, text_work(view.data().len())).ok()?;
        let mut names = Vec::new();
        let mut links = Vec::<HashSet<&[u8]>>::new();
        let mut is_in_link = false;
        for text in view.data().split(|&byte| byte == 0).filter(|text| !text.is_empty()) {
            let size = record_memory(size_of::<(&[u8], u64)>(), []);
            view.charge("module names", Resource::Memory, size).ok()?;
            match text.strip_prefix(DEFINITION) {
                None => names.push(text),
                Some(name) => {
                    if !is_in_link {
                        links.push(HashSet::new());
                    }
                    links.last_mut()?.insert(name);
                }
            }
            is_in_link = text.starts_with(DEFINITION);
        }
        Some(Modules { names, links })
    }
}
