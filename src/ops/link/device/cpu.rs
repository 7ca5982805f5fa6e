//! CPUs as devices of OpenMP: the system's compiler links a shared library.

use std::ffi::OsString;

use super::{DeviceLinker, DeviceProgram, Find, Job, amdgpu};
use crate::link::error::Result;
use crate::link::programs::CommandLine;
use fatbin_core::format::ImageKind;

pub const LINKER: DeviceLinker = DeviceLinker {
    architectures: &["x86_64", "i386", "aarch64", "aarch64_be", "powerpc64", "powerpc64le", "s390x", "loongarch64"],
    check_processor: |_| Ok(()),
    commands,
    extension: None,
    needs_clang: |kind| kind == ImageKind::Bitcode,
    is_complete: amdgpu::LINKER.is_complete,
    links_complete: false,
    assembles_text: true,
};

/// The system's compiler, if the program's linker is none.
pub const HOST_COMPILER: &str = "cc";

const CC: DeviceProgram = DeviceProgram { name: HOST_COMPILER, package: "gcc" };

fn commands(job: &Job<'_>, find: Find<'_>) -> Result<Vec<CommandLine>> {
    // An image uses its own definitions, not the program's.
    let mut arguments: Vec<OsString> = vec!["-shared".into(), "-Wl,--no-undefined".into(), "-Wl,-Bsymbolic".into()];
    arguments.extend(job.paths());
    arguments.extend(job.libraries.iter().flat_map(|word| word.for_compiler()));
    for argument in job.linker_arguments() {
        arguments.extend(["-Xlinker".into(), argument]);
    }
    arguments.extend(["-o".into(), job.output.into()]);
    Ok(vec![CommandLine { program: find(CC)?, arguments }])
}
