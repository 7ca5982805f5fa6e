//! AMD code objects: kernels from the metadata note or, without it, from the kernel descriptors.
//!
//! Since code object version 3 the note contains MessagePack (`NT_AMDGPU_METADATA`). Version 2, which clang
//! 16 still writes on request, has YAML instead, and a descriptor in a different format before the code. Source: LLVM, User Guide for
//! AMDGPU Backend, section Code Object.

mod descriptor;
mod load_defects;
mod metadata;
mod metadata_v2;

use std::collections::{HashMap, HashSet};

use object::read::elf::FileHeader;
use object::{Object, ObjectSymbol};

use super::elf::{Elf, ElfFunction};
use super::kernel::{Kernel, LocatedKernel};
use super::{charge_kernel, stub};
use crate::base::bytes::Resource;
use crate::base::error::{Cause, Malformed};
use crate::target::processors::Processor;
use metadata::Metadata;

/// Note types and their owners.
const NT_AMDGPU_METADATA: (&[u8], u32) = (b"AMDGPU", 32);
const NT_AMD_HSA_METADATA: (&[u8], u32) = (b"AMD", 10);

/// Name of the metadata note in errors.
const METADATA: &str = "NT_AMDGPU_METADATA";

/// Suffix of the symbol of a kernel descriptor, after the name of the kernel.
const DESCRIPTOR_SUFFIX: &str = ".kd";

/// Returns the kernels in the metadata of a code object. Without metadata, returns the kernels that have a descriptor.
/// Defects that make HIP reject the code object are added to `load_defects`.
pub fn kernels(elf: &Elf<'_>, problems: &mut Vec<Malformed>, load_defects: &mut Vec<Malformed>) -> Vec<LocatedKernel> {
    let mut kernels = Vec::new();
    let mut has_metadata = false;
    for (owner, note_type, description) in elf.notes() {
        if (owner, note_type) == NT_AMD_HSA_METADATA {
            has_metadata = true;
            match metadata_v2::read(description) {
                Ok(found) => kernels.extend(found.into_iter().take_while(|kernel| is_allowed(elf, kernel))),
                Err(problem) => problems.push(problem),
            }
        }
        if (owner, note_type) == NT_AMDGPU_METADATA {
            has_metadata = true;
            // A hostile file can have any number of headers for one note.
            let size = metadata::memory_of(description.size());
            let found = description.charge(METADATA, Resource::Memory, size).and_then(|()| {
                metadata::read(description.data())
                    .map_err(|error| description.malformed(METADATA, 0, Cause::Described(error.to_string())))
            });
            if let Some(budget) = description.budget() {
                budget.release(Resource::Memory, size);
            }
            match found {
                Ok(Metadata { kernels: found, target }) => {
                    load_defects.extend(load_defects::in_note(elf, description, &found, target));
                    let found = found.into_iter().map(|described| described.kernel);
                    kernels.extend(found.take_while(|kernel| is_allowed(elf, kernel)));
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    if !has_metadata {
        load_defects.extend(load_defects::of_missing_note(elf));
    }
    if kernels.is_empty() {
        kernels = described_kernels(elf, problems);
    }
    kernels.retain(|kernel| !OF_THE_RUNTIME.contains(&kernel.name.as_str()));
    located(elf, kernels)
}

/// Adds to each kernel its entry, the size of its code, and what it does without a body.
fn located(elf: &Elf<'_>, kernels: Vec<Kernel>) -> Vec<LocatedKernel> {
    let functions: HashMap<&str, ElfFunction<'_>> = elf.functions().into_iter().map(|it| (it.name, it)).collect();
    let processor = Processor::of_machine((elf.file.elf_header().e_flags(elf.file.endian()).0 & 0xff) as u8);
    let located = |kernel: Kernel| {
        let function = functions.get(kernel.name.as_str());
        let code_size = function.map(|function| function.size);
        let stub = function.zip(processor).and_then(|(it, of)| stub::of_code_object(elf, it, &of.name));
        LocatedKernel { entry: function.map(|function| function.entry), kernel: Kernel { code_size, stub, ..kernel } }
    };
    kernels.into_iter().map(located).collect()
}

/// Kernels that the runtime launches when it loads and unloads a code object, for the program's global objects. No program
/// launches them. Sources: GCC, `libgomp/plugin/plugin-gcn.c`; LLVM, `AMDGPUCtorDtorLowering.cpp`.
const OF_THE_RUNTIME: [&str; 4] = ["_init_array", "_fini_array", "amdgcn.device.init", "amdgcn.device.fini"];

/// Charges a kernel; returns whether it may be kept.
fn is_allowed(elf: &Elf<'_>, kernel: &Kernel) -> bool {
    let names = kernel.parameters.iter().filter_map(|it| it.name.as_ref()).chain([&kernel.name]);
    charge_kernel(elf.view, names.map(String::len), kernel.parameters.len()).is_ok()
}

/// Returns the kernels that have a descriptor, with the sizes from it.
fn described_kernels(elf: &Elf<'_>, problems: &mut Vec<Malformed>) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    let mut known = HashSet::new();
    for symbol in elf.file.symbols().chain(elf.file.dynamic_symbols()).filter(ObjectSymbol::is_definition) {
        if elf.charge_symbol(&symbol).is_err() {
            break;
        }
        let Some(name) = symbol.name().ok().and_then(|name| name.strip_suffix(DESCRIPTOR_SUFFIX)) else { continue };
        if !known.insert(name) {
            continue;
        }
        match descriptor::read(elf, &symbol) {
            Ok(kernel) => {
                let kernel = Kernel { name: name.to_owned(), ..kernel };
                if !is_allowed(elf, &kernel) {
                    break;
                }
                kernels.push(kernel);
            }
            Err(problem) => problems.push(problem),
        }
    }
    kernels
}
