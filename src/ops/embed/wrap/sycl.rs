//! The SYCL wrapper, in both forms that LLVM has used.
//!
//! LLVM 22 passes the runtime a descriptor with an array of images:
//!
//! | `__sycl.tgt_device_image`, 80 bytes | offset | `__sycl.tgt_bin_desc`, 32 bytes | offset |
//! |---|---|---|---|
//! | Version u16 = 3, OffloadKind u8 = 8, Format u8 | 0, 2, 3 | Version u16 = 1, NumDeviceImages u16 | 0, 2 |
//! | target triple | 8 | DeviceImages | 8 |
//! | compile options, link options | 16, 24 | HostEntriesBegin = null | 16 |
//! | ImageStart, ImageEnd | 32, 40 | HostEntriesEnd = null | 24 |
//! | EntriesBegin, EntriesEnd | 48, 56 | | |
//! | PropertiesBegin, PropertiesEnd = null | 64, 72 | | |
//!
//! LLVM 23 passes one offload binary with all images, and its size. Source: objects made with LLVM 22.1's library;
//! LLVM's tests of autumn 2026 for 23 (llvm-project pull request 193876). The runtime of oneAPI 2026.2 (libsycl.so.9)
//! reads the descriptor; no runtime that reads the other form was available.

use std::ops::Range;

use super::entries::{self, OffloadEntry};
use super::{Request, registration};
use crate::embed::llvm::wrapper_abi::{EntryLayout, SyclAbi, Unregister};
use fatbin_core::base::content::Content;
use fatbin_core::format::offload_binary;
use fatbin_core::host::{
    Data, Definition, Field, ObjectPlan, PlanSection, SectionId, SectionKind, Step, SymbolAddress, SymbolId, Value,
};
use fatbin_core::target::OffloadKind;

const IMAGE_SIZE: u64 = 80;
const DESCRIPTOR_SIZE: u64 = 32;

/// Adds images, structures and functions for SYCL.
pub fn add<'data>(plan: &mut ObjectPlan<'data>, request: Request<'data>, abi: SyclAbi, priority: u16) {
    let unregister = request.unregistration(match abi {
        SyclAbi::Descriptor => Unregister::FiniArray(1),
        SyclAbi::OffloadBinaries => Unregister::AtExit,
    });
    let arguments = match abi {
        SyclAbi::Descriptor => vec![descriptor(plan, request)],
        SyclAbi::OffloadBinaries => offload_binaries(plan, request),
    };
    let register_lib = plan.reference("__sycl_register_lib", Definition::Undefined);
    let unregister_lib = plan.reference("__sycl_unregister_lib", Definition::Undefined);
    let names = ("sycl.descriptor_reg", "sycl.descriptor_unreg");
    let register = vec![Step::call(register_lib, arguments.clone())];
    registration::functions(plan, names, priority, unregister, register, vec![Step::call(unregister_lib, arguments)]);
}

fn offload_binaries<'data>(plan: &mut ObjectPlan<'data>, request: Request<'data>) -> Vec<Value> {
    let keep = super::weak_references(plan, &request.keep);
    let mut payload = Content::new();
    for image in request.images {
        payload.align(offload_binary::ALIGNMENT);
        payload.append(image.content);
    }
    let section = plan.next_section();
    let size = payload.size();
    let binary = plan.symbol(".sycl_offloading.binary", Definition::Data { section, offset: 0, size });
    add_image_section(plan, payload, request.large, keep);
    // The runtime's parameter has 64 bits; sizes of 2 GiB and more do not fit into an instruction's constant.
    let section = plan.next_section();
    let variable = plan.symbol(".sycl_offloading.size", Definition::Data { section, offset: 0, size: 8 });
    plan.section(PlanSection::new(".rodata", SectionKind::ReadOnly, 8, Data::Fields(vec![Field::U64(size)])));
    vec![Value::Address(binary.start()), Value::Variable(variable.start())]
}

fn add_image_section<'data>(plan: &mut ObjectPlan<'data>, payload: Content<'data>, large: bool, keep: Vec<SymbolId>) {
    let data = Data::Bytes(payload);
    let section = PlanSection::new(".llvm.offloading", SectionKind::Offloading, offload_binary::ALIGNMENT, data);
    plan.section(PlanSection { large, keep, ..section });
}

/// Fields of the descriptor for an image.
struct ImageDescriptor {
    image_kind: u8,
    /// Addresses of triple, compile options, link options, start and end.
    addresses: [SymbolAddress; 5],
    /// Range of its entries among all.
    entries: Range<u64>,
}

fn descriptor<'data>(plan: &mut ObjectPlan<'data>, request: Request<'data>) -> Value {
    let layout = request.abi.entries;
    let large = request.large;
    let keep = super::weak_references(plan, &request.keep);
    let strings = plan.next_section();
    let offloading = SectionId(strings.0 + 1);
    let mut text = Vec::new();
    let mut string = |plan: &mut ObjectPlan, symbol: String, value: &str| {
        let offset = text.len() as u64;
        let size = value.len() as u64 + 1;
        text.extend(value.bytes().chain([0]));
        plan.symbol(symbol, Definition::Data { section: strings, offset, size }).start()
    };
    let mut payload = Content::new();
    let mut images = Vec::new();
    let mut entry_names = Vec::new();
    for (index, image) in request.images.into_iter().enumerate() {
        let triple = string(plan, format!(".sycl_offloading.target.{index}"), &image.triple);
        let compile = string(plan, format!(".sycl_offloading.opts.compile.{index}"), &image.compile_options);
        let link = string(plan, format!(".sycl_offloading.opts.link.{index}"), &image.link_options);
        let first = entry_names.len() as u64;
        let stated = request.entries.iter().map(|entry| &entry.name);
        for name in image.symbols.iter().chain(stated) {
            entry_names.push(string(plan, ".offloading.entry_name".to_owned(), name));
        }
        payload.align(offload_binary::ALIGNMENT);
        let offset = payload.size();
        let size = image.content.size();
        let definition = Definition::Data { section: offloading, offset, size };
        let data = plan.symbol(format!(".sycl_offloading.{index}.data"), definition);
        payload.append(image.content);
        images.push(ImageDescriptor {
            image_kind: image.image_kind as u8,
            addresses: [triple, compile, link, data.plus(image.image.start), data.plus(image.image.end)],
            entries: first..entry_names.len() as u64,
        });
    }
    plan.section(PlanSection::new(".rodata", SectionKind::ReadOnly, 1, Data::Bytes(Content::from(text))));
    add_image_section(plan, payload, large, keep);
    Value::Address(structures(plan, layout, &entry_names, &images))
}

/// Adds one section for everything that contains addresses: entries, images, and the descriptor. Returns the
/// descriptor's address.
fn structures(
    plan: &mut ObjectPlan,
    layout: EntryLayout,
    entry_names: &[SymbolAddress],
    images: &[ImageDescriptor],
) -> SymbolAddress {
    let section = plan.next_section();
    let entry_size = u64::from(layout.size());
    let entries_size = entry_size * entry_names.len() as u64;
    let images_size = IMAGE_SIZE * images.len() as u64;
    let mut data = |name: &str, offset, size| plan.symbol(name, Definition::Data { section, offset, size });
    let entry_array = data(".sycl_offloading.entries_arr", 0, entries_size);
    let image_array = data(".sycl_offloading.device_images", entries_size, images_size);
    let descriptor = data(".sycl_offloading.descriptor", entries_size + images_size, DESCRIPTOR_SIZE);

    let padding = Field::U32(0);
    let null = Field::U64(0);
    let mut fields = Vec::new();
    for &name in entry_names {
        fields.extend(entries::fields(layout, OffloadKind::Sycl.bit(), &OffloadEntry::default(), null, name));
    }
    for image in images {
        let version = Field::U16(3);
        let kind = Field::U8(OffloadKind::Sycl.bit() as u8);
        fields.extend([version, kind, Field::U8(image.image_kind), padding]);
        fields.extend(image.addresses.map(Field::Pointer));
        let bounds = [image.entries.start, image.entries.end];
        fields.extend(bounds.map(|index| Field::Pointer(entry_array.plus(entry_size * index))));
        fields.extend([null; 2]);
    }
    let version = Field::U16(1);
    let count = Field::U16(images.len() as u16);
    fields.extend([version, count, padding, Field::Pointer(image_array.start()), null, null]);
    plan.section(PlanSection::new(".data.rel.ro", SectionKind::Writable, 16, Data::Fields(fields)));
    descriptor.start()
}
