//! Functions of the host that launch kernels of CUDA and HIP. Compilers call them `__device_stub__` and the kernel, and
//! the runtimes find a kernel by the address of its function or of a handle next to it.

use std::collections::BTreeMap;

use object::read::{Object, ObjectSymbol};
use object::{BinaryFormat, File};

use super::imports::{Imports, STUB};
use crate::base::bytes::{ObjectBytes, Resource, View, record_memory};
use crate::base::error::{Cause, Malformed};
use crate::scan::structure::pointers::HostFile;

/// Starts of the names of libraries of systems and vendors, which define no kernel of a program.
const LIBRARIES: [&str; 30] = [
    "ld-linux",
    "ld-musl",
    "libamdhip64",
    "libc++",
    "libc.",
    "libcublas",
    "libcuda.",
    "libcudart",
    "libcudnn",
    "libcufft",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libdl.",
    "libgcc_s",
    "libgfortran",
    "libgomp",
    "libhiprtc",
    "libhsa-runtime64",
    "libm.",
    "libmvec",
    "libnccl",
    "libnvJitLink",
    "libnvToolsExt",
    "libnvrtc",
    "libomp.",
    "libpthread",
    "libroctx64",
    "librt.",
    "libstdc++",
];

/// Returns the defect of a linked ELF file that launches a kernel which neither it nor a library that it needs
/// defines: an instance of a template that no source file instantiates.
pub fn undefined(host: View<'_>, imports: &Imports<'_>) -> Option<Malformed> {
    let first = imports.stubs().next()?;
    let file = HostFile::parse(ObjectBytes(host)).ok().filter(|file| file.format() == BinaryFormat::Elf)?;
    let mut libraries = file.import_libraries().ok()?;
    let is_known = |name: &[u8]| LIBRARIES.iter().any(|known| name.starts_with(known.as_bytes()));
    if !libraries.all(|library| library.is_ok_and(|library| is_known(library.name()))) {
        return None;
    }
    let others = match imports.stubs().skip(1).count() {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    };
    let cause =
        format!("{first}{others}: the kernel is launched, and neither the file nor a library that it needs defines it");
    Some(host.malformed("kernel stub", 0, Cause::Described(cause)))
}

/// Returns the kernels whose stubs have one address, as after `--icf=all`: the runtimes find one of them for both.
/// HIP finds kernels by handles, whose addresses keep their stubs apart.
pub fn shared(host: View<'_>) -> Vec<Malformed> {
    let Ok(file) = HostFile::parse(ObjectBytes(host)) else { return Vec::new() };
    let mut defects = Vec::new();
    for (address, names) in stubs(&file, host) {
        if let [first, second, ..] = names.as_slice() {
            let cause =
                format!("{first} and {second} are one function at address {address:#x}, so one kernel runs for both");
            defects.push(host.malformed("kernel stub", 0, Cause::Described(cause)));
        }
    }
    defects
}

/// Names of the stubs that the file defines, by their addresses.
fn stubs<'data>(file: &File<'data, ObjectBytes<'data>>, host: View<'data>) -> BTreeMap<u64, Vec<&'data str>> {
    let mut stubs: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if host.charge("symbol", Resource::Work, 1).is_err() {
            break;
        }
        let Some(name) = symbol.name().ok().filter(|name| symbol.is_definition() && name.contains(STUB)) else {
            continue;
        };
        if host.charge("symbol", Resource::Memory, record_memory(size_of::<(u64, &str)>(), [])).is_err() {
            break;
        }
        let names = stubs.entry(symbol.address()).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    stubs
}
