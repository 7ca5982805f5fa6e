//! clang as a device linker, called as clang-linker-wrapper 22.1.8 calls it. It calls the linker of the target in turn.

use std::ffi::{OsStr, OsString};

use super::{DeviceProgram, Job};
use crate::embed::llvm::linker::DeviceWords;
use crate::link::words::joined;
use fatbin_core::target::triple;

pub const PROGRAM: DeviceProgram = DeviceProgram { name: "clang", package: "clang" };

/// Architectures that take the processor from clang's option `-mcpu`.
const AMDGPU: [&str; 1] = ["amdgcn"];
/// Architectures whose linkers do not check for undefined symbols.
const WITHOUT_UNDEFINED: [&str; 3] = ["nvptx", "nvptx64", "spirv64"];
/// Architectures whose linkers keep the files of link-time optimization.
const LTO: [&str; 3] = ["amdgcn", "nvptx", "nvptx64"];
/// Architectures of devices that are not CPUs.
const GPUS: [&str; 4] = ["amdgcn", "nvptx", "nvptx64", "spirv64"];

pub fn arguments(job: &Job<'_>) -> Vec<OsString> {
    if job.arguments.linker_words == DeviceWords::Compiler {
        return of_compiler_words(job);
    }
    let architecture = triple::architecture(job.triple).unwrap_or_default();
    let mut words: Vec<OsString> = vec!["--no-default-config".into(), "-o".into(), job.output.into()];
    // The tool of LLVM 20 and later passes it. clang 16 has no such option.
    if !job.rules.has_own_lto {
        words.extend(["-dumpdir".into(), job.dump_prefix.into()]);
    }
    words.push(format!("--target={}", job.triple).into());
    words.extend(processor_option(job, architecture));
    if AMDGPU.contains(&architecture) {
        words.push("-flto".into());
    }
    let llvm = &job.arguments.llvm;
    words.extend(llvm.iter().flat_map(|option| to_linker("--plugin-opt=", &option.value)));
    if !WITHOUT_UNDEFINED.contains(&architecture) {
        words.push("-Wl,--no-undefined".into());
    }
    words.extend(job.paths());
    words.extend(of_shared_library(job, architecture));
    if job.is_sycl {
        words.extend(["--sycl-link".into(), "-Xlinker".into(), format!("-triple={}", job.triple).into()]);
        words.extend(["-Xlinker".into(), format!("-arch={}", job.processor().unwrap_or_default()).into()]);
    }
    words.extend(llvm.iter().filter(|option| option.is_mllvm).flat_map(|option| to_linker("-mllvm=", &option.value)));
    if job.keeps_files && LTO.contains(&architecture) {
        words.push("-Wl,--save-temps".into());
    }
    if job.arguments.emits_bitcode {
        words.push("-Wl,--lto-emit-llvm".into());
    }
    words.extend(job.linker_arguments().flat_map(|argument| to_linker("", &argument)));
    words.extend(job.compiler_arguments().cloned());
    words
}

/// Arguments as clang-linker-wrapper 19 passes them, with the words of `--device-linker` unchanged.
fn of_compiler_words(job: &Job<'_>) -> Vec<OsString> {
    let architecture = triple::architecture(job.triple).unwrap_or_default();
    let mut words: Vec<OsString> = vec!["--no-default-config".into(), "-o".into(), job.output.into()];
    words.push(format!("--target={}", job.triple).into());
    words.extend(processor_option(job, architecture));
    words.extend(job.compiler_arguments().cloned());
    if !WITHOUT_UNDEFINED.contains(&architecture) {
        words.push("-Wl,--no-undefined".into());
    }
    words.extend(job.paths());
    words.extend(of_shared_library(job, architecture));
    words.extend(job.linker_arguments());
    words
}

fn processor_option(job: &Job<'_>, architecture: &str) -> Option<OsString> {
    let option = if AMDGPU.contains(&architecture) { "-mcpu" } else { "-march" };
    job.processor().map(|processor| format!("{option}={processor}").into())
}

/// Device code for a CPU is a shared library.
fn of_shared_library(job: &Job<'_>, architecture: &str) -> Vec<OsString> {
    if GPUS.contains(&architecture) {
        return Vec::new();
    }
    let libraries = job.libraries.iter().flat_map(|word| word.for_clang());
    ["-Wl,-Bsymbolic".into(), "-shared".into()].into_iter().chain(libraries).collect()
}

fn to_linker(prefix: &str, value: &OsStr) -> [OsString; 2] {
    ["-Xlinker".into(), joined(prefix, value)]
}
