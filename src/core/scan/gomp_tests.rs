//! Images of GCC's programs: tables as mkoffload writes them, damaged tables, and objects with bytecode.

use super::*;

/// Offsets of the structures in the section with the tables.
const PTX_RECORD: u64 = 0;
const VARIABLES: u64 = 16;
const FUNCTIONS: u64 = 24;
const NVPTX: u64 = 40;
const ELF_RECORD: u64 = 88;
const KERNELS: u64 = 104;
const AMDGCN: u64 = 136;
const END: usize = 168;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Returns kind and strings of the images of an object with both tables. `change` modifies the bytes of the tables.
fn described(registers: bool, change: impl FnOnce(&mut [u8])) -> Vec<(Option<OffloadKind>, Vec<String>)> {
    let ptx = fixture("answer-sm_80.ptx");
    let elf = fixture("answer-gfx90a.hsaco");
    let mut host = Host::elf();
    let names = host.section("", ".rodata.str1.1", b"main$_omp_fn$0\0main._omp_fn.0\0table\0");
    let constants = host.section("", ".rodata", &[&ptx[..], b"\0"].concat());
    let data = host.section("", ".data", &elf);
    let mut tables = vec![0; END];
    let mut put = |at: u64, value: u64, size: usize| {
        tables[at as usize..at as usize + size].copy_from_slice(&value.to_le_bytes()[..size]);
    };
    put(PTX_RECORD + 8, ptx.len() as u64 + 1, 8);
    put(ELF_RECORD, elf.len() as u64, 8);
    for count in [NVPTX + 8, NVPTX + 24, NVPTX + 40, AMDGCN + 8] {
        put(count, 1, 4);
    }
    change(&mut tables);
    let tables = host.section("", ".data.rel.ro.local", &tables);
    host.points(tables, PTX_RECORD, constants, 0).points(tables, VARIABLES, names, 30);
    host.points(tables, FUNCTIONS, names, 0).points(tables, NVPTX, tables, PTX_RECORD);
    host.points(tables, NVPTX + 16, tables, VARIABLES).points(tables, NVPTX + 32, tables, FUNCTIONS);
    host.points(tables, ELF_RECORD + 8, data, 0).points(tables, KERNELS, names, 15);
    host.points(tables, AMDGCN, tables, ELF_RECORD).points(tables, AMDGCN + 16, tables, KERNELS);
    if registers {
        host.undefined("GOMP_offload_register_ver@GOMP_4.5");
    }
    let file = scan(&View::new(&host.0.write().unwrap()), Options::default()).unwrap();
    let strings = |image: &crate::scan::inventory::Image| {
        image.strings.iter().map(|(key, name)| format!("{key} {name}")).collect()
    };
    file.device_images().map(|image| (image.kind, strings(image))).collect()
}

#[test]
fn tables_state_the_kind_and_the_names() {
    let nvptx = vec!["function main$_omp_fn$0".to_owned(), "variable table".to_owned()];
    let amdgcn = vec!["function main._omp_fn.0".to_owned()];
    let openmp = Some(OffloadKind::OpenMp);
    assert_eq!(described(true, |_| {}), [(openmp, nvptx), (openmp, amdgcn)]);
    assert_eq!(described(false, |_| {}), [(None, vec![]), (None, vec![])], "nothing registers them");
}

#[test]
fn damaged_tables_state_nothing_that_is_not_there() {
    let set = |at: u64, value: u32| {
        move |tables: &mut [u8]| tables[at as usize..at as usize + 4].copy_from_slice(&value.to_le_bytes())
    };
    let openmp = Some(OffloadKind::OpenMp);
    for count in [2, u32::MAX] {
        let found = described(true, set(NVPTX + 40, count));
        assert_eq!(found[0], (openmp, vec!["variable table".to_owned()]), "{count} functions");
        assert_eq!(described(true, set(AMDGCN + 8, count))[1], (openmp, vec![]), "{count} kernels");
        assert_eq!(described(true, set(NVPTX + 8, count))[0].0, openmp, "{count} images");
    }
    assert_eq!(described(true, set(PTX_RECORD + 8, 7))[0], (None, vec![]), "another size");
    assert_eq!(described(true, set(ELF_RECORD, 7))[1], (None, vec![]), "another size");
    assert_eq!(described(true, set(NVPTX + 8, 0))[0], (None, vec![]), "no images");
}

#[test]
fn bytecode_of_objects_is_no_image() {
    let mut host = Host::elf();
    host.section("", ".gnu.offload_lto_.symtab.de1704f444987b2d", b"GIMPLE");
    let file = host.scan();
    assert!(file.has_gimple && !file.has_device_code());
    assert!(!Host::elf().scan().has_gimple);
}
