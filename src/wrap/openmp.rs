//! The OpenMP wrapper: a descriptor of all images, registered with libomptarget by a constructor.
//!
//! | `__tgt_device_image` | offset | `__tgt_bin_desc` | offset |
//! |---|---|---|---|
//! | ImageStart | 0 | NumDeviceImages, i32 | 0 |
//! | ImageEnd (exclusive) | 8 | DeviceImages | 8 |
//! | EntriesBegin | 16 | HostEntriesBegin | 16 |
//! | EntriesEnd | 24 | HostEntriesEnd | 24 |
//!
//! Source: Clang Offload Wrapper document; the same in all of LLVM 10 to 22. The pointers go to the image itself even
//! where it lies in an offload binary: libomptarget 14 and 22 do not look into those, 15 to 19 accept both.

use super::abi::Generation;
use super::embedded::EmbeddedImage;
use crate::content::Content;
use crate::format::offload_binary;
use crate::host::{Address, Data, Definition, Field, ObjectPlan, Section, SectionKind, Step, Value};

/// Size of both structures.
const STRUCTURE_SIZE: u64 = 32;

/// LLVM aligns aggregates of 16 bytes and more to 16; 8 is what they need.
const STRUCTURE_ALIGNMENT: u64 = 16;

pub fn plan<'data>(images: Vec<EmbeddedImage<'data>>, generation: &Generation) -> ObjectPlan<'data> {
    let mut plan = ObjectPlan { source_name: generation.source_name, ..Default::default() };
    let entries = entry_section(&mut plan, generation);
    let images = image_section(&mut plan, images);
    let descriptor = descriptor(&mut plan, &images, entries);
    registration(&mut plan, descriptor, generation);
    plan
}

/// The entry section, empty, so that `__start_` and `__stop_` exist when no host object has entries.
fn entry_section(plan: &mut ObjectPlan, generation: &Generation) -> Entries {
    let name = generation.entry_section;
    let section = plan.section(Section {
        name: name.to_owned(),
        // Read-only, as LLVM makes it. Clang's own entries are read-only without -fPIC and writable with it, and mold 1.10
        // keeps one output section for each, of which the writable one gets __start_ and __stop_. A read-only placeholder
        // joins the entries or loses to them; a writable one would take the bounds away from read-only entries.
        kind: SectionKind::ReadOnly,
        alignment: 8,
        data: Data::Bytes(Content::new()),
    });
    plan.symbol(generation.placeholder, Definition::Data { section, offset: 0, size: 0 });
    Entries {
        begin: plan.symbol(format!("__start_{name}"), Definition::UndefinedHidden).start(),
        end: plan.symbol(format!("__stop_{name}"), Definition::UndefinedHidden).start(),
    }
}

/// The bounds of the offload entries of the whole program or library.
#[derive(Clone, Copy)]
struct Entries {
    begin: Address,
    end: Address,
}

/// All images, one section; returns the bounds of each.
fn image_section<'data>(plan: &mut ObjectPlan<'data>, images: Vec<EmbeddedImage<'data>>) -> Vec<(Address, Address)> {
    let mut payload = Content::new();
    let section = plan.next_section();
    let bounds = images
        .into_iter()
        .enumerate()
        .map(|(index, image)| {
            payload.align(offload_binary::ALIGNMENT);
            // LLVM numbers repeated names from the second on.
            let name = match index {
                0 => ".omp_offloading.device_image".to_owned(),
                _ => format!(".omp_offloading.device_image.{index}"),
            };
            let (offset, size) = (payload.size(), image.content.size());
            let symbol = plan.symbol(name, Definition::Data { section, offset, size });
            payload.append(image.content);
            (symbol.plus(image.image.start), symbol.plus(image.image.end))
        })
        .collect();
    plan.section(Section {
        name: ".llvm.offloading".to_owned(),
        kind: SectionKind::Offloading,
        alignment: offload_binary::ALIGNMENT,
        data: Data::Bytes(payload),
    });
    bounds
}

/// The image array and behind it the descriptor, which is what the runtime gets.
fn descriptor(plan: &mut ObjectPlan, images: &[(Address, Address)], entries: Entries) -> Address {
    let section = plan.next_section();
    let size = STRUCTURE_SIZE * images.len() as u64;
    let array = Definition::Data { section, offset: 0, size };
    let array = plan.symbol(".omp_offloading.device_images", array);
    let descriptor = Definition::Data { section, offset: size, size: STRUCTURE_SIZE };
    let descriptor = plan.symbol(".omp_offloading.descriptor", descriptor);

    let mut fields = Vec::new();
    for &(start, end) in images {
        fields.extend([start, end, entries.begin, entries.end].map(Field::Pointer));
    }
    let padding = Field::U32(0);
    fields.extend([Field::U32(images.len() as u32), padding]);
    fields.extend([array.start(), entries.begin, entries.end].map(Field::Pointer));
    plan.section(Section {
        name: ".data.rel.ro".to_owned(),
        kind: SectionKind::Writable,
        alignment: STRUCTURE_ALIGNMENT,
        data: Data::Fields(fields),
    });
    descriptor.start()
}

/// The constructor, and the function that it hands to `atexit`. Exit handlers run before any `.fini_array`, so the
/// runtime is still there; in a library they also run when it is closed.
fn registration(plan: &mut ObjectPlan, descriptor: Address, generation: &Generation) {
    let register_lib = plan.symbol("__tgt_register_lib", Definition::Undefined);
    let unregister_lib = plan.symbol("__tgt_unregister_lib", Definition::Undefined);
    let at_exit = plan.symbol("atexit", Definition::Undefined);
    let descriptor = Value::Address(descriptor);
    let unregister = vec![Step::call(unregister_lib, vec![descriptor])];
    let unregister = plan.function(".omp_offloading.descriptor_unreg", unregister);
    let register =
        vec![Step::call(register_lib, vec![descriptor]), Step::call(at_exit, vec![Value::Address(unregister.start())])];
    let register = plan.function(".omp_offloading.descriptor_reg", register);
    plan.section(Section {
        // The linker sorts these sections by the number in their names.
        name: format!(".init_array.{}", generation.constructor_priority),
        kind: SectionKind::Constructors,
        alignment: 8,
        data: Data::Fields(vec![Field::Pointer(register.start())]),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrap::abi::LLVM_21;

    #[test]
    fn the_descriptor_points_to_the_images_themselves_and_not_to_the_binaries_around_them() {
        let image = |bytes: &'static [u8]| EmbeddedImage { content: Content::from(bytes), image: 2..5 };
        let plan = plan(vec![image(b"<[abc]>"), image(b"<[def]>")], &LLVM_21);
        let relro = plan.sections.iter().find(|section| section.name == ".data.rel.ro").unwrap();
        let Data::Fields(fields) = &relro.data else { panic!("structures are fields") };
        let name = |field: &Field| match field {
            Field::U32(value) => value.to_string(),
            Field::Pointer(to) => format!("{}+{}", plan.symbols[to.symbol.0].name, to.offset),
        };
        let (begin, end) = ("__start_llvm_offload_entries+0", "__stop_llvm_offload_entries+0");
        let expected = [
            [".omp_offloading.device_image+2", ".omp_offloading.device_image+5", begin, end].as_slice(),
            &[".omp_offloading.device_image.1+2", ".omp_offloading.device_image.1+5", begin, end],
            &["2", "0", ".omp_offloading.device_images+0", begin, end],
        ]
        .concat();
        assert_eq!(fields.iter().map(name).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_second_image_is_aligned_and_its_symbol_says_where_it_is() {
        let image = |bytes: &'static [u8]| EmbeddedImage { content: Content::from(bytes), image: 0..3 };
        let plan = plan(vec![image(b"abc"), image(b"def")], &LLVM_21);
        let second = plan.symbols.iter().find(|symbol| symbol.name == ".omp_offloading.device_image.1").unwrap();
        assert!(matches!(second.definition, Definition::Data { offset: 8, size: 3, .. }));
    }
}
