//! The structures of registration in objects that fatbin writes.

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol};

use super::{Field, Record, size, tables};
use crate::Sandbox;

/// Requires that the pointers of structures in a section are where the table has addresses, and returns the structures.
fn structures(object: &[u8], name: &str, symbol: Option<&str>, fields: &[Field]) -> Vec<Vec<u8>> {
    let file = ElfFile64::<object::Endianness>::parse(object).unwrap();
    let (section, range) = match symbol {
        Some(symbol) => {
            let symbol =
                file.symbols().find(|it| it.name() == Ok(symbol)).unwrap_or_else(|| panic!("no symbol {symbol}"));
            let section = file.section_by_index(symbol.section_index().unwrap()).unwrap();
            (section, symbol.address() as usize..(symbol.address() + symbol.size()) as usize)
        }
        None => {
            let section = file.section_by_name(name).unwrap_or_else(|| panic!("no section {name}"));
            let size = section.size() as usize;
            (section, 0..size)
        }
    };
    let data = &section.data().unwrap()[range.clone()];
    let size = size(fields);
    assert!(
        !data.is_empty() && data.len() % size == 0,
        "{name} {symbol:?}: {} bytes, not structures of {size}",
        data.len()
    );
    let pointers: Vec<usize> =
        section.relocations().map(|(at, _)| at as usize).filter(|at| range.contains(at)).collect();
    assert!(!pointers.is_empty(), "{name} {symbol:?}");
    for pointer in pointers {
        let offset = (pointer - range.start) % size;
        let field = fields.iter().find(|field| field.offset == offset);
        assert!(field.is_some_and(|it| it.meaning.contains("address")), "{name} {symbol:?}: pointer at {offset:#x}");
    }
    data.chunks(size).map(<[u8]>::to_vec).collect()
}

#[test]
fn wrappers_are_read_by_the_tables() {
    let tables = tables("registration.md");
    let fields = &tables["CUDA and HIP: wrapper"];
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "hip").fixture("answer-sm_90.cubin", "cuda");
    for (kind, section, magic) in [("hip", ".hipFatBinSegment", 0x4849_5046), ("cuda", ".nvFatBinSegment", 0x4662_43b1)]
    {
        sandbox.fatbin(&format!("wrap --kind {kind} -o out.o {kind}")).ok();
        let found = structures(&sandbox.read("out.o"), section, None, fields);
        let wrapper = Record { bytes: &found[0], fields };
        let values = [wrapper.get("magic"), wrapper.get("version"), wrapper.get("unused")];
        assert_eq!((found.len(), values), (1, [magic, 1, 0]));
    }
}

#[test]
fn openmp_structures_are_read_by_the_tables() {
    let tables = tables("registration.md");
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a.hsaco", "a")
        .fixture("answer-sm_90.cubin", "b")
        .fatbin("wrap --kind openmp -o out.o a b")
        .ok();
    let object = sandbox.read("out.o");
    let fields = &tables["OpenMP: descriptor"];
    let found = structures(&object, "", Some(".omp_offloading.descriptor"), fields);
    assert_eq!(Record { bytes: &found[0], fields }.get("image count"), 2);
    let images = structures(&object, "", Some(".omp_offloading.device_images"), &tables["OpenMP: image"]);
    assert_eq!(images.len(), 2);
}

#[test]
fn entries_are_read_by_the_tables() {
    let tables = tables("registration.md");
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let cases = [
        ("llvm19", "hip_offloading_entries", "Entry before LLVM 20"),
        ("llvm22", "llvm_offload_entries", "Entry since LLVM 20"),
    ];
    for (abi, section, title) in cases {
        sandbox
            .fatbin(&format!(
                "wrap --allow-missing-kernels --kind hip --abi {abi} --entry kernel --entry table,size=64 -o out.o a"
            ))
            .ok();
        let found = structures(&sandbox.read("out.o"), section, None, &tables[title]);
        let sizes: Vec<usize> =
            found.iter().map(|bytes| Record { bytes, fields: &tables[title] }.get("size")).collect();
        assert_eq!(sizes, [0, 64], "{abi}");
        let entry = Record { bytes: &found[1], fields: &tables[title] };
        assert!(abi == "llvm19" || [entry.get("version"), entry.get("kind")] == [1, 4], "{abi}");
    }
}

#[test]
fn sycl_images_are_read_by_the_tables() {
    let tables = tables("registration.md");
    let fields = &tables["SYCL: descriptor and image"];
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind sycl --abi llvm22 -o out.o a").ok();
    let found = structures(&sandbox.read("out.o"), "", Some(".sycl_offloading.device_images"), fields);
    let image = Record { bytes: &found[0], fields };
    assert_eq!((found.len(), [image.get("version"), image.get("offload kind")]), (1, [3, 8]));
}
