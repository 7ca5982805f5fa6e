//! The device code in the inputs of a host linker: images to link here, and images that must be linked otherwise.

use std::collections::BTreeSet;
use std::path::Path;

use super::bundled::{self, Bundled, FatBinarySymbols, HipSymbols};
use super::device::DeviceLinker;
use super::error::Result;
use super::inputs::{self, DeviceInput, HostFile};
use super::options::{LinkOptions, Spelling};
use super::refusal::{Refusal, RefusedInput};
use super::taken;
use crate::embed::wrap::host_entries;
use fatbin_core::target::OffloadKind;

/// Device code in the inputs of a host linker.
#[derive(Debug, Default)]
pub struct DeviceCode<'data> {
    /// Images to link.
    pub inputs: Vec<DeviceInput<'data>>,
    /// Inputs whose device code cannot be linked here.
    pub refused: Vec<RefusedInput>,
    /// Registration of HIP's images by objects of the old offload driver.
    pub old_hip: OldHip,
    /// For each file, whether the host linker takes it; empty if no archive has device code.
    pub is_taken: Vec<bool>,
    /// Numbers of the files whose images an earlier device link has linked and registered.
    pub linked_already: BTreeSet<usize>,
}

/// HIP's images in objects of the old offload driver. These objects register their fat binary themselves.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OldHip {
    /// Symbols that the objects use to refer to the fat binary.
    pub symbols: HipSymbols,
    /// True if no other objects have HIP kernels, so that nothing else registers it.
    pub is_alone: bool,
}

/// Finds the device code in the files.
pub fn find<'data>(files: &'data [HostFile], options: &LinkOptions) -> Result<DeviceCode<'data>> {
    let mut code = DeviceCode::default();
    let mut old = OldObjects::default();
    for (index, file) in files.iter().enumerate() {
        let is_lazy = file.is_lazy();
        let input = |entry| DeviceInput { entry, file, index, is_lazy };
        code.inputs.extend(inputs::entries(file)?.into_iter().map(input));
        if options.spelling == Spelling::AsWritten {
            old.add(index, file)?;
        }
    }
    old.find_linked(files);
    code.old_hip.symbols = old.symbols();
    let mut sycl = Vec::new();
    for OldObject { index, bundled, symbols } in old.objects {
        let file = &files[index];
        sycl.extend(bundled.sycl.map(|triple| (index, triple.to_owned())));
        if bundled.host.is_some() && file.archive().is_some() {
            let reason = Refusal::BundleInArchive;
            code.refused.push(RefusedInput { path: file.path().to_owned(), reason });
        } else if old.is_linked || !symbols.defined.is_empty() {
            code.linked_already.insert(index);
        } else {
            let input = |entry| DeviceInput { entry, file, index, is_lazy: file.is_lazy() };
            code.inputs.extend(bundled.entries.into_iter().map(input));
        }
    }
    code.inputs.sort_by_cached_key(|input| input.index);
    code.old_hip.is_alone = is_alone(&code, files)?;
    let has_members = code.inputs.iter().any(|input| input.is_lazy);
    if has_members || sycl.iter().any(|(index, _)| files[*index].is_lazy()) {
        code.is_taken = taken::find(files, &options.line);
    }
    if options.spelling == Spelling::AsWritten {
        code.resolve_members();
        code.refuse_sycl(files, sycl);
    }
    Ok(code)
}

impl DeviceCode<'_> {
    /// If no object has code for a kind and triple, the members of archives that the linker takes count as objects.
    fn resolve_members(&mut self) {
        let kind = |input: &DeviceInput<'_>| (input.entry.offload_kind, input.target().triple.to_owned());
        let of_objects: BTreeSet<_> = self.inputs.iter().filter(|input| !input.is_lazy).map(kind).collect();
        for input in &mut self.inputs {
            if input.is_lazy && self.is_taken[input.index] && !of_objects.contains(&kind(input)) {
                input.is_lazy = false;
            }
        }
    }

    /// Refuses the images that only DPC++ links, in files that the linker takes.
    fn refuse_sycl(&mut self, files: &[HostFile], mut sycl: Vec<(usize, String)>) {
        let is_sycl = |input: &DeviceInput<'_>| {
            let is_unknown = DeviceLinker::of(input.target().triple).is_none();
            is_unknown && OffloadKind::from_bit(input.entry.offload_kind) == Some(OffloadKind::Sycl)
        };
        sycl.extend(self.inputs.iter().filter(|it| is_sycl(it)).map(|it| (it.index, it.target().triple.to_owned())));
        self.inputs.retain(|input| !is_sycl(input));
        sycl.sort();
        sycl.dedup_by_key(|(index, _)| *index);
        for (index, triple) in sycl {
            if self.takes(index, &files[index]) {
                let reason = Refusal::Sycl { triple };
                self.refused.push(RefusedInput { path: files[index].path().to_owned(), reason });
            }
        }
    }

    /// True if the linker takes a file.
    pub fn takes(&self, index: usize, file: &HostFile) -> bool {
        !file.is_lazy() || self.is_taken.get(index).copied().unwrap_or(true)
    }
}

/// True if only objects of the old driver have HIP kernels.
fn is_alone(code: &DeviceCode<'_>, files: &[HostFile]) -> Result<bool> {
    let symbols = &code.old_hip.symbols;
    if symbols.fat_binaries.is_empty() && symbols.handles.is_empty() {
        return Ok(false);
    }
    for file in files {
        let entries = host_entries::read(file.view(), Path::new(file.path()))?;
        if entries.iter().any(|entry| entry.kind == OffloadKind::Hip) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Objects and bundles of the old driver.
#[derive(Debug, Default)]
struct OldObjects<'data> {
    objects: Vec<OldObject<'data>>,
    /// True if an object with the fat binary is among the inputs.
    is_linked: bool,
}

#[derive(Debug)]
struct OldObject<'data> {
    /// Number of the file.
    index: usize,
    bundled: Bundled<'data>,
    symbols: FatBinarySymbols,
}

impl<'data> OldObjects<'data> {
    fn add(&mut self, index: usize, file: &'data HostFile) -> Result<()> {
        let view = file.bundle()?;
        let bundled = bundled::read(view).map_err(|malformed| malformed.in_file(Path::new(file.path())))?;
        if !bundled.entries.is_empty() || bundled.sycl.is_some() || bundled.host.is_some() {
            // The symbols are in the host's part of a bundle, if that is an object.
            let symbols = bundled::symbols(bundled.host.unwrap_or(view));
            self.objects.push(OldObject { index, bundled, symbols });
        }
        Ok(())
    }

    /// Finds out whether an earlier device link has defined the objects' fat binary.
    fn find_linked(&mut self, files: &[HostFile]) {
        let used: BTreeSet<&String> =
            self.objects.iter().flat_map(|object| &object.symbols.undefined.fat_binaries).collect();
        if used.is_empty() {
            return;
        }
        let objects = files.iter().filter(|file| !file.is_lazy());
        let defined: BTreeSet<String> = objects.flat_map(|file| bundled::symbols(file.view()).defined).collect();
        self.is_linked = used.into_iter().all(|name| defined.contains(name));
    }

    /// Symbols to define.
    fn symbols(&self) -> HipSymbols {
        let mut symbols = HipSymbols::default();
        if !self.is_linked {
            for FatBinarySymbols { undefined, .. } in self.objects.iter().map(|object| &object.symbols) {
                symbols.fat_binaries.extend(undefined.fat_binaries.iter().cloned());
                symbols.handles.extend(undefined.handles.iter().cloned());
            }
        }
        for names in [&mut symbols.fat_binaries, &mut symbols.handles] {
            names.sort();
            names.dedup();
        }
        symbols
    }
}
