//! Structure of Mach-O objects, read back by `object`.

use object::macho;
use object::read::macho::MachOFile64;
use object::read::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use object::{Endianness, RelocationFlags, SectionFlags};

use crate::base::content::Content;
use crate::host::code::{Call, Local, Step, Value};
use crate::host::plan::{Data, Field, ObjectPlan, PlanSection, SectionKind};
use crate::host::symbol::Definition;
use crate::host::{self, Host};

const HOSTS: [Host; 2] = [Host::X86_64Macos, Host::Aarch64Macos];

/// A plan with every kind of section, symbol and reference.
fn plan() -> ObjectPlan<'static> {
    let mut plan = ObjectPlan { source_name: "source", ..Default::default() };
    let begin = plan.reference("\x01section$start$__LLVM$offload_entries", Definition::UndefinedHidden);
    let image = plan.next_section();
    let image = plan.symbol("image", Definition::Data { section: image, offset: 0, size: 5 });
    let payload = Data::Bytes(Content::from(b"image".to_vec()));
    plan.section(PlanSection::new("__HIP,__hip_fatbin", SectionKind::ReadOnly, 4096, payload));
    let fields = vec![Field::U64(7), Field::Pointer(image.plus(3)), Field::Pointer(begin.start())];
    plan.section(PlanSection::new(".data.rel.ro", SectionKind::Writable, 16, Data::Fields(fields)));
    let variable = plan.next_section();
    let variable = plan.symbol("variable", Definition::Data { section: variable, offset: 0, size: 8 });
    plan.section(PlanSection::new(".bss", SectionKind::Writable, 8, Data::Zero(8)));
    let retained = Data::Bytes(Content::new());
    plan.section(PlanSection::new("__LLVM,offload_entries", SectionKind::Retained, 8, retained));
    let outside = plan.reference("outside", Definition::Undefined);
    let arguments = vec![Value::Address(image.plus(2)), Value::Integer(-1), Value::Variable(variable.start())];
    let call = Step::Call(Call { callee: outside, arguments, result: Some(Local::Handle) });
    let first = plan.function("first", vec![call]);
    plan.function("second", vec![Step::call(first, vec![])]);
    let data = Data::Fields(vec![Field::Pointer(first.start())]);
    plan.section(PlanSection::new(".init_array", SectionKind::Constructors(101), 8, data));
    plan
}

fn emitted(host: Host) -> Vec<u8> {
    host::emitted(&plan(), host)
}

fn parse(bytes: &[u8]) -> MachOFile64<'_, Endianness> {
    MachOFile64::parse(bytes).unwrap()
}

/// Returns the relocations of a section: offset, type, and name of the symbol, which an addend does not have.
fn relocations(file: &MachOFile64<'_, Endianness>, section: &str) -> Vec<(u64, u8, String)> {
    let section = file.section_by_name(section).unwrap();
    let relocations = section.relocations().map(|(offset, relocation)| {
        let RelocationFlags::MachO { r_type, .. } = relocation.flags() else { panic!("a relocation of Mach-O") };
        let name = match relocation.target() {
            RelocationTarget::Symbol(index) => file.symbol_by_index(index).unwrap().name().unwrap().to_owned(),
            _ => String::new(),
        };
        (offset, r_type.0, name)
    });
    relocations.collect()
}

#[test]
fn sections_have_names_flags_and_alignments_of_macos() {
    for host in HOSTS {
        let bytes = emitted(host);
        let file = parse(&bytes);
        let found: Vec<_> = file
            .sections()
            .map(|section| {
                let SectionFlags::MachO { flags, .. } = section.flags() else { panic!("a section of Mach-O") };
                let segment = section.segment_name().unwrap().unwrap().to_owned();
                assert!(section.address().is_multiple_of(section.align()), "{segment}: {}", section.address());
                (segment, section.name().unwrap().to_owned(), flags.0, section.align())
            })
            .collect();
        let code_alignment = if host == Host::X86_64Macos { 16 } else { 4 };
        let expected = [
            ("__TEXT", "__StaticInit", 0x8000_0400, code_alignment),
            ("__HIP", "__hip_fatbin", 0, 4096),
            ("__DATA", "__const", 0, 16),
            ("__DATA", "__bss", 1, 8),
            ("__LLVM", "offload_entries", 0x1000_0000, 8),
            ("__DATA", "__mod_init_func", 9, 8),
            ("__LD", "__compact_unwind", 0x0200_0000, 8),
        ];
        let expected =
            expected.map(|(segment, name, flags, align)| (segment.to_owned(), name.to_owned(), flags, align));
        assert_eq!(found, expected);
    }
}

#[test]
fn names_of_c_have_an_underscore_and_names_of_the_linker_do_not() {
    let bytes = emitted(Host::Aarch64Macos);
    let file = parse(&bytes);
    let is = |name: &str| file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap_or_else(|| panic!("{name}"));
    for name in ["_image", "_variable", "_first", "_second"] {
        assert!(is(name).is_definition() && is(name).is_local(), "{name}");
    }
    for name in ["_outside", "section$start$__LLVM$offload_entries"] {
        assert!(is(name).is_undefined(), "{name}");
    }
}

#[test]
fn addends_are_in_the_code_or_in_a_relocation() {
    let bytes = emitted(Host::X86_64Macos);
    let file = parse(&bytes);
    let code = file.section_by_name("__StaticInit").unwrap().data().unwrap();
    let found = relocations(&file, "__StaticInit");
    let (at, kind, _) = found.iter().find(|(_, _, name)| name == "_image").unwrap();
    assert_eq!((*kind, &code[*at as usize..][..4]), (macho::X86_64_RELOC_SIGNED.0, &[2, 0, 0, 0][..]));

    // The reader attaches the addend of one relocation to the next.
    let bytes = emitted(Host::Aarch64Macos);
    let file = parse(&bytes);
    let section = file.section_by_name("__StaticInit").unwrap();
    let addends: Vec<i64> = section.relocations().map(|(_, relocation)| relocation.addend()).take(4).collect();
    assert_eq!(addends, [2, 2, 0, 0]);
    let kinds: Vec<(u8, String)> =
        relocations(&file, "__StaticInit").into_iter().map(|(_, kind, name)| (kind, name)).take(2).collect();
    let page = macho::ARM64_RELOC_PAGE21.0;
    let offset = macho::ARM64_RELOC_PAGEOFF12.0;
    assert_eq!(kinds, [(page, "_image".to_owned()), (offset, "_image".to_owned())]);
}

#[test]
fn pointers_store_their_addends() {
    let bytes = emitted(Host::X86_64Macos);
    let file = parse(&bytes);
    let section = file.sections().find(|section| section.name() == Ok("__const")).unwrap();
    assert_eq!(section.data().unwrap()[8..24], [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let names: Vec<String> = relocations(&file, "__const").into_iter().map(|(_, _, name)| name).collect();
    assert_eq!(names, ["_image", "section$start$__LLVM$offload_entries"]);
}

/// `llvm-objdump --macho --unwind-info` 22 decodes the encodings after a link by ld64.lld.
#[test]
fn every_function_has_compact_unwind_information() {
    // One saved register and none; a frame with a pair of registers and without.
    for (host, encodings) in
        [(Host::X86_64Macos, [0x0202_0400, 0x0202_0000]), (Host::Aarch64Macos, [0x0400_0001, 0x0400_0000u32])]
    {
        let bytes = emitted(host);
        let file = parse(&bytes);
        let data = file.section_by_name("__compact_unwind").unwrap().data().unwrap();
        let found = [&data[12..16], &data[44..48]].map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        assert_eq!((data.len(), found), (64, encodings), "{found:x?}");
    }
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    for host in HOSTS {
        assert_eq!(emitted(host), emitted(host));
    }
}
