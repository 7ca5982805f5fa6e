//! The SYCL wrapper, in the two forms that LLVM has had.
//!
//! LLVM 22 gives the runtime a descriptor with an array of images:
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
//! The main branch gives it the offload binaries as they are and their size. Source: objects made with LLVM 22.1's library;
//! LLVM's tests of autumn 2026 for main. No SYCL runtime was at hand to run either.

use super::abi::{SyclAbi, Unregister};
use super::{Request, entries, registration};
use crate::content::Content;
use crate::format::offload_binary;
use crate::host::{Data, Definition, Field, ObjectPlan, Section, SectionId, SectionKind, Step, SymbolId, Value};
use crate::target::OffloadKind;

const IMAGE_SIZE: u64 = 80;
const DESCRIPTOR_SIZE: u64 = 32;

/// Fields of an entry, padding among them; see [`entries::fields`].
const ENTRY_FIELDS: usize = 9;

/// Adds everything that SYCL needs.
pub fn add<'data>(plan: &mut ObjectPlan<'data>, request: Request<'data>, abi: SyclAbi, priority: u16) {
    let (arguments, unregister) = match abi {
        SyclAbi::Descriptor => (vec![descriptor(plan, request)], Unregister::FiniArray(1)),
        SyclAbi::OffloadBinaries => (offload_binaries(plan, request), Unregister::AtExit),
    };
    let register_lib = plan.symbol("__sycl_register_lib", Definition::Undefined);
    let unregister_lib = plan.symbol("__sycl_unregister_lib", Definition::Undefined);
    let names = ("sycl.descriptor_reg", "sycl.descriptor_unreg");
    let register = vec![Step::call(register_lib, arguments.clone())];
    registration::functions(plan, names, priority, unregister, register, vec![Step::call(unregister_lib, arguments)]);
}

fn offload_binaries<'data>(plan: &mut ObjectPlan<'data>, request: Request<'data>) -> Vec<Value> {
    let keep = super::kept(plan, &request.keep);
    let mut payload = Content::new();
    for image in request.images {
        payload.align(offload_binary::ALIGNMENT);
        payload.append(image.content);
    }
    let (section, size) = (plan.next_section(), payload.size());
    let binary = plan.symbol(".sycl_offloading.binary", Definition::Data { section, offset: 0, size });
    add_image_section(plan, payload, request.large, keep);
    // The runtime's parameter has 64 bits; sizes of 2 GiB and more do not fit into an instruction's constant.
    let section = plan.next_section();
    let variable = plan.symbol(".sycl_offloading.size", Definition::Data { section, offset: 0, size: 8 });
    plan.section(Section::new(".rodata", SectionKind::ReadOnly, 8, Data::Fields(vec![Field::U64(size)])));
    vec![Value::Address(binary.start()), Value::Variable(variable.start())]
}

fn add_image_section<'data>(plan: &mut ObjectPlan<'data>, payload: Content<'data>, large: bool, keep: Vec<SymbolId>) {
    let data = Data::Bytes(payload);
    let section = Section::new(".llvm.offloading", SectionKind::Offloading, offload_binary::ALIGNMENT, data);
    plan.section(Section { large, keep, ..section });
}

fn descriptor<'data>(plan: &mut ObjectPlan<'data>, request: Request<'data>) -> Value {
    let layout = request.generation.entries;
    let names = request.entries.iter().map(|entry| entry.name.clone());
    let (strings, mut text) = (plan.next_section(), Vec::new());
    let mut string = |plan: &mut ObjectPlan, symbol: String, value: &str| {
        let (offset, size) = (text.len() as u64, value.len() as u64 + 1);
        text.extend(value.bytes().chain([0]));
        plan.symbol(symbol, Definition::Data { section: strings, offset, size }).start()
    };
    let (offloading, relro) = (SectionId(strings.0 + 1), SectionId(strings.0 + 2));
    let mut payload = Content::new();
    let mut images = Vec::new();
    let mut entries = Vec::new();
    for (index, image) in request.images.into_iter().enumerate() {
        let triple = string(plan, format!(".sycl_offloading.target.{index}"), &image.triple);
        let compile = string(plan, format!(".sycl_offloading.opts.compile.{index}"), &image.compile_options);
        let link = string(plan, format!(".sycl_offloading.opts.link.{index}"), &image.link_options);
        let first = entries.len() as u64;
        for name in image.symbols.iter().cloned().chain(names.clone()) {
            let name = string(plan, ".offloading.entry_name".to_owned(), &name);
            let entry = entries::Entry::default();
            entries.extend(entries::fields(layout, OffloadKind::Sycl, &entry, Field::U64(0), name));
        }
        payload.align(offload_binary::ALIGNMENT);
        let (offset, size) = (payload.size(), image.content.size());
        let definition = Definition::Data { section: offloading, offset, size };
        let data = plan.symbol(format!(".sycl_offloading.{index}.data"), definition);
        payload.append(image.content);
        let bounds = (data.plus(image.image.start), data.plus(image.image.end));
        images.push((image.image_kind, [triple, compile, link, bounds.0, bounds.1], (first, entries.len() as u64)));
    }
    plan.section(Section::new(".rodata", SectionKind::ReadOnly, 1, Data::Bytes(Content::from(text))));
    let keep = super::kept(plan, &request.keep);
    add_image_section(plan, payload, request.large, keep);

    // One section for everything with addresses in it: entries, images, descriptor.
    let entries_size = u64::from(layout.size()) * (entries.len() / ENTRY_FIELDS) as u64;
    let images_size = IMAGE_SIZE * images.len() as u64;
    let mut data = |name: &str, offset, size| plan.symbol(name, Definition::Data { section: relro, offset, size });
    let entry_array = data(".sycl_offloading.entries_arr", 0, entries_size);
    let image_array = data(".sycl_offloading.device_images", entries_size, images_size);
    let descriptor = data(".sycl_offloading.descriptor", entries_size + images_size, DESCRIPTOR_SIZE);
    let count = Field::U16(images.len() as u16);
    let mut fields = entries;
    for (image_kind, addresses, (first, last)) in images {
        let entry = |index: u64| entry_array.plus(index / ENTRY_FIELDS as u64 * u64::from(layout.size()));
        fields.extend([Field::U16(3), Field::U8(OffloadKind::Sycl.bit() as u8), Field::U8(image_kind as u8)]);
        fields.push(Field::U32(0));
        fields.extend(addresses.map(Field::Pointer));
        fields.extend([entry(first), entry(last)].map(Field::Pointer));
        fields.extend([Field::U64(0); 2]);
    }
    fields.extend([Field::U16(1), count, Field::U32(0), Field::Pointer(image_array.start())]);
    fields.extend([Field::U64(0); 2]);
    plan.section(Section::new(".data.rel.ro", SectionKind::Writable, 16, Data::Fields(fields)));
    Value::Address(descriptor.start())
}
