//! Tests of host files with images in data arrays.

use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};

use super::{Host, STRUCTURE_ONLY};
use crate::base::bytes::View;
use crate::format::ContainerType;
use crate::scan::inventory::File;
use crate::scan::{Options, scan};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Returns a host object with arrays in a section. Each has a symbol with a name and a kind, with or without its size.
fn object(format: BinaryFormat, section: (&str, &str), arrays: &[(&str, SymbolKind, bool, &[u8])]) -> Vec<u8> {
    let mut host = Host(Object::new(format, Architecture::X86_64, Endianness::Little));
    let section = host.section(section.0, section.1, b"text");
    for &(name, kind, has_size, bytes) in arrays {
        let value = host.0.append_section_data(section, bytes, 1);
        let size = if has_size { bytes.len() as u64 } else { 0 };
        let scope = SymbolScope::Linkage;
        let section = SymbolSection::Section(section);
        let symbol =
            Symbol { name: name.into(), value, size, kind, scope, weak: false, section, flags: SymbolFlags::None };
        host.0.add_symbol(symbol);
    }
    host.0.write().unwrap()
}

fn listed(file: &File) -> Vec<(Option<&str>, Option<&str>, Option<u64>)> {
    assert!(file.containers.iter().all(|it| it.container_type == ContainerType::Embedded));
    assert_eq!(file.errors, []);
    let images = file.device_images();
    images.map(|image| (image.symbol.as_deref(), image.arch.as_deref(), image.size)).collect()
}

fn scanned(bytes: &[u8], options: Options) -> File {
    scan(&View::new(bytes), options).unwrap()
}

#[test]
fn finds_arrays_in_any_section_of_any_format_by_their_symbols_and_without() {
    let cubin = fixture("answer-sm_90.cubin");
    let code = fixture("answer-gfx90a.hsaco");
    let ptx = [&fixture("answer-sm_80.ptx")[..], b"\0"].concat();
    let arrays = [
        ("kernel", SymbolKind::Data, true, &cubin[..]),
        ("_ZN1n4codeE", SymbolKind::Data, true, &code),
        ("text_start", SymbolKind::Data, false, &ptx),
        ("last", SymbolKind::Data, true, b"nothing"),
    ];
    let cases = [
        (BinaryFormat::Elf, ("", ".rodata")),
        (BinaryFormat::Elf, ("", ".data")),
        (BinaryFormat::Elf, ("", ".rodata.tllm_incbin.kernel")),
        (BinaryFormat::Coff, ("", ".rdata")),
        (BinaryFormat::MachO, ("__TEXT", "__const")),
    ];
    for (format, section) in cases {
        let bytes = object(format, section, &arrays);
        let full = scanned(&bytes, Options::default());
        let size = |bytes: &[u8]| Some(bytes.len() as u64);
        let expected = [
            (Some("kernel"), Some("sm_90"), size(&cubin)),
            (Some("_ZN1n4codeE"), Some("gfx90a"), size(&code)),
            (Some("text_start"), Some("sm_80"), size(&ptx).map(|size| size - 1)),
        ];
        assert_eq!(listed(&full), expected, "{format:?} {section:?}");
        assert_eq!(full.containers[0].section_name(), Some(section.1));
        assert_eq!(listed(&scanned(&bytes, STRUCTURE_ONLY)), expected, "{format:?} {section:?}");
    }
}

#[test]
fn an_array_that_ends_before_its_image_is_none() {
    let cubin = fixture("answer-sm_90.cubin");
    let bytes = object(BinaryFormat::Elf, ("", ".rodata"), &[("cut", SymbolKind::Data, true, &cubin[..3000])]);
    assert_eq!(listed(&scanned(&bytes, Options::default())), []);
    assert_eq!(listed(&scanned(&bytes, STRUCTURE_ONLY)), []);
}

#[test]
fn an_image_inside_of_an_array_has_the_name_of_the_array() {
    let cubin = fixture("answer-sm_90.cubin");
    let blob = [&b"header of a tool"[..], &cubin, b"the end"].concat();
    let bytes = object(BinaryFormat::Elf, ("", ".rodata"), &[("blob", SymbolKind::Data, true, &blob)]);
    let size = Some(cubin.len() as u64);
    assert_eq!(listed(&scanned(&bytes, Options::default())), [(Some("blob"), Some("sm_90"), size)]);
    // Its symbol does not lead to it.
    assert_eq!(listed(&scanned(&bytes, STRUCTURE_ONLY)), []);
}

#[test]
fn containers_have_precedence_over_the_images_in_them() {
    let fat_binary = super::fat_binary();
    let bytes = object(BinaryFormat::Elf, ("", ".rodata"), &[("fat", SymbolKind::Data, true, &fat_binary)]);
    let file = scanned(&bytes, Options::default());
    let types: Vec<_> = file.containers.iter().map(|it| it.container_type).collect();
    assert_eq!(types, [ContainerType::CudaFatbin]);
}

#[test]
fn source_code_with_ptx_holds_no_image() {
    let ptx = String::from_utf8(fixture("answer-sm_80.ptx")).unwrap();
    let source = format!("kernel = r\"\"\"\n{ptx}\"\"\"\n");
    assert_eq!(listed(&scanned(source.as_bytes(), Options::default())), []);
}
