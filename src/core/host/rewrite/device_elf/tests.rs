//! Stripped fixtures, as `object` reads them, and damaged ones.

use object::read::elf::{ElfFile64, ProgramHeader, SectionHeader};
use object::{Object, ObjectSection, ObjectSymbol};

use super::*;
use crate::base::bytes::{Budget, Limits};
use crate::base::elf_layout::ELF64;

const CUBIN: &[u8] = include_bytes!("../../../../../fixtures/answer-sm_90-debug.cubin");
const CODE_OBJECT: &[u8] = include_bytes!("../../../../../fixtures/answer-gfx90a-debug.hsaco");

const DEBUG: Stripped = Stripped { debug: true, symbols: false };
const SYMBOLS: Stripped = Stripped { debug: false, symbols: true };
const ALL: Stripped = Stripped { debug: true, symbols: true };

type File<'a> = ElfFile64<'a, LE>;

fn stripped(bytes: &[u8]) -> Vec<u8> {
    without(View::new(bytes), DEBUG).unwrap().expect("debug information")
}

/// Returns the name, the address, the size and the bytes of each section with a name.
fn sections<'a>(file: &'a File<'a>) -> Vec<(&'a str, u64, u64, &'a [u8])> {
    let described = |section: object::read::elf::ElfSection64<'a, '_, LE>| {
        (section.name().unwrap(), section.address(), section.size(), section.data().unwrap_or_default())
    };
    file.sections().map(described).filter(|section| !section.0.is_empty()).collect()
}

/// Returns each symbol: name, address, size, and the name of its section.
fn symbols<'a>(file: &'a File<'a>) -> Vec<(&'a str, u64, u64, Option<&'a str>)> {
    let section = |index| file.section_by_index(index).ok().and_then(|section| section.name().ok());
    file.symbols()
        .map(|symbol| {
            (symbol.name().unwrap(), symbol.address(), symbol.size(), symbol.section_index().and_then(section))
        })
        .collect()
}

/// Checks that loaded bytes keep their values and alignment, except in the file header and the segment table.
fn check_segments(old: &[u8], new: &[u8]) {
    let read = |bytes: &[u8]| DeviceElf::read(View::new(bytes)).unwrap().unwrap().segments.to_vec();
    for (before, after) in read(old).iter().zip(&read(new)) {
        let old_range = before.file_range(LE);
        let new_range = after.file_range(LE);
        assert_eq!((old_range.1, before.p_vaddr(LE)), (new_range.1, after.p_vaddr(LE)));
        if old_range.1 == 0 {
            continue;
        }
        if before.p_align(LE).is_power_of_two() {
            assert_eq!(old_range.0 % before.p_align(LE), new_range.0 % before.p_align(LE));
        }
        let bytes = |file: &[u8], (offset, size): (u64, u64)| file[offset as usize..(offset + size) as usize].to_vec();
        let headers = |range: (u64, u64), bytes: &[u8]| -> Vec<u8> {
            let header = DeviceElf::read(View::new(bytes)).unwrap().unwrap().header;
            let table = header.e_phoff.get(LE)..header.e_phoff.get(LE) + 56 * u64::from(header.e_phnum.get(LE));
            let is_header = |at: u64| at < ELF64.header_size || table.contains(&at);
            let loaded = range.0..range.0 + range.1;
            loaded.filter(|&at| is_header(at)).map(|at| bytes[at as usize]).collect()
        };
        if headers(old_range, old).is_empty() {
            assert!(bytes(old, old_range) == bytes(new, new_range));
        }
    }
}

#[test]
fn a_code_object_loses_its_debug_sections_and_nothing_else() {
    let new = stripped(CODE_OBJECT);
    let before = File::parse(CODE_OBJECT).unwrap();
    let after = File::parse(&*new).unwrap();
    let is_kept = |name: &str| !name.starts_with(".debug_");
    let expected: Vec<_> = sections(&before).into_iter().filter(|section| is_kept(section.0)).collect();
    assert_eq!(sections(&after), expected);
    assert_eq!(after.sections().count(), expected.len());
    assert_eq!(symbols(&after), symbols(&before));
    check_segments(CODE_OBJECT, &new);
    assert!(new.len() < CODE_OBJECT.len());
    assert_eq!(without(View::new(&new), DEBUG), Ok(None));
}

#[test]
fn a_cubin_keeps_the_indices_of_its_sections_and_symbols() {
    let new = stripped(CUBIN);
    let before = File::parse(CUBIN).unwrap();
    let after = File::parse(&*new).unwrap();
    let is_debug = |name: &str| name.contains("debug_");
    assert_eq!(before.sections().count(), after.sections().count());
    for (old, new) in before.sections().zip(after.sections()) {
        if is_debug(old.name().unwrap()) {
            assert_eq!((new.name().unwrap(), new.size()), ("", 0));
            continue;
        }
        assert_eq!((old.name(), old.address(), old.size()), (new.name(), new.address(), new.size()));
        assert_eq!(old.data(), new.data());
        let [old, new] = [old.elf_section_header(), new.elf_section_header()];
        assert_eq!((old.sh_link(LE), old.sh_info(LE)), (new.sh_link(LE), new.sh_info(LE)));
        assert_eq!(old.sh_offset(LE) % old.sh_addralign(LE).max(1), new.sh_offset(LE) % old.sh_addralign(LE).max(1));
    }
    let table =
        |file: &File<'_>| file.elf_symbol_table().iter().map(|symbol| bytes_of(symbol).to_vec()).collect::<Vec<_>>();
    assert_eq!(table(&before), table(&after));
    check_segments(CUBIN, &new);
    assert!(!new.windows(12).any(|bytes| bytes == b".visible .en"), "PTX remains");
    assert!(new.len() < CUBIN.len());
    assert_eq!(without(View::new(&new), DEBUG), Ok(None));
}

#[test]
fn other_files_and_files_without_debug_information_stay() {
    let host: &[u8] = include_bytes!("../../../../../fixtures/answer-x86_64.so");
    let plain: &[u8] = include_bytes!("../../../../../fixtures/answer-gfx90a.hsaco");
    for bytes in [host, plain, b"", b"\x7fELF\x02\x01"] {
        assert!(!matches!(without(View::new(bytes), DEBUG), Ok(Some(_))));
    }
    assert_eq!(without(View::new(plain), DEBUG), Ok(None));
}

/// A file with a symbol in a debug section keeps the index of that section.
#[test]
fn a_section_with_a_symbol_stays_in_the_table() {
    let elf = DeviceElf::read(View::new(CODE_OBJECT)).unwrap().unwrap();
    let debug = elf.sections.len() - 5;
    let symtab = elf.sections.iter().find(|section| section.sh_type(LE) == elf::SHT_SYMTAB).unwrap();
    let mut bytes = CODE_OBJECT.to_vec();
    let symbol = symtab.sh_offset(LE) as usize + 24;
    bytes[symbol + 6..symbol + 8].copy_from_slice(&(debug as u16).to_le_bytes());
    let new = stripped(&bytes);
    let file = File::parse(&*new).unwrap();
    assert_eq!(file.sections().count() + 1, elf.sections.len());
    assert_eq!(file.symbols().count(), File::parse(CODE_OBJECT).unwrap().symbols().count());
}

#[test]
fn malformed_tables_are_errors() {
    let elf = DeviceElf::read(View::new(CUBIN)).unwrap().unwrap();
    let table = elf.header.e_shoff.get(LE);
    let with = |at: u64, value: u64| {
        let mut bytes = CUBIN.to_vec();
        bytes[at as usize..][..8].copy_from_slice(&value.to_le_bytes());
        without(View::new(&bytes), DEBUG).unwrap_err().to_string()
    };
    let beyond = CUBIN.len() as u64 + 1;
    let names_type = format!("type of the ELF section with the section names at {table:#x}: invalid value 0x0, ");
    for (at, value, expected) in [
        (0x28, beyond, "ELF header at 0x0: "),
        (0x20, beyond, "ELF header at 0x0: "),
        // The offset of the symbol table, section 3.
        (table + 3 * 64 + 24, beyond, "ELF section offset at 0x0: "),
        // The offset of `.note.nv.cuinfo`, section 9.
        (
            table + 9 * 64 + 24,
            table + 8,
            &format!("ELF section header table at {table:#x}: overlaps other parts of the file"),
        ),
        // The offset of the section names, section 1.
        (table + 64 + 24, beyond, "ELF section name at 0x0: "),
        // The type of the section names: the bytes of an inactive section do not move with its header.
        (table + 64 + 4, 0, &names_type),
    ] {
        let error = with(at, value);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn damaged_files_are_errors_or_keep_their_loaded_bytes() {
    let mut seen = 0;
    for original in [CUBIN, CODE_OBJECT] {
        for at in 0..original.len() {
            let _ = without(View::new(&original[..at]), ALL);
            for flip in [0xff, 0x08] {
                let mut bytes = original.to_vec();
                bytes[at] ^= flip;
                if let Ok(Some(new)) = without(View::new(&bytes), ALL) {
                    check_segments(&bytes, &new);
                    assert!(new.len() <= bytes.len());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 1000, "{seen}");
}

/// Any number of sections may have the same name of any length.
#[test]
fn long_names_of_many_sections_exceed_the_budget() {
    const SECTIONS: u16 = 0xf000;
    let mut bytes = CUBIN[..64].to_vec();
    bytes[0x28..0x30].copy_from_slice(&64_u64.to_le_bytes());
    bytes[0x38..0x40].copy_from_slice(&[[0, 0], [64, 0], SECTIONS.to_le_bytes(), [1, 0]].concat());
    let names = bytes.len() as u64 + u64::from(SECTIONS) * 64;
    let size: u64 = 1 << 20;
    for _ in 0..SECTIONS {
        let mut section = [0; 64];
        section[4] = elf::SHT_STRTAB.0 as u8;
        section[24..32].copy_from_slice(&names.to_le_bytes());
        section[32..40].copy_from_slice(&size.to_le_bytes());
        bytes.extend(section);
    }
    bytes.extend(vec![b'n'; size as usize - 1]);
    bytes.push(0);
    let budget = Budget::new(Limits::default(), bytes.len() as u64);
    let error = without(View::with_budget(&bytes, &budget), DEBUG).unwrap_err().to_string();
    assert!(error.contains("steps of work"), "{error}");
}

/// The offset of a table without entries means nothing.
#[test]
fn a_file_without_segments_may_state_any_offset_of_them() {
    let mut bytes = CUBIN.to_vec();
    bytes[0x20..0x28].copy_from_slice(&u64::MAX.to_le_bytes());
    bytes[0x38..0x3a].copy_from_slice(&[0, 0]);
    let new = stripped(&bytes);
    assert!(u64::from_le_bytes(*new[0x20..].first_chunk().unwrap()) <= new.len() as u64);
    assert!(new.len() < bytes.len());
}

#[test]
fn a_code_object_loses_symbols_of_resources_only() {
    let new = without(View::new(CODE_OBJECT), SYMBOLS).unwrap().expect("symbols");
    check_segments(CODE_OBJECT, &new);
    assert!(new.len() < CODE_OBJECT.len());
    let before = File::parse(CODE_OBJECT).unwrap();
    let after = File::parse(&*new).unwrap();
    let (kept, lost): (Vec<_>, Vec<_>) = symbols(&before).into_iter().partition(|symbol| symbol.3.is_some());
    assert_eq!(symbols(&after), kept);
    let names: Vec<&str> = lost.iter().map(|symbol| symbol.0).collect();
    assert!(names.contains(&"answer_kernel.num_vgpr"), "{names:?}");
    assert_eq!(before.dynamic_symbols().count(), after.dynamic_symbols().count());
    assert_eq!(without(View::new(&new), SYMBOLS), Ok(None));
    let tables = [".symtab", ".strtab"];
    let others = |file: &[u8]| {
        let file = File::parse(file).unwrap();
        let sections = sections(&file).into_iter().filter(|section| !tables.contains(&section.0));
        sections.map(|(name, address, _, bytes)| (name.to_owned(), address, bytes.to_vec())).collect::<Vec<_>>()
    };
    assert!(others(CODE_OBJECT) == others(&new));
    // Debug information goes in the same step.
    let all = without(View::new(CODE_OBJECT), ALL).unwrap().unwrap();
    assert!(others(&all) == others(&stripped(CODE_OBJECT)) && all.len() < new.len());
}

#[test]
fn symbols_of_cubins_and_shared_tables_stay() {
    assert_eq!(without(View::new(CUBIN), SYMBOLS), Ok(None));
    let mut shared = CODE_OBJECT.to_vec();
    // The names of sections are in the table of strings, too.
    let elf = DeviceElf::read(View::new(CODE_OBJECT)).unwrap().unwrap();
    let table = elf.sections.iter().find(|section| section.sh_type(LE) == elf::SHT_SYMTAB).unwrap();
    shared[62..64].copy_from_slice(&(table.sh_link(LE) as u16).to_le_bytes());
    assert_eq!(without(View::new(&shared), SYMBOLS), Ok(None));
}
