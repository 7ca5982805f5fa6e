//! Tests of host files: sections of every format, wrappers, tables of images.

use object::write::{Object, Relocation, SectionId, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationEncoding, RelocationFlags, RelocationKind, SectionKind,
    SymbolFlags, SymbolKind, SymbolScope,
};

use super::*;
use crate::base::bytes::View;
#[cfg(target_os = "linux")]
use crate::base::io::{Input, MAPPED};
use crate::format::{ContainerType, bundle, cuda_fatbin};
use crate::scan::inventory::{FileFormat, WrapperKind, WrapperTarget};
use crate::target::OffloadKind;

#[path = "embedded_tests.rs"]
mod embedded;
#[path = "gomp_tests.rs"]
mod gomp;
#[path = "kpack_tests.rs"]
mod kpack;
#[path = "registration_tests.rs"]
mod registration;
#[path = "sycl_tests.rs"]
mod sycl;

const STRUCTURE_ONLY: Options = Options { structure_only: true, hash: false, kernels: false, calls: Calls::No };

fn bundle() -> Vec<u8> {
    bundle::write(&[("hipv4-amdgcn-amd-amdhsa--gfx906", &b"device code"[..])], 1).unwrap().to_vec()
}

fn fat_binary() -> Vec<u8> {
    let cubin = std::fs::read(format!("{}/../../fixtures/answer-sm_90.cubin", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let member = cuda_fatbin::FatbinImage::new(View::new(&cubin), None).unwrap();
    cuda_fatbin::write(&[member]).unwrap().to_vec()
}

/// A wrapper without its pointer.
fn wrapper(magic: &[u8; 4]) -> Vec<u8> {
    [&magic[..], &[1, 0, 0, 0], &[0; 16]].concat()
}

/// A host object that is being built.
struct Host(Object<'static>);

impl Host {
    fn elf() -> Host {
        Host(Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little))
    }

    fn section(&mut self, segment: &str, name: &str, bytes: &[u8]) -> SectionId {
        let section = self.0.add_section(segment.into(), name.into(), SectionKind::Data);
        self.0.append_section_data(section, bytes, 8);
        section
    }

    /// Adds a pointer at `offset` of a section to the byte `at` of another.
    fn points(&mut self, section: SectionId, offset: u64, to: SectionId, at: u64) -> &mut Host {
        let symbol = self.0.section_symbol(to);
        self.relocation(section, offset, symbol, at as i64)
    }

    fn relocation(
        &mut self,
        section: SectionId,
        offset: u64,
        symbol: object::write::SymbolId,
        addend: i64,
    ) -> &mut Host {
        let size = self.0.architecture().address_size().unwrap().bytes() * 8;
        let kind = RelocationKind::Absolute;
        let encoding = RelocationEncoding::Generic;
        let flags = RelocationFlags::Generic { kind, encoding, size };
        self.0.add_relocation(section, Relocation { offset, symbol, addend, flags }).unwrap();
        self
    }

    fn undefined(&mut self, name: &str) -> object::write::SymbolId {
        let kind = SymbolKind::Data;
        let scope = SymbolScope::Unknown;
        let section = SymbolSection::Undefined;
        let name = name.into();
        let flags = SymbolFlags::None;
        self.0.add_symbol(Symbol { name, value: 0, size: 0, kind, scope, weak: false, section, flags })
    }

    fn scan(&self) -> File {
        structure_of(&self.0.write().unwrap())
    }
}

fn structure_of(bytes: &[u8]) -> File {
    scan(&View::new(bytes), STRUCTURE_ONLY).unwrap()
}

fn archs(file: &File) -> Vec<&str> {
    file.device_images().filter_map(|image| image.arch.as_deref()).collect()
}

#[test]
fn follows_wrappers_to_containers_in_any_section_of_any_format() {
    let cases = [
        (BinaryFormat::Elf, Architecture::X86_64, ("", ".lrodata"), ("", ".nvFatBinSegment")),
        (BinaryFormat::Elf, Architecture::Aarch64, ("", ".rodata"), ("", ".nvFatBinSegment")),
        (BinaryFormat::Coff, Architecture::X86_64, ("", ".rdata"), ("", ".nvFatBinSegment")),
        (BinaryFormat::MachO, Architecture::Aarch64, ("__TEXT", "__const"), ("__NV_CUDA", "__fatbin")),
    ];
    for (format, architecture, constants, wrappers) in cases {
        let mut host = Host(Object::new(format, architecture, Endianness::Little));
        let constants = host.section(constants.0, constants.1, &[b"constants".as_slice(), &fat_binary()].concat());
        let wrappers = host.section(wrappers.0, wrappers.1, &wrapper(b"\xb1\x43\x62\x46"));
        host.points(wrappers, 8, constants, 9);
        let file = host.scan();
        assert_eq!((archs(&file), file.errors.len()), (vec!["sm_90"], 0), "{format:?}");
        let [wrapper] = &file.wrappers[..] else { panic!("{format:?}: {:?}", file.wrappers) };
        assert_eq!((wrapper.kind, wrapper.target.container()), (WrapperKind::Cuda, file.containers[0].offset));
        let address = file.addresses().next().unwrap().to_string();
        assert!(address.ends_with("+0x59"), "{address}");
        assert_eq!(file.unreferenced().count(), 0);
    }
}

#[test]
fn finds_all_wrappers_with_red_zones_between_them() {
    // The address sanitizer adds 40 bytes after each wrapper. A reader in steps of 24 bytes finds only the first.
    let mut host = Host::elf();
    let code = host.section("", ".hip_fatbin", &[bundle(), vec![0; 100], bundle()].concat());
    let padded = [wrapper(b"FPIH"), vec![0; 40]].concat();
    let wrappers = host.section("", ".hipFatBinSegment", &[padded.clone(), padded].concat());
    host.points(wrappers, 8, code, 0).points(wrappers, 72, code, bundle().len() as u64 + 100);
    let file = host.scan();
    let places: Vec<_> = file.wrappers.iter().map(|it| it.offset - it.section.offset).collect();
    assert_eq!((places, file.containers.len(), file.unreferenced().count()), (vec![0, 64], 2, 0));
}

#[test]
fn lists_wrappers_without_a_container_and_containers_without_a_wrapper() {
    let mut host = Host::elf();
    let code = host.section("", ".hip_fatbin", &[bundle(), bundle()].concat());
    let text = host.section("", ".rodata", b"no container, only text");
    let wrappers = host.section("", ".hipFatBinSegment", &wrapper(b"FPIH").repeat(4));
    host.points(wrappers, 8, code, 0).points(wrappers, 32, text, 0);
    let elsewhere = host.undefined("__hip_fatbin_1");
    host.relocation(wrappers, 80, elsewhere, 0);
    let file = host.scan();
    let states: Vec<_> = file.wrappers.iter().map(|it| (&it.target, it.defect().is_some())).collect();
    assert!(matches!(states[0], (WrapperTarget::Container(_), false)), "{states:?}");
    assert!(matches!(states[1], (WrapperTarget::Bytes(_), true)), "{states:?}");
    assert_eq!(
        states[2..],
        [(&WrapperTarget::Nothing, true), (&WrapperTarget::Symbol("__hip_fatbin_1".to_owned()), false)]
    );
    let unreferenced: Vec<_> = file.unreferenced().map(|it| it.offset).collect();
    assert_eq!(unreferenced, [file.containers[1].offset]);
}

#[test]
fn reports_a_broken_container_of_a_section_and_a_wrapper_once() {
    let mut broken = fat_binary();
    broken[4] = 99;
    let mut host = Host::elf();
    let code = host.section("", ".nv_fatbin", &broken);
    let wrappers = host.section("", ".nvFatBinSegment", &wrapper(b"\xb1\x43\x62\x46").repeat(2));
    host.points(wrappers, 8, code, 0).points(wrappers, 32, code, 0);
    let file = host.scan();
    assert_eq!((file.errors.len(), file.wrappers.iter().filter(|it| it.defect().is_some()).count()), (1, 2));
}

#[test]
fn walks_sections_of_mach_o_files_of_every_byte_order_and_size() {
    let machines = [
        (Architecture::X86_64, Endianness::Little),
        (Architecture::Aarch64, Endianness::Little),
        (Architecture::I386, Endianness::Little),
        (Architecture::PowerPc, Endianness::Big),
        (Architecture::PowerPc64, Endianness::Big),
    ];
    for (architecture, endian) in machines {
        let mut host = Host(Object::new(BinaryFormat::MachO, architecture, endian));
        host.section("__HIP", "__hip_fatbin", &bundle());
        host.section("__NV_CUDA", "__nv_fatbin", &fat_binary());
        host.section("__DATA", "__nv_fatbin", b"another's section of that name");
        let file = host.scan();
        assert_eq!(file.format.map(FileFormat::name), Some("mach-o"), "{architecture:?}");
        assert_eq!((archs(&file), file.errors.len()), (vec!["gfx906", "sm_90"], 0), "{architecture:?}");
        assert_eq!(file.containers[0].section_name(), Some("__hip_fatbin"));
    }
}

#[test]
fn a_small_host_file_that_contains_ptx_is_not_ptx() {
    let ptx = std::fs::read(format!("{}/../../fixtures/answer-sm_80.ptx", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let bundle = bundle::write(&[("cuda-nvptx64-nvidia-cuda--sm_80", &ptx[..])], 1).unwrap().to_vec();
    for (format, segment, name) in
        [(BinaryFormat::MachO, "__HIP", "__hip_fatbin"), (BinaryFormat::Coff, "", ".hip_fatbin")]
    {
        let mut host = Host(Object::new(format, Architecture::X86_64, Endianness::Little));
        host.section(segment, name, &bundle);
        let types: Vec<_> = host.scan().containers.iter().map(|it| it.container_type).collect();
        assert_eq!(types, [ContainerType::Bundle], "{format:?}");
    }
}

/// A universal binary with these files (mach-o/fat.h: numbers are big-endian).
fn universal(files: &[&[u8]]) -> Vec<u8> {
    let mut bytes = [0xcafe_babe_u32, files.len() as u32].map(u32::to_be_bytes).concat();
    let mut offset = 4096;
    for file in files {
        bytes.extend([0x0100_0007, 3, offset, file.len() as u32, 12].map(u32::to_be_bytes).concat());
        offset += (file.len() as u32).next_multiple_of(4096);
    }
    for file in files {
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        bytes.extend(*file);
    }
    bytes
}

#[test]
fn scans_the_files_of_a_universal_binary_and_not_a_java_class() {
    let mut host = Host(Object::new(BinaryFormat::MachO, Architecture::X86_64, Endianness::Little));
    let constants = host.section("__TEXT", "__const", &bundle());
    let wrappers = host.section("__HIP", "__fatbin", &wrapper(b"FPIH"));
    host.section("__NV_CUDA", "__nv_fatbin", &fat_binary());
    host.points(wrappers, 8, constants, 0);
    let slice = host.0.write().unwrap();
    let file = structure_of(&universal(&[&slice, &slice]));
    assert_eq!((file.format, file.errors.len()), (Some(FileFormat::MachO), 0));
    assert_eq!(archs(&file), ["gfx906", "sm_90", "gfx906", "sm_90"]);
    assert!(file.wrappers.iter().all(|it| it.target.container().is_some()), "{:?}", file.wrappers);

    // CAFEBABE, minor version 0, major version 61: Java 17.
    let class = [b"\xca\xfe\xba\xbe\0\0\0\x3d".as_slice(), &[7; 3000], &bundle()].concat();
    let file = scan(&View::new(&class), Options::default()).unwrap();
    assert_eq!((file.format, file.containers.len(), file.errors.len()), (Some(FileFormat::Raw), 1, 0));
}

#[test]
fn prefixes_and_broken_bytes_of_mach_o_files_do_not_panic() {
    let mut host = Host(Object::new(BinaryFormat::MachO, Architecture::X86_64, Endianness::Little));
    let code = host.section("__HIP", "__hip_fatbin", &bundle());
    let wrappers = host.section("__HIP", "__fatbin", &wrapper(b"FPIH"));
    host.points(wrappers, 8, code, 0);
    let bytes = universal(&[&host.0.write().unwrap()]);
    for end in (0..64).chain(4096..bytes.len()) {
        structure_of(&bytes[..end]);
    }
    for at in (0..64).chain(4096..bytes.len()) {
        let mut broken = bytes.clone();
        broken[at] ^= 0xff;
        structure_of(&broken);
    }
    // Without readable headers, the search by magic still finds the container.
    let mut broken = bytes.clone();
    broken[4096 + 16..4096 + 24].fill(0xff);
    assert_eq!(scan(&View::new(&broken), Options::default()).unwrap().containers.len(), 1);
}

const SPIRV: &[u8] = b"\x03\x02\x23\x07\0\x04\x01\0\x11\0\x08\0\x05\0\0\0\0\0\0\0";

#[test]
fn separates_uncompressed_sycl_images_by_their_table() {
    let name = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64";
    let other = [SPIRV, b"of another size"].concat();
    let content = [SPIRV, &other, &[0; 13], b"native code"].concat();
    let sizes = [SPIRV.len(), other.len(), b"native code".len()].map(|size| size as u64);
    let offsets = [0, sizes[0], content.len() as u64 - sizes[2]];
    let mut host = Host::elf();
    let images = host.section("", name, &content);
    let table: Vec<u8> = sizes.iter().flat_map(|size| [[0; 8], size.to_le_bytes()].concat()).collect();
    let table = host.section("", ".tgtimg", &table);
    for (row, &offset) in offsets.iter().enumerate() {
        host.points(table, 16 * row as u64, images, offset);
    }
    let file = host.scan();
    assert_eq!(file.errors, []);
    let found: Vec<_> = file.device_images().map(|image| (image.kind, image.size.unwrap())).collect();
    assert_eq!(found, sizes.map(|size| (Some(OffloadKind::Sycl), size)));
    let section = &file.sections[0];
    assert_eq!((section.name.as_str(), section.padding, section.unexplained), (name, 13, 0));
}

#[test]
fn reads_the_bytes_of_images_of_a_table_again() {
    let mut host = Host::elf();
    let images = host.section("", "__CLANG_OFFLOAD_BUNDLE__sycl-spir64", &[SPIRV, b"native code"].concat());
    let table: Vec<u8> = [0, SPIRV.len() as u64, 0, 11].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    let table = host.section("", ".tgtimg", &table);
    host.points(table, 0, images, 0).points(table, 16, images, SPIRV.len() as u64);
    let bytes = host.0.write().unwrap();
    let scan = Scan::with_options(View::new(&bytes), STRUCTURE_ONLY, None).unwrap();
    let seen: Vec<_> = scan.images().map(|image| image.bytes().unwrap().to_vec()).collect();
    assert_eq!(seen, [SPIRV, b"native code"]);
}

#[test]
fn ignores_sections_without_bytes_in_split_debug_files() {
    let mut host = Host::elf();
    let section = host.0.add_section(Vec::new(), b".hip_fatbin".to_vec(), SectionKind::UninitializedData);
    host.0.append_section_bss(section, 1 << 40, 4096);
    let file = host.scan();
    assert_eq!((file.format, file.sections.len(), file.errors.len()), (Some(FileFormat::Elf), 0, 0));
}

#[test]
fn broken_bytes_of_wrappers_and_tables_do_not_panic() {
    let mut host = Host::elf();
    let code = host.section("", ".rodata", &bundle());
    let wrappers = host.section("", ".hipFatBinSegment", &wrapper(b"FPIH").repeat(2));
    let images = host.section("", "__CLANG_OFFLOAD_BUNDLE__sycl-spir64", SPIRV);
    let table = host.section("", ".tgtimg", &[[0; 8], (SPIRV.len() as u64).to_le_bytes()].concat());
    host.points(wrappers, 8, code, 0).points(wrappers, 32, code, 0).points(table, 0, images, 0);
    let bytes = host.0.write().unwrap();
    assert_eq!(structure_of(&bytes).containers.len(), 2);
    for at in 0..bytes.len() {
        structure_of(&bytes[..at]);
        for value in [0, 0x7f, 0xff] {
            let mut broken = bytes.clone();
            broken[at] = value;
            let file = structure_of(&broken);
            let ends = file.containers.iter().map(|it| it.offset.unwrap() + it.size);
            assert!(ends.max().unwrap_or(0) <= bytes.len() as u64, "{at:#x}");
        }
    }
}

/// A library with one section for images: its header, names and section headers come first, then the section.
#[cfg(target_os = "linux")]
fn library(name: &str, section_size: u64) -> Vec<u8> {
    let names = [b"\0", name.as_bytes(), b"\0.shstrtab\0"].concat();
    let names_name = name.len() as u64 + 2;
    let header = |name: u64, kind: u64, offset: u64, size: u64| {
        let words = [name | kind << 32, 2, offset, offset, size, 0, 1, 0];
        words.map(u64::to_le_bytes).concat()
    };
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
    bytes.extend([0, 0, 64_u64].map(u64::to_le_bytes).concat());
    bytes.extend([0_u16, 0, 64, 56, 0, 64, 3, 2].map(u16::to_le_bytes).concat());
    bytes.extend([0; 64]);
    bytes.extend(header(1, 1, 4096, section_size));
    bytes.extend(header(names_name, 3, 256, names.len() as u64));
    bytes.extend(names);
    bytes.resize(4096, 0);
    bytes
}

/// Returns the number of bytes of a mapped file that are in the memory of this process.
#[cfg(target_os = "linux")]
fn resident(path: &std::path::Path) -> u64 {
    let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let own = mappings.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
    let resident = own.skip(1).find_map(|line| line.strip_prefix("Rss:")).expect("the file is mapped");
    resident.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_structure_only_scan_of_a_gigabyte_reads_less_than_a_hundredth() {
    use std::os::unix::fs::FileExt;
    const IMAGES: u64 = 250;
    const STRIDE: u64 = 4 << 20;
    let image = std::fs::read(format!("{}/../../fixtures/answer-gfx90a.hsaco", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let id = b"hipv4-amdgcn-amd-amdhsa--gfx90a";
    let mut index = [&bundle::MAGIC[..], &IMAGES.to_le_bytes()].concat();
    for number in 1..=IMAGES {
        let words = [number * STRIDE, STRIDE, id.len() as u64];
        index.extend([&words.map(u64::to_le_bytes).concat()[..], id].concat());
    }
    let size = (IMAGES + 1) * STRIDE;
    let file = tempfile::NamedTempFile::new().unwrap();
    let sparse = file.as_file();
    sparse.write_all_at(&library(".hip_fatbin", size), 0).unwrap();
    sparse.write_all_at(&index, 4096).unwrap();
    for number in 1..=IMAGES {
        sparse.write_all_at(&image, 4096 + number * STRIDE).unwrap();
    }
    sparse.set_len(4096 + size).unwrap();

    let input = Input::open(file.path(), MAPPED).unwrap();
    let found = scan(&input, STRUCTURE_ONLY).unwrap();
    assert_eq!((found.device_images().count(), found.errors.len()), (IMAGES as usize, 0));
    assert_eq!(archs(&found)[249], "gfx90a");
    let touched = resident(file.path());
    assert!(0 < touched && touched < input.size() / 100, "{touched} bytes of {}", input.size());
    // The measurement works: reading everything makes it resident.
    let everything = input.view().data().iter().step_by(4096).map(|&byte| u64::from(byte)).sum::<u64>();
    assert!(everything > 0 && resident(file.path()) > input.size() / 2);
}

#[test]
fn matches_section_names_of_pe_files_by_eight_letters() {
    let mut bytes = b"MZ".to_vec();
    bytes.resize(60, 0);
    bytes.extend(64_u32.to_le_bytes());
    // PE signature; AMD64, two sections, an optional header of 112 bytes (PE32+ without directories).
    bytes.extend(b"PE\0\0\x64\x86\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x70\0\x22\x20\x0b\x02");
    bytes.resize(bytes.len() + 110, 0);
    let base = 0x1_8000_0000_u64;
    let code = bundle();
    let headers = 512_usize;
    bytes[88 + 24..88 + 32].copy_from_slice(&base.to_le_bytes());
    for (name, address, size, offset) in
        [(b".hip_fat", 0x1000, code.len(), headers), (b".hipFatB", 0x2000, 24, headers + code.len())]
    {
        bytes.extend(name);
        bytes.extend([size as u32, address, size as u32, offset as u32].map(u32::to_le_bytes).concat());
        bytes.extend([0; 16]);
    }
    bytes.resize(headers, 0);
    bytes.extend(&code);
    bytes.extend([&b"FPIH\x01\0\0\0"[..], &(base + 0x1000).to_le_bytes(), &[0; 8]].concat());
    let file = structure_of(&bytes);
    assert_eq!((file.format, archs(&file)), (Some(FileFormat::Pe), vec!["gfx906"]));
    assert_eq!(file.containers[0].section_name(), Some(".hip_fat"));
    assert_eq!(file.wrappers[0].target, WrapperTarget::Container(headers as u64));
}

#[test]
fn ignores_thousands_of_false_magics() {
    let mut bytes = b"odd".to_vec();
    for number in 0..5000_u32 {
        for format in &crate::format::FORMATS {
            bytes.extend(format.magic);
            bytes.extend(number.to_le_bytes());
        }
    }
    let file = scan(&View::new(&bytes), Options::default()).unwrap();
    assert_eq!((file.containers.len(), file.errors.len()), (0, 0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_full_of_false_magics_does_not_stay_in_memory() {
    const SIZE: usize = 96 << 20;
    let mut bytes = vec![0; SIZE];
    let file = tempfile::NamedTempFile::new().unwrap();
    for page in bytes.chunks_mut(4096) {
        page[..4].copy_from_slice(b"\x10\xff\x10\xad");
    }
    std::fs::write(file.path(), bytes).unwrap();
    let input = Input::open(file.path(), MAPPED).unwrap();
    let found = scan(&input, Options::default()).unwrap();
    assert_eq!((found.containers.len(), found.unsearched), (0, 0));
    let kept = resident(file.path());
    assert!(kept <= 32 << 20, "{kept} bytes of {SIZE}");
}
