//! Objects of every format, written by a library that is independent of the rewriting.

use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, File, Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags,
    SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

use super::*;
use crate::base::bytes::{Budget, Limits, object_tests};

const PREFIX: &[u8] = b"__BUNDLE__";

const KINDS: [(BinaryFormat, Architecture, Endianness); 6] = [
    (BinaryFormat::Elf, Architecture::X86_64, Endianness::Little),
    (BinaryFormat::Elf, Architecture::S390x, Endianness::Big),
    (BinaryFormat::Elf, Architecture::Arm, Endianness::Little),
    (BinaryFormat::Elf, Architecture::PowerPc, Endianness::Big),
    (BinaryFormat::Coff, Architecture::X86_64, Endianness::Little),
    (BinaryFormat::Coff, Architecture::I386, Endianness::Little),
];

/// Returns an object with code, data and symbols, followed by `extra` sections of other names.
fn object((format, architecture, endian): (BinaryFormat, Architecture, Endianness), extra: &[&str]) -> Vec<u8> {
    let mut object = Object::new(format, architecture, endian);
    let names = [".text", ".data", ".a_section_with_a_long_name"].iter().chain(extra);
    for (index, name) in names.enumerate() {
        let kind = if index == 0 { SectionKind::Text } else { SectionKind::Data };
        let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), kind);
        object.append_section_data(section, name.as_bytes(), 16);
        object.add_symbol(Symbol {
            name: format!("symbol_in{name}").into_bytes(),
            value: 1,
            size: 2,
            kind: SymbolKind::Data,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    object.write().unwrap()
}

/// Names and bytes of all nonempty sections, and name and section of all symbols, as the library reads them.
#[derive(Debug, PartialEq)]
struct ObjectContents {
    sections: Vec<(String, Vec<u8>)>,
    symbols: Vec<(String, Option<String>)>,
}

fn contents(bytes: &[u8]) -> ObjectContents {
    let file = File::parse(bytes).unwrap();
    let tables = [".shstrtab", ".strtab", ".symtab"];
    let named = |section: &object::Section| section.name().unwrap().to_owned();
    let sections = file.sections().map(|section| (named(&section), section.data().unwrap().to_vec()));
    let symbols = file.symbols().map(|symbol| {
        let section = symbol.section_index().map(|index| named(&file.section_by_index(index).unwrap()));
        (symbol.name().unwrap().to_owned(), section)
    });
    ObjectContents {
        sections: sections.filter(|(name, data)| !tables.contains(&name.as_str()) && !data.is_empty()).collect(),
        symbols: symbols.collect(),
    }
}

const ADDED: [(&str, &[u8]); 3] =
    [("__BUNDLE__host", b"\0"), ("__BUNDLE__empty", b""), ("__BUNDLE__device", b"odd code")];

fn added(bytes: &[u8]) -> Vec<u8> {
    let sections = ADDED.map(|(name, content)| NewSection { name, content });
    with_sections(View::new(bytes), &sections).unwrap().to_vec()
}

/// Offset of the number of segments.
const ELF64_PHNUM: usize = 0x38;

#[test]
fn adds_sections_and_changes_nothing_else() {
    for kind in KINDS {
        let before = object(kind, &[]);
        let bytes = added(&before);
        let mut seen = contents(&bytes);
        let found: Vec<_> = sections_named(View::new(&bytes), PREFIX).unwrap();
        let found: Vec<_> = found.iter().map(|it| (std::str::from_utf8(it.name).unwrap(), it.content.data())).collect();
        assert_eq!(found, ADDED, "{kind:?}");
        seen.sections.retain(|(name, _)| !name.starts_with("__BUNDLE__"));
        assert_eq!(seen, contents(&before), "{kind:?}");
    }
}

#[test]
fn linkers_exclude_added_sections() {
    for kind in KINDS {
        let bytes = added(&object(kind, &[]));
        let file = File::parse(&*bytes).unwrap();
        for (name, _) in ADDED {
            match file.section_by_name(name).unwrap().flags() {
                SectionFlags::Elf { sh_flags, .. } => assert_eq!(sh_flags, object::elf::SHF_EXCLUDE),
                SectionFlags::Coff { characteristics } => assert_eq!(characteristics.0, 0x4000_0800),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn removes_added_sections_byte_for_byte() {
    for kind in KINDS {
        let before = object(kind, &[]);
        let mut larger = b"anything".to_vec();
        larger.extend(added(&before));
        let remaining = without_sections(View::new(&larger).from(8), PREFIX).unwrap();
        assert!(remaining.to_vec() == before, "{kind:?}");
        let untouched = without_sections(View::new(&before), PREFIX).unwrap();
        assert!(untouched.to_vec() == before, "{kind:?}");
    }
}

#[test]
fn removes_added_sections_byte_for_byte_from_an_object_that_does_not_end_in_its_tables() {
    for kind in KINDS {
        let before = [&object(kind, &[])[..], b"such as a signature"].concat();
        let bytes = added(&before);
        assert_eq!(sections_named(View::new(&bytes), PREFIX).unwrap().len(), 3, "{kind:?}");
        assert!(without_sections(View::new(&bytes), PREFIX).unwrap().to_vec() == before, "{kind:?}");
        // The copies of its tables make it larger.
        let plain = object(kind, &[]);
        let with_tables = bytes.len() - before.len();
        let without = added(&plain).len() - plain.len();
        assert!(if kind.0 == BinaryFormat::Elf { with_tables > without + 100 } else { with_tables == without });
    }
}

#[test]
fn removes_sections_from_an_object_rewritten_by_another_tool() {
    for kind in KINDS.into_iter().filter(|kind| kind.0 == BinaryFormat::Elf) {
        let before = [&object(kind, &[])[..], b"such as a signature"].concat();
        let mut bytes = added(&before);
        // Overwrites the old section table, which nothing refers to any more.
        let end = before.len();
        bytes[end - 100..end].fill(0x55);
        let remaining = without_sections(View::new(&bytes), PREFIX).unwrap().to_vec();
        assert_ne!(remaining, before);
        assert_eq!(contents(&remaining), contents(&before), "{kind:?}");
        assert!(sections_named(View::new(&remaining), PREFIX).unwrap().is_empty());
        assert!(remaining.len() < bytes.len());
    }
}

/// Sections cannot move in a file with segments, but the names after them can.
#[test]
fn a_file_with_segments_grows_by_a_copy_of_its_names_and_headers_only() {
    let mut bytes = object(KINDS[0], &[".text.of_the_program"]);
    bytes[ELF64_PHNUM] = 1;
    let names = "a name that is not a part of another one".repeat(20);
    let new = [NewSection { name: &format!("__BUNDLE__{names}"), content: b"code" }];
    let mut sizes = Vec::new();
    for _ in 0..4 {
        bytes = with_sections(View::new(&bytes), &new).unwrap().to_vec();
        bytes = without_sections(View::new(&bytes), PREFIX).unwrap().to_vec();
        sizes.push(bytes.len());
    }
    // The unused names stay, once for each round trip.
    let growth: Vec<usize> = sizes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(growth.iter().all(|&bytes| bytes < names.len() + 256), "{sizes:?}");
}

#[test]
fn an_empty_section_stays_inside_of_a_file_with_segments_that_gets_smaller() {
    let mut bytes = object(KINDS[0], &[".text.of_the_program"]);
    bytes[ELF64_PHNUM] = 1;
    bytes.resize(bytes.len() + 4096, 0);
    let end = bytes.len() as u64;
    let u64_at = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    // Offset and size of the first section.
    let first = |bytes: &[u8]| u64_at(bytes, 0x28) as usize + 64 + 24;
    let at = first(&bytes);
    bytes[at..][..16].copy_from_slice([end, 0].map(u64::to_le_bytes).as_flattened());
    let new = [NewSection { name: "__BUNDLE__one", content: b"code" }];
    for _ in 0..2 {
        bytes = with_sections(View::new(&bytes), &new).unwrap().to_vec();
        bytes = without_sections(View::new(&bytes), PREFIX).unwrap().to_vec();
    }
    assert!((bytes.len() as u64) < end);
    assert!(u64_at(&bytes, first(&bytes)) <= bytes.len() as u64);
}

#[test]
fn removes_a_section_that_symbols_refer_to_and_keeps_its_number() {
    for kind in KINDS {
        let before = object(kind, &["__BUNDLE__device", ".behind_it"]);
        let remaining = without_sections(View::new(&before), PREFIX);
        if kind.0 == BinaryFormat::Coff {
            assert!(remaining.unwrap_err().to_string().ends_with("has other sections after those to remove"));
            continue;
        }
        let remaining = remaining.unwrap().to_vec();
        let mut expected = contents(&before);
        let seen = contents(&remaining);
        expected.sections.retain(|(name, _)| name != "__BUNDLE__device");
        for (_, section) in &mut expected.symbols {
            if section.as_deref() == Some("__BUNDLE__device") {
                *section = Some(String::new());
            }
        }
        assert_eq!(seen, expected, "{kind:?}");
        assert!(sections_named(View::new(&remaining), PREFIX).unwrap().is_empty());
    }
}

#[test]
fn counts_sections_beyond_the_limit_of_the_file_header() {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for index in 0..0xff00 - 6 {
        object.add_section(Vec::new(), format!(".t{index}").into_bytes(), SectionKind::Data);
    }
    let before = object.write().unwrap();
    let count =
        |bytes: &[u8]| (File::parse(bytes).unwrap().sections().count(), u16::from_le_bytes([bytes[0x3c], bytes[0x3d]]));
    let bytes = added(&before);
    assert!(count(&before).1 > 0, "the header still counts them");
    assert_eq!((count(&bytes).0, count(&bytes).1), (count(&before).0 + 3, 0));
    assert!(without_sections(View::new(&bytes), PREFIX).unwrap().to_vec() == before);
    let twice = added(&bytes);
    assert_eq!((count(&twice).0, count(&twice).1), (count(&before).0 + 6, 0));
}

#[test]
fn rejects_other_formats_by_name() {
    let cases: [(&[u8], &str); 4] = [
        (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "object file at 0x0: is Mach-O; only ELF and COFF objects can be rewritten"),
        (b"\0asm\x01\0\0\0", "object file at 0x0: is WebAssembly; only ELF and COFF objects can be rewritten"),
        (b"int main", "object file at 0x0: is of unknown format; only ELF and COFF objects can be rewritten"),
        (b"", "object file at 0x0: is of unknown format; only ELF and COFF objects can be rewritten"),
    ];
    for (bytes, message) in cases {
        assert_eq!(with_sections(View::new(bytes), &[]).unwrap_err().to_string(), message);
        assert_eq!(without_sections(View::new(bytes), PREFIX).unwrap_err().to_string(), message);
    }
}

#[test]
fn damaged_objects_neither_panic_nor_grow() {
    for kind in KINDS {
        for good in [object(kind, &["__BUNDLE__device"]), added(&object(kind, &[]))] {
            let rewrite = |bytes: &[u8]| {
                let view = View::new(bytes);
                let _ = sections_named(view, PREFIX);
                let _ = with_sections(view, &[NewSection { name: "__BUNDLE__new", content: b"code" }]);
                if let Ok(content) = without_sections(view, PREFIX) {
                    assert!(content.size() <= bytes.len() as u64 + 64 * 1024, "{kind:?}");
                }
            };
            for end in 0..good.len() {
                rewrite(&good[..end]);
            }
            for at in 0..good.len() {
                for value in [0, 1, 0x7f, 0xff] {
                    let mut bytes = good.clone();
                    let end = (at + 4).min(good.len());
                    bytes[at..end].fill(value);
                    rewrite(&bytes);
                }
            }
        }
    }
}

#[test]
fn sections_that_share_a_long_name_exhaust_the_budget() {
    let over_budget = |bytes: &[u8], rewrite: fn(View<'_>) -> Result<(), Malformed>| {
        let budget = Budget::new(Limits::default(), bytes.len() as u64);
        let error = rewrite(View::with_budget(bytes, &budget)).unwrap_err();
        assert!(matches!(error.cause, Cause::OverBudget { .. }), "{error}");
    };
    let [elf, coff, unterminated_elf, unterminated_coff] = object_tests::objects_sharing_a_long_name(PREFIX);
    for bytes in [&elf, &coff, &unterminated_elf, &unterminated_coff] {
        over_budget(bytes, |view| sections_named(view, PREFIX).map(drop));
    }
    for bytes in [&elf, &coff, &unterminated_coff] {
        over_budget(bytes, |view| without_sections(view, PREFIX).map(drop));
    }
    for bytes in [&coff, &unterminated_coff] {
        over_budget(bytes, |view| with_sections(view, &[NewSection { name: "added", content: b"" }]).map(drop));
    }
}

#[test]
fn names_of_sections_and_symbols_are_replaced_in_elf() {
    for kind in KINDS {
        let before = object(kind, &[".entries", ".entries.longer"]);
        let rename = |name: &[u8]| (name.ends_with(b".entries")).then(|| [name, b"_own"].concat());
        let result = renamed(View::new(&before), &rename);
        if kind.0 != BinaryFormat::Elf {
            let message = result.unwrap_err().to_string();
            assert!(message.contains("only ELF and COFF objects"), "{message}");
            continue;
        }
        let after = result.unwrap().to_vec();
        let mut expected = contents(&before);
        let found = contents(&after);
        let own = |name: &mut String| {
            if name.ends_with(".entries") {
                name.push_str("_own");
            }
        };
        expected.sections.iter_mut().for_each(|(name, _)| own(name));
        expected.symbols.iter_mut().for_each(|(name, section)| {
            own(name);
            section.iter_mut().for_each(own);
        });
        assert_eq!(found, expected, "{kind:?}");
        assert!(found.symbols.contains(&("symbol_in.entries_own".to_owned(), Some(".entries_own".to_owned()))));
        // Only names differ: everything else keeps its offset.
        let body = 64..before.len().min(200);
        assert_eq!(after[body.clone()], before[body], "{kind:?}");
        for end in 0..before.len() {
            let _ = renamed(View::new(&before[..end]), &rename);
        }
    }
}

#[test]
fn one_section_is_removed_by_its_whole_name() {
    let before = object(KINDS[0], &[".llvm.offloading", ".llvm.offloading.relocatable"]);
    let after = without_section(View::new(&before), b".llvm.offloading").unwrap().to_vec();
    let names: Vec<String> = contents(&after).sections.into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&".llvm.offloading.relocatable".to_owned()), "{names:?}");
    assert!(!names.contains(&".llvm.offloading".to_owned()), "{names:?}");
}
