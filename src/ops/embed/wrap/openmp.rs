//! The OpenMP wrapper: a descriptor of all images, registered with libomptarget by a constructor.
//!
//! | `__tgt_device_image` | offset | `__tgt_bin_desc` | offset |
//! |---|---|---|---|
//! | ImageStart | 0 | NumDeviceImages, i32 | 0 |
//! | ImageEnd (exclusive) | 8 | DeviceImages | 8 |
//! | EntriesBegin | 16 | HostEntriesBegin | 16 |
//! | EntriesEnd | 24 | HostEntriesEnd | 24 |
//!
//! Source: Clang Offload Wrapper document; identical in LLVM 10 to 22. In LLVM 15 to 17 the pointers refer to the
//! offload binary around the image: libomptarget reads the processor there, and takes a plain image for any device. In
//! all other releases they refer to the image itself; libomptarget 14 and 22 do not read offload binaries.
//!
//! AMD's compiler of the time of LLVM 14 (`aomp`) also registers, for each image, a `__tgt_image_info` with its target
//! id: version, number, count (i32 each), padding, target id, and a pointer that is always null; 32 bytes.

use super::embedded::EmbeddedImage;
use super::{Request, entries, registration};
use crate::embed::llvm::wrapper_abi::{ImageSection, WrapperAbi};
use fatbin_core::base::content::Content;
use fatbin_core::format::offload_binary;
use fatbin_core::host::{
    Data, Definition, Field, ObjectPlan, PlanSection, SectionKind, Step, SymbolAddress, SymbolId, Value,
};

/// Size of each of the three structures, in bytes.
const STRUCTURE_SIZE: u64 = 32;

/// Alignment of the structures, in bytes. LLVM aligns aggregates of 16 bytes and more to 16; they require 8.
const STRUCTURE_ALIGNMENT: u64 = 16;

/// Adds images, structures and functions for OpenMP.
pub fn add<'data>(plan: &mut ObjectPlan<'data>, request: Request<'data>, priority: u16) {
    let abi = &request.abi;
    let how = request.unregistration(abi.unregister);
    let bounds = entries::section(plan, &request);
    let target_ids: Vec<String> = request.images.iter().map(|image| image.arch.clone()).collect();
    let images = image_section(plan, request.images, abi, (request.large, request.relocatable));
    let mut keep = super::weak_references(plan, &request.keep);
    keep.extend(bounds.keep);
    let infos = if abi.image_info { target_ids.as_slice() } else { &[] };
    let (descriptor, infos) = structures(plan, &images, bounds, infos, keep);

    let register_lib = plan.reference("__tgt_register_lib", Definition::Undefined);
    let unregister_lib = plan.reference("__tgt_unregister_lib", Definition::Undefined);
    let mut register = Vec::new();
    if abi.image_info {
        let register_info = plan.reference("__tgt_register_image_info", Definition::Undefined);
        register.extend(infos.into_iter().map(|info| Step::call(register_info, vec![Value::Address(info)])));
    }
    register.push(Step::call(register_lib, vec![Value::Address(descriptor)]));
    let unregister = vec![Step::call(unregister_lib, vec![Value::Address(descriptor)])];
    let names = (".omp_offloading.descriptor_reg", ".omp_offloading.descriptor_unreg");
    registration::functions(plan, names, priority, how, register, unregister);
}

/// Adds one section with all images; returns the bounds of each.
fn image_section<'data>(
    plan: &mut ObjectPlan<'data>,
    images: Vec<EmbeddedImage<'data>>,
    abi: &WrapperAbi,
    (large, relocatable): (bool, bool),
) -> Vec<(SymbolAddress, SymbolAddress)> {
    // LLVM aligns `.rodata` arrays of 16 bytes and more to 16.
    let (name, kind, alignment) = match abi.images {
        ImageSection::Rodata => (".rodata", SectionKind::ReadOnly, 16),
        ImageSection::Offloading => {
            let name = if relocatable { ".llvm.offloading.relocatable" } else { ".llvm.offloading" };
            (name, SectionKind::Offloading, offload_binary::ALIGNMENT)
        }
    };
    let mut payload = Content::new();
    let section = plan.next_section();
    let bounds = images
        .into_iter()
        .enumerate()
        .map(|(index, image)| {
            payload.align(alignment);
            let offset = payload.size();
            let size = image.content.size();
            let definition = Definition::Data { section, offset, size };
            let symbol = plan.symbol(numbered(".omp_offloading.device_image", index), definition);
            let registered = if abi.registers_binaries { 0..size } else { image.image };
            payload.append(image.content);
            (symbol.plus(registered.start), symbol.plus(registered.end))
        })
        .collect();
    plan.section(PlanSection { large, ..PlanSection::new(name, kind, alignment, Data::Bytes(payload)) });
    bounds
}

/// Adds the image array, then the descriptor (the runtime's argument), then an image info for each target id. Returns
/// the addresses of the descriptor and of the image infos.
fn structures(
    plan: &mut ObjectPlan,
    images: &[(SymbolAddress, SymbolAddress)],
    entries: entries::Bounds,
    target_ids: &[String],
    keep: Vec<SymbolId>,
) -> (SymbolAddress, Vec<SymbolAddress>) {
    let strings = target_id_section(plan, target_ids);
    let section = plan.next_section();
    let size = STRUCTURE_SIZE * images.len() as u64;
    let array = plan.symbol(".omp_offloading.device_images", Definition::Data { section, offset: 0, size });
    let descriptor = Definition::Data { section, offset: size, size: STRUCTURE_SIZE };
    let descriptor = plan.symbol(".omp_offloading.descriptor", descriptor).start();

    let padding = Field::U32(0);
    let count = Field::U32(images.len() as u32);
    let mut fields = Vec::new();
    for &(start, end) in images {
        fields.extend([start, end, entries.begin, entries.end].map(Field::Pointer));
    }
    fields.extend([count, padding]);
    fields.extend([array.start(), entries.begin, entries.end].map(Field::Pointer));
    let mut infos = Vec::new();
    for (index, target_id) in strings.into_iter().enumerate() {
        let offset = size + STRUCTURE_SIZE * (1 + index as u64);
        let definition = Definition::Data { section, offset, size: STRUCTURE_SIZE };
        infos.push(plan.symbol(numbered(".offload_image_info", index), definition).start());
        let version = Field::U32(1);
        let compile_options = Field::U64(0);
        let number = Field::U32(index as u32);
        fields.extend([version, number, count, padding, Field::Pointer(target_id), compile_options]);
    }
    let data = Data::Fields(fields);
    let section = PlanSection::new(".data.rel.ro", SectionKind::Writable, STRUCTURE_ALIGNMENT, data);
    plan.section(PlanSection { keep, ..section });
    (descriptor, infos)
}

/// Adds the target ids back to back, each with its NUL: AMD's offload-arch reads the section as a list.
fn target_id_section(plan: &mut ObjectPlan, target_ids: &[String]) -> Vec<SymbolAddress> {
    if target_ids.is_empty() {
        return Vec::new();
    }
    let section = plan.next_section();
    let mut text = Vec::new();
    let mut addresses = Vec::new();
    for (index, target_id) in target_ids.iter().enumerate() {
        let offset = text.len() as u64;
        let size = target_id.len() as u64 + 1;
        addresses
            .push(plan.symbol(numbered("__offload_arch", index), Definition::Data { section, offset, size }).start());
        text.extend(target_id.bytes().chain([0]));
    }
    plan.section(PlanSection::new(".offload_arch_list", SectionKind::ReadOnly, 1, Data::Bytes(Content::from(text))));
    addresses
}

/// Returns a repeated name as LLVM numbers it, from the second on.
fn numbered(name: &str, index: usize) -> String {
    match index {
        0 => name.to_owned(),
        _ => format!("{name}.{index}"),
    }
}
