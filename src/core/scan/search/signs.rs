//! Signs of device code in a file without device images: its sections, its first bytes, and the functions that it calls.
//!
//! Sources of the names: CUDA's and HIP's host headers, LLVM's OffloadWrapper.cpp, the OpenCL, Level Zero and Vulkan
//! specifications, and the libraries of MUSA; of the magics: IREE, `runtime/src/iree/schemas`.

use std::collections::BTreeSet;

use crate::base::bytes::{View, size_of_range};
use crate::base::file_path::FilePath;
use crate::base::short_text::{ShortText, words};
use crate::scan::Calls;
use crate::scan::host_half::imports::Imports;
use crate::scan::inventory::{File, Sign, SignKind};
use crate::scan::structure::Structure;
use crate::target::processors::{PROCESSORS, Processor};

/// Sections of device code that have no reader. Sections with a reader are errors if they cannot be read.
const SECTIONS: [&str; 3] = [".mt_fatbin", ".tgtimg", "__metallib"];

/// First bytes of files of vendors: executables of IREE with source code.
const MAGICS: [(&[u8], &str); 2] = [(b"MTL1\0\0\0\0", "iree-metal"), (b"WGS1\0\0\0\0", "iree-webgpu")];

/// Functions that register, load, compile or launch device code.
static CALLS: [ShortText<28>; 29] = words(
    "__cudaRegisterFatBinary __hipRegisterFatBinary __musaRegisterFatBinary __tgt_register_lib \
     __sycl_register_lib __acpp_register_hcf cuModuleLoad cuModuleLoadData cuModuleLoadDataEx \
     cuModuleLoadFatBinary cuLibraryLoadData cuLibraryLoadFromFile nvrtcCompileProgram hipModuleLoad \
     hipModuleLoadData hipModuleLoadDataEx hiprtcCompileProgram muModuleLoad muModuleLoadData \
     clCreateProgramWithBinary clCreateProgramWithIL clCreateProgramWithSource clEnqueueNDRangeKernel \
     zeModuleCreate vkCreateShaderModule D3DCompile MTLCreateSystemDefaultDevice GOMP_offload_register \
     GOMP_offload_register_ver",
);

/// Returns the signs of a file; none if it has device code.
pub fn find(view: View<'_>, structure: &Structure<'_>, file: &File, calls_of: Calls) -> Vec<Sign> {
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
    let mut signs: Vec<Sign> = sections.chain(magics).chain(records(&file.path, view)).collect();
    if calls_of == Calls::No || calls_of == Calls::Linked && structure.is_object {
        return signs;
    }
    let imports = structure.hosts.iter().map(|&host| Imports::read(host, structure.is_object));
    let known = |name: &str| CALLS.iter().find(|known| **known == *name).map(|known| &**known);
    let calls: BTreeSet<&str> =
        imports.flat_map(|imports| imports.names().filter_map(known).collect::<Vec<_>>()).collect();
    signs.extend(calls.into_iter().map(|name| Sign { kind: SignKind::Call, name, size: None }));
    signs
}

/// Returns the processor of MIOpen's measurements, which the file's name states: `gfx906_60.HIP.fdb.txt`, or
/// `gfx90a6e.db.txt` with a hexadecimal number of compute units. Lines assign values to problems. Source: ROCm/MIOpen,
/// `src/include/miopen/execution_context.hpp` and `src/db_record.cpp`.
fn records(path: &FilePath, view: View<'_>) -> Option<Sign> {
    const LONGEST_LINE: usize = 64 << 10;
    let (id, extension) = path.name().split_once('.')?;
    if !extension.ends_with("db.txt") {
        return None;
    }
    let is_units = |units: &str| match units.strip_prefix('_') {
        Some(units) => units.bytes().all(|byte| byte.is_ascii_digit()),
        None => units.bytes().all(|byte| byte.is_ascii_hexdigit()),
    };
    let is_of = |processor: &&Processor| id.strip_prefix(&*processor.name).is_some_and(is_units);
    let processor = PROCESSORS.iter().filter(is_of).max_by_key(|processor| processor.name.len())?;
    let line = view.data().split(|&byte| byte == b'\n').next()?;
    let line = line.get(..LONGEST_LINE).unwrap_or(line);
    line.contains(&b'=').then_some(Sign { kind: SignKind::Records, name: &processor.name, size: None })
}

/// Returns whether the first bytes of a section are zeros. A section that holds more than padding begins with a header.
fn is_zero(view: View<'_>, start: u64, size: u64) -> bool {
    const START: usize = 4096;
    let bytes = view.from(start).data();
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(START);
    bytes.get(..size).unwrap_or(bytes).iter().all(|&byte| byte == 0)
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

    #[test]
    fn records_of_miopen_state_their_processor() {
        let line = b"64-56-56-1x1-64=ConvAsm1x1U:1,8;miopenConvolutionFwdAlgoDirect:1.2,0\n";
        let processor = |path: &str| records(&FilePath::parse(path), View::new(line)).map(|sign| sign.name);
        for (path, expected) in [
            ("db/gfx906_60.HIP.fdb.txt", "gfx906"),
            ("a.deb!db/gfx90878.db.txt", "gfx908"),
            ("gfx90a6e.HIP.fdb.txt", "gfx90a"),
            ("gfx942130.db.txt", "gfx942"),
            ("gfx1030_36.OpenCL.fdb.txt", "gfx1030"),
            ("gfx90a.ufdb.txt", "gfx90a"),
        ] {
            assert_eq!(processor(path), Some(expected), "{path}");
        }
        for path in ["gfx906_60.txt", "gfx906-60.db.txt", "gfx99.db.txt", "db.txt", "notes.db.txt", "gfx906_6e.db.txt"]
        {
            assert_eq!(processor(path), None, "{path}");
        }
        for other in [&b""[..], b"text\na=b"] {
            assert_eq!(records(&FilePath::new("gfx906_60.db.txt"), View::new(other)), None);
        }
    }

    fn signs(bytes: &[u8]) -> Vec<(SignKind, &'static str, Option<u64>)> {
        let file = scan(&View::new(bytes), Options { calls: Calls::All, ..Options::default() }).unwrap();
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
        let image = std::fs::read(format!("{}/../../fixtures/answer-sm_90.cubin", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert_eq!(signs(&object(BinaryFormat::Elf, ".mt_fatbin", &image, &["cuModuleLoadData"])), []);
    }
}
