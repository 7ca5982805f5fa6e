//! Signs of device code in a file without device images: its sections, its first bytes, and the functions that it calls.
//!
//! Sources of the names: CUDA's and HIP's host headers, LLVM's OffloadWrapper.cpp, the OpenCL, Level Zero and Vulkan
//! specifications, and the libraries of MUSA; of the magics: IREE, `runtime/src/iree/schemas`.

use std::collections::BTreeSet;

use object::read::{NameOrOrdinal, Object, ObjectSymbol};

use crate::base::bytes::{ObjectBytes, Resource, View, size_of_range};
use crate::scan::inventory::{File, Sign, SignKind};
use crate::scan::structure::Structure;
use crate::scan::structure::pointers::HostFile;

/// Sections of device code that have no reader. Sections with a reader are errors if they cannot be read.
const SECTIONS: [&str; 3] = [".mt_fatbin", ".tgtimg", "__metallib"];

/// First bytes of files of vendors: executables of IREE with source code.
const MAGICS: [(&[u8], &str); 2] = [(b"MTL1\0\0\0\0", "iree-metal"), (b"WGS1\0\0\0\0", "iree-webgpu")];

/// Functions that register, load, compile or launch device code.
const CALLS: [&str; 29] = [
    "__cudaRegisterFatBinary",
    "__hipRegisterFatBinary",
    "__musaRegisterFatBinary",
    "__tgt_register_lib",
    "__sycl_register_lib",
    "__acpp_register_hcf",
    "cuModuleLoad",
    "cuModuleLoadData",
    "cuModuleLoadDataEx",
    "cuModuleLoadFatBinary",
    "cuLibraryLoadData",
    "cuLibraryLoadFromFile",
    "nvrtcCompileProgram",
    "hipModuleLoad",
    "hipModuleLoadData",
    "hipModuleLoadDataEx",
    "hiprtcCompileProgram",
    "muModuleLoad",
    "muModuleLoadData",
    "clCreateProgramWithBinary",
    "clCreateProgramWithIL",
    "clCreateProgramWithSource",
    "clEnqueueNDRangeKernel",
    "zeModuleCreate",
    "vkCreateShaderModule",
    "D3DCompile",
    "MTLCreateSystemDefaultDevice",
    "GOMP_offload_register",
    "GOMP_offload_register_ver",
];

/// Returns the signs of a file; none if it has device code.
pub fn find(view: View<'_>, structure: &Structure<'_>, file: &File, with_calls: bool) -> Vec<Sign> {
    if file.has_device_code() || file.has_gimple {
        return Vec::new();
    }
    let sections = SECTIONS.into_iter().filter_map(|name| {
        let mut ranges = structure.sections_named(|section| section == name);
        let range = ranges.find(|range| !is_zero(view, range.start, size_of_range(range)))?;
        Some(Sign { kind: SignKind::Section, name, size: Some(size_of_range(&range)) })
    });
    let magics = MAGICS.into_iter().filter(|(magic, _)| view.starts_with(magic));
    let magics = magics.map(|(_, name)| Sign { kind: SignKind::Magic, name, size: None });
    let mut signs: Vec<Sign> = sections.chain(magics).collect();
    if !with_calls {
        return signs;
    }
    let calls: BTreeSet<&str> = structure.hosts.iter().flat_map(|&host| calls(host, structure.is_object)).collect();
    signs.extend(calls.into_iter().map(|name| Sign { kind: SignKind::Call, name, size: None }));
    signs
}

/// Returns whether the first bytes of a section are zeros. A section that holds more than padding begins with a header.
fn is_zero(view: View<'_>, start: u64, size: u64) -> bool {
    const START: usize = 4096;
    let bytes = view.from(start).data();
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(START);
    bytes.get(..size).unwrap_or(bytes).iter().all(|&byte| byte == 0)
}

/// Returns the functions in the table that a host file calls and does not define.
fn calls(host: View<'_>, is_object: bool) -> Vec<&'static str> {
    let Ok(file) = HostFile::parse(ObjectBytes(host)) else { return Vec::new() };
    // Mach-O adds an underscore before C names.
    let is_named = |known: &[u8], name: &[u8]| name == known || name.strip_prefix(b"_") == Some(known);
    let is_called = |name: &[u8]| CALLS.into_iter().find(|known| is_named(known.as_bytes(), name));
    let mut calls = Vec::new();
    if is_object {
        for symbol in file.symbols().filter(ObjectSymbol::is_undefined) {
            if host.charge("symbol", Resource::Work, 1).is_err() {
                break;
            }
            calls.extend(symbol.name_bytes().ok().and_then(is_called));
        }
        return calls;
    }
    for import in file.imports().into_iter().flatten().map_while(Result::ok) {
        if host.charge("symbol", Resource::Work, 1).is_err() {
            break;
        }
        if let NameOrOrdinal::Name(name) = import.name() {
            calls.extend(is_called(name));
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use object::write::{Object, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};

    use super::*;
    use crate::scan::{Options, scan};

    fn object(format: BinaryFormat, section: &str, content: &[u8], calls: &[&str]) -> Vec<u8> {
        let mut object = Object::new(format, Architecture::X86_64, Endianness::Little);
        let id = object.add_section(Vec::new(), section.as_bytes().to_vec(), SectionKind::ReadOnlyData);
        object.append_section_data(id, content, 16);
        for name in calls {
            object.add_symbol(Symbol {
                name: name.as_bytes().to_vec(),
                value: 0,
                size: 0,
                kind: SymbolKind::Text,
                scope: SymbolScope::Unknown,
                weak: false,
                section: SymbolSection::Undefined,
                flags: SymbolFlags::None,
            });
        }
        object.write().unwrap()
    }

    fn signs(bytes: &[u8]) -> Vec<(SignKind, &'static str, Option<u64>)> {
        let file = scan(&View::new(bytes), Options { calls: true, ..Options::default() }).unwrap();
        file.signs.iter().map(|sign| (sign.kind, sign.name, sign.size)).collect()
    }

    #[test]
    fn sections_and_calls_are_signs_in_every_format() {
        let (section, call) = (SignKind::Section, SignKind::Call);
        for format in [BinaryFormat::Elf, BinaryFormat::Coff, BinaryFormat::MachO] {
            let calls = ["puts", "cuModuleLoadData", "__cudaRegisterFatBinary"];
            let found = signs(&object(format, ".mt_fatbin", b"code of an unknown form", &calls));
            let expected = [(section, ".mt_fatbin", Some(23)), (call, calls[2], None), (call, calls[1], None)];
            assert_eq!(found, expected, "{format:?}");
            assert_eq!(signs(&object(format, ".mt_fatbin", &[0; 64], &["puts"])), [], "{format:?}");
            assert_eq!(signs(&object(format, ".rodata", b".mt_fatbin", &["puts"])), [], "{format:?}");
        }
        assert_eq!(signs(b"MTL1\0\0\0\0 and a FlatBuffer"), [(SignKind::Magic, "iree-metal", None)]);
        assert_eq!(signs(b"a text about MTL1"), []);
    }

    #[test]
    fn a_file_with_device_code_has_no_signs() {
        let image = std::fs::read(format!("{}/fixtures/answer-sm_90.cubin", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert_eq!(signs(&object(BinaryFormat::Elf, ".mt_fatbin", &image, &["cuModuleLoadData"])), []);
    }
}
