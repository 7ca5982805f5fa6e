//! Plans whose sections the linker may drop one by one, emitted for every host and read back by `object`.

use object::read::{Object, ObjectSection, ObjectSymbol};
use object::{LittleEndian, ObjectSymbolTable, SectionFlags, SymbolFlags, elf, macho, pe};

use super::{AbsoluteSymbol, Data, Definition, Field, Host, ObjectPlan, PlanSection, Scope, SectionKind, emitted};
use crate::base::content::Content;

/// Names and contents of the sections.
const PARTS: [(&str, &[u8]); 3] = [("one", b"first part"), ("two", b"second"), ("three", b"the third part")];

/// `SHF_X86_64_LARGE`.
const LARGE: elf::SectionFlags = elf::SectionFlags(0x1000_0000);

fn elf_flags(section: &object::Section) -> elf::SectionFlags {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { panic!("not ELF") };
    sh_flags
}

/// Returns a plan with a section for each part, and with a table of pointers to all parts.
fn plan(kind: SectionKind, scope: Scope) -> ObjectPlan<'static> {
    let mut plan = ObjectPlan { source_name: "source", is_divisible: true, ..Default::default() };
    let mut fields = Vec::new();
    for (name, bytes) in PARTS {
        let section = plan.next_section();
        let start = Definition::Data { section, offset: 4, size: bytes.len() as u64 };
        plan.scoped_symbol(name, start, scope);
        plan.scoped_symbol(
            format!("{name}_end"),
            Definition::Data { section, offset: 4 + bytes.len() as u64, size: 0 },
            scope,
        );
        let own = plan.symbol(format!("{name}.own"), Definition::Data { section, offset: 0, size: 4 });
        let mut content = Content::from(b"head".to_vec());
        content.push(bytes);
        content.push(&[0][..]);
        plan.section(PlanSection::new(format!(".rodata.{name}"), kind, 32, Data::Bytes(content)));
        plan.absolute_symbols.push(AbsoluteSymbol { name: format!("{name}_size"), value: bytes.len() as u64, scope });
        fields.push(Field::Pointer(own.plus(4)));
    }
    let section = plan.next_section();
    plan.scoped_symbol("table", Definition::Data { section, offset: 0, size: 24 }, scope);
    plan.section(PlanSection::new(".data.rel.ro.table", SectionKind::Writable, 8, Data::Fields(fields)));
    plan
}

/// Returns a symbol by its name in C.
fn symbol<'data, 'file>(file: &'file object::File<'data>, name: &str) -> object::Symbol<'data, 'file> {
    let name = if file.format() == object::BinaryFormat::MachO { format!("_{name}") } else { name.to_owned() };
    file.symbol_table().unwrap().symbols().find(|it| it.name() == Ok(&name)).unwrap_or_else(|| panic!("{name}"))
}

/// Returns the bytes between the symbols of a part.
fn part<'data>(file: &object::File<'data>, name: &str) -> &'data [u8] {
    let [start, end] = [name.to_owned(), format!("{name}_end")].map(|name| symbol(file, &name));
    assert_eq!(start.section_index(), end.section_index());
    let section = file.section_by_index(start.section_index().unwrap()).unwrap();
    let offset = |address: u64| (address - section.address()) as usize;
    assert_eq!((start.address() - 4 - section.address()) % 32, 0, "{name}");
    &section.data().unwrap()[offset(start.address())..offset(end.address())]
}

#[test]
fn symbols_delimit_the_parts_on_every_host() {
    for host in Host::ALL.iter().copied() {
        let bytes = emitted(&plan(SectionKind::ReadOnly, Scope::Global), host);
        let file = object::File::parse(&*bytes).unwrap();
        for (name, expected) in PARTS {
            assert_eq!(part(&file, name), expected, "{host:?}");
            let size = symbol(&file, &format!("{name}_size"));
            assert_eq!(size.section(), object::SymbolSection::Absolute);
            // The reader returns no value for absolute symbols of COFF.
            let is_coff = file.format() == object::BinaryFormat::Coff;
            assert!(is_coff || size.address() == expected.len() as u64, "{host:?}");
            for (name, is_global) in [("", true), ("_end", true), ("_size", true), (".own", false)]
                .map(|(it, is)| (format!("{name}{it}"), is))
            {
                assert_eq!(symbol(&file, &name).is_global(), is_global, "{host:?} {name}");
            }
        }
        let table = symbol(&file, "table");
        let section = file.section_by_index(table.section_index().unwrap()).unwrap();
        assert_eq!(section.relocations().count(), PARTS.len(), "{host:?}");
        let unwind = [".eh_frame", ".pdata", "__compact_unwind"].map(|name| file.section_by_name(name).is_some());
        assert_eq!(unwind, [false; 3], "{host:?}");
    }
}

#[test]
fn elf_has_a_section_for_each_part_with_the_flags_of_its_kind() {
    for (kind, flags, os_abi) in [
        (SectionKind::ReadOnly, elf::SHF_ALLOC, elf::ELFOSABI_NONE),
        (SectionKind::Retained, elf::SHF_ALLOC | elf::SHF_GNU_RETAIN, elf::ELFOSABI_GNU),
    ] {
        let bytes = emitted(&plan(kind, Scope::Hidden), Host::X86_64);
        let file = object::File::parse(&*bytes).unwrap();
        assert_eq!(bytes[7], os_abi.0);
        for (name, _) in PARTS {
            let section = file.section_by_name(&format!(".rodata.{name}")).unwrap();
            assert_eq!(elf_flags(&section), flags);
            let SymbolFlags::Elf { st_other, .. } = symbol(&file, name).flags() else { panic!("not ELF") };
            assert_eq!(st_other.0, elf::STV_HIDDEN.0);
        }
    }
}

#[test]
fn large_parts_have_the_names_that_compilers_give_them() {
    let mut plan = plan(SectionKind::ReadOnly, Scope::Global);
    plan.sections[1].large = true;
    let bytes = emitted(&plan, Host::X86_64);
    let file = object::File::parse(&*bytes).unwrap();
    let flags = |name| elf_flags(&file.section_by_name(name).unwrap());
    assert_eq!(flags(".lrodata.two"), elf::SHF_ALLOC | LARGE);
    assert_eq!(flags(".rodata.one"), elf::SHF_ALLOC);
}

#[test]
fn coff_has_comdat_sections_whose_leaders_are_the_first_symbols() {
    for (kind, is_comdat) in [(SectionKind::ReadOnly, true), (SectionKind::Retained, false)] {
        let bytes = emitted(&plan(kind, Scope::Global), Host::X86_64WindowsMsvc);
        let file = object::read::coff::CoffFile::<&[u8]>::parse(&*bytes).unwrap();
        let comdats: Vec<_> =
            file.comdats().map(|comdat| object::ObjectComdat::name(&comdat).unwrap().to_owned()).collect();
        let expected: Vec<&str> = if is_comdat { vec!["one", "two", "three", "table"] } else { vec!["table"] };
        assert_eq!(comdats, expected);
        let size = file.symbols().find(|symbol| symbol.name() == Ok("two_size")).unwrap();
        assert_eq!(size.coff_symbol().value.get(LittleEndian), 6);
        let sections = file.sections().filter(|section| section.name() == Ok(".rdata"));
        let flags: Vec<u32> = sections.map(|it| it.coff_section().characteristics.get(LittleEndian).0).collect();
        let is_flagged = |flags: &u32| flags & pe::IMAGE_SCN_LNK_COMDAT.0 != 0;
        assert_eq!(flags.iter().filter(|flags| is_flagged(flags)).count(), expected.len());
        assert_eq!(flags.len(), 4);
    }
}

#[test]
fn mach_o_has_one_section_that_symbols_divide() {
    for host in [Host::X86_64Macos, Host::Aarch64Macos] {
        let bytes = emitted(&plan(SectionKind::Retained, Scope::Hidden), host);
        let file = object::File::parse(&*bytes).unwrap();
        let object::FileFlags::MachO { flags } = file.flags() else { panic!("not Mach-O") };
        assert_eq!(flags.0, macho::MH_SUBSECTIONS_VIA_SYMBOLS.0);
        let sections: Vec<_> = file.sections().filter(|it| it.name() == Ok("__const")).collect();
        assert_eq!(sections.len(), 2, "read-only data, and data that is relocated");
        let SectionFlags::MachO { flags, .. } = sections[0].flags() else { panic!("not Mach-O") };
        assert_eq!(flags, macho::S_REGULAR | macho::S_ATTR_NO_DEAD_STRIP);
        for (name, is_inside) in [("one", true), ("two_end", true), ("two.own", false), ("table", false)] {
            let SymbolFlags::MachO { n_desc, n_type } = symbol(&file, name).flags() else { panic!("not Mach-O") };
            assert_eq!(n_type.contains(macho::N_PEXT), name != "two.own", "{name}");
            assert_eq!(n_desc.0 == macho::N_ALT_ENTRY.0, is_inside, "{name}");
        }
    }
}

#[test]
fn plans_that_are_not_divisible_keep_their_sections_on_macos() {
    let plan = ObjectPlan { is_divisible: false, ..plan(SectionKind::ReadOnly, Scope::Global) };
    let bytes = emitted(&plan, Host::Aarch64Macos);
    let file = object::File::parse(&*bytes).unwrap();
    assert_eq!(file.sections().filter(|section| section.name() == Ok("__const")).count(), 4);
}
