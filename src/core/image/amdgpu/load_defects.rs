//! Defects that make HIP's runtime reject a code object, although it can be read. The runtime finds kernels in the
//! metadata note, and their descriptors by symbols. Source: ROCm/clr, hipamd and rocclr (`devprogram.cpp`); ROCm/hip
//! issues 2269 and 2342.

use std::collections::HashSet;

use object::read::elf::FileHeader;
use object::{Object, ObjectSymbol, elf};

use super::metadata::DescribedKernel;
use super::{DESCRIPTOR_SUFFIX, METADATA};
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};
use crate::format::DeviceImage;
use crate::image::elf::Elf;
use crate::target::amdgpu::ELFOSABI_HSA;
use crate::target::{BundleEntryId, TargetId};

/// HIP loads only linked files for HSA.
fn is_loadable(elf: &Elf<'_>) -> bool {
    let header = elf.file.elf_header();
    let endian = elf.file.endian();
    header.e_type(endian) == elf::ET_DYN && header.e_ident().os_abi == ELFOSABI_HSA
}

/// Returns the defect of a code object without a metadata note.
pub fn of_missing_note(elf: &Elf<'_>) -> Option<Malformed> {
    let cause = Cause::Described("missing; HIP loads no code object without it".to_owned());
    is_loadable(elf).then(|| elf.view.malformed(METADATA, 0, cause))
}

/// Returns the contradictions between a metadata note and the rest of its code object: kernels without a descriptor,
/// and a target that differs from the target in the header.
pub fn in_note(elf: &Elf<'_>, note: View<'_>, kernels: &[DescribedKernel<'_>], target: Option<&str>) -> Vec<Malformed> {
    if !is_loadable(elf) {
        return Vec::new();
    }
    let described = |cause| note.malformed(METADATA, 0, Cause::Described(cause));
    let mut defects: Vec<Malformed> =
        target.and_then(|target| contradiction(elf, target)).map(described).into_iter().collect();
    if elf.file.sections().next().is_none() {
        // No section leads to the symbols.
        return defects;
    }
    let symbols: Vec<String> = kernels.iter().map(descriptor_symbol).collect();
    let missing = undefined(elf, symbols.iter().map(String::as_str).collect());
    for (kernel, symbol) in kernels.iter().zip(&symbols) {
        if missing.contains(symbol.as_str()) {
            defects
                .push(described(format!("kernel {} has no descriptor: {symbol} is not defined", kernel.kernel.name)));
        }
    }
    defects
}

fn descriptor_symbol(kernel: &DescribedKernel<'_>) -> String {
    kernel.symbol.map_or_else(|| format!("{}{DESCRIPTOR_SUFFIX}", kernel.kernel.name), str::to_owned)
}

/// Symbols that the file does not define. If some of its symbols cannot be read, the set is empty.
fn undefined<'a>(elf: &Elf<'_>, mut symbols: HashSet<&'a str>) -> HashSet<&'a str> {
    for symbol in elf.file.dynamic_symbols().chain(elf.file.symbols()) {
        if symbols.is_empty() {
            break;
        }
        if elf.charge_symbol(&symbol).is_err() {
            return HashSet::new();
        }
        if symbol.is_definition()
            && let Ok(name) = symbol.name()
        {
            symbols.remove(name);
        }
    }
    symbols
}

/// Returns how the targets in the note and in the header contradict each other.
fn contradiction(elf: &Elf<'_>, target: &str) -> Option<String> {
    let own = canonical(&DeviceImage::identify(elf.view).arch?);
    // The target has the form of a bundle entry ID without an offload kind.
    let id = format!("hip-{target}");
    let stated = canonical(BundleEntryId::parse(&id)?.stated_target_id()?);
    (stated != own).then(|| format!("states {stated}, the header {own}"))
}

fn canonical(target_id: &str) -> String {
    TargetId::parse(target_id).map_or_else(|_| target_id.to_owned(), |id| id.to_string())
}
